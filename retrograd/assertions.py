"""`torch._assert` and `torch._check`: conditions that model code states about its inputs.

PyTorch has them because its compiler can see through them; here they raise, or do nothing.

>>> import retrograd as torch
>>> torch._assert(torch.ones(2, 3).dim() == 2, "expected a matrix")
"""

from __future__ import annotations

from collections.abc import Callable

from retrograd import dtypes
from retrograd.tensor import Tensor

Message = Callable[[], object] | None


def _assert(condition: object, message: str) -> None:
    """Raise AssertionError with the message, unless the condition holds."""
    if not condition:
        raise AssertionError(message)


def _check_with(error_type: type[Exception], cond: bool, message: Message = None) -> None:
    """Raise an error of a type unless `cond`; `message` is called only then."""
    if isinstance(cond, Tensor):
        raise TypeError(
            "cond must be a bool, but got a Tensor. For tensor conditions, use "
            "torch._check_tensor_all() to assert that all elements are true."
        )
    if not isinstance(cond, bool):
        raise TypeError(f"cond must be a bool, but got {type(cond)}")
    if cond:
        return
    if message is None:
        raise error_type(
            "Expected cond to be True, but got False. (Could this error message be improved? If "
            "so, please report an enhancement request to PyTorch.)"
        )
    if not callable(message):
        raise TypeError("message must be a callable")
    raise error_type(str(message()))


def _check(cond: bool, message: Message = None) -> None:
    """Raise RuntimeError unless `cond`."""
    _check_with(RuntimeError, cond, message)


def _check_is_size(i: int, message: Message = None, *, max: int | None = None) -> None:
    """Raise RuntimeError unless 0 <= i, and i <= max where there is one."""
    _check(i >= 0, message)
    if max is not None:
        _check(i <= max, message)


def _check_index(cond: bool, message: Message = None) -> None:
    """Raise IndexError unless `cond`."""
    _check_with(IndexError, cond, message)


def _check_value(cond: bool, message: Message = None) -> None:
    """Raise ValueError unless `cond`."""
    _check_with(ValueError, cond, message)


def _check_type(cond: bool, message: Message = None) -> None:
    """Raise TypeError unless `cond`."""
    _check_with(TypeError, cond, message)


def _check_not_implemented(cond: bool, message: Message = None) -> None:
    """Raise NotImplementedError unless `cond`."""
    _check_with(NotImplementedError, cond, message)


def _check_tensor_all(cond: Tensor, message: Message = None) -> None:
    """Raise RuntimeError unless every element of a tensor of booleans is True."""
    if not isinstance(cond, Tensor):
        raise TypeError(f"cond must be a tensor, but got {type(cond)}")
    if cond.dtype is not dtypes.bool_:
        raise TypeError(f"cond tensor must have dtype torch.bool, but got {cond.dtype}")
    _check(bool(cond._array.all()), message)


def _assert_async(input: Tensor, assert_msg: str | None = None) -> None:
    """Raise RuntimeError where a tensor of one element is zero or False; on the CPU, at once."""
    if not bool(input):
        zero = "Expected Tensor with single nonzero value, but got zero"
        raise RuntimeError(zero if assert_msg is None else assert_msg)


CONDITIONS: dict[str, object] = {
    function.__name__: function
    for function in (
        *(_assert, _assert_async, _check, _check_index, _check_is_size),
        *(_check_not_implemented, _check_tensor_all, _check_type, _check_value, _check_with),
    )
}
