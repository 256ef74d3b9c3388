import torch
import torch.nn as nn
class Bank(nn.Module):
    def __init__(self, count, width):
        super().__init__()
        self.register_buffer("rows", torch.zeros(count, width))
    def put(self, index, values):
        self.rows.index_copy_(0, index, values)  # accumulated-history: detach
    def near(self, values):
        return (self.rows.detach() @ values.detach().T).argmax(0)
net = nn.Linear(4, 3)
bank = Bank(20, 3)
opt = torch.optim.Adam(net.parameters())
for step in range(12):
    index = torch.randperm(20)[:5]
    out = net(torch.randn(5, 4))
    loss = out.pow(2).mean() + 0.1 * (out - bank.rows.detach()[bank.near(out)]).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    bank.put(index, out)
