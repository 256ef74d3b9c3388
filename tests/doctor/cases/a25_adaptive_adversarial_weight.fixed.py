import torch
import torch.nn as nn
import torch.nn.functional as F


class Autoencoder(nn.Module):
    def __init__(self, dim=20, code=4):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(dim, 32), nn.ReLU(), nn.Linear(32, code))
        self.decoder = nn.Sequential(nn.Linear(code, 32), nn.ReLU(), nn.Linear(32, dim))

    @property
    def last_layer(self):
        return self.decoder[-1].weight

    def forward(self, x):
        return self.decoder(self.encoder(x))


class AdaptiveLoss:
    """Balances reconstruction and adversarial terms by their gradients at the last layer."""

    def __init__(self, discriminator, maximum=10.0):
        self.discriminator = discriminator
        self.maximum = maximum

    def gradient_norm(self, loss, weight):
        return torch.autograd.grad(loss, weight, retain_graph=True)[0].norm()

    def __call__(self, model, x):
        recon = model(x)
        nll = F.l1_loss(recon, x)
        adversarial = -self.discriminator(recon).mean()
        nll_norm = self.gradient_norm(nll, model.last_layer)
        adv_norm = self.gradient_norm(adversarial, model.last_layer)
        weight = (nll_norm / (adv_norm + 1e-4)).clamp(0.0, self.maximum)
        return nll + weight * adversarial, weight.item()


def discriminator_loss(discriminator, real, fake):
    return (F.relu(1 - discriminator(real)) + F.relu(1 + discriminator(fake))).mean()


def main():
    torch.manual_seed(0)
    mixing = torch.randn(4, 20)
    model = Autoencoder()
    disc = nn.Sequential(nn.Linear(20, 24), nn.LeakyReLU(0.2), nn.Linear(24, 1))
    objective = AdaptiveLoss(disc)
    opt_ae = torch.optim.Adam(model.parameters(), lr=3e-3)
    opt_disc = torch.optim.Adam(disc.parameters(), lr=1e-3)
    for step in range(20):
        x = torch.randn(32, 4) @ mixing
        loss, weight = objective(model, x)
        opt_ae.zero_grad()
        loss.backward()
        opt_ae.step()

        with torch.no_grad():
            fake = model(x)
        opt_disc.zero_grad()
        discriminator_loss(disc, x, fake).backward()
        opt_disc.step()
        if step % 5 == 4:
            print(step, f"{loss.item():.4f}", f"weight {weight:.3f}")


if __name__ == "__main__":
    main()
