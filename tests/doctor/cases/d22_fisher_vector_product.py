import torch
import torch.nn as nn
from torch.distributions import Categorical, kl_divergence
from torch.nn.utils import parameters_to_vector, vector_to_parameters


def flat(tensors):
    return torch.cat([t.reshape(-1) for t in tensors])


def conjugate_gradient(matvec, b, iters=5):
    x, r, p = torch.zeros_like(b), b.clone(), b.clone()
    rr = r @ r
    for _ in range(iters):
        ap = matvec(p)
        alpha = rr / (p @ ap + 1e-8)
        x, r = x + alpha * p, r - alpha * ap
        new = r @ r
        p, rr = r + new / rr * p, new
    return x


class TRPO:
    def __init__(self, damping=0.1, step=0.05):
        self.policy = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 2))
        self.damping, self.step = damping, step

    def fisher_vector(self, obs, v):
        dist = Categorical(logits=self.policy(obs))
        old = Categorical(logits=dist.logits.detach())
        kl = kl_divergence(old, dist).mean()
        params = list(self.policy.parameters())
        kl_grad = flat(torch.autograd.grad(kl, params))
        product = torch.autograd.grad(kl_grad @ v, params)
        return flat(product) + self.damping * v

    def update(self, obs, act, adv):
        logp = Categorical(logits=self.policy(obs)).log_prob(act)
        surrogate = (logp * adv).mean()
        g = flat(torch.autograd.grad(surrogate, list(self.policy.parameters())))
        direction = conjugate_gradient(lambda v: self.fisher_vector(obs, v), g)
        with torch.no_grad():
            theta = parameters_to_vector(self.policy.parameters())
            vector_to_parameters(theta + self.step * direction, self.policy.parameters())
        return surrogate.item()


if __name__ == "__main__":
    torch.manual_seed(1)
    agent = TRPO()
    for it in range(3):
        obs = torch.randn(32, 4)
        act = torch.randint(0, 2, (32,))
        print(it, agent.update(obs, act, (act == (obs[:, 0] > 0)).float() - 0.5))
