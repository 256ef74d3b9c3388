import torch
import torch.nn as nn


class DynamicsModel(nn.Module):
    """Predicts the next observation from a recurrent belief and the action."""

    def __init__(self, obs_dim, act_dim, belief=16):
        super().__init__()
        self.belief = belief
        self.cell = nn.GRUCell(obs_dim + act_dim, belief)
        self.decoder = nn.Sequential(nn.Linear(belief, 24), nn.ELU(), nn.Linear(24, obs_dim))

    def initial(self, batch):
        return torch.zeros(batch, self.belief)

    def forward(self, obs, act, h):
        h = self.cell(torch.cat([obs, act], dim=-1), h)
        return self.decoder(h), h


def pendulum(batch, steps, gen):
    angle = torch.rand(batch, 1, generator=gen) * 3
    speed = torch.zeros(batch, 1)
    for _ in range(steps):
        act = torch.randn(batch, 1, generator=gen)
        obs = torch.cat([angle.cos(), angle.sin(), speed], dim=1)
        speed = 0.98 * speed + 0.1 * (act - angle.sin())
        angle = angle + 0.1 * speed
        following = torch.cat([angle.cos(), angle.sin(), speed], dim=1)
        yield obs, act, following


class WindowTrainer:
    def __init__(self, model, window, lr=1e-2):
        self.model, self.window = model, window
        self.optimizer = torch.optim.Adam(model.parameters(), lr=lr)
        self.losses = []

    def observe(self, loss):
        self.losses.append(loss)
        return len(self.losses) % self.window == 0

    def update(self):
        objective = torch.stack(self.losses).mean()
        self.optimizer.zero_grad()
        objective.backward()
        self.optimizer.step()
        self.losses.clear()
        return objective.item()


def run(trainer, gen, batch=8, steps=30):
    h = trainer.model.initial(batch)
    reports = []
    for obs, act, following in pendulum(batch, steps, gen):
        predicted, h = trainer.model(obs, act, h)
        loss = (predicted - following).pow(2).mean()
        if trainer.observe(loss):
            reports.append(trainer.update())
            h = h.detach()
    return reports


if __name__ == "__main__":
    torch.manual_seed(0)
    trainer = WindowTrainer(DynamicsModel(3, 1), window=5)
    gen = torch.Generator().manual_seed(3)
    for sequence in range(3):
        print(sequence, [round(r, 4) for r in run(trainer, gen)])
