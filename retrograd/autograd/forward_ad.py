"""`torch.autograd.forward_ad`: derivatives in one direction, computed along with the values.

>>> import retrograd as torch
>>> import retrograd.autograd.forward_ad as fwAD
>>> with fwAD.dual_level():
...     x = fwAD.make_dual(torch.tensor(3.0), torch.tensor(1.0))
...     fwAD.unpack_dual(x * x).tangent
tensor(6.)
"""

from __future__ import annotations

from typing import Any, NamedTuple

from retrograd.engine.grad_mode import _DecoratorContextManager
from retrograd.engine.state import STATE, Block
from retrograd.notices import explained, runtime_error
from retrograd.tensor import Tensor
from retrograd.transforms import forward
from retrograd.transforms.forward import DualLevel

__all__ = [
    "UnpackedDualTensor",
    "dual_level",
    "enter_dual_level",
    "exit_dual_level",
    "make_dual",
    "unpack_dual",
]

# The number of the open level, as PyTorch counts them: 0, since there is only one; -1 outside.
_current_level = -1


class _Public:
    """The level that the functions of this module mean; one for all threads."""

    level: DualLevel | None = None


def enter_dual_level() -> int:
    """Open a level: from now on dual tensors can be made, until `exit_dual_level`."""
    global _current_level
    _refuse_nested()
    _Public.level = forward.push_level()
    _current_level = 0
    return 0


def _refuse_nested() -> None:
    if _Public.level is not None or forward.active_levels():
        raise runtime_error("Nested forward mode AD is not supported at the moment", code="RG611")


def exit_dual_level(*, level: int | None = None) -> None:
    """Close the level: all its tangents are forgotten."""
    global _current_level
    number = _current_level if level is None else level
    if number != _current_level:
        raise runtime_error(
            "Trying to exit a forward AD level that was not the last one that was created. "
            "This is not supported.",
            code="RG611",
        )
    if _Public.level is None:
        raise runtime_error("Dual level must be a positive number.", code="RG611")
    closing, _Public.level = _Public.level, None
    _current_level = -1
    forward.pop_level(closing)


def _level_of(level: Any) -> DualLevel | None:
    """The level that an argument names; None if there is none open."""
    if isinstance(level, DualLevel):
        return level
    inner = forward.active_levels()
    found = inner[-1] if inner else _Public.level
    return None if level is not None and level < 0 else found


def _invalid(level: object, function: str) -> Exception | None:
    """The error for a number that is not that of a level, if it is none."""
    if isinstance(level, int) and level > 0:
        return runtime_error(f"Invalid level given to {function}", code="RG611")
    return None


def make_dual(tensor: Tensor, tangent: Tensor, *, level: object = None) -> Tensor:
    """A view of `tensor` that carries `tangent`, which every op passes on.

    The tangent itself is kept, if it is laid out in memory as `tensor` is, and a copy otherwise.

    >>> import retrograd.autograd.forward_ad as fwAD
    >>> with fwAD.dual_level():
    ...     fwAD.make_dual(torch.ones(2), torch.tensor([1.0, 0.0])).sin()
    tensor([0.8415, 0.8415], tangent=tensor([0.5403, 0.0000]))
    """
    found = _level_of(level)
    wrong = _invalid(level, "_make_dual")
    if wrong is not None:
        raise wrong
    if found is None and level == 0:
        raise runtime_error(
            "Trying to access a forward AD level with an invalid index. This index was either not "
            "created or is already deleted.",
            code="RG611",
        )
    if found is None:
        raise runtime_error(
            "Trying to create a dual Tensor for forward AD but no level exists, make sure to "
            "enter_dual_level() first.",
            code="RG611",
        )
    for name, value in (("primal", tensor), ("tangent", tangent)):
        if not (value.is_floating_point() or value.is_complex()):
            raise explained(
                ValueError(
                    f"Expected {name} to be floating point or complex, but got: {value.dtype}"
                ),
                code="RG607",
            )
    return forward.make_dual(tensor, tangent, found)


class UnpackedDualTensor(NamedTuple):
    """The two parts of a dual tensor; `tangent` is None for a tensor that is none."""

    primal: Tensor
    tangent: Tensor | None


def unpack_dual(tensor: Tensor, *, level: object = None) -> UnpackedDualTensor:
    """The value of a dual tensor without its tangent, and the tangent.

    >>> import retrograd.autograd.forward_ad as fwAD
    >>> with fwAD.dual_level():
    ...     x = fwAD.make_dual(torch.tensor(2.0), torch.tensor(1.0))
    ...     fwAD.unpack_dual(x**3)
    UnpackedDualTensor(primal=tensor(8.), tangent=tensor(12.))
    """
    found = _level_of(level)
    if found is None:
        return UnpackedDualTensor(tensor, None)
    if not isinstance(tensor, Tensor):
        from retrograd.ops.errors import argument_type

        raise argument_type("_unpack_dual", "dual", 1, "Tensor", tensor)
    wrong = _invalid(level, "_fw_primal")
    if wrong is not None and forward.tangent_of(tensor, found) is not None:
        raise wrong
    if wrong is not None:
        return UnpackedDualTensor(tensor, None)
    return UnpackedDualTensor(*forward.unpack_dual(tensor, found))


class dual_level(Block, _DecoratorContextManager):
    """The block in which dual tensors can be made; also a decorator.

    Levels do not nest. For derivatives of derivatives call `torch.func.jvp` inside of itself.
    """

    _entered = 0

    def _inside(self) -> dict[str, object]:
        global _current_level
        _refuse_nested()
        _Public.level = self.level = forward.OpenLevel().level
        _current_level = 0
        return {"duals": (self.level,)}

    def _left(self, failed: bool) -> None:
        global _current_level
        _Public.level = None
        _current_level = -1
        self.level.close()


def _is_fwd_grad_enabled() -> bool:
    """Whether ops of this thread pass tangents on."""
    return forward.is_enabled()


class _set_fwd_grad_enabled(_DecoratorContextManager):
    """Let ops of this thread pass tangents on, or not: from now on, or for a block."""

    def __init__(self, mode: bool) -> None:
        self.prev = STATE.passes_tangents
        self.mode = bool(mode)
        STATE.passes_tangents = self.mode

    def clone(self) -> Any:
        """For use as a decorator: entered at every call."""
        return type(self)(self.mode)

    def __enter__(self) -> None:
        pass

    def __exit__(self, *exception: object) -> None:
        STATE.passes_tangents = self.prev
