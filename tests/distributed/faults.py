"""Faults in one of several processes: how the others end, and what they say.

python -m tests.distributed.faults --times 200 --seed 1
"""

from __future__ import annotations

import argparse
import random
import re
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass

from tests.distributed.together import Ended, Rank, begin, begin_forked, finish
from tests.limits import LIMIT as LONG

LIMIT = 4.0  # seconds that an exchange may wait
SLOWEST = 25.0  # seconds from the fault to the end of all
PYTHON_ENDS = ("raises", "is interrupted")  # in the way of a Python that was started, not forked
Process = Rank | subprocess.Popen[str]

BEGIN = f"""
import signal, time
dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=300))
t = torch.ones(4)
dist.all_reduce(t)
dist.group.WORLD.set_timeout(datetime.timedelta(seconds={LIMIT}))
print("joined", flush=True)
"""


@dataclass
class Fault:
    """What one process does, what the others do then, and what they must say."""

    name: str
    one: str
    others: str
    said: str  # a pattern; RANK is the number of the one
    status: int | None  # with which the one ends; None: it has to be killed
    both: str = ""  # what the one must say, too


FAULTS = (
    Fault(
        "raises",
        'raise ValueError("the cause")',
        "dist.all_reduce(t)",
        r"Rank RANK has ended by ValueError: the cause at <string>:\d+",
        1,
    ),
    Fault(
        "is killed",
        "os.kill(os.getpid(), signal.SIGKILL)",
        "dist.all_reduce(t)",
        r"Rank RANK has ended without a word \(process \d+ on",
        -signal.SIGKILL,
    ),
    Fault(
        "ends",
        "sys.exit(0)",
        "dist.barrier()",
        r"[Rr]ank RANK:? has ended",
        0,
    ),
    Fault(
        "leaves",
        "dist.destroy_process_group()",
        "dist.barrier()",
        r"[Rr]ank RANK:? has (left the group|ended)",
        0,
    ),
    Fault(
        "is stopped",
        "os.kill(os.getpid(), signal.SIGSTOP)",
        "dist.all_reduce(t)",
        r"rank RANK: is stopped \(process \d+ on",
        None,
    ),
    Fault(
        "hangs",
        "time.sleep(1000)",
        "dist.all_reduce(t)",
        r"rank RANK: has not begun this exchange.*its program is at <string>:\d+ in <module>",
        None,
    ),
    Fault(
        "is interrupted",
        "os.kill(os.getpid(), signal.SIGINT)\ntime.sleep(1000)",
        "dist.all_reduce(t)",
        r"Rank RANK has ended by KeyboardInterrupt",
        -signal.SIGINT,
    ),
    Fault(
        "begins another collective",
        "dist.broadcast(t, 0)",
        "dist.all_reduce(t)",
        r"rank RANK: broadcast\(float32\[4\], src=0\) at <string>:\d+",
        1,
        r"Detected mismatch between collectives on ranks",
    ),
    Fault(
        "gives another size",
        "dist.all_reduce(torch.ones(5))",
        "dist.all_reduce(t)",
        r"rank RANK: all_reduce\(float32\[5\], SUM\) at <string>:\d+",
        1,
        r"Detected mismatch between collectives on ranks",
    ),
    Fault(
        "gives another dtype",
        "dist.all_gather([torch.ones(2).double() for _ in range(size)], torch.ones(2).double())",
        "dist.all_gather([torch.ones(2) for _ in range(size)], torch.ones(2))",
        r"rank RANK: all_gather\(float64\[2\]\) at <string>:\d+",
        1,
        r"Detected mismatch between collectives on ranks",
    ),
)


def program(fault: Fault, rank: int) -> str:
    """What all processes run, of which one has the fault."""
    inner = {
        name: "\n    ".join(text.split("\n"))
        for name, text in vars(fault).items()
        if name in ("one", "others")
    }
    return f"{BEGIN}\nif rank == {rank}:\n    {inner['one']}\nelse:\n    {inner['others']}\n"


def inject(fault: Fault, size: int, rank: int) -> tuple[list[Ended], float, float]:
    """Run it; how each process ended, after how many seconds, and how many it may have taken.

    A machine on which processes need long to begin has much else to do, and gets as much longer.
    """
    begun = time.monotonic()
    started = begin if fault.name in PYTHON_ENDS else begin_forked
    processes: Sequence[Process] = started(program(fault, rank), size)
    for process in processes:
        if isinstance(process, Rank):
            process.first_line()
        else:
            assert process.stdout is not None
            process.stdout.readline()
    since = time.monotonic()
    slowest = max(SLOWEST, 5 * (since - begun))
    others = [process for number, process in enumerate(processes) if number != rank]
    try:
        found = finish(others, 2 * slowest)
        seconds = time.monotonic() - since
    except AssertionError:
        for process in processes:
            process.kill()
            process.communicate(timeout=LONG)
        raise
    one = processes[rank]
    if fault.status is None:
        assert one.poll() is None, "it ended, and should not"
        one.kill()
    found.insert(rank, finish([one])[0])
    return found, seconds, slowest


def wrong(fault: Fault, size: int, rank: int) -> list[str]:
    """What was not as it should be."""
    try:
        found, seconds, slowest = inject(fault, size, rank)
    except AssertionError as error:
        return [f"not over: {error}"]
    problems = []
    expected = -signal.SIGKILL if fault.status is None else fault.status
    if found[rank].status != expected:
        problems.append(f"rank {rank} ended by {found[rank].status}\n{found[rank].err}")
    if fault.both and not re.search(fault.both, found[rank].err):
        problems.append(f"rank {rank} does not say {fault.both!r}:\n{found[rank].err}")
    for number, each in enumerate(found):
        if number == rank:
            continue
        if each.status != 1:
            problems.append(f"rank {number} ended by {each.status}\n{each.err}")
        if not re.search(fault.said.replace("RANK", str(rank)), each.err):
            problems.append(f"rank {number} does not say {fault.said!r}:\n{each.err}")
    if seconds > slowest:
        problems.append(f"it took {seconds:.1f} s")
    return problems


def main() -> int:
    """Inject faults at random, and print what was wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--times", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    generator, bad = random.Random(options.seed), 0
    counts: dict[str, int] = {}
    for number in range(options.times):
        if number % 20 == 0 and number:
            print(f"{number} faults, {bad} of them not told as they should be", flush=True)
        fault, size = FAULTS[number % len(FAULTS)], generator.choice([2, 2, 3, 4])
        rank = generator.randrange(size)
        problems = wrong(fault, size, rank)
        counts[fault.name] = counts.get(fault.name, 0) + 1
        if problems:
            bad += 1
            print(f"rank {rank} of {size} {fault.name}:", *problems, sep="\n", flush=True)
    print(", ".join(f"{name} {count}" for name, count in counts.items()))
    print(f"{options.times} faults, {bad} of them not told as they should be")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
