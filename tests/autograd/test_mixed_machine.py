"""Random programs that mix all of autograd, on PyTorch and on retrograd in lockstep.

Operations, views, writes, modes, custom Functions, hooks of every kind, saved-tensor hooks,
checkpoints, backward and grad with all their options, forward mode, function transforms, anomaly
mode, copies. After every step everything that can be seen is compared; a program that differs is
shrunk. At its end the program lets go of its tensors, with the garbage collector switched off: what
dies in PyTorch must die here, and no mode may stay on.

`RETROGRAD_PROGRAMS=5000 pytest tests/autograd/test_mixed_machine.py` runs more of them.
"""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator
from typing import Any

import pytest

import retrograd
from retrograd.engine.accumulate import ACTIVE
from retrograd.engine.state import ANOMALY, HOT, STATE, TRANSFORMS
from tests.autograd.mixed_programs import run_seed

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch

PROGRAMS = int(os.environ.get("RETROGRAD_PROGRAMS", "250"))
PER_TEST = 50


def modes() -> dict[str, Any]:
    """All that a program could leave switched on."""
    names = (
        "grad_enabled", "cut", "inference", "call", "depth", "saved_hooks", "saved_hooks_refused",
        "op_watcher", "mutation", "transforms",
    )  # fmt: skip
    found = {name: getattr(STATE, name) for name in names}
    found |= {name: HOT[name] for name in ("NO_GRAD", "UNUSUAL")}
    found |= {name: getattr(TRANSFORMS, name) for name in ("active", "dual_levels")}
    return {**found, "anomaly": ANOMALY.enabled, "calls": ACTIVE.calls}


@pytest.fixture(autouse=True)
def every_warning() -> Iterator[None]:
    """Both libraries repeat warnings, and nothing is collected."""
    torch.set_warn_always(True)
    retrograd.set_warn_always(True)
    gc.collect()
    gc.disable()
    yield
    gc.enable()
    torch.set_warn_always(False)
    retrograd.set_warn_always(False)


@pytest.mark.parametrize("start", range(0, PROGRAMS, PER_TEST))
def test_random_programs(start: int) -> None:
    before = modes()
    for seed in range(start, min(start + PER_TEST, PROGRAMS)):
        lockstep = run_seed(torch, seed)
        assert not lockstep.leaks(), "\n  ".join([f"seed {seed} leaks after", *lockstep.done])
        if modes() != before:
            gc.collect()  # inference tensors that require grad count while they live, in a cycle
        assert modes() == before, f"seed {seed}"
