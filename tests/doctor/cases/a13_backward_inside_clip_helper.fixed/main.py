import torch
import torch.nn as nn

from optim_utils import GradientStepper

torch.manual_seed(2)


class Denoiser(nn.Module):
    def __init__(self, channels=6):
        super().__init__()
        self.down = nn.Conv1d(1, channels, 5, padding=2)
        self.mid = nn.Conv1d(channels, channels, 3, padding=1)
        self.up = nn.Conv1d(channels, 1, 5, padding=2)

    def forward(self, x):
        h = torch.relu(self.down(x))
        return self.up(torch.relu(self.mid(h)) + h)


def clean_signals(n, length=32):
    t = torch.linspace(0, 1, length)
    freq = torch.randint(1, 4, (n, 1))
    return torch.sin(2 * torch.pi * freq * t).unsqueeze(1)


model = Denoiser()
stepper = GradientStepper(model.parameters(), lr=1e-2, clip=1.0)
for step in range(12):
    clean = clean_signals(16)
    noisy = clean + 0.3 * torch.randn_like(clean)
    loss = nn.functional.smooth_l1_loss(model(noisy), clean)
    stepper.zero_grad()
    grad_norm = stepper.step(loss)
    if step % 4 == 3:
        print(step, round(loss.item(), 4), round(grad_norm, 3))
