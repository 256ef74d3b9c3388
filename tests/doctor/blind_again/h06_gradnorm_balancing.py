import torch
import torch.nn as nn
import torch.nn.functional as F


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(6, 24), nn.Tanh(), nn.Linear(24, 24), nn.Tanh())
        self.heads = nn.ModuleList([nn.Linear(24, 1), nn.Linear(24, 1)])

    def forward(self, x):
        z = self.body(x)
        return [h(z).squeeze(1) for h in self.heads]


def balanced_weights(losses, shared):
    norms = []
    for loss in losses:
        grads = torch.autograd.grad(loss, shared, retain_graph=True)
        norms.append(torch.cat([g.flatten() for g in grads]).norm())
    norms = torch.stack(norms)
    return norms.mean() / (norms + 1e-8)


torch.manual_seed(3)
net = Net()
opt = torch.optim.Adam(net.parameters(), lr=0.01)
last_layer = list(net.body[2].parameters())
for step in range(200):
    x = torch.randn(64, 6)
    targets = [x[:, 0] * x[:, 1], 10 * x[:, 2]]
    losses = [F.mse_loss(o, t) for o, t in zip(net(x), targets)]
    weights = balanced_weights(losses, last_layer)
    opt.zero_grad()
    sum(w * l for w, l in zip(weights, losses)).backward()
    opt.step()
print([round(l.item(), 3) for l in losses], [round(w, 2) for w in weights.tolist()])
