"""Trains a policy on rewards, less the mean of all rewards so far, which are kept in a list.

The list is one tensor longer in every step, so each step has another graph.
"""

import torch
import torch_xla
from torch import nn
from torch.nn.functional import one_hot

BATCH = 128
FEATURES = 16
ACTIONS = 4
STEPS = 24


def batches(steps):
    """Yield what the policy sees, the reward of each action, and noise to draw actions with."""
    mixing = torch.randn(FEATURES, ACTIONS) / FEATURES**0.5
    for _ in range(steps):
        states = torch.randn(BATCH, FEATURES)
        noise = -torch.empty(BATCH, ACTIONS).exponential_().log()
        yield states, torch.sigmoid(4 * states @ mixing), noise


def train(model, device):
    optimizer = torch.optim.SGD(model.parameters(), lr=2.0)
    history = []
    for states, rewards, noise in batches(STEPS):
        states, rewards, noise = states.to(device), rewards.to(device), noise.to(device)
        optimizer.zero_grad()
        logits = model(states).log_softmax(dim=1)
        taken = one_hot((logits.detach() + noise).argmax(dim=1), ACTIONS)
        reward = (rewards * taken).sum(dim=1)
        history.append(reward.mean())
        baseline = torch.stack(history).mean()
        loss = -((reward - baseline) * (logits * taken).sum(dim=1)).mean()
        loss.backward()
        optimizer.step()
        torch_xla.sync()
    return baseline


def main():
    torch.manual_seed(0)
    device = torch_xla.device()
    baseline = train(nn.Linear(FEATURES, ACTIONS).to(device), device)
    print(f"mean reward {baseline.item():.9g}")


if __name__ == "__main__":
    main()
