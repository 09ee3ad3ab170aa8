"""Evaluates a compiled model on batches that are transposed, or of other types, in turn."""

import torch

TYPES = (torch.float32, torch.float64, torch.float16, torch.bfloat16)
STEPS = 24


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first = torch.nn.Linear(32, 32)

    def forward(self, x):
        return torch.relu(self.first(x.float())).mean()


def main():
    torch.manual_seed(0)
    model = Model()
    compiled = torch.compile(model, backend="aot_eager")
    with torch.no_grad():
        for number in range(STEPS):
            x = torch.randn(32, 32).to(TYPES[number // 2 % 4])
            total = compiled(x.t() if number // 8 else x)
    print(f"last mean {total.item():.3g}")


if __name__ == "__main__":
    main()
