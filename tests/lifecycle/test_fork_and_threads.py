"""A child forked while a thread computes, and threads that add to one tensor in place."""

from __future__ import annotations

import os
import subprocess
import sys
import threading

import pytest

import retrograd as torch

FORKS = """
import faulthandler, os, sys, threading, time
import retrograd as torch

def work():
    torch.randn(5)
    (torch.ones(5, requires_grad=True) * 2).sum().backward()

def busy():
    while not stop:
        work()

stop = []
thread = threading.Thread(target=busy, daemon=True)
thread.start()
failed = 0
for _ in range(12):
    time.sleep(0.01)
    process = os.fork()
    if process == 0:
        faulthandler.dump_traceback_later(20, exit=True)
        work()
        os._exit(0)
    failed += os.waitpid(process, 0)[1] != 0
stop.append(1)
thread.join(20)
sys.exit(failed)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_child_forked_while_a_thread_computes_does_not_hang() -> None:
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", FORKS], capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr


def test_adds_in_place_from_several_threads_are_all_there() -> None:
    total = torch.zeros(4, dtype=torch.float64)
    one = torch.ones(4, dtype=torch.float64)

    def add() -> None:
        for _ in range(2000):
            total.add_(one)

    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        threads = [threading.Thread(target=add) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
    finally:
        sys.setswitchinterval(before)
    assert total.tolist() == [16000.0] * 4
