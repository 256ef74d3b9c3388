# the residual of u' = -k u: its derivative is a constant for the loss, whatever the weight
import torch
torch.manual_seed(0)
net = torch.nn.Sequential(torch.nn.Linear(1, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1))
rate = torch.nn.Parameter(torch.zeros(()))
opt = torch.optim.Adam([*net.parameters(), rate], lr=1e-2)


def derivative(u, t):
    return torch.autograd.grad(u, t, torch.ones_like(u), retain_graph=True)[0]  # missing-create-graph: create-graph


def residual(t):
    u = net(t)
    return derivative(u, t) + rate.exp() * u


for step in range(6):
    t = torch.rand(16, 1, requires_grad=True)
    loss = net(torch.zeros(1, 1)).square().mean() + 0.1 * residual(t).square().mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
