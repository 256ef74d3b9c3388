"""The layer that is nearest to the result of a model in which everything is frozen."""

from __future__ import annotations

import gc
from typing import Any

from retrograd.doctor.session import Watched


def frozen_model(watched: Watched) -> dict[str, object]:
    """What the edits need of the one model whose parameters are all frozen; {} if there is none.

    A model that was trained before has been frozen for a while on purpose: it is none.
    """
    recorder = watched.recorder
    failure = recorder.failure
    if any(failure is None or call is not failure.call for call in recorder.calls):
        return {}
    kind = recorder.torch.nn.Module
    modules = [each for each in gc.get_objects() if issubclass(type(each), kind)]
    inner = {id(part) for each in modules for part in each.modules() if part is not each}
    roots = [each for each in modules if id(each) not in inner and is_frozen(each)]
    return facts_of(roots[0]) if len(roots) == 1 else {}


def is_frozen(module: Any) -> bool:
    """Whether a module has parameters and none of them requires grad."""
    held = list(module.parameters())
    return bool(held) and not any(each.requires_grad for each in held)


def facts_of(model: Any) -> dict[str, object]:
    """The names of all parameters, and the last layer: as names say it, and as a program does."""
    name, text, module = "", "", model
    while True:
        parts = [pair for pair in module.named_children() if list(pair[1].parameters())]
        if not parts or (name and len(parts) > 1):
            break
        key, module = parts[-1]
        name = f"{name}.{key}" if name else key
        text += f"[{key}]" if key.isdigit() else f".{key}"
    if not name:
        return {}
    return {"names": [key for key, _ in model.named_parameters()], "last": name, "path": text}
