import torch
import torch.nn as nn


class PointerPolicy(nn.Module):
    """Picks cities one after another (tiny travelling salesman)."""

    def __init__(self, dim=12):
        super().__init__()
        self.encode = nn.Linear(2, dim)
        self.query = nn.GRUCell(dim, dim)
        self.start = nn.Parameter(torch.zeros(dim))

    def tour(self, cities, gen):
        keys = torch.tanh(self.encode(cities))
        hidden, last = self.start, keys.mean(0)
        visited = torch.zeros(len(cities), dtype=torch.bool)
        order, log_probs = [], []
        while not visited.all():
            hidden = self.query(last[None], hidden[None])[0]
            scores = (keys @ hidden).masked_fill(visited, -1e9)
            log_p = scores.log_softmax(0)
            choice = torch.multinomial(log_p.detach().exp(), 1, generator=gen).item()
            order.append(choice)
            log_probs.append(log_p[choice])
            visited = visited | (torch.arange(len(cities)) == choice)
            last = keys[choice]
        return order, torch.tensor(log_probs)


def length(cities, order):
    path = cities[order + order[:1]]
    return (path[1:] - path[:-1]).norm(dim=1).sum()


def train(policy, episodes=6):
    gen = torch.Generator().manual_seed(3)
    opt = torch.optim.Adam(policy.parameters(), lr=2e-3)
    baseline = None
    for ep in range(episodes):
        cities = torch.rand(6, 2, generator=gen)
        order, log_probs = policy.tour(cities, gen)
        cost = length(cities, order).item()
        baseline = cost if baseline is None else 0.8 * baseline + 0.2 * cost
        loss = (cost - baseline + 1e-3) * log_probs.sum()
        opt.zero_grad()
        loss.backward()
        opt.step()
        print(ep, order, round(cost, 3))


if __name__ == "__main__":
    torch.manual_seed(0)
    train(PointerPolicy())
