"""`pytest --autograd-doctor`."""

import subprocess
import sys
from importlib.metadata import entry_points
from pathlib import Path

import pytest

from tests.doctor.running import ROOT
from tests.limits import LIMIT

TESTS = """\
import retrograd as torch


def test_twice():
    weight = torch.ones(3, requires_grad=True)
    loss = (weight * weight).sum()
    loss.backward()
    loss.backward()


def test_never_cleared():
    layer = torch.nn.Linear(2, 1)
    optimizer = torch.optim.SGD(layer.parameters(), 0.1)
    for _ in range(4):
        layer(torch.ones(3, 2)).pow(2).mean().backward()
        optimizer.step()


def test_healthy():
    weight = torch.ones(3, requires_grad=True)
    (weight * weight).sum().backward()


def test_other():
    assert 1 == 2
"""


# An installed retrograd has told pytest of its plugin; beside a mere checkout it must be named.
INSTALLED = any(
    entry.value == "retrograd.doctor.pytest_plugin" for entry in entry_points(group="pytest11")
)
PLUGIN = () if INSTALLED else ("-p", "retrograd.doctor.pytest_plugin")


def run(folder: Path, *options: str, more: str = "") -> str:
    (folder / "test_example.py").write_text(TESTS + more)
    done = subprocess.run(
        [
            *(sys.executable, "-m", "pytest", *PLUGIN, *options),
            *("-p", "no:cacheprovider", "--rootdir", str(folder), str(folder)),
        ],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=LIMIT,
    )
    assert done.returncode == 1, done.stdout + done.stderr
    return done.stdout


def test_nothing_without_the_option(tmp_path: Path) -> None:
    out = run(tmp_path)
    assert "2 failed, 2 passed" in out and "autograd doctor" not in out


def test_sections_and_summary(tmp_path: Path) -> None:
    out = run(tmp_path, "--autograd-doctor")
    assert "2 failed, 2 passed" in out
    failures, _, summary = out.partition("autograd doctor: silent faults")
    assert "error[same-loss-twice]" in failures and "test_example.py:8" in failures
    assert failures.count("autograd doctor call") == 1  # not for the failure of another kind
    assert "test_never_cleared" in summary and "warning[zero-grad-misuse]" in summary
    assert "test_healthy" not in summary


WRITING = """\


def test_writes(tmp_path):
    (tmp_path / "own").write_text("in a folder of the test's own")
    weight = torch.ones(3, requires_grad=True)
    loss = (weight * weight).sum()
    loss.backward()
    open(__file__ + ".log", "a").write("once ")
    loss.backward()
"""


@pytest.mark.slow
def test_the_fixes_are_tried(tmp_path: Path) -> None:
    proven = "tried: ran to the end without an error or a report"
    out = run(tmp_path, "--autograd-doctor", more=WRITING)
    failures, _, summary = out.partition("autograd doctor: silent faults")
    twice, writes = failures.split("_ test_writes _")
    assert proven in twice and proven in summary
    assert proven not in writes and "it wrote test_example.py.log" in " ".join(writes.split())
    assert (tmp_path / "test_example.py.log").read_text() == "once "


def test_they_are_not_if_nobody_wants_it(tmp_path: Path) -> None:
    out = run(tmp_path, "--autograd-doctor", "--no-autograd-doctor-verify")
    assert "error[same-loss-twice]" in out and "tried:" not in out


@pytest.mark.slow
def test_with_workers(tmp_path: Path) -> None:
    out = run(tmp_path, "--autograd-doctor", "-n", "1")
    assert "error[same-loss-twice]" in out and "warning[zero-grad-misuse]" in out
    assert "tried: ran to the end" in out
