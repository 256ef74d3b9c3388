from dataclasses import dataclass

import torch
from torch import Tensor, nn


@dataclass
class Belief:
    mean: Tensor
    var: Tensor

    @classmethod
    def initial(cls, dim):
        return cls(torch.zeros(dim), torch.ones(dim))


class LearnedFilter(nn.Module):
    def __init__(self, state_dim, obs_dim):
        super().__init__()
        self.transition = nn.Parameter(torch.eye(state_dim) * 0.9)
        self.log_q = nn.Parameter(torch.zeros(state_dim))
        self.log_r = nn.Parameter(torch.zeros(obs_dim))
        self.observe = nn.Linear(state_dim, obs_dim, bias=False)
        self.correct = nn.Linear(obs_dim, state_dim, bias=False)

    def predict(self, belief):
        mean = self.transition @ belief.mean
        var = self.transition.pow(2) @ belief.var + self.log_q.exp()
        return Belief(mean, var)

    def update(self, belief, obs):
        innovation = obs - self.observe(belief.mean)
        s = self.observe.weight.pow(2) @ belief.var + self.log_r.exp()
        gain = torch.sigmoid(self.correct(1.0 / s))
        mean = belief.mean + gain * self.correct(innovation)
        posterior = Belief(mean, (1 - gain) * belief.var)
        nll = 0.5 * (innovation.pow(2) / s + s.log()).sum()
        nll = nll + (obs - self.observe(mean)).pow(2).sum()
        return posterior, nll

    def step(self, belief, obs):
        return self.update(self.predict(belief), obs)


def trajectory(n, gen):
    position, velocity = 0.0, 0.1
    for _ in range(n):
        velocity += 0.05 * torch.randn((), generator=gen).item()
        position += velocity
        yield torch.tensor([position, velocity]) + 0.1 * torch.randn(2, generator=gen)


def online_fit(filt, optimizer, gen, n):
    belief = Belief.initial(4)
    history = []
    for obs in trajectory(n, gen):
        belief, nll = filt.step(belief, obs)
        optimizer.zero_grad()
        nll.backward()
        optimizer.step()
        belief = Belief(belief.mean.detach(), belief.var.detach())
        history.append(nll.item())
    return history


if __name__ == "__main__":
    torch.manual_seed(3)
    filt = LearnedFilter(4, 2)
    optimizer = torch.optim.SGD(filt.parameters(), lr=1e-2)
    nlls = online_fit(filt, optimizer, torch.Generator().manual_seed(0), n=30)
    print("first", sum(nlls[:5]) / 5, "last", sum(nlls[-5:]) / 5)
