import torch
from torch import nn

torch.manual_seed(0)
pi = nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 2))
o = torch.optim.Adam(pi.parameters())
def log_probs(obs, act):
    return torch.distributions.Categorical(logits=pi(obs)).log_prob(act)
for _ in range(5):
    obs = torch.randn(6, 3)
    with torch.no_grad():
        act = torch.distributions.Categorical(logits=pi(obs)).sample()
    adv = torch.randn(6)
    old = log_probs(obs, act)  # target-with-gradient: detach
    for _ in range(1):
        new = log_probs(obs, act)
        ratio = (new - old).exp()
        loss = -torch.minimum(ratio * adv, ratio.clamp(0.8, 1.2) * adv).mean()
        o.zero_grad()
        loss.backward()
        o.step()
