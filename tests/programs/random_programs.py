"""Random programs on both libraries: `python -m tests.programs.random_programs --programs 100000`.

Each seed is one program of about twenty steps: leaves of every dtype, operations, views, writes,
hooks of every kind, modes, saved-tensor hooks, checkpoints, Functions, several backwards, forward
mode, transforms. PyTorch and retrograd run it in lockstep (`tests.autograd.mixed_sides`). Values,
dtypes, shapes, strides, gradients, graphs, warnings and errors are compared: those of a step's
result at once, those of all tensors at the end. (Of strides, those along which elements lie: not of
a dimension with one element, nor of a tensor without any.) What differs is shrunk and written to the folder of
`--keep`, as a program that shows it. A program that ends its process, or does not end, is named and
passed over.

What PyTorch does by mistake is left out where it is drawn or compared, with the reason beside it
(`tests.autograd.mixed_steps`, `ITS_OWN_FAILURES`). Of 100,000 (`--seed 7000000`) 140 differed, of which
18 do not since, and one ended PyTorch's process. The rest is of kinds that are known:

- gradients of tangents with respect to results: PyTorch's formula of `div` reads its result;
- the real part of a gradient, for `cat` of real and complex, is taken on the way to the next node
  here, in the node in PyTorch, which a hook of the node sees;
- `is_grad_enabled()` in a hook where `backward` runs in inference mode with grad switched on;
- what a node packs for a second order that no gradient reaches;
- softmax of empty complex tensors that require grad, which PyTorch refuses;
- inference mode: views and copies made there of tensors that have a history;
- strides of results whose operands have other strides than a whole tensor's along dimensions of one
  element, where nothing lies: PyTorch's next operation goes by them;
- storage offsets of views without elements, by which `as_strided` goes;
- results that a transform returns as they are, or that go on from a view under `no_grad`;
- which of two mistakes is said first; bfloat16 and float16 beyond the tolerance.
"""

from __future__ import annotations

import argparse
import faulthandler
import json
import os
import subprocess
import sys
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any

from tests.autograd.mixed_programs import Found, run_seed, topic

ENDINGS = ("ran", "refused", "skipped")
LONGEST = 300  # seconds that a program may take, with what shrinking it takes
KEPT = '''"""{title}"""

import torch

from tests.autograd.mixed_programs import replay
from tests.autograd.mixed_sides import Step

steps = {steps}
replay(torch, steps, brief={brief})
print("both libraries agree")
'''


def run_here(first: int, count: int) -> None:
    """Run these seeds; print a line of JSON before each, for each that differs, and at the end."""
    import torch

    import retrograd

    torch.set_num_threads(1)
    torch.set_warn_always(True)
    retrograd.set_warn_always(True)
    counts: Counter[tuple[str, str]] = Counter()
    for seed in range(first, first + count):
        _say(begins=seed)
        faulthandler.dump_traceback_later(LONGEST, exit=True)
        try:
            counts.update(run_seed(torch, seed, brief=True).counts)
        except Found as found:
            _say(differs=seed, what=difference_of(found), program=kept(seed, found))
        if seed % 100 == 99 or seed == first + count - 1:
            _say(counts=[[*key, number] for key, number in counts.items()])
            counts.clear()


def difference_of(found: Found) -> str:
    """What differs, in one line."""
    _, _, after = str(found.error).rpartition(f"\n{topic(found.error)}")
    return " ".join((topic(found.error) + after).split())


def kept(seed: int, found: Found) -> str:
    """The shrunk program of a seed as a file that shows the difference."""
    title = f"Seed {seed}: {difference_of(found)}".replace("\\", "\\\\").replace('"', "'")
    return KEPT.format(title=title, steps=found.steps, brief=found.brief)


def _say(**message: Any) -> None:
    print(json.dumps(message), flush=True)


