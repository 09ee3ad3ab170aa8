"""A graph network on one graph: a step an epoch, and the accuracy after each."""

import torch
import torch_xla
from torch import nn
from torch.nn import functional as F  # noqa: N812

NODES = 120
CLASSES = 4
EPOCHS = 5


class GraphConvolution(nn.Module):
    def __init__(self, inner, outer):
        super().__init__()
        self.linear = nn.Linear(inner, outer, bias=False)

    def forward(self, x, edges):
        source, target = edges
        messages = self.linear(x)[source]
        return torch.zeros(len(x), messages.size(1), device=x.device).index_add(0, target, messages)


class GCN(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = GraphConvolution(32, 16), GraphConvolution(16, CLASSES)

    def forward(self, x, edges):
        return F.log_softmax(self.second(F.relu(self.first(x, edges)), edges), dim=1)


def train_epoch(model, optimizer, x, edges, labels, training):
    model.train()
    optimizer.zero_grad()
    loss = F.nll_loss(model(x, edges)[training], labels[training])
    loss.backward()
    optimizer.step()
    torch_xla.sync()
    return loss.item()


def test(model, x, edges, labels, validation):
    model.eval()
    with torch.no_grad():
        predicted = model(x, edges)[validation].argmax(dim=1)
        return (predicted == labels[validation]).float().mean().item()


def main():
    torch.manual_seed(0)
    device = torch_xla.device()
    labels = torch.randint(CLASSES, (NODES,))
    x = (torch.randn(NODES, 32) + labels.view(-1, 1)).to(device)
    edges = torch.randint(NODES, (2, 6 * NODES)).to(device)
    labels = labels.to(device)
    order = torch.randperm(NODES).to(device)
    model = GCN().to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, weight_decay=5e-4)
    for epoch in range(EPOCHS):
        loss = train_epoch(model, optimizer, x, edges, labels, order[:80])
        accuracy = test(model, x, edges, labels, order[80:])
        print(f"epoch {epoch} loss {loss:.4f} accuracy {accuracy:.3f}")


if __name__ == "__main__":
    main()
