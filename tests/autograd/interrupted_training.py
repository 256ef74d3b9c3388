"""Interrupts a training loop at random moments, each time in a forked child, and looks at the rest.

Called with a number of interrupts and a seed; prints what was found in the children, if anything.
"""

from __future__ import annotations

import os
import random
import select
import signal
import sys
import time
import warnings
from collections import Counter
from typing import Any

import retrograd as torch
from retrograd import nn
from retrograd.autograd.graph import saved_tensors_hooks
from retrograd.utils.checkpoint import checkpoint

warnings.simplefilter("ignore")
LIMIT = 20.0  # seconds for one child
ARMED = [False]

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.Tanh(), nn.Linear(8, 1)).double()
optimizer = torch.optim.Adam(model.parameters(), 1e-3)
x, y = torch.randn(6, 4, dtype=torch.float64), torch.randn(6, 1, dtype=torch.float64)


def stop(*_: object) -> None:
    if ARMED[0]:
        ARMED[0] = False
        raise KeyboardInterrupt


def step() -> None:
    optimizer.zero_grad()
    with torch.no_grad():
        model(x)
    with saved_tensors_hooks(lambda t: t, lambda t: t):
        h = model[:3](x)
    with torch.enable_grad(), torch.autograd.set_grad_enabled(True):
        h = checkpoint(model[3:], h, use_reentrant=False)
    (h - y).pow(2).mean().backward()
    with torch.inference_mode():
        model(x)
    torch.func.grad(lambda w: (w**2).sum())(x)
    torch.func.jvp(torch.sin, (x,), (x,))
    torch.vmap(lambda row: row.sum() + torch.randn(()), randomness="different")(x)
    with torch.autograd.detect_anomaly():
        (x.clone().requires_grad_() * 2).sum().backward()
    optimizer.step()


def interrupted(seconds: float) -> None:
    """Steps until the alarm comes; it may get lost where Python swallows exceptions."""
    try:
        ARMED[0] = True
        signal.setitimer(signal.ITIMER_REAL, seconds)
        end = time.monotonic() + seconds + 0.2
        while time.monotonic() < end:
            step()
    except KeyboardInterrupt:
        pass
    ARMED[0] = False
    signal.setitimer(signal.ITIMER_REAL, 0)


def problems() -> list[str]:
    found = []
    if not torch.is_grad_enabled() or torch.is_inference_mode_enabled():
        found.append("a grad mode stayed")
    if torch.is_anomaly_enabled():
        found.append("anomaly detection stayed")
    packed: list[Any] = []
    w = torch.tensor([1.0, 2.0], requires_grad=True)
    with saved_tensors_hooks(lambda t: (packed.append(1), t)[1], lambda t: t):
        w * w
    count = len(packed)
    (w * w).sum().backward()
    if count == 0 or len(packed) != count:
        found.append("saved-tensor hooks stayed")
    if w.grad.tolist() != [2.0, 4.0]:
        found.append("a gradient is wrong")
    if torch.vmap(lambda row: row.sum())(torch.ones(3, 2)).tolist() != [2, 2, 2]:
        found.append("vmap is wrong")
    if torch.func.grad(lambda q: (q**2).sum())(torch.ones(2)).tolist() != [2, 2]:
        found.append("func.grad is wrong")
    step()
    return found


def child(seconds: float) -> str:
    interrupted(seconds)
    try:
        return "; ".join(problems())
    except BaseException as error:
        return f"{type(error).__name__}: {error}"[:200]


def in_child(seconds: float) -> str:
    reading, writing = os.pipe()
    process = os.fork()
    if process == 0:
        try:
            os.write(writing, child(seconds).encode() or b"-")
        finally:
            os._exit(0)
    os.close(writing)
    ready, _, _ = select.select([reading], [], [], LIMIT)
    found = os.read(reading, 4096).decode() if ready else "it hung"
    if not ready:
        os.kill(process, signal.SIGKILL)
    os.close(reading)
    os.waitpid(process, 0)
    return found or "it died"


def main(count: int, seed: int) -> None:
    signal.signal(signal.SIGALRM, stop)
    chance = random.Random(seed)
    for _ in range(3):
        step()
        problems()
    started = time.monotonic()
    step()
    length = max(time.monotonic() - started, 0.002)
    found = Counter(in_child(chance.uniform(0.0001, 1.5 * length)) for _ in range(count))
    del found["-"]
    for text, times in found.items():
        print(times, text)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
