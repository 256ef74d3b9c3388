import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(27)


class Denoiser(nn.Module):
    def __init__(self, width=48):
        super().__init__()
        self.inp = nn.Linear(32, width)
        self.hidden = nn.Linear(width, width)
        self.out = nn.Linear(width, 32)

    def forward(self, x):
        h = F.relu(self.inp(x))
        h = F.relu(self.hidden(h)) + h
        return self.out(h)


def signals(n):
    t = torch.linspace(0, 1, 32)
    freq = 1 + 3 * torch.rand(n, 1)
    clean = torch.sin(2 * torch.pi * freq * t)
    return clean + 0.3 * torch.randn(n, 32), clean


def train(epochs=80, clip=1.0):
    model = Denoiser()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.2, momentum=0.9)
    scaler = torch.amp.GradScaler("cpu", init_scale=2.0**16)
    noisy, clean = signals(256)
    for epoch in range(epochs):
        optimizer.zero_grad()
        with torch.autocast("cpu", dtype=torch.bfloat16):
            pred = model(noisy)
        loss = F.mse_loss(pred.float(), clean)
        scaler.scale(loss).backward()
        nn.utils.clip_grad_norm_(model.parameters(), clip)
        scaler.step(optimizer)
        scaler.update()
        if epoch % 20 == 0:
            print(f"epoch {epoch:3d} loss {loss.item():.4f}")
    print(f"final loss {loss.item():.4f}")
    return model


if __name__ == "__main__":
    train()
