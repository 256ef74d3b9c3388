"""Calling a module with other tensors in place of its own parameters and buffers."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from retrograd.lifecycle.site import user_level
from retrograd.nn.module import Module
from retrograd.tensor import Tensor

__all__ = ["functional_call"]

_NONE_BEFORE = object()  # what an attribute was that did not exist


def functional_call(
    module: Module,
    parameters_and_buffers: dict[str, Tensor],
    args: Any = None,
    kwargs: dict[str, object] | None = None,
    *,
    tie_weights: bool = True,
    strict: bool = False,
) -> Any:
    """The old place of `torch.func.functional_call`."""
    warnings.warn(
        "`torch.nn.utils.stateless.functional_call` is deprecated as of PyTorch 2.0 and will be "
        "removed in a future version of PyTorch. Please use `torch.func.functional_call` instead "
        "which is a drop-in replacement.",
        FutureWarning,
        stacklevel=user_level(),
    )
    return call_with(
        module, parameters_and_buffers, args, kwargs, tie_weights=tie_weights, strict=strict
    )


def call_with(
    module: Module,
    tensors: dict[str, Tensor],
    args: Any,
    kwargs: dict[str, object] | None,
    *,
    tie_weights: bool,
    strict: bool,
) -> Any:
    """Call the module while `tensors` stand in the places of the same names."""
    if args is None:
        args = ()
    elif not isinstance(args, tuple):
        args = (args,)
    with swapped(module, tensors, tie_weights=tie_weights, strict=strict):
        return module(*args, **({} if kwargs is None else kwargs))


@contextmanager
def swapped(
    module: Module, tensors: dict[str, Tensor], *, tie_weights: bool, strict: bool
) -> Iterator[None]:
    """Put tensors in the places of a module's own, and back again in the end.

    What the module itself put in a place meanwhile (a running mean) is handed out in `tensors`.
    """
    wanted = _with_tied(module, tensors) if tie_weights else tensors
    if strict:
        _check_names(module, wanted)
    before: dict[str, Any] = {}
    try:
        for name, tensor in wanted.items():
            before[name] = _swap(module, name, tensor)
        yield
    finally:
        for name, tensor in before.items():
            after = _swap(module, name, tensor)
            if name in tensors:
                tensors[name] = after


def _all_tensors(module: Module) -> dict[str, Tensor]:
    """Parameters and buffers under all their names, also where two names mean one tensor."""
    parameters: dict[str, Tensor | None] = {}
    buffers: dict[str, Tensor | None] = {}
    _name_tensors(module, "", parameters, buffers)
    named = {**parameters, **buffers}
    return {name: tensor for name, tensor in named.items() if tensor is not None}


def _name_tensors(
    module: Module,
    prefix: str,
    parameters: dict[str, Tensor | None],
    buffers: dict[str, Tensor | None],
) -> None:
    for name, parameter in module._parameters.items():
        parameters[prefix + name] = parameter
    for name, buffer in module._buffers.items():
        buffers[prefix + name] = buffer
    for name, inner in module._modules.items():
        if inner is not None:
            _name_tensors(inner, f"{prefix}{name}.", parameters, buffers)


def _with_tied(module: Module, tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    """The given tensors, each also under the names that are tied to its own."""
    named = _all_tensors(module)
    if len({id(tensor) for tensor in named.values()}) == len(named):
        return tensors
    by_tensor: dict[Tensor, list[str]] = {}
    for name, tensor in named.items():
        by_tensor.setdefault(tensor, []).append(name)
    wanted = dict(tensors)
    for names in by_tensor.values():
        given = [name for name in names if name in tensors]
        if len(names) == 1 or not given:
            continue
        if any(tensors[name] is not tensors[given[0]] for name in given):
            raise ValueError(
                f"functional_call got multiple values for keys {sorted(names)}, which are tied. "
                "Consider using tie_weights=False"
            )
        for name in names:
            wanted[name] = tensors[given[0]]
    return wanted


def _check_names(module: Module, tensors: dict[str, Tensor]) -> None:
    known = _all_tensors(module)
    lines = []
    for kind, names in (
        ("Unexpected", set(tensors) - set(known)),
        ("Missing", set(known) - set(tensors)),
    ):
        if names:
            lines.append(f"{kind} key(s): {', '.join(map(repr, sorted(names)))}.")
    if lines:
        raise RuntimeError(
            f"Error(s) in reparametrizing for {module._get_name()}:\n\t" + "\n\t".join(lines)
        )


def _swap(module: Module, name: str, tensor: Tensor) -> Any:
    """Put a tensor under a dotted name; gives what was there."""
    path, _, last = name.rpartition(".")
    owner = _owner(module, path)
    if not (tensor is None or tensor is _NONE_BEFORE or isinstance(tensor, Tensor)):
        raise TypeError(f"{tensor} is not an instance of torch.Tensor")
    if last == "":
        raise KeyError('tensor name can\'t be empty string ""')
    tables: tuple[dict[str, Any], ...] = (owner._parameters, owner._buffers)
    for table in tables:
        if last in table:
            before = table[last]
            if tensor is _NONE_BEFORE:
                del table[last]
            else:
                table[last] = tensor
            return before
    before = getattr(owner, last, _NONE_BEFORE)
    if not (before is None or before is _NONE_BEFORE or isinstance(before, Tensor)):
        raise TypeError(f"attribute `{last}`: {before} is not an instance of torch.Tensor")
    if tensor is not _NONE_BEFORE:
        setattr(owner, last, tensor)
    elif before is not _NONE_BEFORE:
        delattr(owner, last)
    return before


def _owner(module: Module, path: str) -> Module:
    """The submodule at a dotted path."""
    found = module
    walked = ""
    for part in path.split(".") if path else ():
        walked = f"{walked}.{part}" if walked else part
        inner = found._modules.get(part)
        if inner is not None:
            found = inner
            continue
        if not hasattr(found, part):
            raise AttributeError(f"{found._get_name()} has no attribute `{part}`")
        found = getattr(found, part)
        if not isinstance(found, Module):
            raise TypeError(f"submodule `{walked}`: {found} is not an instance of torch.nn.Module")
    return found
