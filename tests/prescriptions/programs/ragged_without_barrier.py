"""Training without a barrier, on sentences each of which is as long as it is."""

import torch
import torch_xla

device = torch_xla.device()
torch.manual_seed(0)
model = torch.nn.Sequential(
    torch.nn.Embedding(50, 32), torch.nn.Linear(32, 64), torch.nn.GELU(), torch.nn.Linear(64, 50)
).to(device)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
sentences = [torch.randint(0, 50, (8, length)) for length in (9, 17, 12, 30, 21, 14, 26, 11)]

for sentence in sentences:
    tokens = sentence.to(device)
    optimizer.zero_grad()
    logits = model(tokens[:, :-1])
    loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten())
    loss.backward()
    optimizer.step()
    print(f"loss {loss.item():.3f}")
