import torch
torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1))
opt = torch.optim.SGD(model.parameters(), lr=0.05)
x, y = torch.randn(16, 4), torch.randn(16, 1)
for step in range(8):
    opt.zero_grad()
    loss = (model(x) - y).pow(2).mean()
    for p in model.parameters():
        weights = p.detach().numpy()
        weights[...] = 0.9 * weights  # inplace-after-save: reorder-step
    loss.backward()
    opt.step()
