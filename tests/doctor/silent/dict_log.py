from collections import defaultdict
import torch
import torch.nn as nn
net = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))
opt = torch.optim.Adam(net.parameters())
log = defaultdict(list)
def train_step(x):
    opt.zero_grad()
    out = net(x)
    loss = out.pow(2).mean()
    loss.backward()
    opt.step()
    return out, loss
for epoch in range(3):
    for i in range(5):
        out, loss = train_step(torch.randn(8, 4))
        log["out"].append(out)  # accumulated-history: detach
        log["loss"].append(loss.item())
