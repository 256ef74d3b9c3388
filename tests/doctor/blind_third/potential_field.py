import torch
import torch.nn as nn

torch.manual_seed(17)


class Potential(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(2, 40), nn.SiLU(), nn.Linear(40, 1))

    def forward(self, points):
        return self.body(points)


def force(model, points):
    points = points.clone().requires_grad_(True)
    phi = model(points)
    x, y = points[:, 0:1], points[:, 1:2]
    dx, dy = torch.autograd.grad(phi.sum(), (x, y), create_graph=True)
    return torch.cat([-dx, -dy], dim=1)


def measured_force(points):
    # harmonic trap, stiffer along y
    return -points * torch.tensor([1.0, 2.5])


def main():
    model = Potential()
    opt = torch.optim.Adam(model.parameters(), lr=5e-3)
    for epoch in range(100):
        points = torch.randn(64, 2)
        pred = force(model, points)
        loss = (pred - measured_force(points)).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        if epoch % 25 == 0:
            print(f"epoch {epoch} force error {loss.item():.4f}")


if __name__ == "__main__":
    main()
