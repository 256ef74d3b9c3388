import torch
torch.manual_seed(0)
net = torch.nn.Sequential(torch.nn.Linear(6, 4), torch.nn.ReLU())
opt = torch.optim.SGD(net.parameters(), lr=1e-2)
x = torch.randn(32, 6)
for step in range(5):
    p = net(x)
    lengths = p.pow(2).sum(1).clamp_min(1e-8).sqrt()
    entropy = torch.where(p > 0, p * torch.log(torch.where(p > 0, p, 1.0)), 0.0)
    loss = (lengths - 1).pow(2).mean() + entropy.mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
