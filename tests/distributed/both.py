"""Runs a program in several processes on retrograd and on PyTorch, and compares what they tell."""

from __future__ import annotations

import json
import math
import os
import sys

from tests.distributed import together
from tests.limits import LIMIT

PRELUDE = """
import datetime, importlib, json, os, sys, warnings
LIBRARY = os.environ["TOLD_LIBRARY"]
torch = importlib.import_module(LIBRARY)
dist = importlib.import_module(LIBRARY + ".distributed")
def part(name): return importlib.import_module(LIBRARY + "." + name)
nn = torch.nn
DDP = nn.parallel.DistributedDataParallel
rank, size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
def plain(value):
    if isinstance(value, torch.Tensor):
        return plain(value.detach().double().tolist())
    if isinstance(value, (list, tuple)):
        return [plain(each) for each in value]
    return value
def tell(*values):
    print(json.dumps(plain(list(values))), flush=True)
def grads(model):
    return [p.grad for p in model.parameters()]
def case(function):
    torch.manual_seed(0)
    tell("case", function.__name__)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            function()
    except Exception as error:
        tell("raised", type(error).__name__, str(error).split("\\n")[0])
    dist.barrier()
dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=300))
def net():
    return nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2))
def batch(number=0):
    return torch.ones(2, 3) * (rank + 1) + number
"""

# PyTorch's threads end in a race with the interpreter, which now and then aborts the process.
LEAVE = """
dist.destroy_process_group()
if LIBRARY == "torch":
    sys.stdout.flush()
    os._exit(0)
"""


def told(library: str, program: str, size: int, seconds: float = LIMIT) -> list[list[object]]:
    """What each process told, as lists of values."""
    os.environ["TOLD_LIBRARY"] = library
    try:
        processes = together.begin(PRELUDE + program + LEAVE, size, first="")
    finally:
        del os.environ["TOLD_LIBRARY"]
    ended = together.finish(processes, seconds)
    assert [each.status for each in ended] == [0] * size, "\n".join(each.err for each in ended)
    if library == "retrograd":
        assert [each.err for each in ended] == [""] * size
    return [[json.loads(line) for line in each.out.splitlines()] for each in ended]


def assert_alike(program: str, size: int, tolerance: float = 2e-5) -> list[list[object]]:
    """Both libraries tell the same in every process."""
    ours, theirs = told("retrograd", program, size), told("torch", program, size)
    for rank in range(size):
        name = ""
        assert len(ours[rank]) == len(theirs[rank]), (ours[rank][-3:], theirs[rank][-3:])
        for mine, other in zip(ours[rank], theirs[rank], strict=True):
            if isinstance(mine, list) and mine[:1] == ["case"]:
                name = mine[1]
            assert alike(mine, other, tolerance), (name, rank, mine, other)
    return ours


def alike(mine: object, other: object, tolerance: float) -> bool:
    """Whether two told values are the same, numbers up to rounding."""
    if isinstance(mine, list) and isinstance(other, list):
        pairs = list(zip(mine, other, strict=False))
        return len(mine) == len(other) and all(alike(*pair, tolerance) for pair in pairs)
    if isinstance(mine, float) and isinstance(other, float):
        return math.isclose(mine, other, rel_tol=tolerance, abs_tol=tolerance)
    return mine == other


if __name__ == "__main__":  # python -m tests.distributed.both LIBRARY SIZE FILE
    for found in told(sys.argv[1], open(sys.argv[3]).read(), int(sys.argv[2])):
        print(*found, sep="\n")
