import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(38)
torch.set_num_threads(1)


class SceneNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(
            nn.Conv2d(1, 8, 3, padding=1), nn.ReLU(),
            nn.Conv2d(8, 8, 3, padding=1), nn.ReLU(),
        )
        self.depth = nn.Conv2d(8, 1, 1)
        self.edges = nn.Conv2d(8, 1, 1)

    def forward(self, x):
        z = self.encoder(x)
        return self.depth(z), self.edges(z)


class UncertaintyLoss(nn.Module):
    """Weighs the tasks by learned uncertainties (Kendall et al.)."""

    def __init__(self, n_tasks):
        super().__init__()
        self.log_vars = nn.Parameter(torch.zeros(n_tasks))

    def forward(self, *losses):
        total = 0.0
        for s, loss in zip(self.log_vars, losses):
            total = total + torch.exp(-s) * loss + s
        return total


def scenes(n):
    depth = F.avg_pool2d(torch.rand(n, 1, 14, 14), 3, stride=1)
    image = depth + 0.05 * torch.randn_like(depth)
    edges = (F.pad((depth[..., 1:] - depth[..., :-1]).abs(), (0, 1)) > 0.1).float()
    return image, depth, edges


net = SceneNet()
weigh = UncertaintyLoss(2)
optimizer = torch.optim.Adam(net.parameters(), lr=5e-3)

for it in range(100):
    image, depth, edges = scenes(16)
    depth_hat, edge_hat = net(image)
    loss_d = F.l1_loss(depth_hat, depth)
    loss_e = F.binary_cross_entropy_with_logits(edge_hat, edges)
    loss = weigh(loss_d, loss_e)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if it % 25 == 24:
        print(it + 1, f"depth {loss_d.item():.4f} edges {loss_e.item():.4f}", weigh.log_vars.tolist())
