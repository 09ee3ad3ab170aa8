"""An actor and a critic that learn to balance a pole, an episode at a time."""

import math
import random

import torch
import torch_xla
from torch import nn
from torch.distributions import Categorical
from torch.nn import functional as F  # noqa: N812

EPISODES = 3
device = torch_xla.device()


class Pole:
    """A pole on a cart; it falls if it leans more than 12 degrees."""

    def reset(self):
        self.state = [0.0, 0.0, random.uniform(0.14, 0.18), 0.5]
        return self.state

    def step(self, action):
        x, speed, angle, turn = self.state
        force = 10.0 if action else -10.0
        push = (force + 0.05 * turn**2 * math.sin(angle)) / 1.1
        swing = (9.8 * math.sin(angle) - math.cos(angle) * push) / (0.66 - 0.05 * math.cos(angle))
        drive = push - 0.05 * swing * math.cos(angle) / 1.1
        self.state = [x + 0.02 * speed, speed + 0.02 * drive, angle + 0.02 * turn,
                      turn + 0.02 * swing]  # fmt: skip
        return self.state, 1.0, abs(self.state[2]) > 0.21


class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.affine = nn.Linear(4, 32)
        self.action_head = nn.Linear(32, 2)
        self.value_head = nn.Linear(32, 1)
        self.saved = []
        self.rewards = []

    def forward(self, x):
        x = F.relu(self.affine(x))
        return F.softmax(self.action_head(x), dim=-1), self.value_head(x)


def select_action(model, state):
    probabilities, value = model(torch.tensor(state).to(device))
    choice = Categorical(probabilities)
    action = choice.sample()
    model.saved.append((choice.log_prob(action), value))
    return action.item()


def finish_episode(model, optimizer):
    returns = []
    total = 0.0
    for reward in reversed(model.rewards):
        total = reward + 0.99 * total
        returns.insert(0, total)
    returns = torch.tensor(returns)
    returns = (returns - returns.mean()) / (returns.std() + 1e-6)
    losses = []
    for (log_prob, value), target in zip(model.saved, returns.tolist(), strict=True):
        advantage = target - value.item()
        losses += [
            -log_prob * advantage,
            F.smooth_l1_loss(value[0], torch.tensor(target).to(device)),
        ]
    optimizer.zero_grad()
    torch.stack(losses).sum().backward()
    optimizer.step()
    model.rewards.clear()
    model.saved.clear()


def main():
    random.seed(543)
    torch.manual_seed(543)
    model = Policy().to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-2)
    env = Pole()
    for episode in range(EPISODES):
        state, done = env.reset(), False
        while not done:
            state, reward, done = env.step(select_action(model, state))
            model.rewards.append(reward)
        print(f"episode {episode} lasted {len(model.rewards)} steps")
        finish_episode(model, optimizer)


if __name__ == "__main__":
    main()
