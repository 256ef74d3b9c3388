"""An unmodified script under a launcher: the same losses on both libraries.

Here also after a process has died and all were started again; PyTorch's Gloo often does not meet
again then, since it finds the addresses of the first attempt.
"""

import subprocess
import sys
from pathlib import Path

import pytest

from retrograd.distributed.transports import gloo
from tests.distributed.together import ROOT
from tests.limits import LIMIT

pytest.importorskip("torch")
pytestmark = [
    pytest.mark.torch,
    pytest.mark.skipif(not gloo.is_installed(), reason="needs Gloo, by xoscar"),
]

SCRIPT = """
import os, sys
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

dist.init_process_group("gloo")
rank, attempt = dist.get_rank(), int(os.environ["TORCHELASTIC_RESTART_COUNT"])
torch.manual_seed(4)
inputs = torch.randn(48, 5)
data = TensorDataset(inputs, inputs.sin().sum(1, keepdim=True))
sampler = DistributedSampler(data, seed=3)
loader = DataLoader(data, batch_size=4, sampler=sampler)
model = DDP(nn.Sequential(nn.Linear(5, 16), nn.Tanh(), nn.Dropout(0.2), nn.Linear(16, 1)))
optimizer = torch.optim.AdamW(model.parameters(), lr=0.02)
losses = []
schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 4)
for epoch in range(4):
    sampler.set_epoch(epoch)
    if sys.argv[1:] == ["dies"] and attempt == 0 and epoch == 2 and rank == 1:
        os._exit(3)
    total = torch.zeros(1)
    for values, wanted in loader:
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(values), wanted)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        total += loss.detach()
    schedule.step()
    dist.all_reduce(total)
    losses.append(f"{total.item():.4f}")
if rank == 0:
    print(*losses, flush=True)
dist.destroy_process_group()
"""


def launched(command: list[str], size: int, *script: str) -> list[float]:
    """The losses that the first process printed."""
    # PyTorch's processes now and then abort as they meet or part, on a machine with fewer cores:
    # then all of it is done again, since a restart after the end would print everything twice
    theirs = "torch" in command[0].split(".")
    restarts = "0" if theirs else "1"
    options = ["--standalone", "--nproc-per-node", str(size), "--max-restarts", restarts]
    for _ in range(3 if theirs else 1):
        done = subprocess.run(
            [sys.executable, "-m", *command, *options, *script],
            cwd=ROOT,
            capture_output=True,
            text=True,
            timeout=LIMIT,
        )
        if done.returncode == 0:
            break
    assert done.returncode == 0, done.stderr
    return [float(line) for line in done.stdout.split()]


@pytest.mark.parametrize("size", [2, 4])
def test_the_same_losses(tmp_path: Path, size: int) -> None:
    script = tmp_path / "train.py"
    script.write_text(SCRIPT)
    ours = launched(["retrograd", "run"], size, str(script))
    again = launched(["retrograd", "run"], size, str(script), "dies")
    theirs = launched(["torch.distributed.run"], size, str(script))
    assert len(ours) == 4
    assert ours == again
    assert ours == pytest.approx(theirs, abs=3e-4)
