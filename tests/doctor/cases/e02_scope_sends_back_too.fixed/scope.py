from contextlib import contextmanager
from dataclasses import dataclass
from typing import Optional

import torch


@dataclass
class Step:
    loss: Optional[torch.Tensor] = None


@contextmanager
def optimization_step(optimizer, max_norm=None):
    """Clears, sends the loss back and steps: the body only has to fill in `step.loss`."""
    step = Step()
    optimizer.zero_grad(set_to_none=True)
    yield step
    if step.loss is None:
        return
    step.loss.backward()
    if max_norm is not None:
        for group in optimizer.param_groups:
            torch.nn.utils.clip_grad_norm_(group["params"], max_norm)
    optimizer.step()
