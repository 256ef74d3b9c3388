# Hand written recurrent cell that keeps all its states in one tensor.
import torch
import torch.nn as nn


class LeakyRNN(nn.Module):
    def __init__(self, n_in, n_hid, n_out, tau=0.3):
        super().__init__()
        self.w_in = nn.Linear(n_in, n_hid)
        self.w_rec = nn.Linear(n_hid, n_hid, bias=False)
        self.w_out = nn.Linear(n_hid, n_out)
        self.n_hid = n_hid
        self.tau = tau

    def forward(self, x):
        steps, batch, _ = x.shape
        states = torch.zeros(steps + 1, batch, self.n_hid)
        for t in range(steps):
            drive = self.w_in(x[t]) + self.w_rec(states[t])
            states[t + 1] = (1 - self.tau) * states[t] + self.tau * torch.tanh(drive)
        return self.w_out(states[1:])


def make_batch(steps=20, batch=16):
    x = torch.randn(steps, batch, 2)
    target = torch.cumsum(x[..., :1] * 0.2, dim=0)
    return x, target


def train(iterations=40):
    torch.manual_seed(0)
    net = LeakyRNN(2, 24, 1)
    optim = torch.optim.Adam(net.parameters(), lr=1e-2)
    for i in range(iterations):
        x, target = make_batch()
        loss = (net(x) - target).square().mean()
        optim.zero_grad()
        loss.backward()
        optim.step()
        if i % 10 == 0:
            print(f"{i:3d} {loss.item():.4f}")
    return net


train()
