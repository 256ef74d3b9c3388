"""`python -m benchmarks.graph_tools`: memory and time of `graph.unchain` and of strict mode.

Every way of doing the same work runs in a process of its own: once to count the bytes of NumPy's
arrays at their peak, once for the peak of the process's resident pages (what is in memory-mapped
files counts there as long as the system keeps it), and a few times for processor and wall time.
All give the same gradients; that is checked.
"""

import argparse
import gc
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any, NamedTuple

from benchmarks.memory import PEAK, STATUS, CountedArrays, resident

Work = Callable[[], float]
"""Does the work and returns a number that is made of all gradients."""


class Way(NamedTuple):
    """One way of doing a piece of work."""

    label: str
    prepare: Callable[[Any], Work]


def checksum(parameters: list[Any]) -> float:
    return float(sum(p.grad.double().abs().sum().item() for p in parameters))


# ---------------------------------------------------------------------------------- unchain

STEPS, WINDOW = 80, 8


def recurrence(torch: Any) -> tuple[Any, Any, Any, list[Any]]:
    torch.manual_seed(0)
    cell, read = torch.nn.LSTMCell(64, 256), torch.nn.Linear(256, 1)
    return cell, read, torch.randn(STEPS, 64, 64), [*cell.parameters(), *read.parameters()]


def window_by_unchain(torch: Any) -> Work:
    cell, read, inputs, parameters = recurrence(torch)

    def work() -> float:
        h = c = torch.zeros(64, 256)
        for x in inputs:
            h, c = torch.graph.unchain(cell(x, (h, c)), steps=WINDOW)
            read(h).square().mean().backward(retain_graph=True)
        return checksum(parameters)

    return work


def window_again(torch: Any) -> Work:
    cell, read, inputs, parameters = recurrence(torch)

    def work() -> float:
        past = [(torch.zeros(64, 256), torch.zeros(64, 256))]
        for now in range(1, STEPS + 1):
            h, c = past[0]
            for x in inputs[now - len(past) : now]:
                h, c = cell(x, (h, c))
            read(h).square().mean().backward()
            past.append((h.detach(), c.detach()))
            past = past[-WINDOW:]
        return checksum(parameters)

    return work


def all_steps(torch: Any) -> Work:
    cell, read, inputs, parameters = recurrence(torch)

    def work() -> float:
        h = c = torch.zeros(64, 256)
        for x in inputs:
            h, c = cell(x, (h, c))
            read(h).square().mean().backward(retain_graph=True)
        return checksum(parameters)

    return work


# ----------------------------------------------------------------------------------- strict


def training(mode: bool, width: int, batch: int) -> Callable[[Any], Work]:
    def prepare(torch: Any) -> Work:
        torch.manual_seed(0)
        layers = [torch.nn.Linear(width, width), torch.nn.ReLU(), torch.nn.Linear(width, width)]
        net = torch.nn.Sequential(*layers)
        optimizer = torch.optim.Adam(net.parameters())
        x, y = torch.randn(batch, width), torch.randn(batch, width)

        def work() -> float:
            with torch.graph.strict(mode):
                for _ in range(20):
                    optimizer.zero_grad()
                    (net(x) - y).square().mean().backward()
                    optimizer.step()
            return 0.0

        return work

    return prepare


GROUPS: dict[str, tuple[str, list[Way]]] = {
    "unchain": (
        f"LSTMCell(64, 256), batch 64, a loss in each of {STEPS} steps, window of {WINDOW}",
        [
            Way("retain_graph=True, all steps (other gradients)", all_steps),
            Way("window computed again", window_again),
            Way("graph.unchain", window_by_unchain),
        ],
    ),
    "strict": (
        "20 steps of Adam on Linear, ReLU, Linear: what strict mode costs while it is on",
        [
            Way("width 16, batch 16", training(False, 16, 16)),
            Way("width 16, batch 16, strict", training(True, 16, 16)),
            Way("width 512, batch 128", training(False, 512, 128)),
            Way("width 512, batch 128, strict", training(True, 512, 128)),
        ],
    ),
}
OTHER_GRADIENTS = ("other gradients",)


