import torch
import torch.nn as nn

torch.manual_seed(44)


class WorldModel(nn.Module):
    def __init__(self, obs=3, act=1, hid=32):
        super().__init__()
        self.hid = hid
        self.cell = nn.LSTMCell(obs + act, hid)
        self.pred = nn.Linear(hid, obs)

    def initial(self, n):
        return torch.zeros(n, self.hid), torch.zeros(n, self.hid)


def pendulums(n):
    """Endless stream of observations of n noisy pendulums under random torque."""
    th, om = torch.rand(n) * 2 - 1, torch.zeros(n)
    while True:
        obs = torch.stack([th.cos(), th.sin(), om], 1)
        u = torch.rand(n) * 2 - 1
        om = om + 0.1 * (-2.0 * th.sin() + u) - 0.01 * om
        th = th + 0.1 * om
        yield obs, u[:, None]


def chunks(model, stream, length, n):
    """Yields one prediction loss per chunk, hands the state on to the next chunk."""
    h, c = model.initial(n)
    obs, u = next(stream)
    while True:
        losses = []
        for _ in range(length):
            h, c = model.cell(torch.cat([obs, u], 1), (h, c))
            nxt, nxt_u = next(stream)
            losses.append((obs + model.pred(h) - nxt).pow(2).mean())
            obs, u = nxt, nxt_u
        yield torch.stack(losses).mean()


N = 16
model = WorldModel()
opt = torch.optim.RMSprop(model.parameters(), lr=1e-3)
smooth = None
for k, loss in enumerate(chunks(model, pendulums(N), length=12, n=N)):
    opt.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    opt.step()
    value = loss.item()
    smooth = value if smooth is None else 0.9 * smooth + 0.1 * value
    if k % 20 == 0:
        print(f"chunk {k} loss {smooth:.5f}")
    if k == 80:
        break
