import torch
import torch.nn as nn
import torch.nn.functional as F


class Scorer(nn.Module):
    def __init__(self, d=20, width=48):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(d, width), nn.Softplus(), nn.Linear(width, width), nn.Softplus(),
                                 nn.Linear(width, 1))

    def forward(self, x):
        return self.net(x).squeeze(-1)


def manual_sgd(params, grads, lr, momentum, buffers):
    with torch.no_grad():
        for p, g, b in zip(params, grads, buffers):
            b.mul_(momentum).add_(g)
            p.sub_(b, alpha=lr)


def pairwise_logistic(scores, relevance):
    better = relevance[:, None] > relevance[None, :]
    diff = scores[:, None] - scores[None, :]
    return F.softplus(-diff[better]).mean()


def queries(n_docs, d, w):
    x = torch.randn(n_docs, d)
    return x, (x @ w + 0.2 * torch.randn(n_docs)).round()


def train(steps=70):
    torch.manual_seed(36)
    w = torch.randn(20) / 3
    model = Scorer()
    params = list(model.parameters())
    buffers = [torch.zeros_like(p) for p in params]
    window = []
    for step in range(steps):
        x, rel = queries(40, 20, w)
        loss = pairwise_logistic(model(x), rel)
        grads = torch.autograd.grad(loss, params, create_graph=True)
        manual_sgd(params, grads, lr=0.02, momentum=0.9, buffers=buffers)
        window.append(loss.item())
    return window


if __name__ == "__main__":
    curve = train()
    print(f"pairwise loss {sum(curve[:10]) / 10:.4f} -> {sum(curve[-10:]) / 10:.4f}")
