"""torch.compile with XLA behind it: a print in the model splits its graph in each step."""

import torch
import torch_xla
from torch import nn
from torch.nn.functional import mse_loss

BATCH = 64
FEATURES = 32
STEPS = 40


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(FEATURES, FEATURES)
        self.last = nn.Linear(FEATURES, 1)

    def forward(self, inputs):
        hidden = torch.relu(self.first(inputs))
        print("hidden", hidden.shape)
        return self.last(hidden)


def main():
    torch.manual_seed(0)
    device = torch_xla.device()
    model = Model().to(device)
    compiled = torch.compile(model, backend="openxla")
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for _ in range(STEPS):
        inputs = torch.randn(BATCH, FEATURES)
        optimizer.zero_grad()
        loss = mse_loss(compiled(inputs.to(device)), inputs.sum(dim=1, keepdim=True).to(device))
        loss.backward()
        optimizer.step()
        torch_xla.sync()
    print(f"final loss {loss.item():.6g}")


if __name__ == "__main__":
    main()