class Run:
    """Seeds that are shared out among processes, and what these found."""

    def __init__(self, first: int, count: int, jobs: int, keep: Path | None) -> None:
        self.first, self.count, self.keep = first, count, keep
        self.counts: Counter[tuple[str, str]] = Counter()
        self.done = 0
        self.differing: list[int] = []
        self.ended: list[int] = []  # seeds that ended their process
        self.lock = threading.Lock()
        share = -(-count // jobs)
        self.shares = [
            range(first + start, first + min(start + share, count))
            for start in range(0, count, share)
        ]

    def go(self) -> None:
        threads = [threading.Thread(target=self.work, args=(share,)) for share in self.shares]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def work(self, seeds: range) -> None:
        """Run seeds in processes of their own: the next one goes on where one was ended."""
        while seeds:
            part = seeds[:2000]  # PyTorch keeps some memory of each program
            place = ["--here", str(part.start), str(len(part))]
            command = [sys.executable, "-m", "tests.programs.random_programs", *place]
            # reports of errors that are caught take most of the time
            short = {**os.environ, "RETROGRAD_REPORT": "short"}
            process = subprocess.Popen(command, stdout=subprocess.PIPE, env=short, text=True)
            seed = part.start
            assert process.stdout is not None
            for line in process.stdout:
                message = json.loads(line)
                seed = message.get("begins", seed)
                with self.lock:
                    self.take(message)
            if process.wait() == 0:
                seeds = seeds[len(part) :]
                continue
            with self.lock:
                self.ended.append(seed)
                print(f"seed {seed} ended the process: {process.returncode}", flush=True)
            seeds = range(seed + 1, seeds.stop)

    def take(self, message: dict[str, Any]) -> None:
        """What a process says."""
        if "begins" in message:
            self.done += 1
            if self.done % 5000 == 0:
                print(f"{self.done:,} programs, {len(self.differing)} differ", flush=True)
        for kind, ending, number in message.get("counts", ()):
            self.counts[kind, ending] += number
        if "differs" in message:
            self.differing.append(message["differs"])
            print(f"seed {message['differs']} {message['what'][:400]}", flush=True)
            if self.keep is not None:
                self.keep.mkdir(parents=True, exist_ok=True)
                (self.keep / f"seed_{message['differs']}.py").write_text(message["program"])


def table(counts: Counter[tuple[str, str]]) -> str:
    """How often each kind of step ran, was refused by both, or had nothing to work on."""
    kinds = sorted({kind for kind, _ in counts})
    lines = [f"{'kind of step':<18}" + "".join(f"{ending:>12}" for ending in ENDINGS)]
    for kind in kinds:
        lines.append(f"{kind:<18}" + "".join(f"{counts[kind, ending]:>12,}" for ending in ENDINGS))
    sums = [sum(counts[kind, ending] for kind in kinds) for ending in ENDINGS]
    return "\n".join([*lines, f"{'all':<18}" + "".join(f"{number:>12,}" for number in sums)])


def main(arguments: list[str]) -> int:
    """Run programs, print the table; 1 if any differs."""
    parser = argparse.ArgumentParser(prog="python -m tests.programs.random_programs")
    parser.add_argument("--programs", type=int, default=1000, metavar="N")
    parser.add_argument("--seed", type=int, default=0, help="the first of the seeds")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="where programs that differ go")
    parser.add_argument("--here", type=int, nargs=2, help=argparse.SUPPRESS)
    chosen = parser.parse_args(arguments)
    if chosen.here:
        run_here(*chosen.here)
        return 0
    started = time.monotonic()
    run = Run(chosen.seed, chosen.programs, chosen.jobs, chosen.keep)
    run.go()
    print(table(run.counts))
    seconds = time.monotonic() - started
    print(
        f"{run.done:,} programs, {len(run.differing)} differ, "
        f"{len(run.ended)} ended their process, {seconds:.0f} s"
    )
    return 1 if run.differing or run.ended or run.done < chosen.programs else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
