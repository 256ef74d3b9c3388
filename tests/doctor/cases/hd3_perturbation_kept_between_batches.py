import torch
from torch import nn
from torch.nn import functional as F


class FreeAdversarialTrainer:
    """Replays each batch; one backward gives the gradients of weights and perturbation."""

    def __init__(self, eps=0.2, replays=3):
        self.net = nn.Sequential(nn.Linear(8, 32), nn.ReLU(inplace=True), nn.Linear(32, 3))
        self.opt = torch.optim.SGD(self.net.parameters(), lr=0.05, momentum=0.9)
        self.delta = torch.zeros(16, 8, requires_grad=True)
        self.eps, self.replays = eps, replays

    def train_batch(self, x, y):
        for _ in range(self.replays):
            loss = F.cross_entropy(self.net(x + self.delta), y)
            self.net.zero_grad()
            loss.backward()
            with torch.no_grad():
                self.delta += self.eps * self.delta.grad.sign()
                self.delta.clamp_(-self.eps, self.eps)
            self.delta.grad.zero_()
            self.opt.step()
        return loss.item()

    def attack(self, x, y, steps=4):
        self.net.requires_grad_(False)
        adv = x.clone()
        for _ in range(steps):
            adv.requires_grad_(True)
            (g,) = torch.autograd.grad(F.cross_entropy(self.net(adv), y), adv)
            adv = (adv.detach() + 0.05 * g.sign()).clamp(x - self.eps, x + self.eps)
        self.net.requires_grad_(True)
        return (self.net(adv).argmax(1) == y).float().mean().item()


if __name__ == "__main__":
    torch.manual_seed(3)
    trainer = FreeAdversarialTrainer()
    data = torch.randn(64, 8)
    target = data[:, :3].argmax(1)
    for epoch in range(3):
        losses = [trainer.train_batch(data[i:i + 16], target[i:i + 16]) for i in range(0, 64, 16)]
        print(epoch, f"{sum(losses) / 4:.4f}", trainer.attack(data, target))
