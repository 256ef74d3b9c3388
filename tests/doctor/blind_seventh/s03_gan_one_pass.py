"""Small GAN on a ring of points.  Both losses come from a single pass to save time."""
import argparse
import math

import torch
from torch import nn, optim


def mlp(sizes, out_act=None):
    layers = []
    for i in range(len(sizes) - 1):
        layers.append(nn.Linear(sizes[i], sizes[i + 1]))
        if i < len(sizes) - 2:
            layers.append(nn.LeakyReLU(0.2))
    if out_act is not None:
        layers.append(out_act)
    return nn.Sequential(*layers)


def real_batch(n):
    angle = 2 * math.pi * torch.rand(n)
    pts = torch.stack([angle.cos(), angle.sin()], dim=1)
    return pts + 0.05 * torch.randn(n, 2)


def parse():
    p = argparse.ArgumentParser()
    p.add_argument("--steps", type=int, default=50)
    p.add_argument("--batch", type=int, default=64)
    p.add_argument("--nz", type=int, default=4)
    p.add_argument("--lr", type=float, default=1e-3)
    return p.parse_args([])


def train(args):
    torch.manual_seed(7)
    netG = mlp([args.nz, 32, 32, 2])
    netD = mlp([2, 32, 32, 1])
    optG = optim.Adam(netG.parameters(), lr=args.lr, betas=(0.5, 0.999))
    optD = optim.Adam(netD.parameters(), lr=args.lr, betas=(0.5, 0.999))
    bce = nn.BCEWithLogitsLoss()
    ones, zeros = torch.ones(args.batch, 1), torch.zeros(args.batch, 1)

    for step in range(args.steps):
        fake = netG(torch.randn(args.batch, args.nz))
        score_fake = netD(fake)
        score_real = netD(real_batch(args.batch))

        errD = bce(score_real, ones) + bce(score_fake, zeros)
        errG = bce(score_fake, ones)

        optD.zero_grad()
        errD.backward(retain_graph=True)
        optD.step()

        optG.zero_grad()
        errG.backward()
        optG.step()

        if step % 10 == 0:
            print(f"[{step}] D {errD.item():.3f} G {errG.item():.3f}")
    return netG, netD


if __name__ == "__main__":
    train(parse())
