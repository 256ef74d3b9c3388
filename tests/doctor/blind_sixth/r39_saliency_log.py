"""Train a classifier and log input saliency of a few probe samples during the training."""
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


def saliency(model, probe, cls):
    """|d score / d input| for the wanted class."""
    probe = probe.clone().requires_grad_(True)
    score = model(probe)[:, cls].sum()
    score.backward()
    return probe.grad.abs().mean(0)


class Logger:
    def __init__(self, every=1):
        self.every = every
        self.rows = []

    def log(self, step, loss, sal):
        self.rows.append((step, loss, sal))
        if step % (20 * self.every) == 0:
            top = sal.topk(2).indices.tolist()
            print(f"step {step:3d} loss {loss:.3f} most important inputs {top}")


def train(steps=100, lr=0.05, batch=50):
    x = torch.randn(400, 8)
    y = (x[:, 1] - x[:, 5] > 0).long()
    probe = x[:64]
    model = nn.Sequential(nn.Linear(8, 32), nn.Tanh(), nn.Linear(32, 2))
    opt = torch.optim.SGD(model.parameters(), lr=lr, momentum=0.9)
    logger = Logger()
    for step in range(steps):
        idx = torch.randint(0, len(x), (batch,))
        opt.zero_grad()
        loss = F.cross_entropy(model(x[idx]), y[idx])
        loss.backward()
        logger.log(step, loss.item(), saliency(model, probe, cls=1))
        opt.step()
    with torch.no_grad():
        out = model(x)
        return F.cross_entropy(out, y).item(), (out.argmax(1) == y).float().mean().item()


final_loss, accuracy = train()
print(f"final loss {final_loss:.3f} accuracy {accuracy:.3f}")
