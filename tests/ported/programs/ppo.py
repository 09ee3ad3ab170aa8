"""Proximal policy optimization: plays some steps, then learns from them, again and again."""

import numpy as np
import torch
import torch_xla
from torch import nn, optim
from torch.distributions import Categorical

ENVS, STEPS, ITERATIONS = 4, 5, 2
EPOCHS, MINIBATCHES = 1, 2
GAMMA, LAMBDA, CLIP = 0.99, 0.95, 0.2


class Corridors:
    """Corridors of nine fields; whoever reaches the right end is sent back to the middle."""

    def __init__(self, count):
        self.rng = np.random.default_rng(0)
        self.place = self.rng.integers(2, 7, count)

    def observe(self):
        return np.stack([self.place / 8, self.place % 2, np.ones_like(self.place)], axis=1)

    def step(self, action):
        self.place = np.clip(self.place + 2 * action - 1, 0, 8)
        done = self.place == 8
        self.place[done] = 4
        return self.observe(), done.astype(np.float32), done


class Agent(nn.Module):
    def __init__(self):
        super().__init__()
        self.critic = nn.Sequential(nn.Linear(3, 16), nn.Tanh(), nn.Linear(16, 1))
        self.actor = nn.Sequential(nn.Linear(3, 16), nn.Tanh(), nn.Linear(16, 2))

    def get_value(self, x):
        return self.critic(x)

    def get_action_and_value(self, x, action=None):
        probs = Categorical(logits=self.actor(x), validate_args=False)
        if action is None:
            action = probs.sample()
        return action, probs.log_prob(action), probs.entropy(), self.critic(x)


def generalized_advantages(rewards, values, dones, next_value, next_done):
    advantages, last = [], torch.zeros_like(next_done)
    for t in reversed(range(STEPS)):
        alive = 1.0 - (next_done if t == STEPS - 1 else dones[t + 1])
        following = next_value if t == STEPS - 1 else values[t + 1]
        delta = rewards[t] + GAMMA * following * alive - values[t]
        last = delta + GAMMA * LAMBDA * alive * last
        advantages.insert(0, last)
    return torch.cat(advantages)


def main():
    np.random.seed(1)
    torch.manual_seed(1)
    device = torch_xla.device()
    envs = Corridors(ENVS)
    agent = Agent().to(device)
    optimizer = optim.Adam(agent.parameters(), lr=2.5e-3, eps=1e-5)
    next_obs = torch.tensor(envs.observe(), dtype=torch.float32).to(device)
    next_done = torch.zeros(ENVS).to(device)

    for iteration in range(1, ITERATIONS + 1):
        obs, actions, logprobs, rewards, dones, values = [], [], [], [], [], []
        for _ in range(STEPS):
            obs.append(next_obs)
            dones.append(next_done)
            with torch.no_grad():
                action, logprob, _, value = agent.get_action_and_value(next_obs)
            values.append(value.flatten())
            actions.append(action)
            logprobs.append(logprob)
            observed, reward, done = envs.step(action.cpu().numpy())
            rewards.append(torch.tensor(reward).to(device))
            next_obs = torch.tensor(observed, dtype=torch.float32).to(device)
            next_done = torch.tensor(done, dtype=torch.float32).to(device)

        with torch.no_grad():
            next_value = agent.get_value(next_obs).flatten()
            b_advantages = generalized_advantages(rewards, values, dones, next_value, next_done)
        b_returns = b_advantages + torch.cat(values)
        b_obs, b_actions, b_logprobs = torch.cat(obs), torch.cat(actions), torch.cat(logprobs)

        order = np.arange(ENVS * STEPS)
        clipfracs = []
        for _ in range(EPOCHS):
            np.random.shuffle(order)
            for chosen in np.split(order, MINIBATCHES):
                mb_inds = torch.from_numpy(chosen).to(device)
                _, newlogprob, entropy, newvalue = agent.get_action_and_value(
                    b_obs[mb_inds], b_actions[mb_inds]
                )
                logratio = newlogprob - b_logprobs[mb_inds]
                ratio = logratio.exp()
                with torch.no_grad():
                    clipfracs.append(((ratio - 1.0).abs() > CLIP).float().mean().item())
                advantage = b_advantages[mb_inds]
                advantage = (advantage - advantage.mean()) / (advantage.std() + 1e-8)
                clipped = torch.clamp(ratio, 1 - CLIP, 1 + CLIP)
                pg_loss = torch.max(-advantage * ratio, -advantage * clipped).mean()
                v_loss = 0.5 * ((newvalue.flatten() - b_returns[mb_inds]) ** 2).mean()
                loss = pg_loss - 0.01 * entropy.mean() + 0.5 * v_loss
                optimizer.zero_grad()
                loss.backward()
                nn.utils.clip_grad_norm_(agent.parameters(), 0.5)
                optimizer.step()
        print(f"iteration {iteration} value loss {v_loss.item():.4f} clipped {np.mean(clipfracs)}")


if __name__ == "__main__":
    main()
