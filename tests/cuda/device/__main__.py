"""``python -m tests.cuda.device``: the tests of devices on a real one, and a summary.

Ops run in several processes: every op's samples beside those of the CPU and, with ``--torch``,
beside PyTorch's on the same device. No test runner is needed.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
import traceback
import unittest
import warnings
from collections import Counter

PARTS = ("semantics", "training", "half", "draws", "graphs", "kernels")
DTYPES = ("float64", "float32", "bfloat16", "float16", "complex64", "int64", "bool", "uint8")


def arguments():
    parser = argparse.ArgumentParser(prog="python -m tests.cuda.device", description=__doc__)
    parser.add_argument("parts", nargs="*", help=f"of {', '.join((*PARTS, 'ops'))}; by default all")
    parser.add_argument(
        "--torch", action="store_true", help="ops also beside PyTorch's on the device"
    )
    parser.add_argument("--processes", type=int, default=min(14, os.cpu_count() or 1))
    parser.add_argument("--seconds", type=float, default=60, help="for the ops (60)")
    parser.add_argument("--dtypes", default="float64", help=f"of {','.join(DTYPES)}; or all")
    parser.add_argument("--only", default="", help="ops with this in their name")
    parser.add_argument("--worker", nargs="*", help=argparse.SUPPRESS)
    return parser.parse_args()


def place_of(error):
    """Where an error comes from, in the library."""
    frames = traceback.extract_tb(error.__traceback__)
    inside = [f for f in frames if f"{os.sep}retrograd{os.sep}" in f.filename] or frames
    last = inside[-1]
    return f"{last.filename.split(f'{os.sep}retrograd{os.sep}')[-1]}:{last.lineno}"


def line_of(error):
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text[:230]} @ {place_of(error)}"


def run_functions(part):
    """The test functions of a module: how many passed, and what went wrong."""
    module = __import__(f"tests.cuda.device.test_{part}", fromlist=["*"])
    passed, wrong, left = 0, [], []
    for name, function in list(vars(module).items()):
        if not name.startswith("test_"):
            continue
        try:
            function()
            passed += 1
        except unittest.SkipTest as reason:
            left.append(f"{name}: {reason}")
        except Exception as error:
            wrong.append(f"{name}: {line_of(error)}")
    print(f"{part}: {passed} passed, {len(wrong)} failed, {len(left)} left out", flush=True)
    for text in wrong + left:
        print("   ", text, flush=True)
    return not wrong


# ------------------------------------------------------------------------------------------- ops

LOOSE = {"float64": 1e-9, "complex128": 1e-9, "float16": 1e-2, "bfloat16": 8e-2, "": 2e-4}


def say(*row):
    print(json.dumps(row), flush=True)


def work(names, options):
    """The samples of some ops; a line of JSON for each thing that is worth telling."""
    from tests.ops.compare import good_samples

    samples = good_samples()
    end = time.time() + options.seconds
    other = __import__("torch") if options.torch else None
    if other is not None:
        other.backends.cudnn.allow_tf32 = False  # the one kind of product that is not float32
    warnings.simplefilter("ignore")
    for name in names:
        if time.time() > end:
            say(name, "late")
            continue
        say(name, "begin")
        counts = Counter()
        for sample in samples[name]:
            for dtype in chosen(sample, options.dtypes):
                if counts["wrong"] < 2:
                    one(name, sample, dtype, other, counts)
        say(name, "end", counts)


def chosen(sample, dtypes):
    wanted = DTYPES if dtypes == "all" else tuple(dtypes.split(","))
    found = [dtype for dtype in wanted if dtype in sample.dtypes]
    return found or ([sample.dtypes[-1]] if dtypes == "float64" else [])


def one(name, sample, dtype, other, counts):
    """One sample on the device, on the CPU and, with `other`, on the device by PyTorch."""
    from tests.cuda.device.exceptions import CANNOT, DRAWN
    from tests.ops.on_device import agree, run

    second = sample.second and dtype in ("float64", "complex128")
    try:
        expected = run(name, sample, dtype, second=second)
    except Exception:
        return  # bad arguments, which other tests compare with PyTorch
    if name in CANNOT:
        counts["refused"] += 1
        return
    least = LOOSE.get(dtype, LOOSE[""])
    loose = {kind: max(far, least) for kind, far in LOOSE.items()}
    try:
        found = run(name, sample, dtype, "cuda", second=second)
        if found is not None:
            agree(found, expected, "cuda", loose, name not in DRAWN)
        counts["right"] += 1
    except Exception as error:
        counts["wrong"] += 1
        say(name, "wrong", dtype, line_of(error))
        return
    if other is None or found is None:
        return
    try:
        theirs = run(name, sample, dtype, "cuda", other, second)
    except Exception:
        counts["not in PyTorch"] += 1
        return
    if theirs is None:  # a builtin function, which does not say whether it takes a device
        counts["not asked of PyTorch"] += 1
        return
    try:
        agree(found, theirs, "cuda", loose)
        counts["as PyTorch"] += 1
    except Exception as error:
        counts["unlike PyTorch"] += 1
        say(name, "unlike PyTorch", dtype, line_of(error))


def run_ops(options):
    """All ops in several processes; one that dies loses the op that it was at."""
    from tests.cuda.device.exceptions import CANNOT
    from tests.ops.compare import good_samples

    begin = time.time()
    names = sorted(name for name in good_samples() if options.only in name)
    waiting = [part for i in range(options.processes) if (part := names[i :: options.processes])]
    running = [(part, start(part, options)) for part in waiting]
    rows, died = [], []
    while running:
        part, process = running.pop(0)
        out, err = process.communicate(timeout=3600.0)
        mine = [json.loads(line) for line in out.splitlines() if line.startswith("[")]
        rows += mine
        over = {row[0] for row in mine if row[1] in ("end", "late")}
        rest = [name for name in part if name not in over]
        if rest:
            begun = [row[0] for row in mine if row[1] == "begin" and row[0] not in over]
            culprit = begun[-1] if begun else rest[0]
            died.append(
                f"{culprit}: the process died: {(err.strip().splitlines() or [''])[-1][:200]}"
            )
            rest.remove(culprit)
            if rest:
                running.append((rest, start(rest, options)))
    counts = Counter()
    for row in rows:
        if row[1] == "end":
            counts.update(row[2])
    late = [row[0] for row in rows if row[1] == "late"]
    wrong = [row for row in rows if row[1] in ("wrong", "unlike PyTorch")]
    totals = ", ".join(f"{count} {what}" for what, count in sorted(counts.items()))
    print(f"ops: {len(names)}; samples: {totals}; {len(died)} processes died, {len(late)} ops not "
          f"reached; {time.time() - begin:.0f} s")  # fmt: skip
    for text in died:
        print("   ", text)
    for name, what, dtype, text in sorted(wrong):
        print(f"    {what}: {name} [{dtype}]: {text}")
    for name, reason in sorted(CANNOT.items()):
        print(f"    refused: {name}: {reason}")
    return not died and not any(row[1] == "wrong" for row in wrong)


def start(part, options):
    command = [sys.executable, "-m", "tests.cuda.device", "--seconds", str(options.seconds)]
    command += ["--dtypes", options.dtypes, *(["--torch"] if options.torch else [])]
    environment = dict(os.environ, OPENBLAS_NUM_THREADS="1", OMP_NUM_THREADS="1")
    return subprocess.Popen(
        [*command, "--worker", *part], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env=environment,
    )  # fmt: skip


def main():
    options = arguments()
    if options.worker is not None:
        work(options.worker, options)
        return 0
    import retrograd as torch

    print(f"retrograd on {torch.ones(1, device='cuda').device}", flush=True)
    good = True
    for part in options.parts or [*PARTS, "ops"]:
        good = (run_ops(options) if part == "ops" else run_functions(part)) and good
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
