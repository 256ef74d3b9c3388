"""Views with the dimensions in another order: transpose, permute and their short forms."""

from __future__ import annotations

from typing import Any

from retrograd import core, dtypes
from retrograd.lifecycle.site import user_level
from retrograd.notices import warn_once
from retrograd.ops import errors
from retrograd.ops.kinds import Array, Ints, Namespace, wrap_dim
from retrograd.ops.registry import RECORDED, composite, function_only, inner_op, method_only, op
from retrograd.ops.sizes import Shape, as_integers, as_size, require_tensor
from retrograd.samples import COMPLEX, FLOATS, HALVES, Sample, T
from retrograd.signatures import forms, sized
from retrograd.tensor import Tensor

_MOVED = (*FLOATS, *HALVES, *COMPLEX)  # dtypes to try where data only moves


@op(
    input=lambda m, g, dim0, dim1: m.transpose(g, dim0, dim1),
    view="always",
    samples=lambda: [
        Sample(T(3, 4), 0, 1, dtypes=_MOVED),
        Sample(T(2, 3, 4), -1, 0),
        Sample(T(), 0, -1),
        Sample(T(3, 4), 0, 2),
    ],
    aten="transpose.int",
)
def transpose(xp: Namespace, input: Array, dim0: int, dim1: int) -> Array:
    """A view with two dimensions swapped."""
    first, second = wrap_dim(dim0, input.ndim), wrap_dim(dim1, input.ndim)
    if first == second:
        return input.view()
    return input.swapaxes(first, second)


def _swap(name: str, first: str, second: str) -> None:
    """`swapaxes` and `swapdims`: `transpose` with other parameter names."""

    @forms(f"(input: Tensor, {first}: int, {second}: int) -> Tensor")
    def swap(input: Tensor, *dims: int, **named: int) -> Tensor:
        values = [*dims, *(named[key] for key in (first, second)[len(dims) :] if key in named)]
        if len(values) < 2:
            missing = (first, second)[len(values)]
            raise TypeError(f'{name}() missing 1 required positional arguments: "{missing}"')
        return RECORDED.transpose(input, *values)

    swap.__doc__ = "A view with two dimensions swapped."
    composite(name=name, samples=lambda: [Sample(T(2, 3, 4), 0, -1)])(swap)


_swap("swapaxes", "axis0", "axis1")
_swap("swapdims", "dim0", "dim1")


@op(
    input=lambda m, g: m.t(g),
    view="always",
    samples=lambda: [Sample(T(3, 4)), Sample(T(3)), Sample(T()), Sample(T(2, 2, 2))],
)
def t(xp: Namespace, input: Array) -> Array:
    """The transpose of a matrix, as a view; vectors and scalars stay as they are."""
    if input.ndim > 2:
        raise errors.runtime_error(
            f"t() expects a tensor with <= 2 dimensions, but self is {input.ndim}D", code="RG205"
        )
    return input.T


def _inverse(dims: Shape) -> Shape:
    found = [0] * len(dims)
    for place, dim in enumerate(dims):
        found[dim] = place
    return tuple(found)


@inner_op(input=lambda m, g, dims: m.permute(g, _inverse(dims)), view="always")
def permute(xp: Namespace, input: Array, dims: Shape) -> Array:
    """A view with the dimensions in another order (dims: none negative)."""
    return input.transpose(dims)


def _permute(input: Tensor, dims: Shape) -> Tensor:
    ndim = input._array.ndim
    if len(dims) != ndim:
        raise errors.runtime_error(
            "permute(sparse_coo): number of dimensions in the tensor input does not match the "
            f"length of the desired ordering of dimensions i.e. input.dim() = {ndim} is not "
            f"equal to len(dims) = {len(dims)}",
            code="RG205",
        )
    found = tuple([wrap_dim(dim, ndim) for dim in dims])
    if len(set(found)) != ndim:
        raise errors.runtime_error("permute(): duplicate dims are not allowed.", code="RG205")
    return RECORDED.permute(input, found)


@function_only(
    samples=lambda: [
        Sample(T(2, 3, 4), (2, 0, 1), dtypes=_MOVED),
        Sample(T(2, 3, 4), (-1, 0, 1)),
        Sample(T(), ()),
        Sample(T(2, 3), (0,)),
        Sample(T(2, 3), (0, 0)),
        Sample(T(2, 3), (0, 5)),
    ]
)
def _permute_function(input: Tensor, dims: Ints) -> Tensor:
    """A view with the dimensions in another order.

    >>> torch.permute(torch.zeros(2, 3, 4), (2, 0, 1)).shape
    torch.Size([4, 2, 3])
    """
    require_tensor("permute", input)
    return _permute(input, as_integers("permute", "dims", 2, dims))


@method_only(samples=lambda: [Sample(T(2, 3, 4), 2, 0, 1), Sample(T(2, 3, 4), (1, 0, 2))])
@forms(*sized(before="self: Tensor", name="dims"))
@core.shortcut("permute", permute)
def _permute_method(self: Tensor, *dims: Ints, **named: object) -> Tensor:
    """A view with the dimensions in another order."""
    return _permute(self, as_size("permute", "dims", (named["dims"],) if named else dims))


