"""Distances and similarities of vectors: normalize, cosine_similarity, pairwise_distance, pdist."""

from __future__ import annotations

from retrograd import dtypes
from retrograd.backend import xp_of
from retrograd.engine.grad_mode import no_grad
from retrograd.ops import errors
from retrograd.ops.kinds import Array, Ints, Namespace, operand
from retrograd.ops.neural.operand_checks import common_shape
from retrograd.ops.reduction.norms import norm_gradient, vector_norm_of
from retrograd.ops.registry import RECORDED, Table, attach, function_only, functional, op
from retrograd.samples import COMPLEX, FLOATS, HALVES, Sample, T
from retrograd.tensor import Tensor

_EVERY = (*FLOATS, *HALVES)


@functional(
    samples=lambda: [
        Sample(T(3, 4), dtypes=_EVERY),
        *(Sample(T(2, 3, 4), p, dim) for p, dim in ((1, 0), (3.0, 2), (float("inf"), -1))),
        Sample(T(2, 3), dim=(0, 1)),
        Sample(T(values=[[0.0, 0.0], [3.0, 4.0]]), second=False),
        Sample(T(3, 4), eps=5.0),
        Sample(T(), dim=0),
        Sample(T(3)),
        Sample(T(3, dtype="int64"), dim=0, grad=False),
    ]
)
def normalize(
    input: Tensor,
    p: float = 2.0,
    dim: Ints | None = 1,
    eps: float = 1e-12,
    out: Tensor | None = None,
) -> Tensor:
    """The input over its `p`-norm along `dim`.

    >>> torch.nn.functional.normalize(torch.tensor([3.0, 4.0]), dim=0)
    tensor([0.6000, 0.8000])
    """
    norm = input.norm(p, dim, keepdim=True)
    divisor = norm.clamp_min(eps).expand(input._array.shape)
    if out is not None:
        from retrograd.ops.registry import PUBLIC

        return PUBLIC["torch"]["div"](input, divisor, out=out)  # type: ignore[no-any-return]
    return input / divisor


@function_only(
    samples=lambda: [
        Sample(T(3, 4), T(3, 4), dtypes=_EVERY),
        Sample(T(3, 4), T(4)),
        *(Sample(T(2, 3, 4), T(2, 3, 4), dim) for dim in (0, 2, -1)),
        Sample(T(3, 4), T(3, 4), 1, 5.0, numeric=False),
        Sample(T(values=[[0.0, 0.0], [1.0, 2.0]]), T(2, 2), second=False),
        Sample(T(3), T(3), dim=0),
        Sample(T(3), T(3, dtype="float64", grad=True), dim=0),
        Sample(T(3), T(3)),
        Sample(T(3, 4), T(3)),
        Sample(T(3, dtype="int64"), T(3, dtype="int64"), dim=0, grad=False),
    ]
)
def cosine_similarity(x1: Tensor, x2: Tensor, dim: int = 1, eps: float = 1e-8) -> Tensor:
    """The cosine of the angle between vectors along `dim`.

    >>> torch.cosine_similarity(torch.tensor([[1.0, 0.0]]), torch.tensor([[1.0, 1.0]]))
    tensor([0.7071])
    """
    kind = dtypes.promote_types(x1.dtype, x2.dtype)
    if not kind.is_floating_point:
        raise RuntimeError(
            "expected common dtype to be floating point, yet common dtype is " + kind.type_name
        )
    shape = common_shape(x1._array.shape, x2._array.shape)
    units = []
    for value in (x1, x2):
        vector = value if value.dtype is kind else value.to(kind)
        if vector._array.shape != shape:
            vector = vector.expand(shape)
        norm = RECORDED.linalg_vector_norm(vector, 2, (dim,), True).clone()
        with no_grad():
            norm.clamp_min_(eps)
        units.append(vector / norm)
    return (units[0] * units[1]).sum(dim)


attach(cosine_similarity, namespace="nn.functional", public=("cosine_similarity",))


def _last_norm_gradient(
    m: Table, g: Tensor, input: Tensor, p: float, out: Tensor, keepdim: bool
) -> Tensor | None:
    if not keepdim:
        g, out = m.unsqueeze(g, -1), m.unsqueeze(out, -1)
    return norm_gradient(m, g, input, p, out, -1)


