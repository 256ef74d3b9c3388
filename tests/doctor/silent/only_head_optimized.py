import torch
import torch.nn as nn
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body, self.head, self.aux = nn.Linear(4, 8), nn.Linear(8, 2), nn.Linear(8, 2)
    def forward(self, x):
        return self.head(torch.relu(self.body(x)))
net = Net()
opt = torch.optim.SGD([*net.head.parameters(), *net.aux.parameters()], lr=0.1)
for _ in range(5):
    loss = nn.functional.cross_entropy(net(torch.randn(6, 4)), torch.randint(0, 2, (6,)))
    opt.zero_grad()
    loss.backward()
    opt.step()
