"""The backend "mpi", where mpi4py and `mpiexec` are."""

import os
import shutil
import subprocess
import sys

import pytest

from tests.distributed.together import ROOT
from tests.limits import LIMIT

pytest.importorskip("mpi4py")
MPIEXEC = os.environ.get("MPIEXEC") or shutil.which("mpiexec")
pytestmark = pytest.mark.skipif(MPIEXEC is None, reason="needs mpiexec")

PROGRAM = """
import sys, datetime, retrograd as torch
dist = torch.distributed
dist.init_process_group("mpi", timeout=datetime.timedelta(seconds=100))
rank, size = dist.get_rank(), dist.get_world_size()
t = torch.arange(5.0) + rank
dist.all_reduce(t)
assert t.tolist() == [i * size + size * (size - 1) / 2 for i in range(5)], t
found = [None] * size
dist.all_gather_object(found, {"rank": rank})
assert [each["rank"] for each in found] == list(range(size))
part = dist.new_group([0, size - 1])
if rank in (0, size - 1):
    one = torch.ones(1)
    dist.all_reduce(one, group=part)
    assert one.item() == 2
long = torch.ones(100_000, dtype=torch.bfloat16)
dist.all_reduce(long)
assert long[7].item() == size
if rank == 0:
    dist.send(torch.ones(2), 1)
elif rank == 1:
    got = torch.zeros(2)
    assert dist.recv(got) == 0 and got.tolist() == [1, 1]
"""


def run(program: str, size: int) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    command = [str(MPIEXEC), "-n", str(size), sys.executable, "-c", program]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=LIMIT)


@pytest.mark.parametrize("size", [2, 3])
def test_exchanges(size):
    found = run(PROGRAM + "dist.destroy_process_group()\nprint('well')", size)
    assert found.returncode == 0, found.stderr
    assert found.stdout.count("well") == size


def test_an_error_of_one_ends_all():
    found = run(PROGRAM + "if rank == 1: raise ValueError('this one')\ndist.barrier()", 2)
    assert found.returncode != 0 and "ValueError: this one" in found.stderr


def test_another_collective_is_named():
    text = "if rank == 1: dist.broadcast(t, 0)\ndist.all_reduce(t)"
    found = run(PROGRAM + text, 2)
    assert found.returncode != 0
    assert "Detected mismatch between collectives on ranks" in found.stderr
    assert "rank 1: broadcast(float32[5], src=0) at <string>:" in found.stderr
