"""A variational autoencoder that keeps a running loss."""

import torch
import torch_xla
from torch import nn
from torch.nn import functional as F  # noqa: N812
from torch.utils.data import DataLoader

torch.manual_seed(0)
device = torch_xla.device()
data = torch.rand(7 * 64, 100).round()
loader = DataLoader(data, batch_size=64, shuffle=True)


class VAE(nn.Module):
    def __init__(self):
        super().__init__()
        self.hidden = nn.Linear(100, 48)
        self.mean = nn.Linear(48, 8)
        self.log_variance = nn.Linear(48, 8)
        self.decoder = nn.Sequential(nn.Linear(8, 48), nn.ReLU(), nn.Linear(48, 100), nn.Sigmoid())

    def forward(self, x):
        h = F.relu(self.hidden(x))
        mean, log_variance = self.mean(h), self.log_variance(h)
        std = torch.exp(0.5 * log_variance)
        return self.decoder(mean + torch.randn_like(std) * std), mean, log_variance


def loss_function(reconstructed, x, mean, log_variance):
    likelihood = F.binary_cross_entropy(reconstructed, x, reduction="sum")
    divergence = -0.5 * torch.sum(1 + log_variance - mean.pow(2) - log_variance.exp())
    return likelihood + divergence


model = VAE().to(device)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
model.train()
train_loss = 0.0
for batch_idx, batch in enumerate(loader):
    x = batch.to(device)
    optimizer.zero_grad()
    reconstructed, mean, log_variance = model(x)
    loss = loss_function(reconstructed, x, mean, log_variance)
    loss.backward()
    train_loss += loss.item()
    optimizer.step()
    if batch_idx % 3 == 0:
        print(f"[{batch_idx}/{len(loader)}] loss {train_loss / (batch_idx + 1) / len(x):.3f}")
print(f"average loss {train_loss / len(data):.4f}")