@composite(
    public=("movedim", "moveaxis"),
    samples=lambda: [
        Sample(T(2, 3, 4), 0, 2),
        Sample(T(2, 3, 4), (0, 2), (1, 0)),
        Sample(T(2, 3, 4), -1, 0),
        Sample(T(), 0, 0),
        Sample(T(2, 3), (0, 1), (1,)),
        Sample(T(2, 3), (0, 0), (0, 1)),
        Sample(T(2, 3), (0, 1), (1, 1)),
        Sample(T(2, 3), 0, 5),
        Sample(T(2, 3), 0, (1,)),
    ],
)
def movedim(input: Tensor, source: Any, destination: Any) -> Tensor:
    """A view with dimensions moved from `source` to `destination`; the others keep their order."""
    require_tensor("movedim", input)
    if isinstance(source, int) != isinstance(destination, int):
        raise errors.invalid_combination("movedim", (source, destination))
    origin = (source,) if isinstance(source, int) else tuple(source)
    target = (destination,) if isinstance(destination, int) else tuple(destination)
    if len(origin) != len(target):
        raise RuntimeError(
            f"movedim: Invalid source or destination dims: source ({list(origin)} dims) should "
            f"contain the same number of dims as destination ({list(target)} dims)"
        )
    ndim = input._array.ndim
    origin = tuple(wrap_dim(dim, ndim) for dim in origin)
    target = tuple(wrap_dim(dim, ndim) for dim in target)
    for name, dims, given in (("source", origin, source), ("destination", target, destination)):
        if len(set(dims)) != len(dims):
            raise errors.runtime_error(
                f"movedim: repeated dim in `{name}` ({list(given)})", code="RG205"
            )
    if ndim == 0:
        return RECORDED.alias(input)
    order = [-1] * ndim
    for start, end in zip(origin, target, strict=True):
        order[end] = start
    rest = iter(dim for dim in range(ndim) if dim not in origin)
    return RECORDED.permute(input, tuple(next(rest) if dim < 0 else dim for dim in order))


def _matrix_transpose(tensor: Tensor, name: str, conjugate: bool) -> Tensor:
    """The last two dimensions swapped; `name` is how messages call the function."""
    ndim = tensor._array.ndim
    if ndim == 1:
        raise RuntimeError(
            f"tensor.{name} is only supported on matrices or batches of matrices. Got 1-D tensor."
        )
    result: Tensor = tensor
    if ndim:
        result = RECORDED.transpose(tensor, -2, -1)
    else:
        called = name if name == "adjoint()" else f"Tensor.{name}"
        hint = "Consider using x.conj()." if conjugate else _IDENTITY
        warn_once(f"{called} is deprecated on 0-D tensors. {hint}", user_level())
    if conjugate and result._array.dtype in dtypes.COMPLEX_TYPES:
        result = RECORDED.conj(result)
    return result


_IDENTITY = "This function is the identity in these cases."


def _T(self: Tensor) -> Tensor:
    """The tensor with its dimensions in reverse order."""
    ndim = self._array.ndim
    if ndim != 2:
        warn_once(
            "The use of `x.T` on tensors of dimension other than 2 to reverse their shape is "
            "deprecated and it will throw an error in a future release. Consider `x.mT` to "
            "transpose batches of matrices or `x.permute(*torch.arange(x.ndim - 1, -1, -1))` to "
            "reverse the dimensions of a tensor."
            if ndim
            else f"Tensor.T is deprecated on 0-D tensors. {_IDENTITY}",
            user_level(),
        )
    return RECORDED.permute(self, tuple(range(ndim))[::-1])


def _mT(self: Tensor) -> Tensor:
    """The tensor with its last two dimensions swapped."""
    return _matrix_transpose(self, "mT", False)


def _mH(self: Tensor) -> Tensor:
    """The conjugate of the tensor with its last two dimensions swapped."""
    return _matrix_transpose(self, "mH", True)


def _H(self: Tensor) -> Tensor:
    """The conjugate transpose of a matrix."""
    ndim = self._array.ndim
    if ndim not in (0, 2):
        more = " For batches of matrices, consider using tensor.mH" if ndim > 2 else ""
        raise RuntimeError(
            f"tensor.H is only supported on matrices (2-D tensors). Got {ndim}-D tensor.{more}"
        )
    return _matrix_transpose(self, "H", True)


for _name, _getter in (("T", _T), ("mT", _mT), ("mH", _mH), ("H", _H)):
    setattr(Tensor, _name, property(_getter))


@composite(samples=lambda: [Sample(T(2, 3, 4)), Sample(T(3)), Sample(T())])
def adjoint(input: Tensor) -> Tensor:
    """The conjugate of the tensor with its last two dimensions swapped."""
    require_tensor("adjoint", input)
    return _matrix_transpose(input, "adjoint()", True)
