import torch
from config import DiffusionConfig
from denoiser import Denoiser, noise_levels
from loop import Loop


def main():
    config = DiffusionConfig(steps=8, batch=16)
    torch.manual_seed(config.seed)
    model = Denoiser(config.width)
    loop = Loop(model, config)
    for step in range(config.steps):
        clean = torch.randn(config.batch, 2).sign() + 0.05 * torch.randn(config.batch, 2)
        print(step, round(loop.step(clean, noise_levels(config.batch)), 4))


main()
