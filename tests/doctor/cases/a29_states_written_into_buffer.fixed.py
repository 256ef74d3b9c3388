import torch
import torch.nn as nn


class EchoCell(nn.Module):
    def __init__(self, n_in, n_state):
        super().__init__()
        self.inp = nn.Linear(n_in, n_state)
        self.rec = nn.Linear(n_state, n_state, bias=False)
        self.decay = nn.Parameter(torch.full((n_state,), 0.5))

    def forward(self, x, h):
        new = torch.tanh(self.inp(x) + self.rec(h))
        return self.decay * h + (1 - self.decay) * new


class Unrolled(nn.Module):
    def __init__(self, n_in=2, n_state=10):
        super().__init__()
        self.n_state = n_state
        self.cell = EchoCell(n_in, n_state)
        self.read = nn.Linear(n_state, 1)

    def forward(self, seq):
        batch, steps, _ = seq.shape
        states = torch.zeros(batch, steps + 1, self.n_state)
        for t in range(steps):
            states[:, t + 1] = self.cell(seq[:, t], states[:, t].clone())
        return self.read(states[:, 1:]).squeeze(-1)


def adding_problem(batch, steps, gen):
    values = torch.rand(batch, steps, generator=gen)
    marks = (torch.rand(batch, steps, generator=gen) < 0.2).float()
    return torch.stack([values, marks], dim=-1), (values * marks).cumsum(1)


def evaluate(model, gen):
    with torch.no_grad():
        seq, target = adding_problem(64, 10, gen)
        return (model(seq) - target).abs().mean().item()


if __name__ == "__main__":
    torch.manual_seed(1)
    gen = torch.Generator().manual_seed(12)
    model = Unrolled()
    opt = torch.optim.Adam(model.parameters(), lr=1e-2)
    for it in range(30):
        seq, target = adding_problem(16, 10, gen)
        loss = nn.functional.mse_loss(model(seq), target)
        opt.zero_grad()
        loss.backward()
        opt.step()
        if it % 10 == 9:
            print(it, f"train {loss.item():.4f} error {evaluate(model, gen):.4f}")
