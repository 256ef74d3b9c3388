import torch
import torch.nn as nn
from torch.distributions import Categorical


class Corridor:
    def __init__(self, length=6):
        self.length = length

    def reset(self):
        self.pos, self.t = 0, 0
        return self.obs()

    def obs(self):
        return torch.tensor([self.pos / self.length, self.t / 20])

    def step(self, a):
        self.t += 1
        self.pos = max(0, self.pos + (1 if a else -1))
        done = self.pos >= self.length or self.t >= 20
        return self.obs(), (1.0 if self.pos >= self.length else -0.05), done


class Agent(nn.Module):
    def __init__(self):
        super().__init__()
        self.pi = nn.Sequential(nn.Linear(2, 24), nn.Tanh(), nn.Linear(24, 2))
        self.saved, self.rewards = [], []

    def act(self, obs):
        dist = Categorical(logits=self.pi(obs))
        a = dist.sample()
        self.saved.append(dist.log_prob(a))
        return a.item()


def finish(agent, opt, baseline, gamma=0.97):
    ret, returns = 0.0, []
    for r in reversed(agent.rewards):
        ret = r + gamma * ret
        returns.insert(0, ret)
    returns = torch.tensor(returns)
    loss = 0.0
    for logp, g in zip(agent.saved, returns - baseline):
        loss = loss - logp * g
    opt.zero_grad()
    loss.backward()
    opt.step()
    agent.saved.clear()
    agent.rewards.clear()
    return 0.9 * baseline + 0.1 * returns.mean().item()


torch.manual_seed(6)
env, agent = Corridor(), Agent()
opt = torch.optim.Adam(agent.parameters(), lr=0.02)
baseline, lengths = 0.0, []
for episode in range(40):
    obs, done = env.reset(), False
    while not done:
        obs, r, done = env.step(agent.act(obs))
        agent.rewards.append(r)
    lengths.append(env.t)
    baseline = finish(agent, opt, baseline)
print("steps per episode", sum(lengths[:10]) / 10, "->", sum(lengths[-10:]) / 10)
