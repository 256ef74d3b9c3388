"""What every test run shares: one thread, hypothesis profiles, and PyTorch only on request."""

import os

# Before anything imports NumPy: the test processes share the cores, so each gets one thread.
for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")
os.environ.setdefault("RETROGRAD_GROWTH", "0")  # tests are not the steps of one program

import sys

# Containers like to forbid compiled files. The tests start hundreds of interpreters, and each would
# compile the whole package again: that is most of what such a test costs.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

import faulthandler
import gc
import importlib.abc
import importlib.machinery
import logging
import re
import signal
import time
from collections.abc import Generator, Sequence
from types import ModuleType
from typing import Any

import hypothesis
import pytest
from _pytest.faulthandler import fault_handler_stderr_fd_key

from tests import global_state

# A shell that starts the tests in the background has SIGINT ignored, in them and in every process
# that they start: those that are interrupted by a test would never end.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# How fast a machine is decides nothing: no time for an example, none for making one up.
ANY_SPEED = {"deadline": None, "suppress_health_check": [hypothesis.HealthCheck.too_slow]}
hypothesis.settings.register_profile("dev", **ANY_SPEED)
hypothesis.settings.register_profile("ci", **ANY_SPEED, derandomize=True, print_blob=True)
hypothesis.settings.load_profile("ci" if os.environ.get("CI") else "dev")


class NoTorch(importlib.abc.MetaPathFinder):
    """Makes `import torch` fail as it does where PyTorch is not installed."""

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if name.partition(".")[0] == "torch":
            raise ModuleNotFoundError('this run selects "not torch": PyTorch is hidden', name=name)
        return None


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--build", help="the build of the compiled loops: avx512, avx2 or portable")


def pytest_configure(config: pytest.Config) -> None:
    """With `-m "not torch"` the suite runs without PyTorch even where it is installed."""
    if re.search(r"\bnot\s+torch\b", config.option.markexpr or ""):
        sys.meta_path.insert(0, NoTorch())
    if config.option.build:
        from retrograd.backend.cpu_rows import rows, windows
        from retrograd.core import _core

        for part in (_core, rows, windows):
            part.use_build(config.option.build)


_message = logging.LogRecord.getMessage


def _any_message(record: logging.LogRecord) -> str:
    """PyTorch's checkpoints log ops with arguments that are not for the message.

    Only its own handler knows, but pytest listens too and formats every record.
    """
    try:
        return _message(record)
    except TypeError:
        return str(record.msg)


logging.LogRecord.getMessage = _any_message  # type: ignore[method-assign]


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """A module that imports real PyTorch is marked `torch` as a whole.

    Without the mark its tests would be skipped in one run and deselected in the other.
    """
    for item in items:
        module = getattr(getattr(item, "module", None), "torch", None)
        if isinstance(module, ModuleType) and module.__name__ == "torch":
            item.add_marker(pytest.mark.torch)


def pytest_collection() -> None:
    """Nothing that is collected is garbage: looking for it would take a quarter of the time."""
    gc.disable()


def pytest_collection_finish() -> None:
    """Thousands of test items live to the end: the collector need not look at them.

    Tests that ask it for cycles would otherwise spend half a second each time on the items.
    """
    gc.enable()
    gc.collect()
    gc.freeze()
    gc.unfreeze = thaw
    LEFT.update(global_state.snapshot())


THAWED: list[bool] = []
"""Whether a test has given the items back to the collector: a search of holders does so."""

_unfreeze = gc.unfreeze


def thaw() -> None:
    """`gc.unfreeze`, of which the next teardown knows. To count what is frozen takes too long."""
    THAWED.append(True)
    _unfreeze()


LEFT: dict[str, Any] = {}
"""The global state that the module of tests before left."""


HANGS = 900.0  # seconds after which a test prints the stack of every thread and ends the run
_watch = {"until": 0.0}


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """The watch is set anew once in a while: for each of many thousand tests it takes too long."""
    now = time.monotonic()
    if now > _watch["until"]:
        _watch["until"] = now + HANGS / 10
        stderr = item.config.stash[fault_handler_stderr_fd_key]
        faulthandler.dump_traceback_later(HANGS, exit=True, file=stderr)


def pytest_unconfigure() -> None:
    faulthandler.cancel_dump_traceback_later()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(
    item: pytest.Item, nextitem: pytest.Item | None
) -> Generator[None, None, None]:
    """After the last test of a module, the global state must be as before the first."""
    yield
    if THAWED:
        gc.collect(1)  # what is older was collected by who looked at it
        gc.freeze()
        THAWED.clear()
    if nextitem is not None and nextitem.path == item.path:
        return
    now = global_state.snapshot()
    found = global_state.changes(LEFT, now)
    if found:  # what a frame in a cycle still holds, an exception's for instance, is not left
        gc.collect()
        now = global_state.snapshot()
        found = global_state.changes(LEFT, now)
    LEFT.update(now)
    if found:
        pytest.fail(f"tests of {item.path.name} left changed: {'; '.join(found)}", pytrace=False)
