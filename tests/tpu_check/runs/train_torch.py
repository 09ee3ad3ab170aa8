"""A loop with a smaller last batch, and an evaluation: each compiles a graph after the loop's.

xladoctor run --trace-steps 0 --output torch_xla train_torch.py   # torch_xla 2.9.0, on a CPU
"""

import torch
import torch_xla

device = torch_xla.device()
layers = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.Linear(64, 64)).to(device)
optimizer = torch.optim.SGD(layers.parameters(), lr=0.1, momentum=0.9)
for _ in range(2):
    for number in range(10):
        inputs = torch.randn(8 if number < 9 else 5, 64).to(device)
        optimizer.zero_grad()
        loss = layers(inputs).pow(2).mean()
        loss.backward()
        optimizer.step()
        torch_xla.sync()
    with torch.no_grad():
        for _ in range(4):
            inputs = torch.randn(32, 64).to(device)
            mean = layers(inputs).mean()
            torch_xla.sync()
