"""`python -m benchmarks.device`: training steps on a CUDA device, beside PyTorch's, as ratios.

One process runs both, in turns, and waits for the device before the clock is read. PyTorch takes
its fused optimizers; a second copy of its model is the control: how far two equal programs differ.
"""

import argparse
import gc
import importlib
import json
import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from benchmarks.device_models import MODELS, Model, make_inputs, make_model

PRECISIONS = ("float32", "tf32", "bfloat16")


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.device", description=__doc__)
    parser.add_argument(
        "--only", action="append", metavar="TEXT", help="models with it in the name"
    )
    parser.add_argument("--precision", action="append", choices=PRECISIONS)
    parser.add_argument("--seconds", type=float, default=0.12, help="of each measurement (0.12)")
    parser.add_argument("--rounds", type=int, default=3, help="measurements of each program (3)")
    parser.add_argument("--graphs", choices=("no", "also", "only"), default="also")
    parser.add_argument("--json", metavar="FILE", help="write the figures there as well")
    return parser.parse_args()


@dataclass
class Program:
    """A training step of one library on the device."""

    label: str
    library: Any
    precision: str
    step: Callable[[], Any]
    losses: list[float] = field(default_factory=list)
    memory: float = 0.0  # bytes at the peak of a step
    times: list[float] = field(default_factory=list)  # of a step, in microseconds

    def timed(self, count: int) -> float:
        """Microseconds of a step, of `count` steps."""
        self.library.cuda.synchronize()
        begin = time.perf_counter()
        for _ in range(count):
            self.step()
        self.library.cuda.synchronize()
        return (time.perf_counter() - begin) / count * 1e6

    @property
    def time(self) -> float:
        return statistics.median(self.times)


def set_precision(library: Any, precision: str) -> None:
    """TF32 for products and convolutions, or not."""
    library.backends.cuda.matmul.allow_tf32 = precision == "tf32"
    library.backends.cudnn.allow_tf32 = precision == "tf32"


def build(label: str, library: Any, model: Model, precision: str) -> Program:
    """A program; from one seed both libraries make the same parameters, on the CPU."""
    set_precision(library, precision)
    free(library)
    cuda = library.cuda
    before = cuda.memory_allocated()
    cuda.reset_peak_memory_stats()
    library.manual_seed(0)
    module = make_model(library, model)
    module.cuda()
    inputs, target = (library.from_numpy(x).cuda() for x in make_inputs(model))
    fused = library.__name__ == "torch"
    optimizer = (
        library.optim.SGD(module.parameters(), lr=0.01, fused=fused)
        if model.kind == "cnn"
        else library.optim.Adam(module.parameters(), lr=1e-3, fused=fused, capturable=fused)
    )
    loss_of = library.nn.functional.cross_entropy
    half = precision == "bfloat16"

    def step() -> Any:
        optimizer.zero_grad()
        with library.autocast("cuda", library.bfloat16) if half else nullcontext():
            found = module(inputs)
            loss = loss_of(found.reshape(-1, found.shape[-1]), target)
        loss.backward()
        optimizer.step()
        return loss.detach()

    program = Program(label, library, precision, step)
    program.losses = [float(step()) for _ in range(3)]
    program.memory = cuda.max_memory_allocated() - before
    return program


def graphed(program: Program) -> Program:
    """The same step as a CUDA graph."""
    library = program.library
    ours = library.__name__ == "retrograd"
    graphs = importlib.import_module("retrograd.replay.cuda_graphs") if ours else library.cuda
    graph = graphs.CUDAGraph()
    recording = graphs.graph(graph)
    warm_up = recording.capture_stream if ours else library.cuda.stream(recording.capture_stream)
    with warm_up:
        for _ in range(3):
            program.step()
    library.cuda.synchronize()
    with recording:
        program.step()
    return Program(f"{program.label} graph", library, program.precision, graph.replay)


def free(library: Any) -> None:
    gc.collect()
    library.cuda.empty_cache()


def measure(programs: list[Program], options: argparse.Namespace) -> dict[str, float]:
    """Times of all programs, by their labels; they run in turns."""
    counts = []
    for program in programs:
        set_precision(program.library, program.precision)
        program.timed(3)
        counts.append(max(2, int(options.seconds / (program.timed(3) * 1e-6))))
    for turn in range(options.rounds):
        order = list(zip(programs, counts, strict=True))
        for program, count in order if turn % 2 == 0 else reversed(order):
            program.times.append(program.timed(count))
    return {program.label: program.time for program in programs}


