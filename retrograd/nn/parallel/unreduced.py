"""Errors of gradients that did not come, or came twice: which parameters, and where they are made.

A parameter does not know the line that made it. The class of the module around its layer does: the
line that assigns the layer, or the parameter itself, to ``self``.
"""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING

from retrograd.nn.module import Module

if TYPE_CHECKING:
    from retrograd.nn.parallel.reducer import Reducer

__all__ = ["changed_graph", "made_at", "missing_gradients", "twice"]

_BEGINNING = (
    "Expected to have finished reduction in the prior iteration before starting a new one. This "
    "error indicates that your "
)
_MISSING = f"{_BEGINNING}module has parameters that were not used in producing loss. "
_NOT_LOOKED_FOR = (
    "You can enable unused parameter detection by passing the keyword argument "
    "`find_unused_parameters=True` to `torch.nn.parallel.DistributedDataParallel`, and by \n"
    "making sure all `forward` function outputs participate in calculating loss. "
)
_LOOKED_FOR = (
    "Since `find_unused_parameters=True` is enabled, this likely  means that not all `forward` "
    "outputs participate in computing loss. You can fix this by making sure all `forward` "
    "function outputs participate in calculating loss. "
)
_NOT_FOUND = (
    "\nIf you already have done the above, then the distributed data parallel module wasn't able "
    "to locate the output tensors in the return value of your module's `forward` function. Please "
    "include the loss function and the structure of the return value of `forward` of your module "
    "when reporting this issue (e.g. list, dict, iterable)."
)
_CHANGED_UNUSED = (
    f"{_BEGINNING}training graph has changed in this iteration, e.g., one parameter is used in "
    "first iteration, but then got unused in the second iteration. this is not compatible with "
    "static_graph set to True."
)
_CHANGED_USED = (
    "Your training graph has changed in this iteration, e.g., one parameter is unused in first "
    "iteration, but then got used in the second iteration. this is not compatible with "
    "static_graph set to True."
)
_TWICE = (
    "Expected to mark a variable ready only once. This error is caused by one of the following "
    "reasons: 1) Use of a module parameter outside the `forward` function. Please make sure model "
    "parameters are not shared across multiple concurrent forward-backward passes. or try to use "
    "_set_static_graph() as a workaround if this module graph does not change during training "
    "loop.2) Reused parameters in multiple reentrant backward passes. For example, if you use "
    "multiple `checkpoint` functions to wrap the same part of your model, it would result in the "
    "same set of parameters been used by different reentrant backward passes multiple times, and "
    "hence marking a variable ready multiple times. DDP does not support such use cases in "
    "default. You can try to use _set_static_graph() as a workaround if your module graph does "
    "not change over iterations."
)


def missing_gradients(reducer: Reducer, missing: Sequence[int]) -> RuntimeError:
    """Gradients of the round before did not come, so its buckets never went out."""
    rank = reducer.group.rank()
    names = [reducer.names[number] for number in missing]
    if reducer.static:
        text = _CHANGED_UNUSED
    else:
        text = _MISSING + (_LOOKED_FOR if reducer.find_unused else _NOT_LOOKED_FOR) + _NOT_FOUND
    text += f"\nParameters which did not receive grad for rank {rank}: {', '.join(names)}"
    numbers = " ".join(map(str, missing))
    error = RuntimeError(
        f"{text}\nParameter indices which did not receive grad for rank {rank}: {numbers}"
    )
    lines = [_line(reducer, number) for number in missing]
    error.add_note(
        f"rank {rank}: the last backward gave these parameters no gradient, so the other "
        "processes wait for it:\n" + "\n".join(lines) + "\n"
        "help: use them in the loss, freeze them with requires_grad_(False) before "
        "DistributedDataParallel is made, or make it with find_unused_parameters=True"
    )
    return error


def twice(reducer: Reducer, number: int) -> RuntimeError:
    """A gradient came twice in one round."""
    error = RuntimeError(
        f"{_TWICE}\nParameter at index {number} with name {reducer.names[number]} has been marked "
        "as ready twice. This means that multiple autograd engine  hooks have fired for this "
        "particular parameter during this iteration."
    )
    error.add_note(f"rank {reducer.group.rank()}: the parameter is\n{_line(reducer, number)}")
    return error


def changed_graph() -> RuntimeError:
    """A parameter of a static graph is used that was not used at first."""
    return RuntimeError(_CHANGED_USED)


def _line(reducer: Reducer, number: int) -> str:
    place = made_at(reducer.module, reducer.names[number])
    return f"  {reducer.names[number]}{f'  made at {place}' if place else ''}"


def made_at(module: Module, name: str) -> str:
    """``file:line`` of the assignment to ``self`` that a parameter of a module comes from.

    The innermost that can be found: layers in a `Sequential` are assigned nowhere themselves. Empty
    if there is none, or if the source is not there.
    """
    found, inside = "", module
    for part in name.split("."):
        found = _assignment(type(inside), part) or found
        inside = getattr(inside, part, inside)
    return found


def _assignment(kind: type, attribute: str) -> str:
    for base in kind.__mro__:
        if base.__module__.startswith("retrograd."):
            return ""
        try:
            lines, first = inspect.getsourcelines(base)
            tree = ast.parse(textwrap.dedent("".join(lines)))
            file = inspect.getsourcefile(base)
        except (OSError, TypeError, SyntaxError):
            continue
        for node in ast.walk(tree):
            if isinstance(node, ast.Assign | ast.AnnAssign):
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                if f"self.{attribute}" in map(ast.unparse, targets):
                    return f"{file}:{first + node.lineno - 1}"
    return ""
