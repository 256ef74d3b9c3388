import torch
import torch.nn as nn


class Meter:
    def __init__(self):
        self.reset()

    def reset(self):
        self.total, self.count = 0.0, 0

    def update(self, value, n):
        self.total = self.total + value * n
        self.count += n

    @property
    def average(self):
        return float(self.total) / max(1, self.count)


class Denoiser(nn.Module):
    def __init__(self, d=32, width=96):
        super().__init__()
        self.time = nn.Embedding(50, width)
        self.inp = nn.Linear(d, width)
        self.body = nn.Sequential(nn.SiLU(), nn.Linear(width, width), nn.SiLU(), nn.Linear(width, d))

    def forward(self, x, t):
        return self.body(self.inp(x) + self.time(t))


class Diffusion:
    def __init__(self, steps=50):
        beta = torch.linspace(1e-3, 0.1, steps)
        self.alpha_bar = torch.cumprod(1 - beta, 0)
        self.steps = steps

    def loss(self, net, x0):
        t = torch.randint(0, self.steps, (len(x0),))
        a = self.alpha_bar[t].unsqueeze(1)
        noise = torch.randn_like(x0)
        xt = a.sqrt() * x0 + (1 - a).sqrt() * noise
        return (net(xt, t) - noise).pow(2).mean()


def data(n, d=32):
    basis = torch.randn(3, d, generator=torch.Generator().manual_seed(1))
    return torch.randn(n, 3) @ basis


torch.manual_seed(10)
x = data(640)
net, process, meter = Denoiser(), Diffusion(), Meter()
opt = torch.optim.Adam(net.parameters(), lr=2e-3)
for epoch in range(6):
    meter.reset()
    for batch in x.split(32):
        loss = process.loss(net, batch)
        opt.zero_grad()
        loss.backward()
        opt.step()
        meter.update(loss, len(batch))
    print(f"epoch {epoch}: {meter.average:.4f}")
