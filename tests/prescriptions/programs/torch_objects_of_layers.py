"""Trains a model whose layers, of one class, each own a function for their activation."""

import torch

ACTIVATIONS = (
    torch.tanh, torch.relu, torch.sigmoid, torch.sin, torch.cos, torch.erf, torch.atan,
    torch.asinh, torch.sinc, torch.abs, torch.neg, torch.square,
)  # fmt: skip
STEPS = 12


class Layer(torch.nn.Module):
    def __init__(self, activation):
        super().__init__()
        self.linear = torch.nn.Linear(32, 32)
        self.activation = activation

    def forward(self, x):
        return x + self.activation(self.linear(x))


def main():
    torch.manual_seed(0)
    model = torch.nn.Sequential(*(Layer(activation) for activation in ACTIVATIONS))
    for layer in model:
        layer.compile(backend="aot_eager")
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for _ in range(STEPS):
        loss = model(torch.randn(16, 32)).square().mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    print(f"final loss {loss.item():.5g}")


if __name__ == "__main__":
    main()
