"""A classifier of small images, trained and tested by turns, with a line of progress."""

import torch
import torch_xla
from torch import nn, optim
from torch.nn import functional as F  # noqa: N812
from torch.utils.data import DataLoader, TensorDataset

EPOCHS = 1
device = torch_xla.device()


class LeNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 4, 3)
        self.conv2 = nn.Conv2d(4, 8, 3)
        self.fc1 = nn.Linear(8 * 2 * 2, 24)
        self.fc2 = nn.Linear(24, 10)

    def forward(self, x):
        out = F.max_pool2d(F.relu(self.conv1(x)), 2)
        out = F.max_pool2d(F.relu(self.conv2(out)), 2)
        out = F.relu(self.fc1(out.view(out.size(0), -1)))
        return self.fc2(out)


def images(count):
    return TensorDataset(torch.randn(count, 3, 14, 14), torch.randint(10, (count,)))


def progress_bar(current, total, loss, accuracy):
    bar = "=" * int(20 * current / total) + ">"
    print(f" [{bar:21}] {current + 1}/{total} | Loss: {loss:.3f} | Acc: {accuracy:.2%}")


def train(epoch):
    print(f"\nEpoch: {epoch}")
    net.train()
    train_loss = 0
    correct = 0
    total = 0
    for batch_idx, (inputs, targets) in enumerate(trainloader):
        inputs, targets = inputs.to(device), targets.to(device)
        optimizer.zero_grad()
        outputs = net(inputs)
        loss = criterion(outputs, targets)
        loss.backward()
        optimizer.step()

        train_loss += loss.item()
        _, predicted = outputs.max(1)
        total += targets.size(0)
        correct += predicted.eq(targets).sum().item()
        mean_loss = train_loss / (batch_idx + 1)
        progress_bar(batch_idx, len(trainloader), mean_loss, correct / total)


def test():
    net.eval()
    test_loss = 0
    correct = 0
    total = 0
    with torch.no_grad():
        for batch_idx, (inputs, targets) in enumerate(testloader):
            inputs, targets = inputs.to(device), targets.to(device)
            outputs = net(inputs)
            loss = criterion(outputs, targets)
            test_loss += loss.item()
            _, predicted = outputs.max(1)
            total += targets.size(0)
            correct += predicted.eq(targets).sum().item()
            mean_loss = test_loss / (batch_idx + 1)
            progress_bar(batch_idx, len(testloader), mean_loss, correct / total)
    return correct / total


torch.manual_seed(0)
trainloader = DataLoader(images(4 * 32), batch_size=32, shuffle=True)
testloader = DataLoader(images(2 * 32), batch_size=32)
net = LeNet().to(device)
criterion = nn.CrossEntropyLoss()
optimizer = optim.SGD(net.parameters(), lr=0.1, momentum=0.9, weight_decay=5e-4)
scheduler = optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=200)
best_acc = 0.0
for epoch in range(EPOCHS):
    train(epoch)
    best_acc = max(best_acc, test())
    scheduler.step()
print(f"best accuracy {best_acc:.2%}")
