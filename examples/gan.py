"""A GAN: two networks, two optimizers, two backward calls, and one `detach` between them.

The generator learns to draw points from a ring of eight blobs.
"""

import math

import torch
from torch import nn

LATENT = 8


def network(inputs: int, outputs: int) -> nn.Sequential:
    return nn.Sequential(
        nn.Linear(inputs, 64),
        nn.LeakyReLU(0.2),
        nn.Linear(64, 64),
        nn.LeakyReLU(0.2),
        nn.Linear(64, outputs),
    )


def real_points(count: int) -> torch.Tensor:
    angle = torch.randint(0, 8, (count,)) * (2 * math.pi / 8)
    return torch.stack([angle.cos(), angle.sin()], dim=1) + 0.05 * torch.randn(count, 2)


def main() -> None:
    torch.manual_seed(3)
    generator, discriminator = network(LATENT, 2), network(2, 1)
    for_generator = torch.optim.Adam(generator.parameters(), lr=1e-3, betas=(0.5, 0.999))
    for_discriminator = torch.optim.Adam(discriminator.parameters(), lr=1e-3, betas=(0.5, 0.999))
    criterion = nn.BCEWithLogitsLoss()
    ones, zeros = torch.ones(64, 1), torch.zeros(64, 1)

    for step in range(1, 121):
        real = real_points(64)
        fake = generator(torch.randn(64, LATENT))

        # The discriminator must not send gradients into the generator here, and its backward must
        # not free the generator's graph: both are what `detach` is for.
        judged = criterion(discriminator(real), ones) + criterion(
            discriminator(fake.detach()), zeros
        )
        for_discriminator.zero_grad()
        judged.backward()
        for_discriminator.step()

        # The same points again, through the discriminator as it is now, with their graph.
        fooled = criterion(discriminator(fake), ones)
        for_generator.zero_grad()
        fooled.backward()
        for_generator.step()

        if step % 24 == 0:
            print(
                f"step {step:3d}  discriminator {judged.item():.4f}  generator {fooled.item():.4f}"
            )

    with torch.no_grad():
        radius = generator(torch.randn(500, LATENT)).norm(dim=1)
    print(f"mean distance from the centre {radius.mean().item():.3f} (the ring has 1)")


if __name__ == "__main__":
    main()
