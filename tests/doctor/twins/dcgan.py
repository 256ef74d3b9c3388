"""The discriminator is cleared by module, and gets its gradients from two backwards."""

import torch
from torch import nn

torch.manual_seed(0)


def weights_init(m):
    if m.__class__.__name__.find("Conv") != -1:
        torch.nn.init.normal_(m.weight, 0.0, 0.02)
    elif m.__class__.__name__.find("BatchNorm") != -1:
        torch.nn.init.normal_(m.weight, 1.0, 0.02)
        torch.nn.init.zeros_(m.bias)


net_g = nn.Sequential(
    nn.ConvTranspose2d(4, 8, 4, 1, 0, bias=False),
    nn.BatchNorm2d(8),
    nn.ReLU(True),
    nn.ConvTranspose2d(8, 1, 4, 2, 1, bias=False),
    nn.Tanh(),
)
net_d = nn.Sequential(
    nn.Conv2d(1, 8, 4, 2, 1, bias=False),
    nn.LeakyReLU(0.2, inplace=True),
    nn.Conv2d(8, 1, 4, 1, 0, bias=False),
    nn.Sigmoid(),
)
net_g.apply(weights_init)
net_d.apply(weights_init)
criterion = nn.BCELoss()
optimizer_d = torch.optim.Adam(net_d.parameters(), lr=2e-4, betas=(0.5, 0.999))
optimizer_g = torch.optim.Adam(net_g.parameters(), lr=2e-4, betas=(0.5, 0.999))
fixed_noise = torch.randn(4, 4, 1, 1)
for i in range(14):
    net_d.zero_grad()
    label = torch.full((4,), 1.0)
    err_real = criterion(net_d(torch.rand(4, 1, 8, 8)).view(-1), label)
    err_real.backward()
    d_x = err_real.mean().item()
    fake = net_g(torch.randn(4, 4, 1, 1))
    label.fill_(0.0)
    err_fake = criterion(net_d(fake.detach()).view(-1), label)
    err_fake.backward()
    err_d = err_real + err_fake
    optimizer_d.step()
    net_g.zero_grad()
    label.fill_(1.0)
    err_g = criterion(net_d(fake).view(-1), label)
    err_g.backward()
    optimizer_g.step()
    if i % 5 == 0:
        shown = net_g(fixed_noise).detach()
print(err_d.item(), err_g.item(), d_x, shown.shape)
