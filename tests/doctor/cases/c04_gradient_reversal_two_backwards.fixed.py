import torch
from torch import nn
from torch.autograd import Function
import torch.nn.functional as F


class ReverseGrad(Function):
    @staticmethod
    def forward(ctx, x, strength):
        ctx.strength = strength
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad_output):
        return -ctx.strength * grad_output, None


class DANN(nn.Module):
    def __init__(self, d_in=10, d_feat=20, n_classes=3):
        super().__init__()
        self.features = nn.Sequential(nn.Linear(d_in, d_feat), nn.BatchNorm1d(d_feat), nn.ReLU())
        self.label_head = nn.Linear(d_feat, n_classes)
        self.domain_head = nn.Sequential(nn.Linear(d_feat, 12), nn.ReLU(), nn.Linear(12, 2))

    def forward(self, x, strength):
        f = self.features(x)
        return self.label_head(f), self.domain_head(ReverseGrad.apply(f, strength))


def domain_batches(n_batches, n=16):
    g = torch.Generator().manual_seed(5)
    for _ in range(n_batches):
        src = torch.randn(n, 10, generator=g)
        tgt = torch.randn(n, 10, generator=g) + 0.7
        yield src, src[:, :3].argmax(1), tgt


def train(model, epochs=2, per_epoch=3):
    opt = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    domains = torch.cat([torch.zeros(16), torch.ones(16)]).long()
    done, total = 0, epochs * per_epoch
    for epoch in range(epochs):
        for src, labels, tgt in domain_batches(per_epoch):
            strength = 2.0 / (1.0 + torch.exp(torch.tensor(-10.0 * done / total)).item()) - 1.0
            class_logits, domain_logits = model(torch.cat([src, tgt]), strength)
            opt.zero_grad()
            label_loss = F.cross_entropy(class_logits[:16], labels)
            domain_loss = F.cross_entropy(domain_logits, domains)
            (label_loss + domain_loss).backward()
            opt.step()
            done += 1
        print(f"epoch {epoch}: label {label_loss.item():.3f} domain {domain_loss.item():.3f}")


if __name__ == "__main__":
    torch.manual_seed(1)
    train(DANN())
