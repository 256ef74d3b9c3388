"""Autoencoder training with a small metric tracker."""
from collections import defaultdict

import torch
import torch.nn as nn
import torch.nn.functional as F


class Tracker:
    def __init__(self):
        self.sums = defaultdict(float)
        self.counts = defaultdict(int)

    def add(self, **metrics):
        for name, value in metrics.items():
            self.sums[name] = self.sums[name] + value
            self.counts[name] += 1

    def mean(self, name):
        return self.sums[name] / self.counts[name]


class AutoEncoder(nn.Module):
    def __init__(self, d=20, code=4):
        super().__init__()
        self.enc = nn.Sequential(nn.Linear(d, 64), nn.ReLU(), nn.Linear(64, code))
        self.dec = nn.Sequential(nn.Linear(code, 64), nn.ReLU(), nn.Linear(64, d))

    def forward(self, x):
        z = self.enc(x)
        return self.dec(z), z


def run(steps=200):
    torch.manual_seed(0)
    basis = torch.randn(4, 20)
    model, tracker = AutoEncoder(), Tracker()
    opt = torch.optim.Adam(model.parameters(), lr=2e-3)
    for step in range(steps):
        x = torch.randn(64, 4) @ basis
        out, z = model(x)
        recon = F.mse_loss(out, x)
        sparsity = z.abs().mean()
        loss = recon + 0.01 * sparsity
        opt.zero_grad()
        loss.backward()
        opt.step()
        tracker.add(loss=loss, recon=recon, sparsity=sparsity)
        if (step + 1) % 50 == 0:
            print(f"{step + 1} " + " ".join(f"{k} {float(tracker.mean(k)):.4f}" for k in tracker.sums))
    return model, tracker


if __name__ == "__main__":
    model, tracker = run()
