import torch
import torch.nn as nn
import torch.nn.functional as F

GAMMA, LAM = 0.95, 0.9


def mlp(*sizes):
    layers = []
    for a, b in zip(sizes[:-2], sizes[1:-1]):
        layers += [nn.Linear(a, b), nn.Tanh()]
    return nn.Sequential(*layers, nn.Linear(sizes[-2], sizes[-1]))


class PointMass:
    """Push a point to the origin; the action is a force."""

    def __init__(self, gen):
        self.gen = gen

    def rollout(self, policy, log_std, steps=16):
        state = torch.randn(2, generator=self.gen)
        batch = {"obs": [], "act": [], "rew": []}
        for _ in range(steps):
            with torch.no_grad():
                mean = policy(state)
            act = mean + log_std.exp().detach() * torch.randn(1, generator=self.gen)
            batch["obs"].append(state)
            batch["act"].append(act)
            state = torch.stack([state[0] + 0.1 * state[1], state[1] + 0.1 * act[0]])
            batch["rew"].append(-state.pow(2).sum())
        return {key: torch.stack(value) for key, value in batch.items()}


def gae(rewards, values):
    following = torch.cat([values[1:], values.new_zeros(1)])
    deltas = rewards + GAMMA * following - values
    advantages, running = [], 0.0
    for delta in reversed(deltas.unbind()):
        running = delta + GAMMA * LAM * running
        advantages.append(running)
    return torch.stack(advantages[::-1])


class Agent:
    def __init__(self):
        self.actor, self.critic = mlp(2, 16, 1), mlp(2, 16, 1)
        self.log_std = torch.zeros(1, requires_grad=True)
        self.pi_opt = torch.optim.Adam([*self.actor.parameters(), self.log_std], lr=1e-2)
        self.v_opt = torch.optim.Adam(self.critic.parameters(), lr=1e-2)

    def log_prob(self, obs, act):
        dist = torch.distributions.Normal(self.actor(obs), self.log_std.exp())
        return dist.log_prob(act).squeeze(-1)

    def learn(self, batch):
        values = self.critic(batch["obs"]).squeeze(-1)
        advantages = gae(batch["rew"], values)
        returns = (advantages + values).detach()
        self.pi_opt.zero_grad()
        self.v_opt.zero_grad()
        pi_loss = -(self.log_prob(batch["obs"], batch["act"]) * advantages).mean()
        pi_loss.backward()
        self.pi_opt.step()
        v_loss = F.mse_loss(values, returns)
        v_loss.backward()
        self.v_opt.step()
        return pi_loss.item(), v_loss.item()


torch.manual_seed(0)
agent = Agent()
env = PointMass(torch.Generator().manual_seed(2))
for update in range(10):
    pi, v = agent.learn(env.rollout(agent.actor, agent.log_std))
    if update % 3 == 0:
        print(update, round(pi, 4), round(v, 4))
