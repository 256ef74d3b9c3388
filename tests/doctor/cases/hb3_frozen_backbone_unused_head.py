import torch
import torch.nn as nn
import torch.nn.functional as F


class MultiHead(nn.Module):
    def __init__(self):
        super().__init__()
        self.backbone = nn.Sequential(nn.Linear(12, 32), nn.ReLU(), nn.Linear(32, 16), nn.ReLU())
        self.heads = nn.ModuleDict({"species": nn.Linear(16, 4), "habitat": nn.Linear(16, 2)})

    def freeze_backbone(self):
        self.backbone.eval()
        for p in self.backbone.parameters():
            p.requires_grad_(False)

    def forward(self, x, head):
        with torch.no_grad():
            features = self.backbone(x)
        return self.heads[head](features)


def data(n=96):
    y = torch.randint(0, 4, (n,))
    x = torch.randn(n, 12)
    x[torch.arange(n), y] += 2.5
    return x, y


def main():
    torch.manual_seed(0)
    model = MultiHead()
    model.freeze_backbone()
    # the habitat labels arrive next month; its head is only saved along
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-2)
    for epoch in range(40):
        x, y = data()
        logits = model(x, "species")
        loss = F.cross_entropy(logits, y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if epoch % 10 == 9:
            accuracy = (logits.argmax(1) == y).float().mean().item()
            print(f"epoch {epoch} loss {loss.item():.4f} accuracy {accuracy:.2f}")
    waiting = [name for name, p in model.named_parameters() if p.requires_grad and p.grad is None]
    print("without gradient:", waiting)


if __name__ == "__main__":
    main()
