"""Initial values of parameters, drawn as PyTorch draws them; written in place, without history."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable

from retrograd.engine.grad_mode import no_grad
from retrograd.lifecycle.site import user_level
from retrograd.ops.linalg.qr import qr
from retrograd.ops.making.creation import empty_like
from retrograd.ops.making.creation import eye as eye_matrix
from retrograd.ops.random.sampling import randperm
from retrograd.random.state import Generator
from retrograd.tensor import Tensor

_GAINS = {"sigmoid": 1, "tanh": 5.0 / 3, "relu": math.sqrt(2.0), "selu": 3.0 / 4}
_LINEAR = ("linear", "conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d",
           "conv_transpose3d")  # fmt: skip


def calculate_gain(nonlinearity: str, param: object = None) -> float:
    """The factor by which a nonlinearity shrinks the spread of its input.

    >>> calculate_gain("tanh")
    1.6666666666666667
    """
    if nonlinearity in _LINEAR:
        return 1
    if nonlinearity == "leaky_relu":
        if param is None:
            slope = 0.01
        elif isinstance(param, (int, float)) and not isinstance(param, bool):
            slope = param
        else:
            raise ValueError(f"negative_slope {param} not a valid number")
        return math.sqrt(2.0 / (1 + slope**2))
    if nonlinearity not in _GAINS:
        raise ValueError(f"Unsupported nonlinearity {nonlinearity}")
    return _GAINS[nonlinearity]


def _calculate_fan_in_and_fan_out(tensor: Tensor) -> tuple[int, int]:
    """How many inputs and outputs each unit of a weight has."""
    shape = tensor._array.shape
    if len(shape) < 2:
        raise ValueError(
            "Fan in and fan out can not be computed for tensor with fewer than 2 dimensions"
        )
    field = math.prod(shape[2:])
    return shape[1] * field, shape[0] * field


def uniform_(
    tensor: Tensor, a: float = 0.0, b: float = 1.0, generator: Generator | None = None
) -> Tensor:
    """Fill with values drawn uniformly from [a, b)."""
    with no_grad():
        result: Tensor = tensor.uniform_(a, b, generator=generator)
    return result


def normal_(
    tensor: Tensor, mean: float = 0.0, std: float = 1.0, generator: Generator | None = None
) -> Tensor:
    """Fill with values drawn from a normal distribution."""
    with no_grad():
        result: Tensor = tensor.normal_(mean, std, generator=generator)
    return result


def constant_(tensor: Tensor, val: float) -> Tensor:
    """Fill with one value."""
    with no_grad():
        result: Tensor = tensor.fill_(val)
    return result


def zeros_(tensor: Tensor) -> Tensor:
    """Fill with zeros."""
    return constant_(tensor, 0.0)


def ones_(tensor: Tensor) -> Tensor:
    """Fill with ones."""
    return constant_(tensor, 1.0)


def xavier_uniform_(
    tensor: Tensor, gain: float = 1.0, generator: Generator | None = None
) -> Tensor:
    """Glorot's uniform values: spread kept equal in both directions."""
    fan_in, fan_out = _calculate_fan_in_and_fan_out(tensor)
    bound = math.sqrt(3.0) * gain * math.sqrt(2.0 / float(fan_in + fan_out))
    return uniform_(tensor, -bound, bound, generator)


def xavier_normal_(tensor: Tensor, gain: float = 1.0, generator: Generator | None = None) -> Tensor:
    """Glorot's normal values."""
    fan_in, fan_out = _calculate_fan_in_and_fan_out(tensor)
    return normal_(tensor, 0.0, gain * math.sqrt(2.0 / float(fan_in + fan_out)), generator)


def kaiming_uniform_(
    tensor: Tensor,
    a: float = 0,
    mode: str = "fan_in",
    nonlinearity: str = "leaky_relu",
    generator: Generator | None = None,
) -> Tensor:
    """He's uniform values: spread kept through a rectifier."""
    if _nothing_to_fill(tensor):
        return tensor
    bound = math.sqrt(3.0) * _kaiming_std(tensor, a, mode, nonlinearity)
    return uniform_(tensor, -bound, bound, generator)


