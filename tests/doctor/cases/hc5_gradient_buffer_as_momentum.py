import torch
import torch.nn as nn
import torch.nn.functional as F


class HeavyBall:
    """Momentum without extra memory: old gradients are scaled down instead of cleared."""

    def __init__(self, params, lr, beta=0.9):
        self.params, self.lr, self.beta = list(params), lr, beta

    @torch.no_grad()
    def decay(self):
        for p in self.params:
            if p.grad is not None:
                p.grad.mul_(self.beta)

    @torch.no_grad()
    def step(self):
        for p in self.params:
            if p.grad is not None:
                p.add_(p.grad, alpha=-self.lr)


class Autoencoder(nn.Module):
    def __init__(self, dim=10, code=3):
        super().__init__()
        self.down = nn.Linear(dim, code)
        self.up = nn.Linear(code, dim)

    def forward(self, x):
        code = self.down(x)
        code.mul_(1.5).clamp_(-3, 3)
        return self.up(torch.sin(code).relu_())


def main(steps=10):
    torch.manual_seed(0)
    model = Autoencoder()
    norms = []
    model.up.weight.register_hook(lambda g: g.clamp(-0.5, 0.5))
    model.down.weight.register_post_accumulate_grad_hook(lambda p: norms.append(p.grad.norm().item()))
    opt = HeavyBall(model.parameters(), lr=0.05)
    basis = torch.randn(3, 10)
    for step in range(steps):
        x = torch.randn(32, 3) @ basis
        opt.decay()
        loss = F.mse_loss(model(x), x)
        loss.backward()
        opt.step()
        if step % 3 == 0:
            print(step, f"{loss.item():.4f} {norms[-1]:.4f}")


if __name__ == "__main__":
    main()
