"""How a tensor shows itself: `repr`, `str` and formatted."""

from __future__ import annotations

from retrograd import dtypes
from retrograd.above import above
from retrograd.backend import NAMED, backend_of
from retrograd.engine.sparse_array import SPARSE_ARRAY
from retrograd.engine.state import HOT, TRANSFORMS
from retrograd.signatures import forms
from retrograd.tensor import Tensor, tensor_method
from retrograd.tensors import printing


@above
def sparse_text(tensor: Tensor, prefix: str) -> str:
    """The text of a sparse tensor."""
    raise NotImplementedError


def text_of(tensor: Tensor, prefix: str = "tensor(") -> str:
    """The text of a tensor, with its dtype, `grad_fn` or `requires_grad` where they matter."""
    if type(tensor._array) is SPARSE_ARRAY:
        return sparse_text(tensor, prefix)
    name: str | None = None
    requires_grad = False
    if tensor.requires_grad:
        try:
            node = tensor.grad_fn
            name = None if node is None else type(node).__name__
            requires_grad = node is None
        except RuntimeError:
            # a view that may not be used any more, because its base was written
            name = "Invalid"
    backend = backend_of(tensor._array)
    return printing.format_tensor(
        backend.to_numpy(tensor._array) if backend.holds else None,
        shape=tensor._array.shape,
        dtype_name=tensor.dtype.name,
        default_float=dtypes.get_default_dtype().name,
        default_complex="complex128" if dtypes.DEFAULTS.float is dtypes.float64 else "complex64",
        requires_grad=requires_grad,
        grad_fn_name=name,
        prefix=prefix,
        device=None if backend is NAMED["cpu"] else str(tensor.device),
        extra=_tangent_suffixes(tensor),
    )


def _tangent_suffixes(tensor: Tensor) -> tuple[str, ...]:
    """``tangent=...`` of a dual tensor, at the innermost level where it is one."""
    if not TRANSFORMS.dual_levels:
        return ()
    from retrograd.transforms.forward import active_levels, tangent_of

    found = [tangent_of(tensor, level) for level in active_levels()]
    tangents = [tangent for tangent in found if tangent is not None]
    return (f"tangent={tangents[-1]}",) if tangents else ()


@tensor_method
@forms("(self: Tensor) -> str")
def __repr__(self: Tensor, *, tensor_contents: object = None) -> str:
    kind = type(self)
    plain = kind is Tensor or kind is HOT["Parameter"]
    return text_of(self, "tensor(" if plain else f"{kind.__name__}(")


@above
def rich_text(tensor: Tensor) -> str:
    """What a notebook shows of a tensor, as HTML."""
    raise NotImplementedError


@tensor_method
def _repr_html_(self: Tensor) -> str:
    return rich_text(self)


@tensor_method
def __str__(self: Tensor) -> str:
    return repr(self)


@tensor_method
def __format__(self: Tensor, spec: str) -> str:
    if not spec and (self._array.ndim or type(self) is not Tensor or self.is_meta):
        return str(self)
    # a single element formats as the number it is
    if self.is_meta:
        raise TypeError("unsupported format string passed to Tensor.__format__")
    array = backend_of(self._array).to_numpy(self._array)
    return printing.format_scalar_spec(array, spec, class_name=type(self).__name__)
