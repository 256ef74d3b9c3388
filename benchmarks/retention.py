"""What the ways of keeping a graph cost: memory and time, on a transformer with two losses.

    python -m benchmarks.retention                          prints the table
    python -m benchmarks.retention docs/graph/memory.md     writes the page
    python -m benchmarks.retention --size small             a small model, to see that it runs

Two heads with a loss each stand on one trunk. The first backward call keeps the graph in one of
several ways, the second one walks what it needs again. Each way runs in fresh processes of its own:
one counts arrays, as ``python -m benchmarks --memory`` does, and asks the ledger, one reads the
peak of resident memory, the others take time, the least of a few. All give the same gradients,
which is checked.
"""

import argparse
import contextlib
import ctypes
import gc
import hashlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.memory import PEAK, STATUS, CountedArrays, resident
from benchmarks.page import cells, head, processor

ROUNDS = 3


class Size(NamedTuple):
    """Of the transformer, of its input, and of budgets: a half and a quarter of its graph."""

    width: int
    trunk: int  # layers
    batch: int
    length: int
    limits: tuple[str, str]


SIZES = {
    "small": Size(32, 2, 2, 16, ("500kB", "250kB")),
    "medium": Size(128, 4, 8, 128, ("60MB", "30MB")),
    "large": Size(256, 4, 8, 128, ("90MB", "45MB")),
}

Scope = AbstractContextManager[Any]


class Way(NamedTuple):
    """One way of keeping the graph: around the forward, and for the first backward call."""

    label: str
    scope: Callable[[Any, Size], Scope] = lambda graph, size: contextlib.nullcontext()
    retain: object = True  # "trunk": a list of it
    wrapped: bool = False  # every layer in `torch.utils.checkpoint`


WAYS = {
    "plain": Way("`retain_graph=True`"),
    "control": Way("the same, once more"),
    "list": Way("`retain_graph=[trunk]`", retain="trunk"),
    "recompute": Way('`retain_graph="recompute"`', retain="recompute"),
    "scope": Way("`graph.recompute()`", lambda graph, size: graph.recompute()),
    "checkpoint": Way("`torch.utils.checkpoint`, each layer", wrapped=True),
    "disk": Way('`graph.offload("disk")`', lambda graph, size: graph.offload("disk", over="256kB")),
    "host": Way('`graph.offload("host")`', lambda graph, size: graph.offload("host", over="256kB")),
    "half": Way("`graph.budget({0!r})`", lambda graph, size: graph.budget(size.limits[0])),
    "quarter": Way("`graph.budget({1!r})`", lambda graph, size: graph.budget(size.limits[1])),
}

# ------------------------------------------------------------------------- in the child process


class Model:
    """A trunk and two heads, and an input; everything that is made only once has been made."""

    def __init__(self, torch: Any, size: Size) -> None:
        self.torch = torch
        torch.set_num_threads(1)
        torch.manual_seed(0)
        kind, width = torch.nn.TransformerEncoderLayer, size.width
        layers = [
            kind(width, 4, 4 * width, dropout=0.1, batch_first=True) for _ in range(size.trunk + 2)
        ]
        self.trunk, self.heads = layers[:-2], layers[-2:]
        self.parameters = [p for layer in layers for p in layer.parameters()]
        self.x = torch.randn(size.batch, size.length, width)
        for parameter in self.parameters:
            parameter.grad = torch.full_like(parameter, 0.0)  # written, so that it is resident

    def losses(self, x: Any, wrapped: bool) -> list[Any]:
        """Both losses, and what they stand on."""
        trunk = x
        for layer in self.trunk:
            trunk = self.run(layer, trunk, wrapped)
        heads = [self.run(layer, trunk, wrapped) for layer in self.heads]
        return [*(found.pow(2).mean() for found in heads), trunk]

    def run(self, layer: Any, x: Any, wrapped: bool) -> Any:
        if not wrapped:
            return layer(x)
        return self.torch.utils.checkpoint.checkpoint(layer, x, use_reentrant=False)

    def gradients(self) -> str:
        digest = hashlib.sha256()
        for parameter in self.parameters:
            digest.update(parameter.grad.numpy().tobytes())
        return digest.hexdigest()


def run(way: Way, size: Size, note: Callable[..., None], prepared: Callable[[], None]) -> str:
    """One forward and two backward calls; the gradients. `note` is told of the end of each."""
    import retrograd as torch

    model = Model(torch, size)
    with way.scope(torch.graph, size):  # once before, small: modules are loaded at their first use
        first, second, trunk = model.losses(model.x[:1, :4], way.wrapped)
    torch.graph.ledger(first)
    first.backward(retain_graph="recompute")
    second.backward()
    del first, second, trunk
    for parameter in model.parameters:
        parameter.grad.zero_()
    torch.manual_seed(1)
    gc.collect()
    prepared()
    with way.scope(torch.graph, size):
        first, second, trunk = model.losses(model.x, way.wrapped)
    note("forward", first, second)
    keep = [trunk] if way.retain == "trunk" else way.retain
    del trunk
    first.backward(retain_graph=keep)
    del keep
    note("first", first, second)
    second.backward()
    note("second")
    return model.gradients()


def by_arrays(way: Way, size: Size) -> dict[str, Any]:
    """Bytes of arrays above those of the model: what each step left, and its peak; the ledger's."""
    import retrograd as torch

    arrays = CountedArrays()
    arrays.start()
    facts: dict[str, Any] = {}
    base = 0

    def prepared() -> None:
        nonlocal base
        base = arrays.peak = arrays.live

    def note(name: str, *losses: Any) -> None:
        facts[f"held_{name}"], facts[f"peak_{name}"] = arrays.live - base, arrays.peak - base
        if losses:
            kept = torch.graph.ledger(*losses)
            facts[f"ledger_{name}"] = kept.total + kept.outside  # masks are nobody else's
        arrays.peak = arrays.live

    facts["gradients"] = run(way, size, note, prepared)
    facts["peak"] = max(facts[f"peak_{name}"] for name in ("forward", "first", "second"))
    return facts


