# PINN with collocation points kept in the module
import torch
import torch.nn as nn
torch.manual_seed(0)
class Pinn(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(1, 16), nn.Tanh(), nn.Linear(16, 1))
        self.x = torch.linspace(0, 1, 12)[:, None].requires_grad_(True)
        self.x0 = torch.zeros(1, 1, requires_grad=True)
    def loss(self):
        u = self.net(self.x)
        du = torch.autograd.grad(u.sum(), self.x, create_graph=True)[0]
        u0 = self.net(self.x0)
        du0 = torch.autograd.grad(u0.sum(), self.x0, create_graph=True)[0]
        return (du + u).pow(2).mean() + (u0 - 1).pow(2).mean() + (du0 + 1).pow(2).mean()
m = Pinn()
opt = torch.optim.Adam(m.parameters(), lr=1e-2)
for i in range(30):
    opt.zero_grad(); l = m.loss(); l.backward(); opt.step()
print(l.item())
