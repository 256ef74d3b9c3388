from dataclasses import dataclass, replace

import torch
import torch.nn as nn

torch.manual_seed(19)
torch.set_default_dtype(torch.float64)


@dataclass
class Belief:
    mean: torch.Tensor
    cov: torch.Tensor
    seen: int = 0


class KalmanFilter(nn.Module):
    """Constant velocity model, learns its noise levels by maximum likelihood."""

    def __init__(self, dt=0.1):
        super().__init__()
        self.log_q = nn.Parameter(torch.tensor(0.0))
        self.log_r = nn.Parameter(torch.tensor(0.0))
        self.register_buffer("F", torch.tensor([[1.0, dt], [0.0, 1.0]]))
        self.register_buffer("H", torch.tensor([[1.0, 0.0]]))
        self.register_buffer("G", torch.tensor([[dt ** 2 / 2, dt]]))

    def prior(self):
        return Belief(torch.zeros(2, 1), torch.eye(2) * 10.0)

    def step(self, b, z):
        mean = self.F @ b.mean
        cov = self.F @ b.cov @ self.F.t() + self.log_q.exp() * self.G.t() @ self.G
        innov = z - self.H @ mean
        S = self.H @ cov @ self.H.t() + self.log_r.exp()
        K = cov @ self.H.t() / S
        nll = 0.5 * (innov.pow(2) / S + S.log()).sum()
        return replace(b, mean=mean + K @ innov, cov=(torch.eye(2) - K @ self.H) @ cov, seen=b.seen + 1), nll


def simulate(n, q=4.0, r=0.05, dt=0.1):
    p = v = 0.0
    zs = []
    for w in torch.randn(n).tolist():
        v += dt * q ** 0.5 * w
        p += dt * v
        zs.append(p)
    return torch.tensor(zs) + r ** 0.5 * torch.randn(n)


kf = KalmanFilter()
opt = torch.optim.Adam(kf.parameters(), lr=0.1)
track = simulate(300)
for epoch in range(3):
    belief = kf.prior()
    total = 0.0
    for window in track.split(25):
        nll = 0.0
        for z in window:
            belief, l = kf.step(belief, z)
            nll = nll + l
        opt.zero_grad()
        (nll / len(window)).backward()
        opt.step()
        total += nll.item()
    with torch.no_grad():
        print(f"epoch {epoch} nll {total / len(track):.4f} q {kf.log_q.exp():.3f} r {kf.log_r.exp():.3f}")
