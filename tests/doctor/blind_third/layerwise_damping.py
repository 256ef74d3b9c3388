import torch
import torch.nn as nn
import torch.nn.functional as F


class TextNet(nn.Module):
    def __init__(self, vocab=80, dim=24, classes=3):
        super().__init__()
        self.emb = nn.EmbeddingBag(vocab, dim)
        self.lower = nn.Linear(dim, dim)
        self.upper = nn.Linear(dim, dim)
        self.head = nn.Linear(dim, classes)

    def forward(self, tokens):
        h = torch.tanh(self.lower(self.emb(tokens)))
        return self.head(torch.tanh(self.upper(h)))


def damp(module, factor):
    """Gradients of this part are multiplied by factor (discriminative fine-tuning)."""
    for p in module.parameters():
        p.register_hook(lambda g: g * factor)


def train_step(model, optimizer, tokens, labels):
    damp(model.emb, 0.5)
    damp(model.lower, 0.5)
    loss = F.cross_entropy(model(tokens), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss.item()


def main():
    torch.manual_seed(42)
    model = TextNet()
    tokens = torch.randint(0, 80, (256, 10))
    labels = (tokens % 3).float().mean(1).mul(3).long().clamp(max=2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.3, momentum=0.9)
    for step in range(120):
        i = torch.randint(0, 256, (64,))
        loss = train_step(model, optimizer, tokens[i], labels[i])
        if step % 30 == 0:
            print(f"step {step:3d} loss {loss:.4f}")
    acc = (model(tokens).argmax(1) == labels).float().mean()
    print(f"train accuracy {acc.item():.3f}")


if __name__ == "__main__":
    main()
