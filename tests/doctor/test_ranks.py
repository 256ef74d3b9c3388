"""Programs that train in several processes: every rank is watched, and there is one report."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.doctor.running import command
from tests.limits import LIMIT

pytest.importorskip("torch")
pytestmark = [
    pytest.mark.torch,
    pytest.mark.skipif(sys.platform != "linux", reason="process groups as Linux has them"),
]

TRAIN = """\
import os, torch
import torch.distributed as dist

def main():
    dist.init_process_group("gloo")
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(3, 1))
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    for _ in range(4):
        {clear}
        model(torch.ones(2, 3)).sum().backward()
        optimizer.step()
    print("rank", dist.get_rank(), flush=True)
    dist.destroy_process_group()

main()
"""


def examined(folder: Path, text: str, *words: str) -> tuple[str, str, dict[str, object]]:
    (folder / "train.py").write_text(text)
    out = folder / "out.json"
    asked = [*command("--engine", "torch", "--json", str(out)), *words]
    done = subprocess.run(asked, cwd=folder, capture_output=True, text=True, timeout=LIMIT)
    return done.stdout, done.stderr, json.loads(out.read_text())


LAUNCHED = ("-m", "torch.distributed.run", "--nproc_per_node", "2", "train.py")


def test_a_mistake_on_both_ranks(tmp_path: Path) -> None:
    out, errors, report = examined(tmp_path, TRAIN.format(clear="pass"), *LAUNCHED)
    assert sorted(out.splitlines()) == ["rank 0", "rank 1"], errors
    (found,) = report["diagnoses"]  # type: ignore[misc, has-type]
    assert found["category"] == "zero-grad-misuse"
    assert "seen in rank 0 and rank 1" in errors and "no autograd mistake" not in errors
    assert "optimizer.zero_grad()" in errors  # a diff, that nobody ran: it started processes
    assert "not tried" in errors


def test_healthy_ranks(tmp_path: Path) -> None:
    out, errors, report = examined(tmp_path, TRAIN.format(clear="optimizer.zero_grad()"), *LAUNCHED)
    assert sorted(out.splitlines()) == ["rank 0", "rank 1"], errors
    assert report["diagnoses"] == [] and report["unseen"] == []
    assert report["status"] == "healthy"


def test_processes_that_could_not_be_watched_are_named(tmp_path: Path) -> None:
    text = (
        "import subprocess, sys, torch\n"
        "subprocess.run([sys.executable, '-S', '-c', 'print(1)'], check=True)\n"
    )
    _, errors, report = examined(tmp_path, text, "train.py")
    assert "they were not watched" in " ".join(report["unseen"]), errors  # type: ignore[arg-type]
