# a rate that is much too high: the loss itself is inf, and then nan; no line is to blame
import torch
torch.manual_seed(0)
net = torch.nn.Linear(6, 1)
opt = torch.optim.SGD(net.parameters(), lr=30.0)
x, y = torch.randn(32, 6), torch.randn(32, 1)
for step in range(60):
    loss = (net(x) - y).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
