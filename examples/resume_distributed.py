"""Data parallel training that may be killed at any moment, and goes on from its last checkpoint.

torchrun --nproc-per-node 2 examples/resume_distributed.py FOLDER
"""

import os
import sys
import tempfile

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from torch import nn
from torch.distributed.checkpoint.state_dict import get_state_dict, set_state_dict
from torch.nn.parallel import DistributedDataParallel

STEPS = 60
EVERY = 5  # steps from one checkpoint to the next


def batch(step: int, rank: int) -> tuple[torch.Tensor, torch.Tensor]:
    """What a process sees in a step, whenever it was started."""
    generator = torch.Generator().manual_seed(1000 * rank + step)
    inputs = torch.randn(16, 4, generator=generator)
    return inputs, torch.sin(inputs.sum(1, keepdim=True))


def train(folder: str) -> None:
    rank = dist.get_rank()
    torch.manual_seed(23)
    model = DistributedDataParallel(
        nn.Sequential(nn.Linear(4, 32), nn.Tanh(), nn.Linear(32, 32), nn.Tanh(), nn.Linear(32, 1))
    )
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    first = 0
    if os.path.exists(os.path.join(folder, ".metadata")):
        weights, moments = get_state_dict(model, optimizer)
        state = {"model": weights, "optimizer": moments, "step": 0}
        dcp.load(state, checkpoint_id=folder)
        set_state_dict(
            model,
            optimizer,
            model_state_dict=state["model"],
            optim_state_dict=state["optimizer"],
        )
        first = state["step"]
    for step in range(first, STEPS):
        inputs, targets = batch(step, rank)
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(inputs), targets)
        loss.backward()
        optimizer.step()
        if (step + 1) % EVERY == 0:
            weights, moments = get_state_dict(model, optimizer)
            state = {"model": weights, "optimizer": moments, "step": step + 1}
            dcp.save(state, checkpoint_id=folder)
            if rank == 0 and (step + 1) % (3 * EVERY) == 0:
                print(f"step {step + 1:2d}  loss {loss.item():.4f}", flush=True)
    if rank == 0:
        total = sum(parameter.double().sum().item() for parameter in model.parameters())
        print(f"all weights together {total:.4f}", flush=True)
    if len(sys.argv) > 2:  # where the test looks for the weights
        torch.save(model.state_dict(), f"{sys.argv[2]}.{rank}")


def main() -> None:
    if "RANK" not in os.environ:  # started by hand: one process
        os.environ.update(RANK="0", WORLD_SIZE="1", MASTER_ADDR="127.0.0.1", MASTER_PORT="0")
    dist.init_process_group("gloo")
    with tempfile.TemporaryDirectory() as spare:
        train(sys.argv[1] if len(sys.argv) > 1 else os.path.join(spare, "checkpoint"))
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
