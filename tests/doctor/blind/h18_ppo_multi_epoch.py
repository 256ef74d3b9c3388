import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.distributions import Categorical

torch.manual_seed(118)


class ActorCritic(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(4, 32), nn.Tanh())
        self.pi, self.v = nn.Linear(32, 4), nn.Linear(32, 1)

    def forward(self, x):
        h = self.body(x)
        return Categorical(logits=self.pi(h)), self.v(h).squeeze(-1)


@torch.no_grad()
def rollout(net, n=256):
    s = torch.randn(n, 4)
    dist, v = net(s)
    a = dist.sample()
    r = (a == s.argmax(1)).float()
    adv = r - v
    return {"s": s, "a": a, "logp": dist.log_prob(a), "ret": r, "adv": (adv - adv.mean()) / adv.std()}


net = ActorCritic()
opt = torch.optim.Adam(net.parameters(), lr=4e-3)
for it in range(15):
    data = rollout(net)
    for epoch in range(3):
        for idx in torch.randperm(256).split(64):
            b = {k: t[idx] for k, t in data.items()}
            dist, v = net(b["s"])
            ratio = (dist.log_prob(b["a"]) - b["logp"]).exp()
            pg = -torch.min(ratio * b["adv"], ratio.clamp(0.8, 1.2) * b["adv"]).mean()
            loss = pg + 0.5 * F.mse_loss(v, b["ret"]) - 0.01 * dist.entropy().mean()
            opt.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(net.parameters(), 0.5)
            opt.step()
            kl = (b["logp"] - dist.log_prob(b["a"]).detach()).mean().item()
        if kl > 0.05:
            break
    if it % 5 == 0:
        print(f"{it} reward {data['ret'].mean().item():.3f} kl {kl:.4f} loss {loss.item():.3f}")
