"""Calibrate a trained classifier: fit temperature and bias on validation logits with LBFGS."""
import torch
import torch.nn as nn
import torch.nn.functional as F


class Calibrator(nn.Module):
    def __init__(self, classes):
        super().__init__()
        self.log_t = nn.Parameter(torch.zeros(1))
        self.bias = nn.Parameter(torch.zeros(classes))

    def forward(self, logits):
        return logits / self.log_t.exp() + self.bias


def train_classifier(x, y, steps=60):
    net = nn.Sequential(nn.Linear(x.size(1), 64), nn.ReLU(), nn.Linear(64, 4))
    opt = torch.optim.Adam(net.parameters(), lr=1e-2)
    for _ in range(steps):
        opt.zero_grad()
        F.cross_entropy(net(x), y).backward()
        opt.step()
    return net


def calibrate(logits, y):
    cal = Calibrator(logits.size(1))
    opt = torch.optim.LBFGS(cal.parameters(), lr=0.1, max_iter=20)
    for outer in range(3):
        loss = F.cross_entropy(cal(logits), y)

        def closure():
            opt.zero_grad()
            loss.backward()
            return loss

        opt.step(closure)
        print(f"outer {outer}: nll {loss.item():.4f} T {cal.log_t.exp().item():.3f}")
    return cal


if __name__ == "__main__":
    torch.manual_seed(0)
    w = torch.randn(6, 4)
    x = torch.randn(400, 6)
    y = (x @ w + 2 * torch.randn(400, 4)).argmax(1)
    classifier = train_classifier(x[:200], y[:200])
    with torch.no_grad():
        val_logits = classifier(x[200:])
    calibrate(val_logits, y[200:])
