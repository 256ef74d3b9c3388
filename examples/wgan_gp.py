"""A Wasserstein GAN with gradient penalty: a loss made of a gradient, so `create_graph=True`."""

import torch
from torch import nn


def network(inputs: int, outputs: int) -> nn.Sequential:
    return nn.Sequential(
        nn.Linear(inputs, 48),
        nn.LeakyReLU(0.2),
        nn.Linear(48, 48),
        nn.LeakyReLU(0.2),
        nn.Linear(48, outputs),
    )


def gradient_penalty(critic: nn.Module, real: torch.Tensor, fake: torch.Tensor) -> torch.Tensor:
    """How far the critic's slope is from 1, at points between real and generated ones."""
    share = torch.rand(len(real), 1)
    between = (share * real + (1 - share) * fake).requires_grad_()
    (slope,) = torch.autograd.grad(critic(between).sum(), between, create_graph=True)
    return ((slope.norm(2, dim=1) - 1) ** 2).mean()


def main() -> None:
    torch.manual_seed(5)
    generator, critic = network(4, 2), network(2, 1)
    for_generator = torch.optim.Adam(generator.parameters(), lr=1e-3, betas=(0.0, 0.9))
    for_critic = torch.optim.Adam(critic.parameters(), lr=1e-3, betas=(0.0, 0.9))

    for step in range(1, 41):
        for _ in range(3):
            real = torch.randn(64, 2) * torch.tensor([1.0, 0.2]) + torch.tensor([2.0, -1.0])
            with torch.no_grad():  # no graph is wanted for the generator's part
                fake = generator(torch.randn(64, 4))
            gap = critic(fake).mean() - critic(real).mean()
            loss = gap + 10 * gradient_penalty(critic, real, fake)
            for_critic.zero_grad()
            loss.backward()
            for_critic.step()

        drawn = -critic(generator(torch.randn(64, 4))).mean()
        for_generator.zero_grad()
        drawn.backward()
        for_generator.step()
        if step % 8 == 0:
            print(f"step {step:2d}  critic {loss.item():.4f}  distance {-gap.item():.4f}")


if __name__ == "__main__":
    main()
