import torch

from encoder import Encoder, augment
from engine import Engine
from objectives import info_nce


def step(engine, encoder, batch):
    first, second = encoder(augment(batch)), encoder(augment(batch))
    total = 0.0
    for anchor, positive in ((first, second), (second, first)):
        loss = info_nce(anchor, positive)
        engine.accumulate(loss / 2)
        total += loss.item() / 2
    engine.apply()
    return total


def main():
    torch.manual_seed(0)
    encoder = Encoder(12, 8)
    engine = Engine(encoder, lr=1e-2, max_norm=5.0)
    data = torch.randn(80, 12)
    for epoch in range(3):
        losses = [step(engine, encoder, batch) for batch in data.split(16)]
        print(epoch, round(sum(losses) / len(losses), 4), f"norm {engine.last_norm:.3f}")


if __name__ == "__main__":
    main()
