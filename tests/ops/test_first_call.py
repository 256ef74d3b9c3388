"""An op is compiled at its first call: one that fails there works at the next."""

from __future__ import annotations

import subprocess
import sys

PROGRAM = """
import sys, signal, time
import retrograd as torch
x = torch.tensor([0.5])

def deep(n):
    return deep(n - 1) if n else torch.asinh(x)

for room in range(5, 60):
    try:
        deep(sys.getrecursionlimit() - room)
    except RecursionError:
        pass
assert abs(torch.asinh(x).item() - 0.4812118) < 1e-5

def stop(*_):
    raise KeyboardInterrupt

signal.signal(signal.SIGALRM, stop)
for name in "cosh expm1 log1p erf erfc lgamma digamma rsqrt exp2 log2 frac sgn sinc i0".split():
    try:
        try:
            signal.setitimer(signal.ITIMER_REAL, 0.0003)
            getattr(torch, name)(x)
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
    except KeyboardInterrupt:
        pass
    getattr(torch, name)(x)
"""


def test_an_op_whose_first_call_was_interrupted_works_later() -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