@op(
    input=_last_norm_gradient,
    holomorphic=False,
    node_name="NormBackward1",
    aten="norm.ScalarOpt_dim",
    event="retrograd::norm_of_last",
)
def _norm_of_last(xp: Namespace, input: Array, p: float, keepdim: bool) -> Array:
    """The `p`-norm along the last dimension."""
    return vector_norm_of(xp, input, p, (input.ndim - 1,), keepdim)


@function_only(
    samples=lambda: [
        Sample(T(3, 4), T(3, 4), dtypes=(*FLOATS, *COMPLEX)),
        Sample(T(3, 4), T(4)),
        *(Sample(T(3, 4), T(3, 4), p) for p in (1, 3.0, float("inf"))),
        Sample(T(2, 3, 4), T(2, 3, 4), 2.0, 0.1, True),
        Sample(T(4), T(4)),
        Sample(T(4), T(4, dtype="float64", grad=True)),
        Sample(T(3, 4), T(3)),
    ]
)
def pairwise_distance(
    x1: Tensor, x2: Tensor, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False
) -> Tensor:
    """The `p`-norm of the difference of vectors along the last dimension.

    >>> torch.pairwise_distance(torch.tensor([3.0, 0.0]), torch.tensor([0.0, 4.0]), eps=0.0)
    tensor(5.)
    """
    return RECORDED._norm_of_last(x1 - x2 + eps, float(p), keepdim)


attach(pairwise_distance, namespace="nn.functional", public=("pairwise_distance",))

# --------------------------------------------------------------------------------------- pdist


def _pair_gradient(m: Table, g: Tensor, input: Tensor, p: float, out: Tensor) -> Tensor:
    shape = tuple(input.shape)
    if p == 0 or shape[0] < 2 or not shape[1]:
        return m.zeros_like(input)
    xp = xp_of(input._array) if m is RECORDED else m.xp
    rows = xp.pairs(shape[0])
    first, second = (operand(m, row) for row in rows)
    differences = m.sub(m.index_select(input, 0, first), m.index_select(input, 0, second))
    slopes = norm_gradient(m, m.unsqueeze(g, 1), differences, p, m.unsqueeze(out, 1), 1)
    assert slopes is not None
    return m.sub(
        m._index_select_gradient(slopes, shape, 0, first),
        m._index_select_gradient(slopes, shape, 0, second),
    )


@op(
    input=_pair_gradient,
    aten="_pdist_forward",
    event="pdist",
)
def _pdist(xp: Namespace, input: Array, p: float) -> Array:
    first, second = xp.pairs(input.shape[0])
    return vector_norm_of(xp, input[first] - input[second], p, (1,), False)


@function_only(
    samples=lambda: [
        *(Sample(T(4, 3), p, second=False) for p in (2.0, 1.0, 0.0, 0.5, 1.5, 3.0, float("inf"))),
        *(
            Sample(T(values=[[1.0, 2.0]] * 3), p, second=False)
            for p in (2.0, 1.0, 1.5, 3.0, float("inf"))
        ),
        *(Sample(T(*shape), grad=False) for shape in ((1, 3), (0, 3), (3, 0))),  # PyTorch crashes
        Sample(T(3, 4), -1.0),
        Sample(T(3)),
        Sample(T(3, 4, dtype="float16"), grad=False),
    ],
)
def pdist(input: Tensor, p: float = 2.0) -> Tensor:
    """The `p`-norm distances of all pairs of rows.

    >>> torch.pdist(torch.tensor([[0.0, 0.0], [3.0, 4.0], [0.0, 1.0]]))
    tensor([5.0000, 1.0000, 4.2426])
    """
    array = input._array
    if array.ndim != 2:
        raise RuntimeError(f"pdist only supports 2D tensors, got: {array.ndim}D")
    if array.dtype not in (dtypes.F32, dtypes.F64):
        raise errors.not_implemented_for("pdist", array.dtype)
    if p < 0:
        raise RuntimeError("pdist only supports non-negative p values")
    return RECORDED._pdist(input, float(p))


attach(pdist, namespace="nn.functional", public=("pdist",))
