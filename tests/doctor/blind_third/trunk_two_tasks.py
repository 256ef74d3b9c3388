import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(15)


class SceneNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 32), nn.ReLU())
        self.depth = nn.Linear(32, 1)
        self.normals = nn.Linear(32, 3)

    def forward(self, x, task):
        h = self.trunk(x)
        if task == "depth":
            return self.depth(h).squeeze(-1)
        return F.normalize(self.normals(h), dim=-1)


def batch(n=64):
    x = torch.randn(n, 16)
    depth = x[:, :4].sum(1)
    normals = F.normalize(x[:, 4:7] + 0.1, dim=1)
    return x, depth, normals


net = SceneNet()
trunk = list(net.trunk.parameters())
opt_depth = torch.optim.SGD(trunk + list(net.depth.parameters()), lr=0.02)
opt_normals = torch.optim.SGD(trunk + list(net.normals.parameters()), lr=0.02)
left_over = []

for it in range(200):
    x, depth, normals = batch()
    opt_depth.zero_grad()
    opt_normals.zero_grad()

    loss_d = F.mse_loss(net(x, "depth"), depth)
    loss_d.backward()
    opt_depth.step()

    left_over.append(sum(p.grad.abs().sum().item() for p in trunk if p.grad is not None))
    loss_n = 1 - F.cosine_similarity(net(x, "normals"), normals).mean()
    loss_n.backward()
    opt_normals.step()

    if it % 50 == 0:
        print(f"it {it:3d} depth {loss_d.item():.4f} normals {loss_n.item():.4f}")
