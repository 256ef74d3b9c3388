import torch
from torch import nn

torch.manual_seed(0)
pi = nn.Linear(3, 2)
o = torch.optim.Adam(pi.parameters())
for _ in range(5):
    obs, act, adv = torch.randn(6, 3), torch.randint(0, 2, (6,)), torch.randn(6)
    old = torch.log_softmax(pi(obs), 1).gather(1, act[:, None]).detach()
    for _ in range(3):
        new = torch.log_softmax(pi(obs), 1).gather(1, act[:, None])
        ratio = (new - old).exp()
        loss = -(ratio * adv[:, None]).mean()
        o.zero_grad()
        loss.backward()
        o.step()
