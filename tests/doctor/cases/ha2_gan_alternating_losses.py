import torch
import torch.nn as nn
import torch.nn.functional as F


class ConditionalGAN:
    def __init__(self, latent=5, classes=3):
        self.latent, self.classes = latent, classes
        self.G = nn.Sequential(nn.Linear(latent + classes, 24), nn.ReLU(), nn.Linear(24, 2))
        self.D = nn.Sequential(nn.Linear(2 + classes, 24), nn.LeakyReLU(0.1), nn.Linear(24, 1))
        self.opt_G = torch.optim.Adam(self.G.parameters(), lr=2e-3, betas=(0.5, 0.9))
        self.opt_D = torch.optim.Adam(self.D.parameters(), lr=2e-3, betas=(0.5, 0.9))

    def fake(self, onehot):
        z = torch.randn(len(onehot), self.latent)
        return self.G(torch.cat([z, onehot], dim=1))

    def judge(self, x, onehot):
        return self.D(torch.cat([x, onehot], dim=1))

    def train_step(self, real, labels):
        onehot = F.one_hot(labels, self.classes).float()
        fake = self.fake(onehot)

        # discriminator: the fakes are data
        self.opt_D.zero_grad()
        d_real = F.softplus(-self.judge(real, onehot)).mean()
        d_real.backward()
        d_fake = F.softplus(self.judge(fake.detach(), onehot)).mean()
        d_fake.backward()
        self.opt_D.step()

        # generator: the same fakes, judged by the new discriminator; D's gradients from
        # this backward are thrown away by the next opt_D.zero_grad()
        self.opt_G.zero_grad()
        g_loss = F.softplus(-self.judge(fake, onehot)).mean()
        g_loss.backward()
        self.opt_G.step()
        return (d_real + d_fake).item(), g_loss.item()


def clusters(n):
    labels = torch.randint(0, 3, (n,))
    centers = torch.tensor([[1.0, 0.0], [-0.5, 0.9], [-0.5, -0.9]])
    return centers[labels] + 0.1 * torch.randn(n, 2), labels


if __name__ == "__main__":
    torch.manual_seed(0)
    gan = ConditionalGAN()
    for it in range(30):
        d, g = gan.train_step(*clusters(32))
        if it % 10 == 9:
            print(f"{it} D {d:.4f} G {g:.4f}")
