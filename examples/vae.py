"""A variational autoencoder on small generated patterns: a sample that gradients pass through."""

import argparse

import torch
import torch.nn.functional as F
from torch import nn
from torch.distributions import Normal, kl_divergence

WIDTH, LATENT = 36, 2


def patterns(count: int) -> torch.Tensor:
    """6 x 6 images of a bright blob at a place of its own."""
    grid = torch.arange(6.0)
    centre = 1 + 3 * torch.rand(count, 2)
    rows = (grid[None, :, None] - centre[:, 0, None, None]) ** 2
    columns = (grid[None, None, :] - centre[:, 1, None, None]) ** 2
    return torch.exp(-(rows + columns) / 2).flatten(1)


class Autoencoder(nn.Module):
    """Image to a normal distribution in the plane, and a point of the plane to an image."""

    def __init__(self) -> None:
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(WIDTH, 48), nn.Tanh(), nn.Linear(48, 2 * LATENT))
        self.decoder = nn.Sequential(nn.Linear(LATENT, 48), nn.Tanh(), nn.Linear(48, WIDTH))

    def forward(self, images: torch.Tensor) -> tuple[torch.Tensor, Normal]:
        mean, log_scale = self.encoder(images).chunk(2, dim=1)
        belief = Normal(mean, log_scale.exp())
        return self.decoder(belief.rsample()), belief  # rsample: mean + scale * noise


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=300)
    options = parser.parse_args()
    torch.manual_seed(4)
    images = patterns(256)
    model = Autoencoder()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    prior = Normal(0.0, 1.0)

    for step in range(1, options.steps + 1):
        batch = images[torch.randint(0, len(images), (64,))]
        scores, belief = model(batch)
        missed = F.binary_cross_entropy_with_logits(scores, batch, reduction="sum") / len(batch)
        surprise = kl_divergence(belief, prior).sum(dim=1).mean()
        loss = missed + surprise
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 60 == 0:
            print(f"step {step:3d}  loss {loss.item():.4f}  of it KL {surprise.item():.4f}")


if __name__ == "__main__":
    main()
