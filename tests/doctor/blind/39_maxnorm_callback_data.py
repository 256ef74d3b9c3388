import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(71)


class MaxNorm:
    """Keeps the rows of all linear layers inside a ball of given radius."""

    def __init__(self, radius):
        self.radius = radius

    def __call__(self, model):
        for m in model.modules():
            if isinstance(m, nn.Linear):
                n = m.weight.data.norm(dim=1, keepdim=True)
                m.weight.data.mul_(self.radius / n.clamp(min=self.radius))


class Loop:
    def __init__(self, model, lr, callbacks):
        self.model, self.callbacks = model, callbacks
        self.opt = torch.optim.SGD(model.parameters(), lr=lr, momentum=0.9)

    def fire(self, event):
        for cb in self.callbacks.get(event, []):
            cb(self.model)

    def step(self, x, y):
        self.opt.zero_grad()
        logits = self.model(x)
        loss = F.cross_entropy(logits, y)
        self.fire("after_forward")
        loss.backward()
        self.opt.step()
        self.fire("after_step")
        return loss.item()


def rings(n):
    y = torch.randint(0, 3, (n,))
    a = torch.rand(n) * 6.2832
    r = 0.5 + 0.6 * y + 0.12 * torch.randn(n)
    return torch.stack([r * a.cos(), r * a.sin()], 1), y


model = nn.Sequential(nn.Linear(2, 32), nn.ReLU(), nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 3))
for m in model:
    if isinstance(m, nn.Linear):
        nn.init.xavier_normal_(m.weight, gain=2.0)
loop = Loop(model, lr=0.05, callbacks={"after_forward": [MaxNorm(1.5)]})
for step in range(200):
    loss = loop.step(*rings(64))
    if step % 50 == 0:
        with torch.no_grad():
            x, y = rings(500)
            acc = (model(x).argmax(1) == y).float().mean().item()
        print(f"step {step} loss {loss:.3f} acc {acc:.3f}")
