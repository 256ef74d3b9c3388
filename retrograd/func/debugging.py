"""`debug_unwrap`, and the transform that has no meaning here."""

from __future__ import annotations

from collections.abc import Callable
from typing import NoReturn

from retrograd.marks import differs, refuses
from retrograd.tensor import Tensor
from retrograd.transforms.batched import BatchedTensor


@differs("unwraps vmap; an input of grad is an ordinary tensor here, and comes back as it is")
def debug_unwrap(tensor: Tensor, *, recurse: bool = True) -> Tensor:
    """What lies below a tensor of a running transform, to look at while debugging.

    Under `vmap` this is the whole batch; with ``recurse=False`` that of the innermost call only.
    The inputs of `grad`, `vjp` and `jvp` are ordinary tensors and come back as they are.
    """
    while isinstance(tensor, BatchedTensor):
        tensor = tensor._physical
        if not recurse:
            break
    return tensor


@refuses("it rewrites a function for a compiler, and functions are never compiled here")
def functionalize(func: Callable[..., object], *, remove: str = "mutations") -> NoReturn:
    """Raise: there is no compiler here that needs functions without in-place ops."""
    if remove not in ("mutations", "mutations_and_views"):
        raise RuntimeError(
            "functionalize(f, remove='mutations'): received invalid argument for "
            f"remove={remove}. Valid options are:\n"
            "     remove='mutations': in-place ops become out-of-place ones.\n"
            "     remove='mutations_and_views': views become copies, too.\n"
        )
    raise NotImplementedError(
        "torch.func.functionalize is not supported: it rewrites a function for a compiler, and "
        "functions are never compiled here. grad, vjp, jvp and vmap take functions with in-place "
        "ops as they are."
    )
