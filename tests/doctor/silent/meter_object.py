import torch
import torch.nn as nn
class AverageMeter:
    def __init__(self):
        self.reset()
    def reset(self):
        self.sum, self.count, self.val = 0, 0, 0
    def update(self, val, n=1):
        self.val = val
        self.sum += val * n  # accumulated-history: item-for-logging
        self.count += n
    @property
    def avg(self):
        return self.sum / self.count
net = nn.Linear(4, 1)
opt = torch.optim.Adam(net.parameters())
meter = AverageMeter()
for n in range(9):
    loss = net(torch.randn(5, 4)).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    meter.update(loss, 5)
print(float(meter.avg))
