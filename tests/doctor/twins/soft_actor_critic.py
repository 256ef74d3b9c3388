"""Two critics in one optimizer, a delayed actor that steps twice, a temperature by itself."""

import copy

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)


def critic():
    return nn.Sequential(nn.Linear(5, 16), nn.ReLU(), nn.Linear(16, 1))


class Actor(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(4, 16)
        self.mean, self.log_std = nn.Linear(16, 1), nn.Linear(16, 1)
        self.register_buffer("scale", torch.tensor(2.0))

    def forward(self, x):
        x = F.relu(self.body(x))
        log_std = torch.tanh(self.log_std(x))
        return self.mean(x), -5 + 0.5 * 7 * (log_std + 1)

    def act(self, x):
        mean, log_std = self(x)
        normal = torch.distributions.Normal(mean, log_std.exp())
        sample = normal.rsample()
        bounded = torch.tanh(sample)
        log_prob = normal.log_prob(sample)
        log_prob -= torch.log(self.scale * (1 - bounded.pow(2)) + 1e-6)
        return bounded * self.scale, log_prob.sum(1, keepdim=True)


actor, qf1, qf2 = Actor(), critic(), critic()
qf1_target, qf2_target = copy.deepcopy(qf1), copy.deepcopy(qf2)
q_optimizer = torch.optim.Adam([*qf1.parameters(), *qf2.parameters()], lr=1e-3)
actor_optimizer = torch.optim.Adam(list(actor.parameters()), lr=3e-4)
log_alpha = torch.zeros(1, requires_grad=True)
alpha = log_alpha.exp().item()
a_optimizer = torch.optim.Adam([log_alpha], lr=1e-3)
replay = []
state = torch.randn(1, 4)
for step in range(40):
    action, _ = actor.act(state)
    action = action.detach()
    following = 0.9 * state + 0.1 * action + 0.1 * torch.randn(1, 4)
    replay.append((state, action, -following.pow(2).sum(1), following))
    state = following
    if step < 10:
        continue
    chosen = [replay[i] for i in torch.randint(len(replay), (8,))]
    s, a, r, n = (torch.cat(part) for part in zip(*chosen))
    with torch.no_grad():
        next_action, next_log_pi = actor.act(n)
        both = torch.cat([n, next_action], 1)
        target = torch.min(qf1_target(both), qf2_target(both)) - alpha * next_log_pi
        next_q = r + 0.99 * target.view(-1)
    both = torch.cat([s, a], 1)
    q_loss = F.mse_loss(qf1(both).view(-1), next_q) + F.mse_loss(qf2(both).view(-1), next_q)
    q_optimizer.zero_grad()
    q_loss.backward()
    q_optimizer.step()
    if step % 2 == 0:
        for _ in range(2):
            pi, log_pi = actor.act(s)
            both = torch.cat([s, pi], 1)
            actor_loss = ((alpha * log_pi) - torch.min(qf1(both), qf2(both))).mean()
            actor_optimizer.zero_grad()
            actor_loss.backward()
            actor_optimizer.step()
            with torch.no_grad():
                _, log_pi = actor.act(s)
            alpha_loss = (-log_alpha.exp() * (log_pi - 1.0)).mean()
            a_optimizer.zero_grad()
            alpha_loss.backward()
            a_optimizer.step()
            alpha = log_alpha.exp().item()
    for net, aim in ((qf1, qf1_target), (qf2, qf2_target)):
        for p, t in zip(net.parameters(), aim.parameters()):
            t.data.copy_(0.005 * p.data + 0.995 * t.data)
print("q", q_loss.item(), "actor", actor_loss.item(), "alpha", alpha)
