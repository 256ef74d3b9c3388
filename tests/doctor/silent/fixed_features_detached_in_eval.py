import torch
import torch.nn as nn
backbone, probe = nn.Sequential(nn.Linear(4, 8), nn.ReLU()), nn.Linear(8, 2)
model = nn.ModuleDict({"backbone": backbone, "probe": probe})
opt = torch.optim.Adam(model.parameters())
for _ in range(4):
    x, y = torch.randn(6, 4), torch.randint(0, 2, (6,))
    features = backbone(x).detach()  # frozen: linear probing
    loss = nn.functional.cross_entropy(probe(features), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