# ------------------------------------------------------------------------------- measuring


def arrays_of(work: Work) -> dict[str, int]:
    """Bytes of arrays above those before, at the peak."""
    counted = CountedArrays()
    counted.start()
    work()
    gc.collect()
    before = counted.peak = counted.live
    work()
    return {"arrays": counted.peak - before}


def resident_at_peak(work: Work) -> int:
    gc.collect()
    before = resident("VmRSS")
    PEAK.write_text("5")
    work()
    return resident("VmHWM") - before


def times(work: Work, rounds: int) -> tuple[float, float]:
    """Medians of processor time and of wall time, in seconds; the first run warms up."""
    work()
    found = []
    for _ in range(rounds):
        begun = time.process_time(), time.perf_counter()
        work()
        found.append((time.process_time() - begun[0], time.perf_counter() - begun[1]))
    processor, wall = zip(*found, strict=True)
    return statistics.median(processor), statistics.median(wall)


def measure(group: str, number: int, what: str, rounds: int) -> dict[str, Any]:
    import retrograd as torch

    work = GROUPS[group][1][number].prepare(torch)
    if what == "arrays":
        return dict(arrays_of(work))
    if what == "resident":
        return {"resident": resident_at_peak(work)}
    processor, wall = times(work, rounds)
    return {"processor": processor, "wall": wall, "sum": prepared_sum(group, number, torch)}


def prepared_sum(group: str, number: int, torch: Any) -> float:
    return GROUPS[group][1][number].prepare(torch)()


def in_process(group: str, number: int, what: str, rounds: int) -> dict[str, Any]:
    command = [sys.executable, "-m", "benchmarks.graph_tools", "--one", group, str(number), what]
    done = subprocess.run(
        [*command, "--rounds", str(rounds)], capture_output=True, text=True, env=dict(os.environ)
    )
    if done.returncode:
        raise RuntimeError(done.stderr)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def in_mb(count: int) -> str:
    return f"{count / 1e6:>7.1f} MB"


def print_group(group: str, rounds: int) -> None:
    title, ways = GROUPS[group]
    columns = f"{'peak':>10}{'resident':>10}{'processor':>11}{'wall':>11}"
    print(f"{title}\n{'':<48}{columns}")
    sums = {}
    for number, way in enumerate(ways):
        facts: dict[str, Any] = {}
        for what in ("arrays", "resident", "time"):
            facts |= in_process(group, number, what, rounds)
        sums[way.label] = facts["sum"]
        print(
            f"{way.label:<48}{in_mb(facts['arrays'])}"
            f"{in_mb(facts['resident'])}"
            f"{facts['processor'] * 1e3:>8.1f} ms{facts['wall'] * 1e3:>8.1f} ms",
            flush=True,
        )
    print()
    same = [s for label, s in sums.items() if not any(o in label for o in OTHER_GRADIENTS)]
    if max(same) - min(same) > 1e-4 * abs(max(same)):
        raise AssertionError(f"gradients differ: {sums}")


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.graph_tools", description=__doc__)
    parser.add_argument("--only", choices=[*GROUPS], help="one group instead of all")
    parser.add_argument("--rounds", type=int, default=3, help="timed runs of each way (3)")
    parser.add_argument("--one", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if not STATUS.exists():
        print("peak memory is read from /proc, which only Linux has", file=sys.stderr)
        return 1
    if options.one is not None:
        group, number, what = options.one
        print(json.dumps(measure(group, int(number), what, options.rounds)))
        return 0
    for group in [options.only] if options.only else GROUPS:
        print_group(group, options.rounds)
    return 0


if __name__ == "__main__":
    sys.exit(main())
