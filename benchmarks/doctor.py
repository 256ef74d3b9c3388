"""What the doctor costs: steps under it, under `detect_anomaly` and plain, in interleaved rounds.

    python -m benchmarks.doctor [--rounds 7] [--engine torch|retrograd] [WORKLOAD ...]

Prints, for each workload, the time of a plain step and the ratios to it (the median over rounds).
The first calls of a program, at which the doctor looks through the heap, are not in the rounds.
Measured is processor time with one thread, so that what else runs on the machine does not count.
"""

from __future__ import annotations

import argparse
import importlib
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

from retrograd.doctor import session
from retrograd.watching.engines import RetrogradEngine, TorchEngine

Step = Callable[[], None]
MODES = ("plain", "doctor", "anomaly")
LEAST_SECONDS = 0.15  # of one measurement


def tiny_mlp(torch: Any) -> Step:
    """A step of 0.4 ms: all of it is overhead."""
    model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.Tanh(), torch.nn.Linear(16, 1))
    optimizer = torch.optim.Adam(model.parameters(), 1e-3)
    x, y = torch.randn(16, 8), torch.randn(16, 1)

    def step() -> None:
        optimizer.zero_grad()
        loss = ((model(x) - y) ** 2).mean()
        loss.backward()
        optimizer.step()

    return step


def policy_gradient(torch: Any) -> Step:
    """200 forward passes of one row each, then one backward."""
    policy = torch.nn.Sequential(torch.nn.Linear(4, 32), torch.nn.ReLU(), torch.nn.Linear(32, 2))
    optimizer = torch.optim.Adam(policy.parameters(), 1e-3)
    states = torch.randn(200, 1, 4)

    def step() -> None:
        chosen = []
        for state in states:
            logits = policy(state)
            logarithms = torch.log_softmax(logits, dim=-1)
            action = int(logarithms.detach().argmax())
            chosen.append(logarithms[0, action])
        optimizer.zero_grad()
        loss = -torch.stack(chosen).mean()
        loss.backward()
        optimizer.step()

    return step


def lstm_cell(torch: Any) -> Step:
    """An LSTM cell in a Python loop of 50 steps."""
    cell = torch.nn.LSTMCell(16, 32)
    head = torch.nn.Linear(32, 1)
    optimizer = torch.optim.Adam([*cell.parameters(), *head.parameters()], 1e-3)
    inputs = torch.randn(50, 8, 16)

    def step() -> None:
        hidden, memory = torch.zeros(8, 32), torch.zeros(8, 32)
        losses = []
        for x in inputs:
            hidden, memory = cell(x, (hidden, memory))
            losses.append(head(hidden).pow(2).mean())
        optimizer.zero_grad()
        torch.stack(losses).sum().backward()
        optimizer.step()

    return step


def mlp(torch: Any) -> Step:
    """784-512-512-10 with batches of 128: the arithmetic counts."""
    model = torch.nn.Sequential(
        *(torch.nn.Linear(784, 512), torch.nn.ReLU(), torch.nn.Linear(512, 512), torch.nn.ReLU()),
        torch.nn.Linear(512, 10),
    )
    optimizer = torch.optim.SGD(model.parameters(), 0.01)
    x, y = torch.randn(128, 784), torch.randint(0, 10, (128,))

    def step() -> None:
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()

    return step


def small_cnn(torch: Any) -> Step:
    """Two convolutions on 28 by 28 pictures."""
    model = torch.nn.Sequential(
        *(torch.nn.Conv2d(1, 8, 3), torch.nn.ReLU(), torch.nn.MaxPool2d(2)),
        *(torch.nn.Conv2d(8, 16, 3), torch.nn.ReLU(), torch.nn.MaxPool2d(2)),
        *(torch.nn.Flatten(), torch.nn.Linear(400, 10)),
    )
    optimizer = torch.optim.SGD(model.parameters(), 0.01)
    x, y = torch.randn(32, 1, 28, 28), torch.randint(0, 10, (32,))

    def step() -> None:
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()

    return step


WORKLOADS: dict[str, Callable[[Any], Step]] = {
    "tiny_mlp": tiny_mlp,
    "policy_gradient": policy_gradient,
    "lstm_cell": lstm_cell,
    "mlp": mlp,
    "small_cnn": small_cnn,
}


def run_steps(step: Step, count: int) -> float:
    """Seconds of processor time for some steps."""
    started = time.process_time()
    for _ in range(count):
        step()
    return time.process_time() - started


class Bench:
    """One workload in its modes."""

    def __init__(self, engine: TorchEngine | RetrogradEngine, step: Step) -> None:
        self.step = step
        self.torch = engine.torch
        self.watched = session.make(engine)
        # The rounds stand for one long run, in which the heap is looked through once.
        self.watched.recorder.heap.release = lambda: None  # type: ignore[method-assign]
        run_steps(step, 3)
        self.in_mode("doctor", 40)  # the samples of the first calls
        once = run_steps(step, 3) / 3
        self.count = max(1, round(LEAST_SECONDS / once))

    def in_mode(self, mode: str, count: int) -> float:
        """Seconds for steps in a mode."""
        if mode == "anomaly":
            with self.torch.autograd.detect_anomaly():
                return run_steps(self.step, count)
        if mode == "plain":
            return run_steps(self.step, count)
        self.watched.recorder.enabled = True
        session.begin(self.watched, sys._getframe())
        try:
            return run_steps(self.step, count)
        finally:
            session.end(self.watched)

    def rounds(self, number: int) -> dict[str, list[float]]:
        """Seconds of a step, by mode; the modes take turns."""
        found: dict[str, list[float]] = {mode: [] for mode in MODES}
        for turn in range(number):
            for mode in MODES[turn % 3 :] + MODES[: turn % 3]:
                found[mode].append(self.in_mode(mode, self.count) / self.count)
        return found


def main(arguments: list[str] | None = None) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("workloads", nargs="*", metavar="WORKLOAD", help=", ".join(WORKLOADS))
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--engine", choices=("torch", "retrograd"), default="torch")
    options = parser.parse_args(arguments)
    import warnings

    warnings.filterwarnings("ignore", message="Anomaly Detection has been enabled")
    print(f"{'workload':<18}{'plain':>12}{'doctor':>10}{'anomaly':>10}")
    for name in options.workloads or WORKLOADS:
        engine = TorchEngine() if options.engine == "torch" else RetrogradEngine()
        engine.torch.manual_seed(0)
        engine.torch.set_num_threads(1)
        importlib.import_module(f"{engine.torch.__name__}.optim")
        times = Bench(engine, WORKLOADS[name](engine.torch)).rounds(options.rounds)
        plain = times["plain"]
        ratios = [
            statistics.median(other / own for other, own in zip(times[mode], plain, strict=True))
            for mode in MODES[1:]
        ]
        milliseconds = statistics.median(plain) * 1e3
        print(f"{name:<18}{milliseconds:>9.2f} ms{ratios[0]:>9.2f}x{ratios[1]:>9.2f}x", flush=True)


if __name__ == "__main__":
    main()
