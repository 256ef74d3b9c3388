import torch
import torch.nn as nn


class ResidualBlock(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.fc1 = nn.Linear(width, 2 * width)
        self.fc2 = nn.Linear(2 * width, width)

    def forward(self, x):
        return x + self.fc2(torch.relu(self.fc1(self.norm(x))))


class TabularNet(nn.Module):
    def __init__(self, columns, width=16, depth=3):
        super().__init__()
        self.embed = nn.Linear(columns, width)
        self.blocks = nn.ModuleList(ResidualBlock(width) for _ in range(depth))
        self.out = nn.Linear(width, 1)

    def forward(self, x):
        h = self.embed(x)
        for block in self.blocks:
            h = block(h)
        return self.out(h).squeeze(-1)


def friedman(n, generator):
    x = torch.rand(n, 6, generator=generator)
    y = 10 * torch.sin(torch.pi * x[:, 0] * x[:, 1]) + 20 * (x[:, 2] - 0.5) ** 2 + 10 * x[:, 3]
    return x, (y - 13) / 5


def main():
    torch.manual_seed(0)
    generator = torch.Generator().manual_seed(1)
    model = TabularNet(columns=6)
    print("trainable parameters:", sum(p.numel() for p in model.parameters()))
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    for step in range(60):
        x, y = friedman(128, generator)
        loss = nn.functional.mse_loss(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 15 == 14:
            print(f"step {step} mse {loss.item():.4f}")


if __name__ == "__main__":
    main()
