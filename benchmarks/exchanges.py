"""Sums over processes beside PyTorch's: `python -m benchmarks.exchanges [--processes 2]`.

Microseconds of one `all_reduce` of float32, by the clock, in rounds in which the libraries take
turns. The third column is Gloo's own collective as `xoscar` calls it, over the connections that
retrograd made: retrograd sums with messages instead.
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Sequence

from benchmarks.distributed import Group

WORKER = """\
import importlib, json, os, sys, time
way, size = os.environ["LIBRARY"], int(os.environ["WORKLOAD"])
library = "torch" if way == "torch" else "retrograd"
torch = importlib.import_module(library)
dist = importlib.import_module(library + ".distributed")
torch.set_num_threads(1)
dist.init_process_group("gloo")
tensor = torch.ones(size // 4)

def collective():
    transport = dist.distributed_c10d._get_default_group()._transport
    gloo, array = transport._gloo, tensor.numpy()
    def run():
        gloo.allreduce(
            transport._context, array.ctypes.data, array.ctypes.data, array.size,
            gloo.GlooDataType_t.glooFloat32, gloo.ReduceOp.SUM, gloo.AllreduceAlgorithm.RING,
        )
    return run

run = collective() if way == "collective" else lambda: dist.all_reduce(tensor)
for line in sys.stdin:
    count = int(line)
    tensor.fill_(1.0)
    run()
    found = tensor[0].item()
    tensor.zero_()  # sums that grow would end in infinities
    dist.barrier()
    begun = time.perf_counter()
    for _ in range(count):
        run()
    if dist.get_rank() == 0:
        print(json.dumps([time.perf_counter() - begun, found]), flush=True)
dist.destroy_process_group()
"""
SIZES = {64: 400, 1 << 14: 300, 1 << 18: 100, 1 << 20: 40, 1 << 22: 20, 25 << 20: 5}  # and turns
WAYS = ("torch", "retrograd", "collective")


def compare(size: int, processes: int, rounds: int) -> str:
    """A row of the table."""
    groups = {way: Group(way, str(size), processes, False, WORKER) for way in WAYS}
    times: dict[str, list[float]] = {way: [] for way in WAYS}
    try:
        for way, group in groups.items():
            found = group.turn(SIZES[size])[1]
            if found != processes:
                raise SystemExit(f"{way}: the sum of {processes} ones is {found}")
        for number in range(rounds):
            turn = number % len(WAYS)
            for way in WAYS[turn:] + WAYS[:turn]:
                times[way].append(groups[way].turn(SIZES[size])[0] * 1e6)
    finally:
        for group in groups.values():
            group.end()
    pairs = zip(times["torch"], times["retrograd"], strict=True)
    ratio = statistics.median(torch / ours for torch, ours in pairs)
    cells = " | ".join(f"{statistics.median(times[way]):.0f}" for way in WAYS)
    return f"| {size} | {processes} | {cells} | {ratio:.2f} |"


def main(given: Sequence[str] | None = None) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.exchanges", description=__doc__)
    parser.add_argument("--processes", type=int, action="append", help="how many (2)")
    parser.add_argument("--rounds", type=int, default=9)
    asked = parser.parse_args(given)
    print("| bytes | processes | PyTorch | retrograd | Gloo's own, by xoscar | ratio |")
    print("| ---: | ---: | ---: | ---: | ---: | ---: |")
    for processes in asked.processes or [2]:
        for size in SIZES:
            print(compare(size, processes, asked.rounds), flush=True)


if __name__ == "__main__":
    main()
