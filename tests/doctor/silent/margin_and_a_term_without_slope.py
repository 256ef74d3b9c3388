# the margin is kept, and what is added does not depend on the network
import torch
torch.manual_seed(0)
net = torch.nn.Linear(2, 1)
other = torch.nn.Linear(2, 1)
opt = torch.optim.SGD(net.parameters(), lr=1e-2)
second = torch.optim.SGD(other.parameters(), lr=1e-2)
torch.nn.init.constant_(net.weight, 5.0)
x = torch.tensor([[2.0, 2.0], [-2.0, -2.0]])
y = torch.tensor([[1.0], [-1.0]])
for step in range(6):
    hinge = torch.relu(1 - y * net(x)).mean()
    loss = hinge + (other(x) - y).pow(2).mean()
    opt.zero_grad()
    second.zero_grad()
    loss.backward()
    opt.step()
    second.step()
