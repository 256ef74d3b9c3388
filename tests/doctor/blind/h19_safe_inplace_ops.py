import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(119)


class ScatterPool(nn.Module):
    """Graph layer that writes messages into a zero buffer and uses in-place activations."""

    def __init__(self, d_in, d_out):
        super().__init__()
        self.msg = nn.Linear(2 * d_in, d_out)
        self.self_loop = nn.Linear(d_in, d_out)
        self.act = nn.ReLU(inplace=True)

    def forward(self, x, src, dst):
        m = self.act(self.msg(torch.cat([x[src], x[dst]], 1)))
        out = torch.zeros(x.size(0), m.size(1))
        out.index_add_(0, dst, m)
        deg = torch.zeros(x.size(0)).index_add_(0, dst, torch.ones(len(dst))).clamp_(min=1)
        out = out / deg[:, None]
        out += self.self_loop(x)
        return self.act(out)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.l1, self.l2 = ScatterPool(3, 16), ScatterPool(16, 16)
        self.head = nn.Linear(16, 2)

    def forward(self, x, src, dst):
        h = self.l1(x, src, dst)
        h = self.l2(h, src, dst)
        pooled = torch.empty(2, 16)
        pooled[0] = h[:15].mean(0)
        pooled[1] = h[15:].mean(0)
        return self.head(h), pooled


N = 30
src, dst = torch.randint(0, N, (2, 120))
x = torch.randn(N, 3)
agg = torch.zeros(N, 3).index_add_(0, dst, x[src])
y = (agg[:, 0] > agg[:, 1]).long()
net = Net()
opt = torch.optim.Adam(net.parameters(), lr=1e-2)
for step in range(120):
    logits, pooled = net(x, src, dst)
    loss = F.cross_entropy(logits, y) + 1e-3 * pooled.pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 40 == 0:
        print(f"{step} loss {loss.item():.3f} acc {(logits.argmax(1) == y).float().mean().item():.2f}")
