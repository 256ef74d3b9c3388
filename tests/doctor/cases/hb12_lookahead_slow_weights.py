import torch
import torch.nn as nn


class Lookahead:
    """Wraps an optimizer: after k steps the weights go half of the way back."""

    def __init__(self, optimizer, k=5, alpha=0.5):
        self.optimizer, self.k, self.alpha, self.count = optimizer, k, alpha, 0
        self.slow = [
            [p.detach().clone() for p in group["params"]] for group in optimizer.param_groups
        ]

    def zero_grad(self):
        self.optimizer.zero_grad()

    def step(self):
        self.optimizer.step()
        self.count += 1
        if self.count % self.k:
            return
        for group, slow_group in zip(self.optimizer.param_groups, self.slow):
            for p, slow in zip(group["params"], slow_group):
                slow += self.alpha * (p.data - slow)
                p.data.copy_(slow)


class SequenceNet(nn.Module):
    def __init__(self, symbols=6, hidden=20):
        super().__init__()
        self.embed = nn.Embedding(symbols, 8)
        self.rnn = nn.RNN(8, hidden, batch_first=True)
        self.out = nn.Linear(hidden, 2)

    def forward(self, x):
        return self.out(self.rnn(self.embed(x))[1][0])


def main():
    torch.manual_seed(0)
    model = SequenceNet()
    optimizer = Lookahead(torch.optim.RMSprop(model.parameters(), lr=5e-3))
    for step in range(75):
        x = torch.randint(0, 6, (64, 5))
        y = (x[:, 0] == x[:, -1]).long() | (x[:, 2] > 3).long()
        loss = nn.functional.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 15 == 14:
            print(f"step {step} loss {loss.item():.4f}")


main()
