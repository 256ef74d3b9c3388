import torch
import torch.nn as nn
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb, self.out = nn.Embedding(10, 4), nn.Linear(4, 2)
    def load_vectors(self, v):
        self.emb.weight = nn.Parameter(v)
    def forward(self, t):
        return self.out(self.emb(t).mean(1))
def main():
    net = Net()
    opt = torch.optim.Adam(net.parameters(), lr=1e-3)  # stale-optimizer-params: rebuild-optimizer
    net.load_vectors(torch.randn(10, 4))
    for _ in range(5):
        loss = nn.functional.cross_entropy(net(torch.randint(0, 10, (6, 3))), torch.randint(0, 2, (6,)))
        opt.zero_grad()
        loss.backward()
        opt.step()
main()
