# in an array and by another tensor, but where no graph waits; a copy may be written at any time
import torch
torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1))
opt = torch.optim.SGD(model.parameters(), lr=0.05)
x, y = torch.randn(16, 4), torch.randn(16, 1)
for step in range(8):
    opt.zero_grad()
    out = model(x)
    shown = out.detach().numpy().copy()
    shown[0] = 1.0
    kept = [p.data for p in model.parameters()]
    (out - y).pow(2).mean().backward()
    for p, values in zip(model.parameters(), kept):
        p.data = values.clone()
    opt.step()
    for p in model.parameters():
        weights = p.detach().numpy()
        weights *= 0.99
