import torch
import torch.nn as nn
import torch.nn.functional as F
from ops import kernel_matrix

torch.manual_seed(14)


class KernelHead(nn.Module):
    """Nadaraya-Watson regression over learnt anchors."""

    def __init__(self, n_anchor=24, tau=0.3):
        super().__init__()
        self.anchors = nn.Parameter(torch.randn(n_anchor, 2))
        self.values = nn.Parameter(torch.zeros(n_anchor, 1))
        self.tau = tau

    def forward(self, z):
        k = kernel_matrix(z, self.anchors, self.tau)
        k += 1e-3  # never divide by zero far away from all anchors
        return k @ self.values / k.sum(1, keepdim=True)


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Sequential(nn.Linear(3, 32), nn.ReLU(inplace=True), nn.Linear(32, 2))
        self.head = KernelHead()

    def forward(self, x):
        return self.head(self.embed(x))


def data(n=128):
    x = torch.rand(n, 3) * 2 - 1
    return x, torch.sin(3 * x[:, :1]) * x[:, 1:2] + 0.3 * x[:, 2:]


model = Model()
opt = torch.optim.Adam(model.parameters(), lr=1e-2)
x_val, y_val = data(256)
for step in range(150):
    x, y = data()
    loss = F.mse_loss(model(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 50 == 0:
        with torch.no_grad():
            val = F.mse_loss(model(x_val), y_val).item()
        print(f"step {step} train {loss.item():.4f} val {val:.4f}")
