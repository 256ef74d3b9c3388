import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(15)


class FocalLoss(nn.Module):
    """Binary focal loss for very unbalanced detection labels."""

    def __init__(self, alpha=0.25, gamma=2.0):
        super().__init__()
        self.alpha = alpha
        self.gamma = gamma

    def forward(self, logits, target):
        bce = F.binary_cross_entropy_with_logits(logits, target, reduction="none")
        p_t = torch.exp(-bce)
        alpha_t = self.alpha * target + (1 - self.alpha) * (1 - target)
        return alpha_t * (1 - p_t) ** self.gamma * bce


class Trainer:
    def __init__(self, net, lr):
        self.net = net
        self.loss_fn = FocalLoss()
        self.opt = torch.optim.Adam(net.parameters(), lr=lr)
        self.history = []

    def step(self, xb, yb):
        self.opt.zero_grad()
        loss = self.loss_fn(self.net(xb).squeeze(1), yb)
        loss.backward()
        self.opt.step()
        self.history.append(loss.mean().item())

    def fit(self, x, y, epochs):
        for epoch in range(epochs):
            for idx in torch.randperm(len(x)).split(100):
                self.step(x[idx], y[idx])
            print(f"epoch {epoch}: {self.history[-1]:.5f}")


x = torch.randn(500, 10)
y = (x[:, 0] + x[:, 1] > 2.2).float()
print("positives:", int(y.sum()))

net = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 1))
Trainer(net, lr=3e-3).fit(x, y, epochs=5)
