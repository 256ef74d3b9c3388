"""At its highest moment a step holds at most what it holds in PyTorch: bytes, not seconds."""

import json
import subprocess
import sys

import pytest

from benchmarks.workloads import WORKLOADS

pytestmark = pytest.mark.torch

LARGE = {"large", "mlp_mnist", "cnn", "transformer"}
"""Their figures are of the page's command: they take long."""

COUNT = """
import importlib, json, sys
from benchmarks.memory import array_bytes, in_child
torch = importlib.import_module(sys.argv[1])
print(json.dumps({name: in_child(array_bytes, torch, name) for name in sys.argv[2:]}))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="each count runs in a fork of the process")
def test_no_small_step_holds_more_than_in_pytorch() -> None:
    names = sorted(set(WORKLOADS) - LARGE)
    theirs, ours = (counted(library, names) for library in ("torch", "retrograd"))
    assert {name: (ours[name], theirs[name]) for name in names if ours[name] > theirs[name]} == {}
    assert all(theirs[name] > 0 for name in ("hooks", "jacobian", "policy"))


def counted(library: str, names: list[str]) -> dict[str, int]:
    command = [sys.executable, "-c", COUNT, library, *names]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    found: dict[str, int] = json.loads(done.stdout)
    return found