def kaiming_normal_(
    tensor: Tensor,
    a: float = 0,
    mode: str = "fan_in",
    nonlinearity: str = "leaky_relu",
    generator: Generator | None = None,
) -> Tensor:
    """He's normal values."""
    if _nothing_to_fill(tensor):
        return tensor
    return normal_(tensor, 0.0, _kaiming_std(tensor, a, mode, nonlinearity), generator)


def _nothing_to_fill(tensor: Tensor) -> bool:
    """Whether the tensor has no elements; then the user's line gets a warning."""
    if 0 not in tensor._array.shape:
        return False
    warnings.warn("Initializing zero-element tensors is a no-op", stacklevel=user_level())
    return True


def _calculate_correct_fan(tensor: Tensor, mode: str) -> int:
    mode = mode.lower()
    if mode not in ("fan_in", "fan_out"):
        raise ValueError(f"Mode {mode} not supported, please use one of ['fan_in', 'fan_out']")
    fan_in, fan_out = _calculate_fan_in_and_fan_out(tensor)
    return fan_in if mode == "fan_in" else fan_out


def _kaiming_std(tensor: Tensor, a: float, mode: str, nonlinearity: str) -> float:
    fan = _calculate_correct_fan(tensor, mode)
    return calculate_gain(nonlinearity, a) / math.sqrt(fan)


def trunc_normal_(
    tensor: Tensor,
    mean: float = 0.0,
    std: float = 1.0,
    a: float = -2.0,
    b: float = 2.0,
    generator: Generator | None = None,
) -> Tensor:
    """Fill with normal values within [a, b]; what falls outside is drawn again.

    >>> bool((torch.nn.init.trunc_normal_(torch.empty(100)).abs() <= 2).all())
    True
    """
    if mean < a - 2 * std or mean > b + 2 * std:
        warnings.warn(
            "mean is more than 2 std from [a, b] in nn.init.trunc_normal_. "
            "The distribution of values may be incorrect.",
            stacklevel=user_level(),
        )
    if tensor.is_meta:
        return tensor.normal_(mean, std, generator=generator)
    inside = _normal_below((b - mean) / std) - _normal_below((a - mean) / std)
    with no_grad():
        # Where most normal draws fall outside [a, b], uniform candidates are accepted in
        # proportion to the density instead.
        if inside > 0.3:
            _redraw_normal(tensor, mean, std, a, b, generator)
        else:
            _redraw_uniform(tensor, mean, std, a, b, generator)
    return tensor


def _normal_below(x: float) -> float:
    """The probability that a standard normal value is below x."""
    return (1.0 + math.erf(x / math.sqrt(2.0))) / 2.0


def _redraw_normal(
    tensor: Tensor, mean: float, std: float, a: float, b: float, generator: Generator | None
) -> None:
    # The bounds are rounded to the tensor's dtype, as its values are.
    low, high = tensor.new_tensor(a).item(), tensor.new_tensor(b).item()
    result = tensor.normal_(mean, std, generator=generator)
    outside = (result < low) | (result > high)
    while outside.any():
        # Every place is drawn anew, as PyTorch does, although only some are used.
        drawn = empty_like(tensor).normal_(mean, std, generator=generator)
        result = drawn.where(outside, result)
        outside = (result < low) | (result > high)
    if result is not tensor:
        tensor.copy_(result)


def _redraw_uniform(
    tensor: Tensor, mean: float, std: float, a: float, b: float, generator: Generator | None
) -> None:
    log_peak = -0.5 * ((max(a, min(mean, b)) - mean) / std) ** 2

    def rejected(candidates: Tensor) -> Tensor:
        log_density = ((candidates - mean) / std).pow(2).mul(-0.5).sub(log_peak)
        chance = empty_like(tensor).uniform_(generator=generator)
        return chance.log().gt(log_density)

    result = tensor.uniform_(a, b, generator=generator)
    pending = rejected(result)
    while pending.any():
        candidates = empty_like(tensor).uniform_(a, b, generator=generator)
        result = candidates.where(pending, result)
        pending = pending & rejected(candidates)
    if result is not tensor:
        tensor.copy_(result)


