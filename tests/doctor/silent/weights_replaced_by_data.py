import torch
torch.manual_seed(0)
first, second = (torch.nn.Parameter(torch.rand(4) + 0.5) for _ in range(2))
opt = torch.optim.SGD([first, second], lr=0.05)
x, y = torch.randn(16, 4), torch.randn(16, 4)
for step in range(8):
    opt.zero_grad()
    loss = (torch.tanh(x * first) * second - y).pow(2).mean()
    for p in (first, second):
        p.data = p.data * 0.9  # inplace-after-save: reorder-step
    loss.backward()
    opt.step()
