"""Programs that train in several processes: every rank is watched, and there is one report."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from retrograd import diagnostics
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
    print(f"rank {{dist.get_rank()}}\\n", end="", flush=True)  # in one piece: two print at once
    dist.destroy_process_group()

main()
"""


def examined(folder: Path, text: str, *words: str) -> tuple[str, str, dict[str, object]]:
    (folder / "train.py").write_text(text)
    out = folder / "out.json"
    asked = [*command("--engine", "torch", "--json", str(out)), *words]
    environment = {**os.environ, "COLUMNS": "100"}
    done = subprocess.run(
        asked, cwd=folder, env=environment, capture_output=True, text=True, timeout=LIMIT
    )
    return done.stdout, done.stderr, json.loads(out.read_text())


LAUNCHED = ("-m", "torch.distributed.run", "--standalone", "--nproc_per_node", "2", "train.py")
PAGE = Path(diagnostics.__file__).parent / "explain" / "ranks-differ.md"

UNUSED = """\
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.left = nn.Linear(4, 4)
        self.right = nn.Linear(4, 4)

    def forward(self, x, both):
        y = self.left(x)
        return y + self.right(x) if both else y


dist.init_process_group("gloo")
model = DDP(Net()@)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(4):
    optimizer.zero_grad()
    loss = model(torch.ones(2, 4), step != 1 or dist.get_rank() == 0).sum()
    loss.backward()
    optimizer.step()
if dist.get_rank() == 0:
    print(loss.item())
with model.join():
    for step in range(2 + dist.get_rank()):
        optimizer.zero_grad()
        model(torch.ones(2, 4), True).sum().backward()
        optimizer.step()
dist.destroy_process_group()
"""

UNEVEN = """\
import datetime
import torch
import torch.distributed as dist

dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=20))
model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(4, 4))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(3 + dist.get_rank()):
    optimizer.zero_grad()
    loss = model(torch.ones(2, 4)).sum()
    loss.backward()
    optimizer.step()
dist.destroy_process_group()
"""

SPAWNED = """\
import torch
import torch.distributed as dist


def work(rank, port):
    dist.init_process_group("gloo", f"tcp://127.0.0.1:{port}", rank=rank, world_size=2)
    weight = torch.ones(3, requires_grad=True)
    for step in range(3):
        (weight * 2).sum().backward()
        dist.all_reduce(weight.grad)
        if step == 1 and rank == 1:
            raise ValueError("bad batch")


if __name__ == "__main__":
    import socket

    with socket.create_server(("127.0.0.1", 0)) as found:
        port = found.getsockname()[1]
    torch.multiprocessing.spawn(work, (port,), nprocs=2)
"""


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


def test_parameters_that_one_rank_leaves_out(tmp_path: Path) -> None:
    _, errors, report = examined(tmp_path, UNUSED.replace("@", ""), *LAUNCHED)
    (found,) = report["diagnoses"]  # type: ignore[misc, has-type]
    assert found["category"] == "ddp-unused-parameters", errors
    facts, lines = (
        found["report"]["facts"],
        [span["place"]["line"] for span in found["report"]["spans"]],
    )
    assert facts == {"rank": "1", "parameters": ["right.weight", "right.bias"]}
    assert lines == [11, 24, 23]  # made, sent back, the next forward
    assert "seen in rank 1" in errors and "Earlier steps did use `right.weight`" in errors
    assert "DDP(Net(), find_unused_parameters=True)" in errors
    assert any(
        told.startswith("rank 1 ended by RuntimeError: Expected") for told in report["failures"]
    )  # type: ignore[attr-defined]


def test_unused_parameters_that_are_looked_for_and_uneven_batches_that_are_joined(
    tmp_path: Path,
) -> None:
    """Ranks that do not use the same parameters, and not as many batches: all as it should be."""
    text = UNUSED.replace("@", ", find_unused_parameters=True")
    out, errors, report = examined(tmp_path, text, *LAUNCHED)
    assert report["diagnoses"] == [] and report["status"] == "healthy", errors
    assert report["unseen"] == [] and report["failures"] == [] and len(out.splitlines()) == 1


def test_a_rank_with_more_batches(tmp_path: Path) -> None:
    _, errors, report = examined(tmp_path, UNEVEN, *LAUNCHED)
    (found,) = report["diagnoses"]  # type: ignore[misc, has-type]
    assert found["category"] == "ranks-differ" and found["error_line"]["line"] == 10, errors
    assert "rank 0 had ended" in errors and "model.join()" in errors


def test_the_page_of_ranks_that_differ(tmp_path: Path) -> None:
    """Its program is found out, and the page shows what is printed."""
    page = PAGE.read_text()
    program = re.search(r"```py\n(.*?)```", page, re.DOTALL)
    shown = re.search(r"```text\n(.*?)```", page, re.DOTALL)
    assert program is not None and shown is not None
    _, errors, report = examined(tmp_path, program[1], *LAUNCHED)
    (found,) = report["diagnoses"]  # type: ignore[misc, has-type]
    assert found["category"] == "ranks-differ"
    assert [place["line"] for place in found["created_at"]] == [9, 20]
    printed = errors[errors.index("error[ranks-differ]") :].partition("\nfailed:")[0]
    assert printed.strip() == shown[1].strip()


def test_the_error_of_a_spawned_rank_comes_before_what_follows_from_it(tmp_path: Path) -> None:
    _, errors, report = examined(tmp_path, SPAWNED, "train.py")
    told = report["failures"]
    assert report["diagnoses"] == [], errors  # the ranks differ because one of them failed
    assert told[0] == "rank 1 ended by ValueError: bad batch", errors  # type: ignore[index]
    assert len(told) == 1 or "Connection closed by peer" in told[1]  # type: ignore[arg-type, index]
