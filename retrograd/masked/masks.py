"""What masked functions share: masks that fit their input, and inputs that are filled for them.

A masked function computes what the plain one does of an input whose masked-out elements hold the
value that changes nothing: 0 in a sum, 1 in a product, -inf in a maximum.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TypeAlias

from retrograd import dtypes
from retrograd.masked.tensor import MaskedTensor
from retrograd.notices import explained, runtime_error
from retrograd.ops import errors
from retrograd.tensor import Tensor
from retrograd.tensor.size import sparse_coo, sparse_csr, strided

Dims: TypeAlias = int | Sequence[int] | None

_NEUTRAL = {"sum": 0.0, "cumsum": 0.0, "prod": 1.0, "cumprod": 1.0, "norm": 0.0}
_SMALLEST = ("amax", "argmax", "logaddexp", "logsumexp")
_LARGEST = ("amin", "argmin")


def identity(name: str, input: Tensor, ord: float = 2.0) -> Tensor:
    """The value that changes nothing in a reduction, in the dtype of `input`."""
    if name == "median":  # which passes over nan
        kind = input.dtype if input.is_floating_point() else dtypes.float32
        return input.new_full((), math.nan, dtype=kind)
    if name == "norm" and ord == -math.inf:
        assert input.is_floating_point(), f"input must be floating point, got {input.dtype}"
        return input.new_full((), math.inf)
    if name in _NEUTRAL:
        return input.new_full((), _NEUTRAL[name])
    if name == "logsumexp" and input.is_complex():
        return input.new_full((), complex(-math.inf))
    kind = input.dtype
    if not input.is_floating_point() and not kind.is_signed and kind is not dtypes.uint8:
        raise NotImplementedError(f"identity of {name} on {kind} input")
    if name in _SMALLEST:
        return input.new_full(
            (), -math.inf if input.is_floating_point() else dtypes.iinfo(kind).min
        )
    assert name in _LARGEST
    return input.new_full((), math.inf if input.is_floating_point() else dtypes.iinfo(kind).max)


def canonical_mask(input: Tensor, mask: Tensor) -> Tensor:
    """The mask as booleans in the shape of `input`, to which it is broadcast."""
    require_layout(input)
    if mask.shape != input.shape:
        if mask.ndim > input.ndim:
            raise explained(
                IndexError(
                    "_input_mask expected broadcastable mask (got mask dimensionality higher than "
                    "of the input)"
                ),
                code="RG203",
            )
        if mask.layout is not strided:
            raise errors.unsupported(f"broadcasting a mask of layout {mask.layout!r}")
        mask = mask.broadcast_to(input.shape)
    if mask.layout is not strided:
        mask = mask.to_dense()
    return mask.to(dtype=dtypes.bool_)


def require_layout(input: Tensor) -> None:
    """Refuse layouts that no mask is made for."""
    if input.layout not in (strided, sparse_coo, sparse_csr):
        raise ValueError(
            f"_input_mask expects strided or sparse COO or sparse CSR tensor but got {input.layout}"
        )


def filled(name: str, input: Tensor, mask: Tensor | None, ord: float = 2.0) -> Tensor:
    """The input with the value that changes nothing in its masked-out elements."""
    if isinstance(input, MaskedTensor):
        mask = input.get_mask()
        input = input.get_data()
    if mask is None or input.layout is not strided:
        return input
    fits = canonical_mask(input, mask)
    return input.where(fits, identity(name, input, ord))


def canonical_dims(dim: Dims, ndim: int) -> tuple[int, ...]:
    """The dimensions to reduce, counted from the front and in order; all for None and ``()``."""
    if dim is None or dim == ():
        return tuple(range(ndim))
    count = max(ndim, 1)
    found: list[int] = []
    for given in (dim,) if isinstance(dim, int) else dim:
        if given in found:
            raise runtime_error(
                f"dim={given} appears multiple times in the list of dims", code="RG205"
            )
        if given >= count or given < -count:
            raise explained(
                IndexError(
                    f"Dimension out of range (expected to be in range of [{-count}, {count - 1}], "
                    f"but got {given})"
                ),
                code="RG205",
            )
        found.append(given % count)
    return tuple(sorted(found))


def require_strided(
    name: str, takes: str, input: Tensor, *also: object, sparse: Sequence[object] = ()
) -> None:
    """Refuse a sparse input: in PyTorch's words where it has no such function either.

    takes   the layouts that PyTorch's function takes, as it says it
    sparse  those of them that are missing here
    """
    if input.layout is strided:
        return
    if input.layout in sparse:
        raise errors.unsupported(f"masked.{name} of a tensor of layout {input.layout!r}")
    raise ValueError(f"masked {name} expects {takes} (got {input.layout} tensor)")
