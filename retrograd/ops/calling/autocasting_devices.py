"""What autocast does with operands on accelerators: PyTorch's lists for `AutocastCUDA`.

They are others than the CPU's, which stand in the declarations. The names are those of our ops and
of functions that are made of ops.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from retrograd.backend import BACKENDS
from retrograd.engine.state import STATE
from retrograd.notices import runtime_error
from retrograd.tensor import Tensor

if TYPE_CHECKING:
    from retrograd.ops.registry import Op

_LOWER = """
    mm bmm addmm addmv addr mv addbmm baddbmm convolution _prelu_kernel _attention
"""
_FLOAT32 = """
    acos asin cosh erfinv exp expm1 log log10 log2 log1p reciprocal rsqrt sinh tan
    _pow_number _pow_tensor _pow_base softplus _layer_norm _group_norm
    _nll_loss _nll_loss2d smooth_l1_loss huber_loss mse_loss multilabel_margin_loss
    soft_margin_loss multi_margin_loss binary_cross_entropy_with_logits dist _pdist _cdist
    _euclidean_dist renorm logsumexp upsample_nearest1d upsample_nearest_exact1d upsample_nearest2d
    upsample_nearest_exact2d upsample_nearest3d upsample_nearest_exact3d upsample_linear1d
    upsample_bilinear2d upsample_trilinear3d upsample_bicubic2d upsample_bilinear2d_aa
    upsample_bicubic2d_aa _prod_all prod softmax _safe_softmax log_softmax cumprod cumsum
    linalg_vector_norm _sum_all sum
"""
_WIDEST = """
    addcdiv addcmul atan2 linalg_cross dot vdot grid_sampler_2d grid_sampler_3d index_put
    scatter_add
"""
_WAYS = {
    name: way
    for way, names in {"lower": _LOWER, "float32": _FLOAT32, "widest": _WIDEST}.items()
    for name in names.split()
}

# Of the functions that are float32 on the CPU, those that are so here too.
_FUNCTIONS = frozenset(
    """
    torch.kl_div nn.functional.kl_div nn.functional.nll_loss nn.functional.cross_entropy
    nn.functional.poisson_nll_loss torch.poisson_nll_loss torch.margin_ranking_loss
    nn.functional.margin_ranking_loss torch.hinge_embedding_loss
    nn.functional.hinge_embedding_loss torch.cosine_embedding_loss
    nn.functional.cosine_embedding_loss nn.functional.triplet_margin_loss
    torch.triplet_margin_loss nn.functional.multi_margin_loss
    nn.functional.multilabel_margin_loss nn.functional.soft_margin_loss nn.functional.mse_loss
    nn.functional.l1_loss nn.functional.smooth_l1_loss nn.functional.huber_loss torch.cdist
    torch.prod nn.functional.binary_cross_entropy_with_logits
    torch.binary_cross_entropy_with_logits
    """.split()
)

_BANNED = (
    "torch.nn.functional.binary_cross_entropy and torch.nn.BCELoss are unsafe to autocast.\n"
    "Many models use a sigmoid layer right before the binary cross entropy layer.\n"
    "In this case, combine the two layers using torch.nn.functional.binary_cross_entropy_with_"
    "logits\nor torch.nn.BCEWithLogitsLoss.  binary_cross_entropy_with_logits and BCEWithLogits "
    "are\nsafe to autocast."
)


def way_of(op: Op) -> str | None:
    """What autocast does with an op's operands on a device: as `Op.autocast` for the CPU."""
    if op.name == "binary_cross_entropy":
        raise runtime_error(_BANNED, code="RG304")
    return _WAYS.get(op.name)


def way_of_function(name: str, on_cpu: str) -> str | None:
    """The same for a function that is made of ops; None leaves it to these."""
    if name == "nn.functional.binary_cross_entropy":
        raise runtime_error(_BANNED, code="RG304")
    return on_cpu if on_cpu != "float32" or name in _FUNCTIONS else None


def _tensors(values: Iterable[object]) -> Iterator[Tensor]:
    for value in values:
        if isinstance(value, Tensor):
            yield value
        elif isinstance(value, (list, tuple)):
            yield from _tensors(value)


def is_elsewhere(values: Iterable[object]) -> bool:
    """Whether the first of the tensors lies on an accelerator."""
    first = next(_tensors(values), None)
    if first is None:
        return False
    # the arrays of a recorded step are those of another backend, and of the CPU
    backend = BACKENDS.get(type(first._array))
    return (first.device.type if backend is None else backend.name) != "cpu"


def lower_for(values: Iterable[object]) -> Any:
    """The NumPy dtype that autocast lowers operands to where they are; None where it is off."""
    if STATE.autocast is STATE.autocast_device:
        return STATE.autocast
    return STATE.autocast_device if is_elsewhere(values) else STATE.autocast
