import math
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(64)


class ConvAE(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc = nn.Sequential(nn.Conv2d(1, 8, 3, stride=2, padding=1), nn.ReLU(),
                                 nn.Conv2d(8, 4, 3, stride=2, padding=1))
        self.dec = nn.Sequential(nn.ConvTranspose2d(4, 8, 2, stride=2), nn.ReLU(),
                                 nn.ConvTranspose2d(8, 1, 2, stride=2))

    def forward(self, x):
        return self.dec(self.enc(x))


def bars(n, size=12):
    img = torch.zeros(n, 1, size, size)
    for k in range(n):
        i = torch.randint(0, size - 1, (1,)).item()
        if torch.rand(1) < 0.5:
            img[k, 0, i:i + 2] = 1.0
        else:
            img[k, 0, :, i:i + 2] = 1.0
    return img


def warmup_cosine(step, warm=10, total=120):
    if step < warm:
        return (step + 1) / warm
    return 0.5 * (1 + math.cos(math.pi * (step - warm) / (total - warm)))


model = ConvAE()
opt = torch.optim.SGD(model.parameters(), lr=0.2, momentum=0.9)
sched = torch.optim.lr_scheduler.LambdaLR(opt, warmup_cosine)
held_out = bars(32)

for step in range(120):
    x = bars(16)
    noisy = x + 0.1 * torch.randn_like(x)
    recon = model(noisy)
    loss = F.mse_loss(recon, x)
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    opt.step()
    sched.step()
    if step % 30 == 0:
        model.eval()
        with torch.no_grad():
            val = F.mse_loss(model(held_out), held_out).item()
        model.train()
        print(f"step {step} train {loss.item():.4f} val {val:.4f} lr {sched.get_last_lr()[0]:.3f}")
