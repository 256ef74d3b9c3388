"""Gradient accumulation: four small batches act as one large batch, and the proof that they do."""

import torch
from torch import nn

PIECES = 4


def build() -> tuple[nn.Module, torch.optim.Optimizer]:
    torch.manual_seed(15)
    model = nn.Sequential(nn.Linear(6, 24), nn.Tanh(), nn.Linear(24, 1))
    return model, torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)


def main() -> None:
    whole, for_whole = build()
    pieced, for_pieced = build()
    torch.manual_seed(16)
    inputs = torch.randn(64, 6)
    targets = torch.sin(inputs.sum(dim=1, keepdim=True))
    criterion = nn.MSELoss()

    for step in range(1, 31):
        for_whole.zero_grad()
        loss = criterion(whole(inputs), targets)
        loss.backward()
        for_whole.step()

        for_pieced.zero_grad()  # once per step, not once per piece
        total = 0.0
        for piece, target in zip(inputs.chunk(PIECES), targets.chunk(PIECES)):
            part = criterion(pieced(piece), target) / PIECES  # the mean over all pieces
            part.backward()  # adds to .grad, and frees this piece's graph
            total += part.item()
        for_pieced.step()
        if step % 6 == 0:
            print(f"step {step:2d}  loss whole {loss.item():.4f}  in pieces {total:.4f}")

    distance = max(
        (a - b).abs().max().item() for a, b in zip(whole.parameters(), pieced.parameters())
    )
    print("the parameters agree" if distance < 1e-5 else f"the parameters differ by {distance}")


if __name__ == "__main__":
    main()
