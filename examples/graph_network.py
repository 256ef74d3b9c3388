"""A graph convolutional network: two groups of nodes, told apart by who is linked with whom."""

import torch
import torch.nn.functional as F
from torch import nn

NODES = 60


def friendships() -> torch.Tensor:
    """A sparse matrix of links: many within a group, few between groups, each normalised."""
    group = torch.arange(NODES) % 2
    chance = torch.where(group[:, None] == group[None, :], 0.2, 0.02)
    linked = torch.triu((torch.rand(NODES, NODES) < chance).float(), diagonal=1)
    linked = linked + linked.t() + torch.eye(NODES)
    scale = linked.sum(dim=1).rsqrt()
    return (scale[:, None] * linked * scale[None, :]).to_sparse()


class GraphConvolution(nn.Module):
    """Every node takes the mean of its neighbours, then a linear layer."""

    def __init__(self, inputs: int, outputs: int):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(inputs, outputs))
        self.bias = nn.Parameter(torch.zeros(outputs))
        nn.init.xavier_uniform_(self.weight)

    def forward(self, features: torch.Tensor, links: torch.Tensor) -> torch.Tensor:
        return torch.spmm(links, features @ self.weight) + self.bias


class Network(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first = GraphConvolution(8, 16)
        self.second = GraphConvolution(16, 2)

    def forward(self, features: torch.Tensor, links: torch.Tensor) -> torch.Tensor:
        hidden = F.dropout(F.relu(self.first(features, links)), 0.3, training=self.training)
        return F.log_softmax(self.second(hidden, links), dim=1)


def main() -> None:
    torch.manual_seed(14)
    links = friendships()
    labels = torch.arange(NODES) % 2
    features = torch.randn(NODES, 8) + 0.3 * labels[:, None]
    known = torch.arange(10)  # the group of ten nodes is known

    model = Network()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.02, weight_decay=5e-4)
    for epoch in range(1, 51):
        model.train()
        optimizer.zero_grad()
        loss = F.nll_loss(model(features, links)[known], labels[known])
        loss.backward()
        optimizer.step()
        if epoch % 10 == 0:
            print(f"epoch {epoch:2d}  loss {loss.item():.4f}")
    model.eval()
    with torch.no_grad():
        right = (model(features, links).argmax(dim=1) == labels).float().mean()
    print(f"{right.item():.2f} of the nodes are in the right group")


if __name__ == "__main__":
    main()
