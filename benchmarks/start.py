"""`python -m benchmarks.start`: what it costs to import a library and take a first gradient.

Each round starts one fresh process per library. It takes the processor time of the import and of a
first gradient together (NumPy included: nothing is imported before), and counts the modules that
are then loaded. PyTorch is measured beside retrograd where it is installed; a second retrograd is
the control. With ``--baseline`` retrograd of another checkout takes PyTorch's place.
"""

import argparse
import importlib.util
import json
import os
import statistics
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

from benchmarks.runner import ONE_THREAD, ROOT, spread

AIM = 0.25
"""Seconds that retrograd may take, NumPy included."""

PROGRAM = """
import sys, time
sys.path.insert(0, sys.argv[2])
before, started = set(sys.modules), time.process_time()
torch = __import__(sys.argv[1])
imported = time.process_time()
weight = torch.tensor([1.0, 2.0], requires_grad=True)
(weight * weight).sum().backward()
assert weight.grad.tolist() == [2.0, 4.0]
ended = time.process_time()
print(imported - started, ended - started, len(set(sys.modules) - before))
"""


def start(module: str, folder: Path) -> dict[str, float]:
    """One fresh process: seconds of the import, seconds with the first gradient, modules."""
    ended = subprocess.run(
        [sys.executable, "-c", PROGRAM, module, str(folder)],
        env={**os.environ, **ONE_THREAD},
        capture_output=True,
        text=True,
        check=False,
    )
    if ended.returncode != 0:
        raise RuntimeError(f"{module} in {folder} does not start: {ended.stderr.strip()}")
    imported, seconds, modules = ended.stdout.split()
    return {"import": float(imported), "seconds": float(seconds), "modules": int(modules)}


def measure(subjects: dict[str, tuple[str, Path]], rounds: int) -> dict[str, list[dict[str, Any]]]:
    """`rounds` starts of each subject, interleaved; a first one of each warms the disk's cache."""
    found: dict[str, list[dict[str, Any]]] = {label: [] for label in subjects}
    for label in subjects:
        start(*subjects[label])
    for _ in range(rounds):
        for label, starts in found.items():
            starts.append(start(*subjects[label]))
    return found


def table(found: dict[str, list[dict[str, Any]]]) -> list[dict[str, Any]]:
    """For each subject the medians, and the paired ratio of its time to retrograd's."""
    own = [one["seconds"] for one in found["retrograd"]]
    rows = []
    for label, starts in found.items():
        medians = {fact: statistics.median(one[fact] for one in starts) for fact in starts[0]}
        pairs = zip((one["seconds"] for one in starts), own, strict=True)
        ratio = spread([other / mine for other, mine in pairs])
        rows.append({"subject": label, **medians, "ratio": asdict(ratio)})
    return rows


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.start", description=__doc__)
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    parser.add_argument("--rounds", type=int, default=11, help="fresh processes of each (11)")
    parser.add_argument("--baseline", type=Path, metavar="FOLDER", help="another checkout")
    options = parser.parse_args()
    subjects = {"retrograd": ("retrograd", ROOT)}
    if options.baseline is not None:
        subjects["baseline"] = ("retrograd", options.baseline.resolve())
    elif importlib.util.find_spec("torch") is not None:
        subjects["PyTorch"] = ("torch", ROOT)
    else:
        print("note: PyTorch is not installed, so nothing stands beside", file=sys.stderr)
    subjects["control"] = ("retrograd", ROOT)
    rows = table(measure(subjects, options.rounds))
    if options.json:
        print(json.dumps({"aim": AIM, "rounds": options.rounds, "results": rows}, indent=2))
        return 0
    print(
        f"processor time of a fresh process, median of {options.rounds} rounds; aim {AIM} s\n"
        f"ratio: time / retrograd's\n\n{'':<12}{'import':>10}{'+ gradient':>12}{'modules':>9}"
        f"{'ratio':>8}  quartiles"
    )
    for row in rows:
        ratio = row["ratio"]
        print(
            f"{row['subject']:<12}{row['import']:>8.3f} s{row['seconds']:>10.3f} s"
            f"{row['modules']:>9.0f}{ratio['median']:>8.2f}  {ratio['low']:.2f}-{ratio['high']:.2f}"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
