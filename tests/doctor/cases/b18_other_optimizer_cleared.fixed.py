import torch
import torch.nn as nn

torch.manual_seed(0)

latent_dim, data_dim, batch_size = 4, 3, 32
netG = nn.Sequential(nn.Linear(latent_dim, 32), nn.ReLU(True), nn.Linear(32, data_dim))
netD = nn.Sequential(nn.Linear(data_dim, 32), nn.LeakyReLU(0.2, True), nn.Linear(32, 1))
optimizerD = torch.optim.Adam(netD.parameters(), lr=1e-3, betas=(0.5, 0.999))
optimizerG = torch.optim.Adam(netG.parameters(), lr=1e-3, betas=(0.5, 0.999))
criterion = nn.BCEWithLogitsLoss()
real_label = torch.ones(batch_size, 1)
fake_label = torch.zeros(batch_size, 1)


def real_batch():
    return torch.randn(batch_size, data_dim) * torch.tensor([0.2, 0.5, 1.0]) + 2.0


for step in range(40):
    # (1) discriminator: maximize log(D(x)) + log(1 - D(G(z)))
    optimizerD.zero_grad()
    errD_real = criterion(netD(real_batch()), real_label)
    errD_real.backward()
    fake = netG(torch.randn(batch_size, latent_dim))
    errD_fake = criterion(netD(fake.detach()), fake_label)
    errD_fake.backward()
    optimizerD.step()

    # (2) generator: maximize log(D(G(z)))
    optimizerG.zero_grad()
    errG = criterion(netD(fake), real_label)
    errG.backward()
    optimizerG.step()

    if step % 10 == 0:
        print(f"[{step}] Loss_D {(errD_real + errD_fake).item():.4f} Loss_G {errG.item():.4f}")
