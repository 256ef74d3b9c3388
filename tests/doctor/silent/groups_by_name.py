import torch
import torch.nn as nn
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.hidden, self.out = nn.Linear(6, 6), nn.Linear(6, 2)
        self.scale = nn.Parameter(torch.ones(6))
    def forward(self, x):
        return self.out(self.scale * self.hidden(x).tanh())
net = Net()
weights = [p for name, p in net.named_parameters() if name.endswith("weight")]
biases = [p for name, p in net.named_parameters() if name.endswith("bias")]
opt = torch.optim.SGD(  # stale-optimizer-params: rebuild-optimizer
    [{"params": weights, "weight_decay": 1e-2}, {"params": biases}], lr=0.1
)
for _ in range(6):
    loss = nn.functional.cross_entropy(net(torch.randn(8, 6)), torch.randint(0, 2, (8,)))
    opt.zero_grad()
    loss.backward()
    opt.step()
