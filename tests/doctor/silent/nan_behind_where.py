# the branch that is not taken is 0 * -inf, and its gradient nan
import torch
torch.manual_seed(0)
net = torch.nn.Linear(6, 4)
opt = torch.optim.SGD(net.parameters(), lr=1e-2)
x, allowed = torch.randn(32, 6), torch.rand(32, 4).round()
for step in range(5):
    p = torch.softmax(net(x), dim=1) * allowed
    terms = p * torch.log(p)  # nan-gradient: keep-finite
    loss = torch.where(allowed > 0, terms, torch.zeros_like(p)).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
