import torch
import torch.nn as nn
import torch.optim as optim
from torch.distributions import Categorical


class Bandit:
    """A contextual bandit played for a few rounds: the right arm depends on the context."""

    def __init__(self, arms, rounds, seed):
        self.gen = torch.Generator().manual_seed(seed)
        self.table = torch.randn(arms, 4, generator=self.gen)
        self.rounds = rounds

    def contexts(self):
        for _ in range(self.rounds):
            yield torch.randn(4, generator=self.gen)

    def reward(self, context, arm):
        return 1.0 if (self.table @ context).argmax().item() == arm else 0.0


class Policy(nn.Module):
    def __init__(self, arms):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, arms))
        self.saved_log_probs = []
        self.rewards = []

    def select(self, context):
        dist = Categorical(logits=self.net(context))
        arm = dist.sample()
        self.saved_log_probs.append(dist.log_prob(arm))
        return arm.item()


def finish_episode(policy, optimizer):
    rewards = torch.tensor(policy.rewards)
    advantages = rewards - rewards.mean()
    loss = 0.0
    for log_prob, advantage in zip(policy.saved_log_probs, advantages):
        loss = loss - log_prob * advantage
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return rewards[-BATCH:].mean().item()


BATCH = 20


def main():
    torch.manual_seed(0)
    bandit = Bandit(arms=3, rounds=BATCH, seed=6)
    policy = Policy(arms=3)
    optimizer = optim.Adam(policy.parameters(), lr=2e-2)
    for episode in range(15):
        for context in bandit.contexts():
            arm = policy.select(context)
            policy.rewards.append(bandit.reward(context, arm))
        score = finish_episode(policy, optimizer)
        if episode % 5 == 4:
            print(f"episode {episode} score {score:.2f}")


if __name__ == "__main__":
    main()
