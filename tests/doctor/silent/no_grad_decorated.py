import torch
import torch.nn as nn
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed, self.out = nn.Embedding(10, 4), nn.Linear(4, 2)
    @torch.no_grad()  # no-grad-scope: enable-grad
    def features(self, tokens):
        return self.embed(tokens).mean(1)
    def forward(self, tokens):
        return self.out(self.features(tokens))
net = Net()
opt = torch.optim.Adam(net.parameters())
for _ in range(4):
    loss = nn.functional.cross_entropy(net(torch.randint(0, 10, (6, 3))), torch.randint(0, 2, (6,)))
    opt.zero_grad()
    loss.backward()
    opt.step()
