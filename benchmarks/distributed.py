"""Data parallel steps beside PyTorch's: `python -m benchmarks.distributed [--processes 2]`.

Each library trains the same model in a group of processes. The groups wait for one another and
take turns in each round; ratios are taken within a round. A second group of PyTorch is the control:
its ratio to the first is 1 but for the machine's noise. Time is that of the clock, in one thread
for each process. In brackets: the same model in as many processes that exchange nothing.
"""

from __future__ import annotations

import argparse
import json
import os
import socket
import statistics
import subprocess
import sys
from collections.abc import Sequence

from benchmarks.runner import ONE_THREAD, ROOT

WORKER = """\
import importlib, json, os, sys, time
library = os.environ["LIBRARY"]
torch = importlib.import_module(library)
dist = importlib.import_module(library + ".distributed")
nn = torch.nn
torch.set_num_threads(1)
rank = int(os.environ["RANK"])
dist.init_process_group("gloo")

def mlp(*sizes):
    layers = []
    for before, after in zip(sizes, sizes[1:]):
        layers += [nn.Linear(before, after), nn.ReLU()]
    return nn.Sequential(*layers[:-1]), torch.randn(64, sizes[0]), sizes[-1]

def cnn():
    model = nn.Sequential(
        nn.Conv2d(3, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(32, 64, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Linear(64 * 8 * 8, 128), nn.ReLU(), nn.Linear(128, 10),
    )
    return model, torch.randn(32, 3, 32, 32), 10

MAKERS = {
    "small": lambda: mlp(64, 128, 128, 8),
    "medium": lambda: mlp(784, 1024, 1024, 10),
    "large": lambda: mlp(1024, 2048, 2048, 2048, 10),
    "cnn": cnn,
}
torch.manual_seed(0)
model, data, classes = MAKERS[os.environ["WORKLOAD"]]()
data = data + rank
target = torch.arange(len(data)) % classes
if os.environ["WRAPPED"] == "1":
    model = nn.parallel.DistributedDataParallel(model)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)

def steps(count):
    for _ in range(count):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(data), target)
        loss.backward()
        optimizer.step()
    return loss.item()

for line in sys.stdin:
    count = int(line)
    dist.barrier()
    begun = time.perf_counter()
    loss = steps(count)
    dist.barrier()
    if rank == 0:
        print(json.dumps([time.perf_counter() - begun, loss]), flush=True)
dist.destroy_process_group()
"""
WORKLOADS = {"small": 200, "medium": 20, "large": 6, "cnn": 10}  # steps of a turn


class Group:
    """Processes that train one model, or run another text, and wait for their turn."""

    def __init__(
        self, library: str, workload: str, size: int, wrapped: bool, worker: str = WORKER
    ) -> None:
        with socket.create_server(("127.0.0.1", 0)) as found:
            port = found.getsockname()[1]
        told = {"LIBRARY": library, "WORKLOAD": workload, "WRAPPED": str(int(wrapped))}
        told |= {"WORLD_SIZE": str(size), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
        self.processes = [
            subprocess.Popen(
                [sys.executable, "-c", worker],
                env={
                    **os.environ,
                    **ONE_THREAD,
                    **told,
                    "RANK": str(rank),
                    "LOCAL_RANK": str(rank),
                },
                cwd=ROOT,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE if rank == 0 else None,
                text=True,
            )
            for rank in range(size)
        ]

    def turn(self, count: int) -> tuple[float, float]:
        """Seconds of a step, and the loss of the last."""
        for process in self.processes:
            assert process.stdin is not None
            process.stdin.write(f"{count}\n")
            process.stdin.flush()
        assert self.processes[0].stdout is not None
        seconds, loss = json.loads(self.processes[0].stdout.readline())
        return seconds / count, loss

    def end(self) -> None:
        """Let the processes end."""
        for process in self.processes:
            assert process.stdin is not None
            process.stdin.close()
        for process in self.processes:
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait(10)
            if process.stdout is not None:
                process.stdout.close()


def compare(workload: str, size: int, rounds: int) -> str:
    """A row of the table."""
    count = WORKLOADS[workload]
    groups = {
        "torch": Group("torch", workload, size, True),
        "retrograd": Group("retrograd", workload, size, True),
        "control": Group("torch", workload, size, True),
        "torch apart": Group("torch", workload, size, False),
        "retrograd apart": Group("retrograd", workload, size, False),
    }
    times: dict[str, list[float]] = {name: [] for name in groups}
    try:
        losses = {name: group.turn(count)[1] for name, group in groups.items()}  # and warm up
        for pair in (("torch", "retrograd"), ("torch apart", "retrograd apart")):
            first, second = (losses[name] for name in pair)
            if abs(first - second) > 1e-3 * max(1.0, abs(first)):
                raise SystemExit(f"{workload}: the losses differ: {losses}")
        names = list(groups)
        for number in range(rounds):
            for name in names[number % len(names) :] + names[: number % len(names)]:
                times[name].append(groups[name].turn(count)[0])
    finally:
        for group in groups.values():
            group.end()
    median = {name: statistics.median(found) * 1e3 for name, found in times.items()}
    pairs = list(zip(times["torch"], times["retrograd"], times["control"], strict=True))
    ratio = statistics.median(torch / ours for torch, ours, _ in pairs)
    control = statistics.median(torch / other for torch, _, other in pairs)
    return (
        f"| {workload} | {size} | {median['torch']:.2f} ({median['torch apart']:.2f}) "
        f"| {median['retrograd']:.2f} ({median['retrograd apart']:.2f}) "
        f"| {ratio:.2f} | {control:.2f} |"
    )


def main(given: Sequence[str] | None = None) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.distributed", description=__doc__)
    parser.add_argument("--processes", type=int, action="append", help="how many (2)")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--only", action="append", choices=list(WORKLOADS))
    asked = parser.parse_args(given)
    print("| model | processes | PyTorch, ms | retrograd, ms | ratio | control |")
    print("| --- | --- | --- | --- | --- | --- |")
    for size in asked.processes or [2]:
        for workload in asked.only or WORKLOADS:
            print(compare(workload, size, asked.rounds), flush=True)


if __name__ == "__main__":
    main()
