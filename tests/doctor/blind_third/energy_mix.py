"""Fit non-negative mixing weights of power plants to a measured load curve."""
import torch
from torch import nn

torch.manual_seed(0)


class PlantMix(nn.Module):
    def __init__(self, n_plants):
        super().__init__()
        self.share = nn.Parameter(torch.rand(n_plants))
        self.offset = nn.Parameter(torch.zeros(1))

    def forward(self, profiles):
        return profiles @ self.share + self.offset

    def project(self):
        # a plant cannot have a negative share
        self.share.clamp_(min=0.0)
        return self


def make_data(hours=96, n_plants=5):
    t = torch.linspace(0, 8 * torch.pi, hours)
    profiles = torch.stack([1 + torch.sin(t + k) for k in range(n_plants)], dim=1)
    true_share = torch.tensor([0.0, 1.5, 0.0, 0.4, 0.9])
    load = profiles @ true_share + 0.05 * torch.randn(hours)
    return profiles, load


def fit(steps=200):
    profiles, load = make_data()
    model = PlantMix(profiles.shape[1])
    opt = torch.optim.SGD(model.parameters(), lr=0.02)
    for step in range(steps):
        loss = (model(profiles) - load).square().mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        model.project()
    print("load error", round(loss.item(), 5), "shares", model.share.tolist())
    return model


if __name__ == "__main__":
    model = fit()
    assert (model.share >= 0).all()
