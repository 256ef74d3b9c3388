import torch
import torch.nn as nn
class Runner:
    def __init__(self):
        self.net = nn.Linear(4, 1)
        self.opt = torch.optim.Adam(self.net.parameters())
        self.results = {}
    def step(self, i):
        out = self.net(torch.randn(5, 4))
        loss = out.abs().mean()
        self.opt.zero_grad()
        loss.backward()
        self.opt.step()
        self.results[i] = {"loss": loss, "lr": 0.1}  # accumulated-history: item-for-logging
runner = Runner()
for i in range(10):
    runner.step(i)
