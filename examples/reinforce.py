"""REINFORCE: a policy that learns from whole episodes, by the log-probability of what it did."""

import torch
from cartpole import CartPole
from torch import nn
from torch.distributions import Categorical


def main() -> None:
    torch.manual_seed(7)
    world = CartPole(seed=7)
    policy = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 2))
    optimizer = torch.optim.Adam(policy.parameters(), lr=0.01)

    lengths = []
    for episode in range(1, 41):
        state, done = world.reset(), False
        scores, rewards = [], []
        while not done:
            choice = Categorical(logits=policy(torch.tensor(state)))
            action = choice.sample()
            scores.append(choice.log_prob(action))  # in the graph, until the end of the episode
            state, reward, done = world.step(action.item())
            rewards.append(reward)

        returns, later = [], 0.0
        for reward in reversed(rewards):
            later = reward + 0.99 * later
            returns.append(later)
        returns = torch.tensor(returns[::-1])
        returns = (returns - returns.mean()) / (returns.std() + 1e-6)

        loss = -(torch.stack(scores) * returns).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        lengths.append(len(rewards))
        if episode % 8 == 0:
            recent = sum(lengths[-8:]) / 8
            print(f"episode {episode:2d}  loss {loss.item():.4f}  mean length {recent:.1f}")


if __name__ == "__main__":
    main()
