import torch
import torch.nn as nn
import torch.optim as optim
from torch.distributions import Categorical


class Corridor:
    """Walk right to reach the goal."""

    def __init__(self, n=6):
        self.n = n

    def reset(self):
        self.pos = 0
        self.t = 0
        return self._obs()

    def _obs(self):
        v = torch.zeros(self.n)
        v[self.pos] = 1.0
        return v

    def step(self, a):
        self.pos = max(0, min(self.n - 1, self.pos + (1 if a == 1 else -1)))
        self.t += 1
        done = self.pos == self.n - 1 or self.t >= 30
        return self._obs(), 1.0 if self.pos == self.n - 1 else -0.05, done


class Agent(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(n, 32), nn.Tanh(), nn.Linear(32, 32), nn.Tanh())
        self.pi = nn.Linear(32, 2)
        self.v = nn.Linear(32, 1)

    def forward(self, s):
        h = self.body(s)
        return Categorical(logits=self.pi(h)), self.v(h).squeeze(-1)


torch.manual_seed(0)
env = Corridor()
agent = Agent(env.n)
actor_opt = optim.Adam(list(agent.body.parameters()) + list(agent.pi.parameters()), lr=5e-3)
critic_opt = optim.Adam(list(agent.body.parameters()) + list(agent.v.parameters()), lr=5e-3)
gamma = 0.97

for episode in range(60):
    s, done, logps, values, rewards = env.reset(), False, [], [], []
    while not done:
        dist, v = agent(s)
        a = dist.sample()
        s, r, done = env.step(a.item())
        logps.append(dist.log_prob(a))
        values.append(v)
        rewards.append(r)

    G, returns = 0.0, []
    for r in reversed(rewards):
        G = r + gamma * G
        returns.insert(0, G)
    returns, values, logps = torch.tensor(returns), torch.stack(values), torch.stack(logps)
    actor_loss = -(logps * (returns - values.detach())).sum()
    critic_loss = (returns - values).pow(2).mean()

    actor_opt.zero_grad()
    actor_loss.backward(retain_graph=True)
    actor_opt.step()
    critic_opt.zero_grad()
    critic_loss.backward()
    critic_opt.step()
    if episode % 15 == 0 or episode == 59:
        print(f"episode {episode} steps {len(rewards)} return {sum(rewards):.2f} critic loss {critic_loss.item():.4f}")
