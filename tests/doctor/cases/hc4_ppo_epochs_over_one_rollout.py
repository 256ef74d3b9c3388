import torch
import torch.nn as nn
from torch.distributions import Normal
from torch.utils.checkpoint import checkpoint


class ActorCritic(nn.Module):
    def __init__(self, obs=3, act=1, width=24):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(obs, width), nn.Tanh(), nn.Linear(width, width), nn.Tanh())
        self.mean, self.value = nn.Linear(width, act), nn.Linear(width, 1)
        self.log_std = nn.Parameter(torch.full((act,), -0.5))

    def forward(self, obs):
        h = checkpoint(self.body, obs, use_reentrant=False)
        return Normal(self.mean(h), self.log_std.exp()), self.value(h).squeeze(-1)


def rollout(net, length, gen):
    memory = {"obs": [], "act": [], "logp": [], "val": [], "rew": []}
    obs = torch.randn(3, generator=gen)
    with torch.no_grad():
        for _ in range(length):
            dist, value = net(obs)
            act = dist.mean + dist.stddev * torch.randn(1, generator=gen)
            reward = -(obs[:1] + act).pow(2).sum()
            for key, item in zip(memory, (obs, act, dist.log_prob(act).sum(-1), value, reward)):
                memory[key].append(item)
            obs = 0.8 * obs + 0.3 * torch.randn(3, generator=gen)
    return {key: torch.stack(items) for key, items in memory.items()}


def advantages(roll, gamma=0.9):
    out, running = torch.zeros_like(roll["rew"]), 0.0
    for k in reversed(range(len(out))):
        running = roll["rew"][k] + gamma * running
        out[k] = running
    return out - roll["val"], out


def update(net, opt, roll, epochs=3, minibatch=10):
    adv, ret = advantages(roll)
    for _ in range(epochs):
        for idx in torch.randperm(len(adv)).split(minibatch):
            dist, value = net(roll["obs"][idx])
            ratio = (dist.log_prob(roll["act"][idx]).sum(-1) - roll["logp"][idx]).exp()
            gain = torch.min(ratio * adv[idx], ratio.clamp(0.8, 1.2) * adv[idx]).mean()
            loss = -gain + 0.5 * (ret[idx] - value).pow(2).mean() - 1e-3 * dist.entropy().mean()
            opt.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(net.parameters(), 0.5)
            opt.step()
    return loss.item()


torch.manual_seed(0)
net, generator = ActorCritic(), torch.Generator().manual_seed(1)
opt = torch.optim.Adam(net.parameters(), lr=3e-3)
for iteration in range(3):
    print(iteration, round(update(net, opt, rollout(net, 20, generator)), 4))
