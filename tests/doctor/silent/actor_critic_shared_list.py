import torch
import torch.nn as nn
policy, value = nn.Linear(3, 2), nn.Linear(3, 1)
opt = torch.optim.Adam([*policy.parameters(), *value.parameters()])
returns = []
for episode in range(8):
    logs, values, rewards = [], [], []
    for t in range(5):
        s = torch.randn(3)
        d = torch.distributions.Categorical(logits=policy(s))
        a = d.sample()
        logs.append(d.log_prob(a)); values.append(value(s)); rewards.append(float(a))
    R = torch.tensor(rewards).flip(0).cumsum(0).flip(0)
    V = torch.cat(values)
    loss = -(torch.stack(logs) * (R - V.detach())).sum() + (V - R).pow(2).sum()
    opt.zero_grad()
    loss.backward()
    opt.step()
    returns.append(R[0])
