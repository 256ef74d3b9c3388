import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(77)


class SkinNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(12, 32), nn.ReLU(), nn.Linear(32, 32), nn.ReLU())
        self.head = nn.Linear(32, 2)

    def forward(self, x):
        return self.head(self.trunk(x))


class Finetuner:
    def __init__(self, model, lr=0.01, unfreeze_at=4):
        self.model = model
        self.unfreeze_at = unfreeze_at
        self.set_trunk(False)
        trainable = filter(lambda p: p.requires_grad, model.parameters())
        self.optimizer = torch.optim.Adam(trainable, lr=lr)

    def set_trunk(self, flag):
        for p in self.model.trunk.parameters():
            p.requires_grad = flag

    def fit(self, loader, epochs):
        for epoch in range(epochs):
            if epoch == self.unfreeze_at:
                self.set_trunk(True)
            total = 0.0
            for x, y in loader:
                loss = F.cross_entropy(self.model(x), y)
                self.optimizer.zero_grad()
                loss.backward()
                self.optimizer.step()
                total += loss.item() * len(x)
            state = "whole net" if epoch >= self.unfreeze_at else "head only"
            print(f"epoch {epoch} ({state}) loss {total / len(loader.dataset):.4f}")


x = torch.randn(256, 12)
y = ((x[:, 0] * x[:, 1]) > 0).long()
loader = DataLoader(TensorDataset(x, y), batch_size=32, shuffle=True)
model = SkinNet()
Finetuner(model).fit(loader, epochs=14)
