import itertools

import torch
from torch import nn

torch.manual_seed(0)


class Encoder(nn.Module):
    def __init__(self, pixels, code):
        super().__init__()
        self.hidden = nn.Linear(pixels, 24)
        self.mu = nn.Linear(24, code)
        self.log_var = nn.Linear(24, code)

    def forward(self, x):
        h = torch.relu(self.hidden(x))
        return self.mu(h), self.log_var(h)


def reparametrize(mu, log_var):
    return mu + torch.randn_like(mu) * (0.5 * log_var).exp()


encoder = Encoder(16, 2)
decoder = nn.Sequential(nn.Linear(2, 24), nn.ReLU(), nn.Linear(24, 16))
optimizer = torch.optim.SGD(
    itertools.chain(encoder.parameters(), decoder.parameters()), lr=0.02, momentum=0.5
)
bars = torch.eye(4).repeat_interleave(4, dim=1)

for step in range(60):
    x = bars[torch.randint(0, 4, (32,))] + 0.05 * torch.randn(32, 16)
    mu, log_var = encoder(x)
    reconstruction = decoder(reparametrize(mu, log_var))
    distortion = (reconstruction - x).square().sum(1).mean()
    rate = -0.5 * (1 + log_var - mu.square() - log_var.exp()).sum(1).mean()
    loss = distortion + 0.05 * rate
    encoder.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 15 == 14:
        print(f"step {step} distortion {distortion.item():.4f} rate {rate.item():.4f}")
