import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(22)
torch.set_num_threads(1)


class Projector(nn.Sequential):
    def __init__(self, i, h, o):
        super().__init__(nn.Linear(i, h), nn.BatchNorm1d(h), nn.ReLU(inplace=True), nn.Linear(h, o), nn.BatchNorm1d(o))


class SimSiam(nn.Module):
    def __init__(self, d=32):
        super().__init__()
        self.encoder = Projector(20, 64, d)
        self.predictor = nn.Sequential(nn.Linear(d, 16), nn.ReLU(inplace=True), nn.Linear(16, d))

    def forward(self, a, b):
        za, zb = self.encoder(a), self.encoder(b)
        pa, pb = self.predictor(za), self.predictor(zb)
        return 0.5 * (self.distance(pa, zb) + self.distance(pb, za)), za

    @staticmethod
    def distance(p, z):
        return -F.cosine_similarity(p, z.detach(), dim=1).mean()


def collapse_level(z):
    z = F.normalize(z.detach(), dim=1)
    return z.std(0).mean().item() * z.size(1) ** 0.5


protos = torch.randn(8, 20)
data = protos[torch.arange(512) % 8] + 0.2 * torch.randn(512, 20)
net = SimSiam()
opt = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9, weight_decay=1e-4)
for epoch in range(12):
    losses = []
    for i in torch.randperm(512).split(64):
        x = data[i]
        view = lambda: x * (torch.rand_like(x) > 0.2) + 0.2 * torch.randn_like(x)
        loss, z = net(view(), view())
        opt.zero_grad()
        loss.backward()
        opt.step()
        losses.append(loss.detach())
    if epoch % 3 == 2:
        print(f"epoch {epoch} loss {torch.stack(losses).mean():.4f} std {collapse_level(z):.3f}")
