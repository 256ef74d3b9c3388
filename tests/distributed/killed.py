"""Kills training at random moments, starts it again, and compares the weights in the end.

python -m tests.distributed.killed --times 200
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import retrograd as torch
from tests.distributed.together import ROOT, environment, finish, free_port

PROGRAM = ROOT / "examples" / "resume_distributed.py"
SIZE = 2
PATIENCE = 4.0  # seconds for those that are left to end by themselves


def start(folder: Path, result: Path) -> list[subprocess.Popen[str]]:
    """The program in two processes."""
    port = free_port()
    return [
        subprocess.Popen(
            [sys.executable, "-m", "retrograd", "run", PROGRAM, folder, result],
            env=environment(rank, SIZE, port),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            stdin=subprocess.DEVNULL,
            text=True,
        )
        for rank in range(SIZE)
    ]


def weights(result: Path) -> list[dict[str, torch.Tensor]]:
    """What each process had in the end."""
    return [torch.load(f"{result}.{rank}") for rank in range(SIZE)]


def undisturbed(folder: Path) -> tuple[list[dict[str, torch.Tensor]], float]:
    """The weights of a run that nobody kills, and the seconds that it takes."""
    begun = time.monotonic()
    ended = finish(start(folder / "whole", folder / "whole.pt"))
    assert [each.status for each in ended] == [0] * SIZE, [each.err for each in ended]
    return weights(folder / "whole.pt"), time.monotonic() - begun


def killed_once(folder: Path, rng: random.Random, seconds: float, whole: list[object]) -> int:
    """Kill one process, or all, at a random moment; how many times until it was done."""
    folder.mkdir()
    times = 0
    while True:
        processes = start(folder / "kept", folder / "end.pt")
        if times < 3:
            time.sleep(rng.uniform(0.0, seconds))
            for process in rng.choice([processes[:1], processes[1:], processes]):
                process.send_signal(signal.SIGKILL)
            _end_others(processes)
        ended = finish(processes)
        if all(each.status == 0 for each in ended):
            break
        times += 1
        assert times <= 3, [each.err for each in ended]
    for mine, other in zip(weights(folder / "end.pt"), whole, strict=True):
        assert isinstance(other, dict)
        assert list(mine) == list(other)
        assert all(torch.equal(mine[name], other[name]) for name in mine), folder
    return times


def _end_others(processes: list[subprocess.Popen[str]]) -> None:
    """As a launcher does, for those that wait for one that was killed before they met."""
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until and any(process.poll() is None for process in processes):
        time.sleep(0.05)
    for process in processes:
        if process.poll() is None:
            process.send_signal(signal.SIGKILL)


def main() -> None:
    """Do it many times, and print what came of it."""
    parser = argparse.ArgumentParser(prog="python -m tests.distributed.killed")
    parser.add_argument("--times", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    rng = random.Random(asked.seed)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        whole, seconds = undisturbed(folder)
        kills = 0
        for number in range(asked.times):
            kills += killed_once(folder / str(number), rng, seconds, list(whole))
            if number % 5 == 4:
                print(f"{number + 1} trainings, {kills} times killed so far", flush=True)
    print(f"{asked.times} trainings, {kills} times killed, the same weights to the last bit")


if __name__ == "__main__":
    os.chdir(ROOT)
    main()
