import torch
import torch.nn as nn
import torch.nn.functional as F


class SAM(torch.optim.Optimizer):
    def __init__(self, params, base, rho=0.05, **kwargs):
        super().__init__(params, dict(rho=rho, **kwargs))
        self.base = base(self.param_groups, **kwargs)
        self.param_groups = self.base.param_groups

    @torch.no_grad()
    def ascend(self):
        norm = torch.stack([p.grad.norm() for p in self._with_grad()]).norm()
        for group in self.param_groups:
            scale = group["rho"] / (norm + 1e-12)
            for p in group["params"]:
                if p.grad is not None:
                    self.state[p]["before"] = p.detach().clone()
                    p.add_(p.grad * scale)
        self.zero_grad()

    @torch.no_grad()
    def descend(self):
        for p in self._with_grad():
            p.copy_(self.state[p]["before"])
        self.base.step()
        self.zero_grad()

    def _with_grad(self):
        return [p for group in self.param_groups for p in group["params"] if p.grad is not None]

    def step(self, closure):
        closure = torch.enable_grad()(closure)
        loss = closure()
        self.ascend()
        closure()
        self.descend()
        return loss


def main():
    torch.manual_seed(0)
    x = torch.randn(120, 8)
    y = ((x[:, 0] * x[:, 1] > 0).long() + (x[:, 2] > 0.5).long())
    model = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 3))
    optimizer = SAM(model.parameters(), torch.optim.SGD, rho=0.1, lr=0.2)

    def closure():
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        return loss

    for step in range(40):
        loss = optimizer.step(closure)
        if step % 10 == 9:
            print(f"step {step} loss {loss.item():.4f}")


if __name__ == "__main__":
    main()
