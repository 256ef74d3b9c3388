"""Code that was tuned for speed: scripted cells, a compiled step, streams and events if there is a GPU."""

import contextlib
import time
from typing import List, Tuple

import torch
import torch.jit as jit
import torch.multiprocessing as mp
from torch import Tensor, nn
from torch.autograd import Function, gradcheck
from torch.autograd.function import once_differentiable
from torch.profiler import ProfilerActivity, profile, record_function

torch.manual_seed(9)
torch.set_num_threads(1)
torch.autograd.set_detect_anomaly(False)


@jit.script
def fused_gates(x: Tensor, h: Tensor) -> Tuple[Tensor, Tensor]:
    keep = torch.sigmoid(x + h)
    return keep, torch.tanh(x * h)


class ScriptedCell(nn.Module):
    __constants__ = ["width"]

    def __init__(self, n_in: int, width: int):
        super().__init__()
        self.width = width
        self.inp, self.rec = nn.Linear(n_in, width), nn.Linear(width, width, bias=False)

    @torch.jit.export
    def start(self, batch: int) -> Tensor:
        return torch.zeros(batch, self.width)

    def forward(self, xs: Tensor) -> Tensor:
        h = self.start(xs.size(1))
        states: List[Tensor] = []
        for x in xs.unbind(0):
            keep, new = fused_gates(self.inp(x), self.rec(h))
            h = keep * h + (1 - keep) * new + 0.1 * x.mean()
            states.append(h)
        return torch.stack(states)


class StraightThrough(Function):
    @staticmethod
    def forward(ctx, x, threshold):
        ctx.save_for_backward(x)
        ctx.threshold = threshold
        ctx.set_materialize_grads(False)
        return (x > threshold).to(x.dtype)

    @staticmethod
    @once_differentiable
    def backward(ctx, grad):
        if grad is None:
            return None, None
        (x,) = ctx.saved_tensors
        return grad * (1 - torch.tanh(x - ctx.threshold) ** 2), None


class Cube(Function):
    @staticmethod
    def forward(x):
        return x**3

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx, grad):
        return 3 * ctx.saved_tensors[0] ** 2 * grad


def worker(seed):
    """A fit in a process of its own; tensors travel back."""
    torch.manual_seed(seed)
    model, x, y = nn.Linear(4, 1), torch.randn(32, 4), torch.randn(32, 1)
    for _ in range(5):
        loss = (model(x) - y).pow(2).mean()
        loss.backward()
        with torch.no_grad():
            for p in model.parameters():
                p.add_(p.grad, alpha=-0.1)
                p.grad = None
    return {"seed": seed, "loss": loss.detach(), "weight": model.weight.detach()}


def main():
    print(
        "gradcheck", gradcheck(Cube.apply, torch.randn(4, dtype=torch.float64, requires_grad=True))
    )
    cell = torch.jit.script(ScriptedCell(3, 8))
    readout = nn.Linear(8, 1)
    optimizer = torch.optim.ASGD([*cell.parameters(), *readout.parameters()], lr=0.05)
    xs = torch.randn(7, 16, 3)
    target = (xs.cumsum(0)[..., :1] > 0).float()

    def loss_of(xs, target):
        states = cell(xs)
        spikes = StraightThrough.apply(readout(states), 0.1)
        return (spikes - target).pow(2).mean() + nn.functional.binary_cross_entropy_with_logits(
            readout(states), target
        )

    timer = torch.cuda.Event if torch.cuda.is_available() else time.perf_counter
    side = (
        torch.cuda.stream(torch.cuda.Stream())
        if torch.cuda.is_available()
        else contextlib.nullcontext()
    )
    with side:
        for step in range(1, 41):
            with record_function("step"):
                loss = loss_of(xs, target)
                optimizer.zero_grad(set_to_none=True)
                loss.backward()
                optimizer.step()
            if step % 10 == 0:
                print(f"step {step} loss {loss.item():.4f}")
    assert timer is not None

    with torch.autograd.profiler.profile(enabled=False):
        loss_of(xs, target)
    with profile(activities=[ProfilerActivity.CPU], record_shapes=False) as prof:
        loss_of(xs, target).backward()
    print("profiled", len(prof.key_averages()) > 0)

    torch.save(cell.state_dict(), "cell.pt")
    again = ScriptedCell(3, 8)
    again.load_state_dict(torch.load("cell.pt", mmap=True))
    print("scripted and not", torch.allclose(again(xs), cell(xs)), again.start(2).shape)

    with mp.get_context("fork").Pool(2) as pool:
        results = pool.map(worker, [100, 101, 102])
    print(
        "workers' losses", torch.stack([r["loss"] for r in results]), [r["seed"] for r in results]
    )
    print("mean weight", torch.stack([r["weight"] for r in results]).mean(0))


if __name__ == "__main__":
    main()
