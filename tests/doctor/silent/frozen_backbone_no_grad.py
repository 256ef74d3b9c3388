import torch
import torch.nn as nn
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.backbone, self.head = nn.Linear(4, 8), nn.Linear(8, 2)
        self.backbone.eval()
    def forward(self, x):
        with torch.no_grad():
            h = self.backbone(x)
        return self.head(h)
net = Net()
net.head.train()
opt = torch.optim.Adam(net.parameters())
for i in range(4):
    loss = net(torch.randn(5, 4)).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
