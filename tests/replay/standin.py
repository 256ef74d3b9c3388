"""A reader for tests of recording alone: steps say themselves what is outside, what a call."""

from __future__ import annotations

from types import SimpleNamespace

import retrograd as torch
from retrograd.engine.state import HOT
from retrograd.replay import Replay
from retrograd.replay.reading.guards import facts


def replayed(step, *outside):
    """`step(call, *args)` with `call(function, ...)` for real; tensors in `outside` are fixed."""

    def reader(_, args, kwargs, recorder):
        fixed = [tensor for item in outside for tensor in _tensors(item)]
        known = _facts([*args, *fixed])

        def check(args, kwargs):
            return None if HOT["UNUSUAL"] or known != _facts([*args, *fixed]) else args

        for place, tensor in enumerate(args):
            recorder.adopt(tensor, place)
        for tensor in fixed:
            recorder.adopt(tensor)
        result = step(lambda f, *a, **k: recorder.call(f, a, k), *args, **kwargs)
        return SimpleNamespace(result=result, leaving=result, effects=[], check=check)

    return Replay(ordinary(step), reader)


def _facts(tensors):
    return [facts(x) for x in tensors], torch.is_grad_enabled()


def _tensors(item):
    if isinstance(item, torch.nn.Module):
        return [*item.parameters(), *item.buffers()]
    return [item]


def ordinary(step):
    """The same step as it runs without a plan."""
    return lambda *args: step(lambda f, *a, **k: f(*a, **k), *args)
