import torch
import torch.nn as nn
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body, self.head = nn.Linear(4, 8), nn.Linear(8, 2)
    def forward(self, x):
        return self.head(torch.relu(self.body(x)))
net = Net()
for p in net.body.parameters():
    p.requires_grad = False
opt = torch.optim.Adam([p for p in net.parameters() if p.requires_grad], lr=1e-3)
for epoch in range(4):
    if epoch == 1:
        for p in net.body.parameters():
            p.requires_grad = True  # stale-optimizer-params: rebuild-optimizer
    for _ in range(4):
        loss = nn.functional.cross_entropy(net(torch.randn(6, 4)), torch.randint(0, 2, (6,)))
        opt.zero_grad()
        loss.backward()
        opt.step()
