"""A reader for tests of recording alone: steps say themselves what is outside, what a call."""

from __future__ import annotations

from types import SimpleNamespace

import retrograd as torch
from retrograd.replay import Replay


def replayed(step, *outside):
    """`step(call, *args)` with `call(function, ...)` for real; tensors in `outside` are fixed."""

    def reader(_, args, kwargs, recorder):
        tensors = [x for x in args if isinstance(x, torch.Tensor)]
        for place, tensor in enumerate(tensors):
            recorder.adopt(tensor, place)
        for item in outside:
            for tensor in _tensors(item):
                recorder.adopt(tensor)
        result = step(lambda f, *a, **k: recorder.call(f, a, k), *args, **kwargs)
        return SimpleNamespace(result=result, effects=[], check=lambda args, kwargs: [
            x for x in args if isinstance(x, torch.Tensor)
        ])  # fmt: skip

    return Replay(ordinary(step), reader)


def _tensors(item):
    if isinstance(item, torch.nn.Module):
        return [*item.parameters(), *item.buffers()]
    return [item]


def ordinary(step):
    """The same step as it runs without a plan."""
    return lambda *args: step(lambda f, *a, **k: f(*a, **k), *args)
