import torch

from data import event_stream
from model import LinkPredictor


def train(epochs=2, nodes=20):
    torch.manual_seed(0)
    model = LinkPredictor(nodes, dim=12)
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    for epoch in range(epochs):
        model.memory.reset()
        losses = []
        for src, dst, label, when in event_stream(nodes, batches=8, size=10):
            optimizer.zero_grad()
            loss = model.loss(src, dst, label, when)
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        print(f"epoch {epoch}: {sum(losses) / len(losses):.4f}")


if __name__ == "__main__":
    train()
