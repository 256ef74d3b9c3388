import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


class Hooks:
    """Named events that plug-ins can listen to."""

    def __init__(self):
        self.listeners = {}

    def on(self, event, function):
        self.listeners.setdefault(event, []).append(function)
        return self

    def fire(self, event, **info):
        for function in self.listeners.get(event, []):
            function(**info)


class MaxNorm:
    """Keeps the weight vector of each unit inside a ball."""

    def __init__(self, limit):
        self.limit = limit

    @torch.no_grad()
    def __call__(self, model, **_):
        for module in model.modules():
            if isinstance(module, nn.Linear):
                norms = module.weight.norm(dim=1, keepdim=True)
                module.weight.mul_((self.limit / norms).clamp(max=1.0))


def report(epoch, losses, **_):
    print(f"epoch {epoch}: {sum(losses) / len(losses):.4f}")


def fit(model, loader, optimizer, hooks, epochs):
    for epoch in range(epochs):
        losses = []
        for x, y in loader:
            hooks.fire("batch_begin", model=model)
            loss = F.mse_loss(model(x), y)
            hooks.fire("forward_end", model=model, loss=loss)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            hooks.fire("batch_end", model=model)
            losses.append(loss.item())
        hooks.fire("epoch_end", epoch=epoch, losses=losses)


if __name__ == "__main__":
    torch.manual_seed(0)
    x = torch.randn(80, 6)
    y = (x[:, :2] * x[:, 2:4]).sum(1, keepdim=True)
    loader = DataLoader(TensorDataset(x, y), batch_size=20, num_workers=0)
    model = nn.Sequential(nn.Linear(6, 64), nn.ReLU(), nn.Linear(64, 9), nn.ReLU(), nn.Linear(9, 1))
    hooks = Hooks().on("batch_end", MaxNorm(0.8)).on("epoch_end", report)
    fit(model, loader, torch.optim.Adam(model.parameters(), lr=5e-3), hooks, epochs=4)
