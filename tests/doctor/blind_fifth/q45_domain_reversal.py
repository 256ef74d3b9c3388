import torch
import torch.nn as nn
from torch.autograd import Function

torch.manual_seed(91)
torch.set_num_threads(1)


class ReverseLayerF(Function):
    @staticmethod
    def forward(ctx, x, alpha):
        ctx.alpha = alpha
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad_output):
        output = grad_output.neg() * ctx.alpha
        return output


class DANN(nn.Module):
    def __init__(self, d_in=10, hid=32, classes=3):
        super().__init__()
        self.feature = nn.Sequential(nn.Linear(d_in, hid), nn.ReLU())
        self.class_classifier = nn.Linear(hid, classes)
        self.domain_classifier = nn.Sequential(nn.Linear(hid, hid), nn.ReLU(), nn.Linear(hid, 2))

    def forward(self, x, alpha):
        f = self.feature(x)
        reverse = ReverseLayerF.apply(f, alpha)
        return self.class_classifier(f), self.domain_classifier(reverse)


def domain(n, shift, proto):
    y = torch.randint(0, 3, (n,))
    return proto[y] + shift + 0.5 * torch.randn(n, 10), y


proto = 2 * torch.randn(3, 10)
shift = torch.randn(10)
net = DANN()
optimizer = torch.optim.Adam(net.parameters(), lr=3e-3)
loss_class, loss_domain = nn.CrossEntropyLoss(), nn.CrossEntropyLoss()
n_steps = 150

for i in range(n_steps):
    alpha = 2.0 / (1.0 + torch.exp(torch.tensor(-10.0 * i / n_steps))).item() - 1
    s_x, s_y = domain(64, 0.0, proto)
    t_x, t_y = domain(64, shift, proto)
    s_cls, s_dom = net(s_x, alpha)
    t_cls, t_dom = net(t_x, alpha)
    err = loss_class(s_cls, s_y)
    err = err + loss_domain(s_dom, torch.zeros(64, dtype=torch.long))
    err = err + loss_domain(t_dom, torch.ones(64, dtype=torch.long))
    optimizer.zero_grad()
    err.backward()
    optimizer.step()
    if i % 50 == 0 or i == n_steps - 1:
        acc = (t_cls.argmax(1) == t_y).float().mean().item()
        print(f"step {i} loss {err.item():.4f} target acc {acc:.3f}")
