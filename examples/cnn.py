"""A convolutional network that tells generated images of bars, crosses and squares apart."""

import torch
import torch.nn.functional as F
from torch import nn

SIZE = 16
SHAPES = ("horizontal bar", "vertical bar", "cross", "square")


class Shapes(torch.utils.data.Dataset):
    """Images that are drawn when they are asked for: the index is the seed."""

    def __init__(self, count: int):
        self.count = count

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, index: int) -> tuple[torch.Tensor, int]:
        generator = torch.Generator().manual_seed(index)
        label = index % len(SHAPES)
        row, column = (int(v) for v in torch.randint(3, SIZE - 3, (2,), generator=generator))
        image = 0.15 * torch.randn(1, SIZE, SIZE, generator=generator)
        if label in (0, 2):
            image[0, row, column - 3 : column + 4] += 1.0
        if label in (1, 2):
            image[0, row - 3 : row + 4, column] += 1.0
        if label == 3:
            image[0, row - 2 : row + 3, column - 2 : column + 3] += 0.7
        return image, label


class Network(nn.Module):
    """Two convolutions, each halved by pooling, and a linear layer."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Conv2d(1, 8, 3, padding=1)
        self.norm = nn.BatchNorm2d(8)
        self.second = nn.Conv2d(8, 16, 3, padding=1)
        self.head = nn.Linear(16 * (SIZE // 4) ** 2, len(SHAPES))

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        features = F.max_pool2d(F.relu(self.norm(self.first(images))), 2)
        features = F.max_pool2d(F.relu(self.second(features)), 2)
        return self.head(features.flatten(1))


def main() -> None:
    torch.manual_seed(1)
    training = torch.utils.data.DataLoader(Shapes(400), batch_size=40, shuffle=True)
    held_out = torch.utils.data.DataLoader(Shapes(480), batch_size=80)
    model = Network()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=8)

    for epoch in range(1, 9):
        model.train()
        losses = []
        for images, labels in training:
            optimizer.zero_grad()
            loss = F.cross_entropy(model(images), labels)
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        schedule.step()
        print(f"epoch {epoch}  loss {sum(losses) / len(losses):.4f}")

    model.eval()
    right = 0
    with torch.no_grad():
        for images, labels in held_out:
            right += int((model(images).argmax(1) == labels).sum())
    print(f"{right} of 480 images named right")


if __name__ == "__main__":
    main()
