import torch
import torch.nn as nn

torch.set_default_dtype(torch.float64)


class KalmanTracker(nn.Module):
    """Constant velocity Kalman filter whose noise levels are learned."""

    def __init__(self, dt=0.5):
        super().__init__()
        self.log_q = nn.Parameter(torch.tensor(-1.0))
        self.log_r = nn.Parameter(torch.tensor(1.0))
        self.register_buffer("F", torch.tensor([[1.0, dt], [0.0, 1.0]]))
        self.register_buffer("H", torch.tensor([[1.0, 0.0]]))
        self.register_buffer("G", torch.tensor([[dt**3 / 3, dt**2 / 2], [dt**2 / 2, dt]]))

    def forward(self, zs):
        x = torch.zeros(2, 1)
        P = torch.eye(2) * 4
        Q, R = self.log_q.exp() * self.G, self.log_r.exp().view(1, 1)
        nll = 0.0
        for z in zs:
            x = self.F @ x
            P = self.F @ P @ self.F.T + Q
            S = self.H @ P @ self.H.T + R
            K = P @ self.H.T / S
            innov = z.view(1, 1) - self.H @ x
            nll = nll + 0.5 * (innov.pow(2) / S + S.log()).squeeze()
            x = x + K @ innov
            P -= K @ self.H @ P
        return nll / len(zs)


def track(n, gen, q=0.05, r=0.4):
    v = torch.cumsum(q * torch.randn(n, generator=gen), 0)
    p = torch.cumsum(0.5 * v, 0)
    return p + r * torch.randn(n, generator=gen)


def main():
    gen = torch.Generator().manual_seed(3)
    tracks = [track(25, gen) for _ in range(4)]
    kf = KalmanTracker()
    opt = torch.optim.Adam(kf.parameters(), lr=0.1)
    for epoch in range(8):
        losses = []
        for zs in tracks:
            loss = kf(zs)
            opt.zero_grad()
            loss.backward()
            opt.step()
            losses.append(loss.item())
    print("nll", round(sum(losses) / len(losses), 4), "q", kf.log_q.exp().item(), "r", kf.log_r.exp().item())


main()
