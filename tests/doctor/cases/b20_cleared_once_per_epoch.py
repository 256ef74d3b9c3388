import argparse

import torch
import torch.nn.functional as F
from torch import nn, optim
from torch.utils.data import DataLoader, TensorDataset


class Digits(nn.Module):
    def __init__(self, classes):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 6, 3, padding=1)
        self.conv2 = nn.Conv2d(6, 6, 3, padding=1)
        self.fc = nn.Linear(6 * 4, classes)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.conv1(x)), 2)
        x = F.max_pool2d(F.relu(self.conv2(x)), 2)
        return F.log_softmax(self.fc(x.flatten(1)), dim=1)


def train(args, model, loader, optimizer, epoch):
    model.train()
    optimizer.zero_grad()
    for batch_idx, (data, target) in enumerate(loader):
        output = model(data)
        loss = F.nll_loss(output, target)
        loss.backward()
        optimizer.step()
        if batch_idx % args.log_interval == 0:
            print(f"Train Epoch: {epoch} [{batch_idx * len(data)}]  Loss: {loss.item():.6f}")


def main():
    parser = argparse.ArgumentParser(description="digits")
    parser.add_argument("--batch-size", type=int, default=32)
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--lr", type=float, default=0.1)
    parser.add_argument("--log-interval", type=int, default=3)
    args = parser.parse_args()
    torch.manual_seed(1)
    target = torch.randint(0, 4, (192,))
    patterns = torch.randn(4, 1, 8, 8)
    data = patterns[target] + 0.3 * torch.randn(192, 1, 8, 8)
    loader = DataLoader(TensorDataset(data, target), args.batch_size)
    model = Digits(4)
    optimizer = optim.SGD(model.parameters(), lr=args.lr)
    scheduler = optim.lr_scheduler.ExponentialLR(optimizer, 0.9)
    for epoch in range(1, args.epochs + 1):
        train(args, model, loader, optimizer, epoch)
        scheduler.step()


if __name__ == "__main__":
    main()
