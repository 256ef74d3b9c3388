"""Fine-tuning with gradual unfreezing: head first, then the upper block, then the lower one."""
import torch
import torch.nn as nn
import torch.nn.functional as F


class Net(nn.Module):
    def __init__(self, d_in=12, width=32, classes=3):
        super().__init__()
        self.lower = nn.Sequential(nn.Linear(d_in, width), nn.ReLU())
        self.upper = nn.Sequential(nn.Linear(width, width), nn.ReLU())
        self.head = nn.Linear(width, classes)

    def forward(self, x):
        return self.head(self.upper(self.lower(x)))


def set_trainable(module, flag):
    for p in module.parameters():
        p.requires_grad = flag


class FineTuner:
    UNFREEZE = {3: "upper", 6: "lower"}

    def __init__(self, model, lr=0.05):
        self.model = model
        set_trainable(model.lower, False)
        set_trainable(model.upper, False)
        self.optimizer = torch.optim.SGD(
            filter(lambda p: p.requires_grad, model.parameters()), lr=lr, momentum=0.9
        )

    def on_epoch_start(self, epoch):
        name = self.UNFREEZE.get(epoch)
        if name is not None:
            set_trainable(getattr(self.model, name), True)
            print(f"epoch {epoch}: unfroze {name}")

    def fit(self, x, y, epochs=10, bs=32):
        for epoch in range(epochs):
            self.on_epoch_start(epoch)
            perm = torch.randperm(len(x))
            total = 0.0
            for i in range(0, len(x), bs):
                j = perm[i:i + bs]
                loss = F.cross_entropy(self.model(x[j]), y[j])
                self.optimizer.zero_grad()
                loss.backward()
                self.optimizer.step()
                total += loss.item() * len(j)
            print(f"epoch {epoch} loss {total / len(x):.4f}")


def main():
    torch.manual_seed(8)
    x = torch.randn(256, 12)
    y = (x[:, :3] * x[:, 3:6]).argmax(1)
    model = Net()
    FineTuner(model).fit(x, y)
    return model


if __name__ == "__main__":
    model = main()
