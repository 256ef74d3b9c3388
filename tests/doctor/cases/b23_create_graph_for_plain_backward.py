import torch
from torch import nn


class Survival(nn.Module):
    """Log-hazard of a proportional hazards model."""

    def __init__(self, covariates=8):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(covariates, 24), nn.ELU(), nn.Linear(24, 1, bias=False))

    def forward(self, x):
        return self.net(x).squeeze(-1)


def partial_likelihood(log_hazard, time, event):
    order = time.argsort(descending=True)
    log_hazard, event = log_hazard[order], event[order]
    at_risk = log_hazard.logcumsumexp(0)
    return -((log_hazard - at_risk) * event).sum() / event.sum()


def gradient_norms(model):
    return {name: p.grad.norm().item() for name, p in model.named_parameters()}


def train(model, data, steps=30):
    x, time, event = data
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for step in range(steps):
        loss = partial_likelihood(model(x), time, event)
        optimizer.zero_grad()
        loss.backward(create_graph=True)
        norms = gradient_norms(model)
        optimizer.step()
        if step % 10 == 0:
            print(step, round(loss.item(), 4), {k: round(v, 3) for k, v in norms.items()})


def main():
    torch.manual_seed(0)
    x = torch.randn(200, 8)
    time = torch.distributions.Exponential((x[:, 0] - x[:, 1]).exp()).sample()
    event = (torch.rand(200) < 0.7).float()
    train(Survival(), (x, time, event))


if __name__ == "__main__":
    main()
