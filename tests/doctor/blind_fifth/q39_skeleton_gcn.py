import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(25)
torch.set_num_threads(1)

JOINTS = 9
EDGES = [(0, 1), (1, 2), (2, 3), (3, 4), (2, 5), (5, 6), (2, 7), (7, 8)]


def adjacency():
    A = torch.eye(JOINTS)
    for i, j in EDGES:
        A[i, j] = A[j, i] = 1.0
    d = A.sum(1).rsqrt()
    return d[:, None] * A * d[None, :]


class GraphConv(nn.Module):
    def __init__(self, cin, cout):
        super().__init__()
        self.lin = nn.Linear(cin, cout)

    def forward(self, x, A):
        return torch.einsum("vw,bwc->bvc", A, self.lin(x))


class STGCN(nn.Module):
    def __init__(self, A, classes=3, hid=16):
        super().__init__()
        self.register_buffer("A", A)
        self.edge_importance = nn.Parameter(torch.ones_like(A))
        self.gcn1, self.gcn2 = GraphConv(3, hid), GraphConv(hid, hid)
        self.tcn = nn.Conv1d(hid, hid, 3, padding=1)
        self.fc = nn.Linear(hid, classes)
        self.A_eff = A * self.edge_importance

    def forward(self, x):
        b, t, v, c = x.shape
        h = x.reshape(b * t, v, c)
        h = F.relu(self.gcn1(h, self.A_eff))
        h = F.relu(self.gcn2(h, self.A_eff))
        h = h.mean(1).view(b, t, -1).transpose(1, 2)
        return self.fc(F.relu(self.tcn(h)).mean(-1))


def motions(n, frames=8):
    y = torch.randint(0, 3, (n,))
    x = 0.3 * torch.randn(n, frames, JOINTS, 3)
    wave = torch.sin(torch.arange(frames).float())[:, None]
    for i, k in enumerate(y.tolist()):
        x[i, :, [4, 6, 8][k]] += wave.abs() * 2
    return x, y


x, y = motions(160)
net = STGCN(adjacency())
opt = torch.optim.Adam(net.parameters(), lr=1e-2)
for epoch in range(15):
    total = 0.0
    for xb, yb in zip(x.split(40), y.split(40)):
        loss = F.cross_entropy(net(xb), yb)
        opt.zero_grad()
        loss.backward()
        opt.step()
        total += loss.item()
    if epoch % 7 == 0:
        print(f"epoch {epoch} loss {total / 4:.4f}")
