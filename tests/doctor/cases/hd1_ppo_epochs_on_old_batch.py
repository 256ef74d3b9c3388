import torch
import torch.nn as nn
from torch.distributions import Normal

torch.manual_seed(0)


class ActorCritic(nn.Module):
    def __init__(self):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(4, 32), nn.Tanh())
        self.mean = nn.Linear(32, 1)
        self.value = nn.Linear(32, 1)
        self.log_std = nn.Parameter(torch.zeros(1))

    def forward(self, obs):
        h = self.trunk(obs)
        return Normal(self.mean(h), self.log_std.exp()), self.value(h)


def rollout(net, n=32):
    obs = torch.randn(n, 4)
    dist, value = net(obs)
    act = dist.sample()
    reward = -(act - obs.sum(1, keepdim=True)).abs()
    # recorded on purpose: the old policy of the update is a constant
    return obs, act, dist.log_prob(act).detach(), (reward - value).detach(), reward


net = ActorCritic()
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
old_values = None
for it in range(3):
    obs, act, old_logp, adv, ret = rollout(net)
    adv = (adv - adv.mean()) / (adv.std() + 1e-6)
    for epoch in range(4):
        dist, value = net(obs)
        ratio = (dist.log_prob(act) - old_logp).exp()
        if old_values is None or epoch == 0:
            old_values = value.detach()
        clipped = old_values + (value - old_values).clamp(-0.2, 0.2)
        policy_loss = -torch.min(ratio * adv, ratio.clamp(0.8, 1.2) * adv).mean()
        value_loss = torch.max((value - ret) ** 2, (clipped - ret) ** 2).mean()
        opt.zero_grad()
        policy_loss.backward(retain_graph=True)
        policy_norm = sum(p.grad.norm() ** 2 for p in net.parameters() if p.grad is not None).sqrt()
        value_loss.mul(0.5).backward()
        nn.utils.clip_grad_norm_(net.parameters(), 0.5)
        opt.step()
    print(it, round(policy_norm.item(), 4), round(value_loss.item(), 4))