def orthogonal_(tensor: Tensor, gain: float = 1, generator: Generator | None = None) -> Tensor:
    """Fill with a (semi-)orthogonal matrix; the dimensions after the first count as one.

    >>> weight = torch.nn.init.orthogonal_(torch.empty(2, 3))
    >>> torch.allclose(weight @ weight.T, torch.eye(2), atol=1e-6)
    True
    """
    if tensor.dim() < 2:
        raise ValueError("Only tensors with 2 or more dimensions are supported")
    if tensor.numel() == 0:
        return tensor
    rows = tensor.shape[0]
    columns = tensor.numel() // rows
    with no_grad():
        drawn = tensor.new_empty((rows, columns)).normal_(0, 1, generator=generator)
        wide = rows < columns
        q, r = qr(drawn.t() if wide else drawn)
        # The signs of r's diagonal make the result uniform over all orthogonal matrices.
        q = q * r.diagonal().sign()
        tensor.copy_((q.t() if wide else q).reshape(tensor.shape))
        tensor.mul_(gain)
    return tensor


def sparse_(
    tensor: Tensor, sparsity: float, std: float = 0.01, generator: Generator | None = None
) -> Tensor:
    """Fill with normal values, a `sparsity` share of each column set to zero.

    >>> (torch.nn.init.sparse_(torch.empty(4, 3), 0.5) == 0).sum(0)
    tensor([2, 2, 2])
    """
    if tensor.dim() != 2:
        raise ValueError("Only tensors with 2 dimensions are supported")
    rows, columns = tensor.shape
    zeros = math.ceil(sparsity * rows)
    with no_grad():
        tensor.normal_(0, std, generator=generator)
        for column in range(columns):
            # The places come from the default generator, whatever `generator` is.
            tensor[randperm(rows)[:zeros], column] = 0
    return tensor


def eye_(tensor: Tensor) -> Tensor:
    """Fill a matrix with the identity.

    >>> torch.nn.init.eye_(torch.empty(2, 3))
    tensor([[1., 0., 0.],
            [0., 1., 0.]])
    """
    if tensor.dim() != 2:
        raise ValueError("Only tensors with 2 dimensions are supported")
    with no_grad():
        tensor.copy_(eye_matrix(*tensor.shape, dtype=tensor.dtype))
    return tensor


def dirac_(tensor: Tensor, groups: int = 1) -> Tensor:
    """Fill a convolution's weight so that it passes its input channels through.

    >>> torch.nn.init.dirac_(torch.empty(2, 2, 3)).tolist()
    [[[0.0, 1.0, 0.0], [0.0, 0.0, 0.0]], [[0.0, 0.0, 0.0], [0.0, 1.0, 0.0]]]
    """
    if tensor.dim() not in (3, 4, 5):
        raise ValueError("Only tensors with 3, 4, or 5 dimensions are supported")
    outputs, inputs, *field = tensor.shape
    if outputs % groups != 0:
        raise ValueError("dim 0 must be divisible by groups")
    per_group = outputs // groups
    centre = tuple(size // 2 for size in field)
    with no_grad():
        tensor.zero_()
        for group in range(groups):
            for channel in range(min(per_group, inputs)):
                tensor[(group * per_group + channel, channel, *centre)] = 1
    return tensor


def _deprecated(current: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """The old name of an initialiser, without the underscore: it warns, then does the same."""
    name = current.__name__

    def renamed(*args: object, **kwargs: object) -> Tensor:
        warnings.warn(
            f"`nn.init.{name[:-1]}` is now deprecated in favor of `nn.init.{name}`.",
            FutureWarning,
            stacklevel=user_level(),
        )
        return current(*args, **kwargs)

    renamed.__name__ = renamed.__qualname__ = name[:-1]
    renamed.__doc__ = f"The old name of `{name}`."
    return renamed


uniform = _deprecated(uniform_)
normal = _deprecated(normal_)
constant = _deprecated(constant_)
eye = _deprecated(eye_)
dirac = _deprecated(dirac_)
xavier_uniform = _deprecated(xavier_uniform_)
xavier_normal = _deprecated(xavier_normal_)
kaiming_uniform = _deprecated(kaiming_uniform_)
kaiming_normal = _deprecated(kaiming_normal_)
orthogonal = _deprecated(orthogonal_)
sparse = _deprecated(sparse_)
