"""The operands of one call on one device, or PyTorch's error for operands that are not."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from retrograd import dtypes
from retrograd.backend import BACKENDS, CPU, Backend, backend_of
from retrograd.engine.state import STATE
from retrograd.notices import runtime_error
from retrograd.tensor import Tensor
from retrograd.tensor.size import device_of

if TYPE_CHECKING:
    from retrograd.ops.registry import Op

_cpu_array = CPU.array

# Ops whose index may be on the CPU where what is indexed is not: by the places of the indices.
_INDEXED = frozenset(("index", "index_put", "_index_put", "_index_put_", "_index_gradient"))

# What PyTorch calls the function that checks, where it is not the op's own name there.
_METHODS = {
    "dot": "_dot",
    "embedding": "_index_select",
    "index_select": "_index_select",
    "mv": "addmv_",
    "stack": "cat",
    "_searchsorted": "Tensor_searchsorted",
    "_batch_norm": "_native_batch_norm",
    "_layer_norm": "_native_layer_norm",
}
# What it calls operands, and in which order it looks at them.
_ARGUMENTS = {
    "input": "self",
    ("embedding", "indices"): "index",
    ("mv", "input"): "mat",
    ("_searchsorted", "values"): "self",
}
_ORDER = {
    "mv": ("vec", "input"),
}
# What is looked at first where an operand has no elements.
_MASKS = ("mask", "condition")
# Elementwise there, but checked as others are.
_ONE_BY_ONE = frozenset(("cat", "stack", "_clamp_tensors", "_searchsorted"))
# The other way round.
_TOGETHER = frozenset(("_choose", "binary_cross_entropy"))


def on_one_device(op: Op, arrays: list[Any]) -> tuple[Backend, list[Any]]:
    """The backend of a call's arrays, and the arrays, all of them there.

    A tensor of the CPU without dimensions is a number to other devices, as in PyTorch, and goes
    along, and so does an index; any other mixture is an error.
    """
    for array in _flat(arrays):
        if type(array) is not _cpu_array:
            break
    else:
        return CPU, arrays
    found = {backend_of(array) for array in _flat(arrays)}
    if len(found) == 1:
        return found.pop(), arrays
    others = [backend for backend in found if backend is not CPU]
    indexed = op.name in _INDEXED
    if len(others) == 1 and (
        others[0].name == "cpu"  # arrays of a step that is recorded
        or (indexed and type(arrays[0]) is not _cpu_array)
        or all(array.ndim == 0 for array in _flat(arrays) if type(array) is _cpu_array)
    ):
        return others[0], _moved(arrays, others[0])
    raise mixed(op, arrays)


def bring_along(args: tuple[Any, ...], tensors: list[Any]) -> tuple[Any, ...] | None:
    """The arguments with CPU tensors without dimensions moved, where they are to get gradients.

    None if there are none, or nothing to go to.
    """
    if not STATE.grad_enabled:
        return None
    place: Backend | None = None
    going = False
    for tensor in tensors:
        if isinstance(tensor, Tensor):
            array = tensor._array
            if type(array) is not _cpu_array:
                place = BACKENDS.get(type(array), place)
            elif tensor._requires_grad and not array.ndim:
                going = True
    if not going or place is None or place.name == "cpu":
        return None
    there = place
    from retrograd.ops.registry import RECORDED  # which imports this module

    def moved(value: Any) -> Any:
        goes = isinstance(value, Tensor) and type(value._array) is _cpu_array
        if not goes or value._array.ndim:
            return value
        return RECORDED._to_device(value, CPU, there, False)

    return tuple(
        type(arg)(map(moved, arg)) if isinstance(arg, (list, tuple)) else moved(arg) for arg in args
    )


def is_elsewhere(arrays: list[Any]) -> bool:
    """Whether some of the operands are on a device that is not the CPU."""
    return any(
        type(array) is not _cpu_array and backend_of(array).name != "cpu" for array in _flat(arrays)
    )


def mixed(op: Op, arrays: list[Any]) -> Exception:
    """The error of operands on several devices, in the words that PyTorch has for the op."""
    return runtime_error(_words(op, arrays), code="RG308")


def _words(op: Op, arrays: list[Any]) -> str:
    named = dict(zip(op.plan.tensor_names, arrays, strict=False))
    without = _without_elements(named)
    if without is not None:
        return without
    if op.name in _INDEXED:
        return (
            "indices should be either on cpu or on the same device as the indexed tensor "
            f"({device_of(arrays[0])})"
        )
    if op.name.startswith("masked_fill") or op.name == "_masked_fill_tensor":
        return (
            "expected self and mask to be on the same device, but got mask on "
            f"{device_of(named['mask'])} and self on {device_of(named['input'])}"
        )
    if op.name == "convolution":
        other = "weight" if _differ(named["input"], named["weight"]) else "bias"
        return (
            f"Input type ({_type_name(named['input'])}) and {other} type "
            f"({_type_name(named[other])}) should be the same"
        )
    together = (op.elementwise or op.promote) and op.name not in _ONE_BY_ONE
    if together or op.name in _TOGETHER:
        places = dict.fromkeys(str(device_of(array)) for array in _flat(arrays))
        first, second = sorted(places, key="cpu".__eq__)[:2]
        return (
            "Expected all tensors to be on the same device, but found at least two devices, "
            f"{first} and {second}!"
        )
    return _one_by_one(op, named)


def _without_elements(named: dict[str, Any]) -> str | None:
    """What is said where an operand has no elements; None if all have some."""
    order = sorted(named, key=lambda name: name not in _MASKS)
    places = list(dict.fromkeys(device_of(array) for array in _flat([named[n] for n in order])))
    if not any(place.type == "meta" for place in places):
        return None
    return f"Tensor on device {places[1]} is not on the expected device {places[0]}!"


def _one_by_one(op: Op, named: dict[str, Any]) -> str:
    aten = op.aten if isinstance(op.aten, str) else op.name.lstrip("_")
    method = _METHODS.get(op.name, aten.replace(".", "_"))
    names = _ORDER.get(op.name, tuple(named))
    theirs = {n: _ARGUMENTS.get((op.name, n)) or _ARGUMENTS.get(n, n) for n in names}
    return elsewhere(method, {theirs[name]: named[name] for name in names})


def elsewhere(method: str, named: dict[str, Any]) -> str:
    """What is said of the first operand that is elsewhere than those before it."""
    first = None
    for name, value in named.items():
        for array in _flat([value]):
            where = device_of(array)
            first = where if first is None else first
            if where != first:
                return (
                    f"Expected all tensors to be on the same device, but got {name} is on "
                    f"{where}, different from other tensors on {first} (when checking argument in "
                    f"method wrapper_CUDA_{method})"
                )
    raise AssertionError(f"the operands of {method} are on one device")


def _differ(first: Any, second: Any) -> bool:
    return type(first) is not type(second)


def _type_name(array: Any) -> str:
    kind = dtypes.from_numpy_dtype(array.dtype).type_name
    place = device_of(array).type
    return f"torch.{kind}Tensor" if place == "cpu" else f"torch.{place}.{kind}Tensor"


def _flat(arrays: list[object]) -> Iterator[Any]:
    """All arrays among the operands; the others are numbers, or None."""
    for value in arrays:
        if isinstance(value, list):
            yield from _flat(value)
        elif hasattr(value, "dtype"):
            yield value


def _moved(value: object, backend: Backend) -> Any:
    if isinstance(value, list):
        return [_moved(item, backend) for item in value]
    return backend.beside(value) if type(value) is _cpu_array else value
