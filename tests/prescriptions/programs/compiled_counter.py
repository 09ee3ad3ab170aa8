"""torch.compile with XLA behind it: a temperature in an attribute is another number each time."""

import torch
import torch_xla
from torch import nn

BATCH = 64
FEATURES = 32
STEPS = 30


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(FEATURES, FEATURES)
        self.last = nn.Linear(FEATURES, 10)
        self.temperature = 1.0

    def forward(self, inputs):
        return torch.softmax(self.last(torch.relu(self.first(inputs))) / self.temperature, dim=1)


def main():
    torch.manual_seed(0)
    device = torch_xla.device()
    model = Model().to(device).eval()
    compiled = torch.compile(model, backend="openxla")
    entropy = torch.zeros(1).to(device)
    with torch.no_grad():
        for step in range(STEPS):
            model.temperature = 1.0 / (1 + step)
            chances = compiled(torch.randn(BATCH, FEATURES).to(device))
            entropy -= (chances * torch.log(chances + 1e-9)).sum(dim=1).mean()
            torch_xla.sync()
    print(f"mean entropy {entropy.item() / STEPS:.6g}")


if __name__ == "__main__":
    main()
