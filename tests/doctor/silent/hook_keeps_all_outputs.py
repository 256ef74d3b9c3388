import torch
import torch.nn as nn
import torch.nn.functional as F
torch.manual_seed(0)
features = []
def hook(m, i, o): features.append(o)  # accumulated-history: reset-state
net = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 2))
net[1].register_forward_hook(hook)
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
x = torch.randn(64, 8); y = (x[:, 0] > 0).long()
for i in range(40):
    out = net(x)
    loss = F.cross_entropy(out, y) + 1e-3 * features[-1].abs().mean()
    opt.zero_grad(); loss.backward(); opt.step()
print(len(features))
