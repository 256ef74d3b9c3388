# nothing is left to learn: the loss is zero, and so is its slope
import torch
torch.manual_seed(0)
net = torch.nn.Linear(2, 1)
opt = torch.optim.SGD(net.parameters(), lr=1e-2)
torch.nn.init.constant_(net.weight, 5.0)
x = torch.tensor([[2.0, 2.0], [-2.0, -2.0]])
y = torch.tensor([[1.0], [-1.0]])
for step in range(6):
    loss = torch.relu(1 - y * net(x)).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
