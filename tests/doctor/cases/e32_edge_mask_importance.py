"""Which edges matter? Gradient of a prediction with respect to soft edge weights (GNN explainer)."""
import torch
import torch.nn as nn
import torch.nn.functional as F


class GraphNet(nn.Module):
    def __init__(self, features=5, width=12, classes=2):
        super().__init__()
        self.first = nn.Linear(features, width)
        self.second = nn.Linear(width, classes)

    @staticmethod
    def spread(x, edges, weight):
        source, target = edges
        return x + torch.zeros_like(x).index_add(0, target, weight[:, None] * x[source])

    def forward(self, x, edges, weight):
        x = torch.relu(self.spread(self.first(x), edges, weight))
        return self.spread(self.second(x), edges, weight)


def ring(n=8):
    node = torch.arange(n)
    return torch.stack([torch.cat([node, node]), torch.cat([(node + 1) % n, (node + 2) % n])])


def explain(model, x, edges, node):
    logits = torch.zeros(edges.size(1), requires_grad=True)
    mask = torch.sigmoid(logits)
    score = model(x, edges, mask)[node].log_softmax(-1).amax()
    score.backward()
    importance = mask.grad if mask.grad is not None else torch.zeros_like(mask)
    return importance.abs()


def fit(model, x, edges, labels, steps=20):
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-2)
    weight = torch.full((edges.size(1),), 0.5)
    for _ in range(steps):
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x, edges, weight), labels)
        loss.backward()
        optimizer.step()
    return loss.item()


if __name__ == "__main__":
    torch.manual_seed(4)
    edges, x = ring(), torch.randn(8, 5)
    labels = (x[:, 0] + x.roll(1, 0)[:, 0] > 0).long()
    model = GraphNet()
    print("loss", round(fit(model, x, edges, labels), 4))
    importance = explain(model, x, edges, node=3)
    top = importance.topk(3).indices
    print("edges", edges[:, top].T.tolist(), "importance", round(importance.sum().item(), 4))