def attempt(make: Callable[[], Any], problems: list[str]) -> Any:
    """What is made, or None: the reason is added to the problems."""
    try:
        return make()
    except Exception as error:
        text = " ".join(str(error).split())
        problems.append(f"{type(error).__name__}: {text[:160]}")
        return None


def row(model: Model, precision: str, options: argparse.Namespace) -> dict[str, Any]:
    """The figures of one model in one precision."""
    torch, subject = importlib.import_module("torch"), importlib.import_module("retrograd")
    figures: dict[str, Any] = {"model": model.name, "precision": precision, "problems": []}
    problems = figures["problems"]
    programs = [build(label, torch, model, precision) for label in ("torch", "control")]
    ours = attempt(partial(build, "retrograd", subject, model, precision), problems)
    if ours is not None:
        programs.append(ours)
        figures["losses"] = [programs[1].losses, ours.losses]
        figures["memory"] = [programs[1].memory, ours.memory]
    if options.graphs != "only":
        figures["times"] = attempt(partial(measure, programs, options), problems) or {}
    if options.graphs != "no":
        chosen = [p for p in programs if p.label != "control"]
        recorded = [attempt(partial(graphed, program), problems) for program in chosen]
        ready = [program for program in recorded if program is not None]
        figures["graphs"] = attempt(partial(measure, ready, options), problems) or {}
    return figures


def text_of(figures: dict[str, Any]) -> str:
    """A line of the table."""

    def ratio(times: dict[str, float], of: str, to: str) -> str:
        return f"{times[of] / times[to]:6.2f}" if of in times and to in times else "     -"

    def microseconds(times: dict[str, float], of: str) -> str:
        return f"{times[of]:9.0f}" if of in times else "        -"

    times, graphs = figures.get("times", {}), figures.get("graphs", {})
    theirs, ours = figures.get("memory", (0, 0))
    losses = figures.get("losses")
    distance = max(abs(a - b) / abs(a) for a, b in zip(*losses, strict=True)) if losses else None
    return " ".join(
        [
            f"{figures['model']:18s} {figures['precision']:8s}",
            microseconds(times, "torch"),
            microseconds(times, "retrograd"),
            ratio(times, "torch", "retrograd"),
            ratio(times, "torch", "control"),
            microseconds(graphs, "torch graph"),
            microseconds(graphs, "retrograd graph"),
            ratio(graphs, "torch graph", "retrograd graph"),
            f"{theirs / 2**20:8.1f} {ours / 2**20:8.1f}",
            "        -" if distance is None else f"{distance:9.1e}",
        ]
    )


HEADING = """\
times in microseconds of a training step, memory in MiB at its peak; ratio: PyTorch / retrograd
                                PyTorch retrograd  ratio control     graph     graph  ratio\
   memory     ours loss apart"""


def rows(options: argparse.Namespace) -> Iterator[tuple[Model, str]]:
    """The models and precisions that are asked for."""
    for model in MODELS:
        if options.only and not any(text in model.name for text in options.only):
            continue
        for precision in options.precision or PRECISIONS:
            if precision == "tf32" and not model.large:
                continue  # small products take no longer in float32
            yield model, precision


def main() -> None:
    """Print the table."""
    options = arguments()
    begin = time.perf_counter()
    found = []
    print(HEADING, flush=True)
    for model, precision in rows(options):
        problems: list[str] = []
        figures = attempt(partial(row, model, precision, options), problems)
        if figures is None:
            figures = {"model": model.name, "precision": precision, "problems": problems}
        found.append(figures)
        print(text_of(figures), flush=True)
        for problem in figures["problems"]:
            print("    ", problem, flush=True)
    ratios = [
        f["times"]["torch"] / f["times"]["retrograd"]
        for f in found
        if "retrograd" in f.get("times", {})
    ]
    if ratios:
        print(f"geometric mean of {len(ratios)} ratios: {statistics.geometric_mean(ratios):.2f}")
    print(f"{time.perf_counter() - begin:.0f} s")
    if options.json:
        with open(options.json, "w") as file:
            json.dump(found, file, indent=1)


if __name__ == "__main__":
    main()
