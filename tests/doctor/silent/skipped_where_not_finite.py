# what is not finite is not stepped with
import torch
torch.manual_seed(0)
net = torch.nn.Linear(2, 1)
opt = torch.optim.SGD(net.parameters(), lr=1e-2)
for step in range(8):
    x = torch.randn(4, 2)
    loss = ((net(x) - net(x[:1])) ** 2).sum(1).sqrt().mean()
    opt.zero_grad()
    loss.backward()
    if all(torch.isfinite(p.grad).all() for p in net.parameters()):
        opt.step()
