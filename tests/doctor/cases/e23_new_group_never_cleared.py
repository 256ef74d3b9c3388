import torch
import torch.nn as nn


class FineTuner:
    """Head first; the body joins after a few epochs with a smaller learning rate."""

    def __init__(self, body, head, lr=1e-2, thaw_at=1):
        self.body, self.head = body, head
        self.lr, self.thaw_at = lr, thaw_at
        for p in body.parameters():
            p.requires_grad_(False)
        self.trainable = [p for p in self.parameters() if p.requires_grad]
        self.optimizer = torch.optim.SGD(self.trainable, lr=lr)

    def parameters(self):
        yield from self.body.parameters()
        yield from self.head.parameters()

    def thaw(self):
        fresh = list(self.body.parameters())
        for p in fresh:
            p.requires_grad_(True)
        self.optimizer.add_param_group({"params": fresh, "lr": self.lr / 10})

    def clear(self):
        for p in self.trainable:
            p.grad = None

    def fit(self, data, epochs=3):
        for epoch in range(epochs):
            if epoch == self.thaw_at:
                self.thaw()
            for x, y in data:
                self.clear()
                loss = nn.functional.cross_entropy(self.head(self.body(x)), y)
                loss.backward()
                self.optimizer.step()
            norm = sum(p.grad.norm() ** 2 for p in self.parameters() if p.grad is not None) ** 0.5
            print(f"epoch {epoch}: loss {loss.item():.4f}, gradient {norm:.4f}")


def make_data(batches=5):
    x = torch.randn(batches, 16, 9)
    return list(zip(x, (x[..., 0] + x[..., 1] > 0).long()))


torch.manual_seed(3)
body = nn.Sequential(nn.Linear(9, 32), nn.LayerNorm(32), nn.ReLU(), nn.Linear(32, 16), nn.ReLU())
FineTuner(body, nn.Linear(16, 2)).fit(make_data())
