# the loss and the penalty are added in one line, and each is a sum of its own
import torch
torch.manual_seed(0)
decoder = torch.nn.Sequential(torch.nn.Linear(2, 8), torch.nn.Softplus(), torch.nn.Linear(8, 3))
opt = torch.optim.Adam(decoder.parameters(), lr=5e-3)
codes, target = torch.randn(12, 2), torch.randn(12, 3)


def penalty(y, z):
    columns = []
    for k in range(3):
        (g,) = torch.autograd.grad(y[:, k].sum(), z, retain_graph=True)  # missing-create-graph: create-graph
        columns.append(g)
    return ((torch.stack(columns, dim=1) - 1) ** 2).mean()


for step in range(6):
    z = codes.clone().requires_grad_()
    y = decoder(z)
    loss = ((y - target) ** 2).mean() + 0.01 * penalty(y, z)
    opt.zero_grad()
    loss.backward(inputs=list(decoder.parameters()))
    opt.step()
