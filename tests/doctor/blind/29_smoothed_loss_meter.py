import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(61)


class SmoothedLoss:
    """Exponentially smoothed training loss, used for logging and for the plateau rule."""

    def __init__(self, beta=0.95):
        self.beta, self.value, self.steps = beta, 0.0, 0

    def update(self, loss):
        self.steps += 1
        self.value = self.beta * self.value + (1 - self.beta) * loss

    @property
    def corrected(self):
        return self.value / (1 - self.beta ** self.steps)


class PlateauRule:
    def __init__(self, opt, patience=60, factor=0.5):
        self.opt, self.patience, self.factor = opt, patience, factor
        self.best, self.bad = float("inf"), 0

    def __call__(self, value):
        if value < self.best - 1e-4:
            self.best, self.bad = value, 0
        else:
            self.bad += 1
        if self.bad > self.patience:
            for g in self.opt.param_groups:
                g["lr"] *= self.factor
            self.bad = 0


model = nn.Sequential(nn.Conv1d(1, 8, 5, padding=2), nn.ReLU(), nn.Conv1d(8, 8, 5, padding=2), nn.ReLU(),
                      nn.Conv1d(8, 1, 1))
opt = torch.optim.Adam(model.parameters(), lr=3e-3)
meter, plateau = SmoothedLoss(), PlateauRule(opt)

for step in range(201):
    phase = torch.rand(16, 1, 1) * 6.28
    clean = torch.sin(torch.linspace(0, 12, 64) + phase)
    noisy = clean + 0.3 * torch.randn_like(clean)
    loss = F.mse_loss(model(noisy), clean)
    opt.zero_grad()
    loss.backward()
    opt.step()
    meter.update(loss)
    plateau(float(meter.corrected))
    if step % 100 == 0:
        with torch.no_grad():
            base = F.mse_loss(noisy, clean).item()
        print(f"step {step} smoothed {float(meter.corrected):.4f} (noise {base:.4f}) lr {opt.param_groups[0]['lr']:.4f}")