def by_pages(way: Way, size: Size) -> dict[str, Any]:
    """The peak of the process's resident memory above what it had with the model and its imports.

    What is freed goes back to the system at once, or the peak would show what the allocator keeps.
    """
    base = 0

    def prepared() -> None:
        nonlocal base
        ctypes.CDLL(None).malloc_trim(0)
        base = resident("VmRSS")
        PEAK.write_text("5")

    run(way, size, lambda *_: None, prepared)
    return {"resident": resident("VmHWM") - base}


def by_clock(way: Way, size: Size) -> dict[str, Any]:
    begun = (0.0, 0.0)
    ended = (0.0, 0.0)

    def prepared() -> None:
        nonlocal begun
        begun = time.process_time(), time.perf_counter()

    def note(*_: Any) -> None:
        nonlocal ended
        ended = time.process_time(), time.perf_counter()

    run(way, size, note, prepared)
    return {"processor": ended[0] - begun[0], "wall": ended[1] - begun[1]}


MEASURES = {"arrays": by_arrays, "pages": by_pages, "clock": by_clock}

# ------------------------------------------------------------------------------------ the table


def in_a_process(way: str, size: str, measure: str) -> dict[str, Any]:
    """What one measure finds of one way, in a fresh process."""
    command = [sys.executable, "-m", "benchmarks.retention", "--one", way, measure, "--size", size]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(done.stderr)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def facts_of(way: str, size: str, rounds: int) -> dict[str, Any]:
    facts = in_a_process(way, size, "arrays") | in_a_process(way, size, "pages")
    timed = [in_a_process(way, size, "clock") for _ in range(rounds)]
    return facts | {name: min(one[name] for one in timed) for name in ("processor", "wall")}


BYTES = {
    "ledger_forward": "ledger after the forward",
    "ledger_first": "ledger after backward 1",
    "held_forward": "arrays after the forward",
    "peak_forward": "peak of the forward",
    "peak_first": "of backward 1",
    "peak_second": "of backward 2",
    "resident": "resident, peak",
}


def table(size: str, rounds: int) -> list[str]:
    rows = head("", *BYTES.values(), "processor", "wall")
    gradients = set()
    for name, way in WAYS.items():
        print(f"measuring: {name}", file=sys.stderr, flush=True)
        facts = facts_of(name, size, rounds)
        gradients.add(facts["gradients"])
        sizes = [f"{facts[fact] / 1e6:.1f} MB" for fact in BYTES]
        times = [f"{1e3 * facts[clock]:.0f} ms" for clock in ("processor", "wall")]
        rows.append(cells([way.label.format(*SIZES[size].limits), *sizes, *times]))
    if len(gradients) != 1:
        raise AssertionError(f"the ways give {len(gradients)} different gradients")
    return [*rows, "", f"Gradients of all {len(WAYS)} ways: the same to the bit."]


PAGE = """\
# What the ways of keeping a graph cost

Written by `python -m benchmarks.retention docs/graph/memory.md`.

A transformer encoder (width {width}, 4 heads, dropout 0.1; {batch} sequences of {length}):
a trunk of {trunk} layers, and on it two heads of one layer with a loss each, both of which the
program holds. The first backward call keeps the graph in one of these ways, the second one walks
what it needs of it again. One thread; every figure is from a fresh process of its own.

- *Ledger*: what [`graph.ledger`](ledger.md) counts that nodes keep, with masks of dropout; not what
  is kept only to compute other values from it.
- *Arrays*: bytes of NumPy's arrays above those of the model and its gradients, counted as they are
  made and freed: after the forward, and at the peak of each step.
- *Resident*: the peak of the process's memory above what it had with the model and all imports.
  Mapped files count in it for as long as the system has room.
- *Time*: of the three steps together, the least of {rounds}; read it beside the control.

{table}

- The list frees the first head as the walk passes it, and keeps what both losses need.
- `"recompute"` acts after the first backward call, when the peak is over. The random numbers of
  dropout stay: a finished graph does not know the generator's state.
- [`graph.recompute()`](retention.md) lets go while the forward runs, so that its peak falls too. It
  wraps nothing: `torch.utils.checkpoint` is told by its user where to cut.
- [`offload`](offload.md) to the host leaves tensors of the CPU where they are: its row is a second
  control.
- A [budget](budget.md) is about what the graph keeps. What an op works on comes on top.

Measured on {machine}.
"""


def page(size: str, rounds: int) -> str:
    about = Path("/proc/cpuinfo")
    name = processor(about.read_text(encoding="utf-8") if about.exists() else "")
    return PAGE.format(
        **SIZES[size]._asdict(),
        rounds=rounds,
        table="\n".join(table(size, rounds)),
        machine=f"{name}, {os.cpu_count()} cores",
    )


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.retention", description=__doc__)
    parser.add_argument("path", type=Path, nargs="?", help="a page to write")
    parser.add_argument("--size", choices=SIZES, default="large")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help=f"timed runs ({ROUNDS})")
    parser.add_argument("--one", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if not STATUS.exists():
        print("peak memory is read from /proc, which only Linux has", file=sys.stderr)
        return 1
    if options.one:
        way, measure = options.one
        print(json.dumps(MEASURES[measure](WAYS[way], SIZES[options.size])))
    elif options.path is None:
        print("\n".join(table(options.size, options.rounds)))
    else:
        text = page(options.size, options.rounds)
        options.path.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
