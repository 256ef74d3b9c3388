"""What ops do with masked tensors: the general path comes here before it looks at elements.

What a function does to elements it does to those behind the mask too; they come out masked again.
Functions that mix elements (but for the reductions) have no such meaning and are refused, as
PyTorch refuses them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from retrograd.engine.grad_mode import no_grad
from retrograd.masked import normalizations, reductions
from retrograd.masked.tensor import MaskedTensor, check_parts, masked
from retrograd.notices import explained
from retrograd.ops.calling.aten_names import overload_name
from retrograd.ops.registry import RECORDED, Op
from retrograd.tensor import Tensor

_UNARY = frozenset(
    """
    abs absolute acos arccos acosh arccosh angle asin arcsin asinh arcsinh atan arctan atanh arctanh
    bitwise_not ceil clamp clip conj_physical cos cosh deg2rad digamma erf erfc erfinv exp exp2
    expm1 fix floor frac lgamma log log10 log1p log2 logit i0 isnan nan_to_num neg negative positive
    pow rad2deg reciprocal round rsqrt sigmoid sign sgn signbit sin sinc sinh sqrt square tan tanh
    trunc
    """.split()
)
_BINARY = frozenset(
    """
    add atan2 arctan2 bitwise_and bitwise_or bitwise_xor bitwise_left_shift bitwise_right_shift div
    divide floor_divide fmod logaddexp logaddexp2 mul multiply nextafter remainder sub subtract
    true_divide eq ne le ge greater greater_equal gt less_equal lt less maximum minimum fmax fmin
    not_equal
    """.split()
)
# what moves elements moves the mask with them
_MOVES = frozenset(
    """
    select transpose split split_with_sizes t slice index expand view _unsafe_view _reshape_alias
    reshape cat unsqueeze unfold im2col col2im stack clone alias contiguous
    """.split()
)
_REDUCTIONS = frozenset("sum mean amin amax argmin argmax prod all var std".split())

_MISMATCH = "Input masks must match. If you need support for this, please open an issue on Github."


def run(op: Op, args: tuple[Any, ...]) -> Any:
    """The result of an op with a masked operand."""
    full = overload_name(op, args)
    name = full.split(".")[1]
    given = {p.name: args[p.place] for p in op.plan.parameters}
    if name in _REDUCTIONS:
        return _reduced(name, given)
    if name == "where":
        return _chosen(given)
    if name in ("_softmax", "softmax"):
        input = given["input"]
        found = normalizations.softmax(input.get_data(), given["dim"], mask=input.get_mask())
        return masked(found, input.get_mask())
    if name in _MOVES:
        return _moved(op, args)
    # a power has a second operand that is no tensor, a product may have one that is
    if name in _BINARY and len(op.plan.tensor_names) > 1:
        return _combined(op, args)
    if name in _UNARY or name in _BINARY:
        return _mapped(op, args)
    raise _unknown(full)


def run_in_place(op: Op, args: tuple[Any, ...], writer: str) -> Any:
    """The same for an op in place: the target gets other elements."""
    target = args[0]
    name = overload_name(op, args).split(".")[1]
    if not isinstance(target, MaskedTensor) or name not in (_UNARY | _BINARY):
        raise _unknown(f"aten.{writer}.default")
    result = run(op, args)
    check_parts(result.get_data(), result.get_mask())
    data = result._masked_data
    target._masked_data = data
    target._array = masked(data, target.get_mask())._array
    return target


def _called(op: Op, args: tuple[Any, ...]) -> Any:
    """The result of an op on ordinary tensors."""
    named = {p.name: args[p.place] for p in op.plan.keywords}
    by_place = [value for place, value in enumerate(args) if place not in {
        p.place for p in op.plan.keywords
    }]  # fmt: skip
    return getattr(RECORDED, op.name)(*by_place, **named)


def _parts(args: Any, part: Callable[[MaskedTensor], Tensor]) -> Any:
    """Arguments with one part of the masked tensors in their place."""
    if isinstance(args, (list, tuple)):
        return type(args)(_parts(value, part) for value in args)
    return part(args) if isinstance(args, MaskedTensor) else args


def _mapped(op: Op, args: tuple[Any, ...]) -> MaskedTensor:
    if any(isinstance(value, Tensor) for value in args[1:]):
        raise TypeError("MaskedTensor unary ops do not support additional Tensor arguments")
    return masked(_called(op, _parts(args, MaskedTensor.get_data)), args[0].get_mask())


def _combined(op: Op, args: tuple[Any, ...]) -> MaskedTensor:
    one, two, *rest = args
    if any(value not in (None, 1) for value in rest):
        raise ValueError("len(kwargs) must equal 0")
    masks = [value.get_mask() for value in (one, two) if isinstance(value, MaskedTensor)]
    if len(masks) == 2 and not masks[0].equal(masks[1]):
        raise ValueError(_MISMATCH)
    result = _called(op, _parts(args, MaskedTensor.get_data))
    return masked(result, masks[0].expand_as(result))


def _moved(op: Op, args: tuple[Any, ...]) -> Any:
    data = _called(op, _parts(args, MaskedTensor.get_data))
    with no_grad():
        mask = _called(op, _parts(args, MaskedTensor.get_mask))
    if isinstance(data, (tuple, list)):
        return tuple(masked(d, m) for d, m in zip(data, mask, strict=True))
    return masked(data, mask)


def _chosen(given: dict[str, Any]) -> MaskedTensor:
    condition, *others = (given[name] for name in ("condition", "input", "other"))
    if isinstance(condition, MaskedTensor):
        raise TypeError("where() takes no MaskedTensor for its condition")
    every = condition.new_ones(())
    masks = [x.get_mask() if isinstance(x, MaskedTensor) else every for x in others]
    one, two = _parts(others, MaskedTensor.get_data)
    return masked(one.where(condition, two), masks[0].where(condition, masks[1]))


def _reduced(name: str, given: dict[str, Any]) -> MaskedTensor:
    input = given["input"]
    data, mask = input.get_data(), input.get_mask()
    dim, keepdim = given.get("dim"), bool(given.get("keepdim"))
    dim = None if dim == () else dim
    if name == "all":
        filled = data.masked_fill(~mask, True)
        found = filled.all() if dim is None else filled.all(dim, keepdim)
    else:
        options = {"mask": mask, "keepdim": keepdim, "dtype": given.get("dtype")}
        if given.get("correction") is not None:
            options["correction"] = given["correction"]
        found = getattr(reductions, name)(data, dim, **options)
    some = mask.any() if dim is None else _any_along(mask, dim, keepdim)
    return masked(found, some)


def _any_along(mask: Tensor, dim: Any, keepdim: bool) -> Tensor:
    dims = (dim,) if isinstance(dim, int) else tuple(dim)
    for place in sorted((d % max(mask.dim(), 1) for d in dims), reverse=True):
        mask = mask.any(place, keepdim)
    return mask


def like(name: str, tensor: Any, dtype: Any) -> MaskedTensor:
    """`ones_like`; PyTorch has no other such function of masked tensors."""
    if name != "ones_like":
        raise _unknown(f"aten.{name}.default")
    data = tensor.get_data()
    return masked(data.new_ones(data.shape, dtype=dtype or data.dtype), tensor.get_mask())


def _unknown(name: str) -> Exception:
    return explained(
        TypeError(
            f"Multiple dispatch failed for 'torch._ops.{name}'; all __torch_dispatch__ handlers "
            "returned NotImplemented: a MaskedTensor has no such function; get_data() and "
            "to_tensor(value) give ordinary tensors"
        ),
        code="RG306",
    )
