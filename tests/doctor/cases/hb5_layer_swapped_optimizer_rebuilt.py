import torch
import torch.nn as nn


class Growing(nn.Module):
    def __init__(self, width=16):
        super().__init__()
        self.stem = nn.Linear(5, width)
        self.blocks = nn.ModuleList()
        self.head = nn.Linear(width, 1)

    def grow(self):
        block = nn.Linear(self.stem.out_features, self.stem.out_features)
        nn.init.zeros_(block.weight)
        self.blocks.append(block)
        return block

    def forward(self, x):
        h = torch.tanh(self.stem(x))
        for block in self.blocks:
            h = h + torch.tanh(block(h))
        return self.head(h)


def build_optimizer(model, lr):
    return torch.optim.SGD((p for p in model.parameters() if p.requires_grad), lr=lr, momentum=0.9)


def main():
    torch.manual_seed(0)
    x = torch.randn(200, 5)
    first = x[:, :1] * x[:, 1:2]
    both = torch.cat([first, x[:, 2:3].abs()], dim=1)
    model = Growing()
    optimizer = build_optimizer(model, lr=0.02)
    for epoch in range(60):
        if epoch == 20:
            optimizer.add_param_group({"params": model.grow().parameters(), "lr": 0.01})
        if epoch == 40:
            model.head = nn.Linear(16, 2)
            optimizer = build_optimizer(model, lr=0.02)
        prediction = model(x)
        target = first if epoch < 40 else both
        loss = (prediction - target).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if epoch % 10 == 9:
            held = sum(len(group["params"]) for group in optimizer.param_groups)
            print(f"epoch {epoch} loss {loss.item():.4f} tensors in the optimizer {held}")


if __name__ == "__main__":
    main()
