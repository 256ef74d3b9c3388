"""Multi-task learning: task weights by GradNorm, by uncertainty, and PCGrad's projections."""

import dataclasses
import enum
import itertools
import typing as tp

import torch
from torch import nn
from torch.nn.utils import parameters_to_vector, vector_to_parameters


class Method(str, enum.Enum):
    EQUAL = "equal"
    GRADNORM = "gradnorm"
    UNCERTAINTY = "uncertainty"
    PCGRAD = "pcgrad"


@dataclasses.dataclass(frozen=True)
class Config:
    method: Method
    steps: int = 60
    lr: float = 1e-2
    alpha: float = 0.12
    tasks: tuple[float, ...] = (1.0, 10.0, 0.3)


class ToyTasks(tp.NamedTuple):
    x: torch.Tensor
    ys: tp.List[torch.Tensor]

    @classmethod
    def generate(cls, scales: tp.Sequence[float], generator: torch.Generator) -> "ToyTasks":
        x = torch.randn(128, 12, generator=generator)
        shared = torch.randn(12, 6, generator=generator) * 0.4
        own = [torch.randn(12, 6, generator=generator) * 0.3 for _ in scales]
        return cls(x, [s * torch.tanh(x @ (shared + o)) for s, o in zip(scales, own)])


class MultiTaskNet(nn.Module):
    def __init__(self, tasks: int) -> None:
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(12, 24), nn.ELU(), nn.Linear(24, 24), nn.ELU())
        self.heads = nn.ParameterList(
            [nn.Parameter(torch.randn(24, 6) * 0.1) for _ in range(tasks)]
        )
        self.task_weights = nn.Parameter(torch.ones(tasks))
        self.log_vars = nn.Parameter(torch.zeros(tasks))

    def forward(self, batch: ToyTasks) -> torch.Tensor:
        h = self.trunk(batch.x)
        return torch.stack([(h @ w - y).pow(2).mean() for w, y in zip(self.heads, batch.ys)])


def gradnorm_step(net, losses, initial, optimizer, alpha):
    (net.task_weights.detach() * losses).sum().backward(retain_graph=True)
    shared = net.trunk[-2].weight
    norms = []
    for weight, loss in zip(net.task_weights, losses):
        (g,) = torch.autograd.grad(weight * loss, shared, retain_graph=True, create_graph=True)
        norms.append(g.norm())
    norms = torch.stack(norms)
    with torch.no_grad():
        ratio = losses / initial
        target = norms.mean() * (ratio / ratio.mean()) ** alpha
    net.task_weights.grad = torch.autograd.grad((norms - target).abs().sum(), net.task_weights)[0]
    optimizer.step()
    with torch.no_grad():
        net.task_weights.mul_(len(losses) / net.task_weights.sum())


def pcgrad_step(net, losses, optimizer):
    trunk = list(net.trunk.parameters())
    grads = []
    for loss, head in zip(losses, net.heads):
        *shared, own = torch.autograd.grad(loss, [*trunk, head], retain_graph=True)
        grads.append(parameters_to_vector(shared))
        head.grad = own
    projected = [g.clone() for g in grads]
    for i, j in itertools.permutations(range(len(grads)), 2):
        dot = torch.dot(projected[i], grads[j])
        if dot < 0:
            projected[i].sub_(grads[j], alpha=(dot / grads[j].square().sum()).item())
    total = torch.stack(projected).sum(0)
    for p, g in zip(trunk, total.split([p.numel() for p in trunk])):
        p.grad = g.view_as(p)
    optimizer.step()


def run(config: Config) -> None:
    torch.manual_seed(0)
    batch = ToyTasks.generate(config.tasks, torch.Generator().manual_seed(99))
    net = MultiTaskNet(len(config.tasks))
    optimizer = torch.optim.Adam(net.parameters(), lr=config.lr)
    initial = None
    for step in range(config.steps):
        losses = net(batch)
        if initial is None:
            initial = losses.detach()
        optimizer.zero_grad()
        match config.method:
            case Method.EQUAL:
                losses.sum().backward()
                optimizer.step()
            case Method.UNCERTAINTY:
                (torch.exp(-net.log_vars) * losses + net.log_vars).sum().backward()
                optimizer.step()
            case Method.GRADNORM:
                gradnorm_step(net, losses, initial, optimizer, config.alpha)
            case Method.PCGRAD:
                pcgrad_step(net, losses, optimizer)
        if (step + 1) % 20 == 0:
            relative = ", ".join(f"{v:.4f}" for v in (losses / initial).tolist())
            print(f"{config.method.value:>12} {step + 1:3d}: relative losses {relative}")
    print(f"{'':>12} weights {net.task_weights.data} log variances {net.log_vars.data}")
    flat = parameters_to_vector(net.trunk.parameters()).detach()
    vector_to_parameters(torch.zeros_like(flat), net.trunk.parameters())
    print(
        f"{'':>12} |trunk| {flat.norm():.4f} -> {sum(p.norm() for p in net.trunk.parameters()):.1f}"
    )


if __name__ == "__main__":
    for method in Method:
        run(Config(method))
