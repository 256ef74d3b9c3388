import torch
import torch.nn as nn
import torch.nn.functional as F


class SAM(torch.optim.Optimizer):
    def __init__(self, params, base_cls, rho=0.05, **kw):
        super().__init__(params, dict(rho=rho, **kw))
        self.base = base_cls(self.param_groups, **kw)

    @torch.no_grad()
    def first_step(self):
        norm = torch.norm(torch.stack([p.grad.norm() for g in self.param_groups for p in g["params"]]))
        for g in self.param_groups:
            for p in g["params"]:
                e = p.grad * (g["rho"] / (norm + 1e-12))
                self.state[p]["old"] = p.detach().clone()
                p.add_(e)
        self.zero_grad()

    @torch.no_grad()
    def second_step(self):
        for g in self.param_groups:
            for p in g["params"]:
                p.copy_(self.state[p]["old"])
        self.base.step()
        self.zero_grad()

    def step(self, closure=None):
        raise NotImplementedError


def make_moons(n=256):
    t = torch.rand(n) * torch.pi
    lab = torch.randint(0, 2, (n,))
    x = torch.where(lab == 0, torch.cos(t), 1 - torch.cos(t))
    y = torch.where(lab == 0, torch.sin(t), 0.5 - torch.sin(t))
    return torch.stack([x, y], 1) + 0.1 * torch.randn(n, 2), lab


def main():
    torch.manual_seed(3)
    x, y = make_moons()
    net = nn.Sequential(nn.Linear(2, 32), nn.ReLU(), nn.Linear(32, 2))
    opt = SAM(net.parameters(), torch.optim.SGD, rho=0.05, lr=0.2)
    for epoch in range(60):
        output = net(x)
        loss = F.cross_entropy(output, y)
        loss.backward()
        opt.first_step()

        F.cross_entropy(output, y).backward()
        opt.second_step()
        if epoch % 20 == 0 or epoch == 59:
            acc = (output.argmax(1) == y).float().mean().item()
            print(f"epoch {epoch} loss {loss.item():.4f} acc {acc:.3f}")


if __name__ == "__main__":
    main()
