import torch
import torch.nn as nn

torch.manual_seed(30)
torch.set_num_threads(1)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(8, 32), nn.Tanh(), nn.Linear(32, 16), nn.Tanh())
        self.depth, self.normal = nn.Linear(16, 1), nn.Linear(16, 3)

    def forward(self, x):
        h = self.trunk(x)
        return self.depth(h), self.normal(h)


def grad_norm(loss, params):
    gs = torch.autograd.grad(loss, params, retain_graph=True)
    return torch.sqrt(sum(g.pow(2).sum() for g in gs)).item()


X = torch.randn(256, 8)
Y1 = torch.sin(X[:, :1]) + X[:, 1:2]
Y2 = nn.functional.normalize(X[:, 2:5], dim=1)
net = Net()
opt = torch.optim.Adam(net.parameters(), lr=5e-3)
shared = list(net.trunk.parameters())
weights = [1.0, 1.0]

for epoch in range(60):
    d, n = net(X)
    loss1 = nn.functional.mse_loss(d, Y1)
    loss2 = 1 - nn.functional.cosine_similarity(n, Y2, dim=1).mean()
    if epoch % 5 == 0:
        n1, n2 = grad_norm(loss1, shared), grad_norm(loss2, shared)
        mean = (n1 + n2) / 2
        weights = [mean / (n1 + 1e-8), mean / (n2 + 1e-8)]
    opt.zero_grad()
    (weights[0] * loss1).backward(retain_graph=True)
    (weights[1] * loss2).backward()
    opt.step()
    if epoch % 20 == 0 or epoch == 59:
        print(f"epoch {epoch} loss {loss1.item() + loss2.item():.4f} weights {weights[0]:.2f} {weights[1]:.2f}")
