"""ctc_loss: labels of a sequence whose alignment to the frames is not known.

A path gives every frame a label or the blank; it stands for the labels that are left when repeats
are merged and blanks dropped. The loss is minus the logarithm of the probability of all paths that
stand for the target. With blanks put before, between and after its labels the target has
``2 * length + 1`` states, and a path moves by none, one or, over a blank between two different
labels, two of them from frame to frame. `_forward` adds up the paths from the first frame on,
`_backward` those from the last frame back; all examples of a batch together, frame by frame.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from retrograd import dtypes
from retrograd.backend import xp_of
from retrograd.ops import errors
from retrograd.ops.kinds import Array, Namespace
from retrograd.ops.neural.loss_reduction import MEAN, NONE, reduction_code
from retrograd.ops.registry import RECORDED, Table, function_only, functional, op
from retrograd.samples import Sample, T
from retrograd.tensor import Tensor, wrap

_NOTHING = float("-inf")


_WHERE = "(while checking arguments for ctc_loss_allocate_outputs)"


def _check(
    xp: Namespace, log_probs: Array, targets: Array, inputs: Array, outputs: Array, blank: int
) -> None:
    shape, found = log_probs.shape, targets.shape
    if not log_probs.size:
        raise RuntimeError("log_probs tensor must not be empty")
    if len(shape) != 3:
        raise errors.runtime_error(
            f"Expected 3-dimensional tensor, but got {len(shape)}-dimensional tensor for argument "
            f"#1 'log_probs' {_WHERE}",
            code="RG210",
        )
    frames, batch, labels = shape
    if not 0 <= blank < labels:
        raise RuntimeError("blank must be in label range")
    for name, lengths in (("input_lengths", inputs), ("target_lengths", outputs)):
        if lengths.shape != (batch,):
            raise RuntimeError(f"{name} must be of size batch_size")
    for name, lengths in (("target_lengths", outputs), ("input_lengths", inputs)):
        if lengths.min() < 0:
            raise RuntimeError(
                f"Expected {name} to have value at least 0, but got value "
                f"{lengths[lengths < 0][0]} {_WHERE}"
            )
    if len(found) not in (1, 2):
        raise RuntimeError(
            f"Expected 1 to 2 dimensions, but got {len(found)}-dimensional tensor for argument #2 "
            f"'targets' {_WHERE}"
        )
    wanted = int(outputs.sum()) if len(found) == 1 else batch
    if found[0] != wanted:
        raise RuntimeError(
            f"Expected tensor to have size {wanted} at dimension 0, but got size {found[0]} for "
            f"argument #2 'targets' {_WHERE}"
        )
    if len(found) == 2 and found[1] < outputs.max():
        raise RuntimeError(
            f"Expected tensor to have size at least {int(outputs.max())} at dimension 1, but got "
            f"size {found[1]} for argument #2 'targets' {_WHERE}"
        )
    if inputs.max() > frames:
        raise RuntimeError(
            f"Expected input_lengths to have value at most {frames}, but got value "
            f"{int(inputs[inputs > frames][0])} {_WHERE}"
        )
    _check_labels(xp, targets, outputs, labels)


def _check_labels(xp: Namespace, targets: Array, lengths: Array, labels: int) -> None:
    """PyTorch would read foreign memory here; this library does not."""
    if targets.ndim == 2:
        targets = targets[xp.arange(targets.shape[1]) < lengths[:, None]]
    bad = targets[(targets < 0) | (targets >= labels)]
    if bad.size:
        raise errors.explained(
            IndexError(f"ctc_loss: target {int(bad[0])} is out of bounds for {labels} labels"),
            code="RG204",
        )


# ------------------------------------------------------------------------------- path arithmetic


class _States:
    """The targets of a batch with their blanks: (batch, states) arrays of labels and moves."""

    def __init__(self, xp: Namespace, targets: Array, lengths: Array, blank: int) -> None:
        batch, longest = len(lengths), int(lengths.max())
        padded = xp.full((batch, longest), blank, dtypes.I64)
        start = 0
        for row, length in enumerate(lengths.tolist()):
            if targets.ndim == 2:
                padded[row, :length] = targets[row, :length]
            else:  # one after the other
                padded[row, :length] = targets[start : start + length]
                start += length
        self.labels = xp.full((batch, 2 * longest + 1), blank, dtypes.I64)
        self.labels[:, 1::2] = padded
        self.counts = 2 * lengths + 1
        # whether a state may be entered from two states before
        self.skips = xp.zeros(self.labels.shape, dtypes.B8)
        self.skips[:, 3::2] = padded[:, 1:] != padded[:, :-1]
        self.real = xp.arange(self.labels.shape[1]) < self.counts[:, None]

    def emissions(self, xp: Namespace, log_probs: Array) -> Array:
        """Log probabilities of the states' labels: (frames, batch, states)."""
        labels = xp.broadcast_to(self.labels, (log_probs.shape[0], *self.labels.shape))
        return xp.take_along_axis(log_probs, labels, axis=2)


def _moved(xp: Namespace, before: Array, skips: Array, step: int) -> Array:
    """Log of the sum over the states from which (step 1) or to which (-1) each one can go."""
    one, two = xp.full_like(before, _NOTHING), xp.full_like(before, _NOTHING)
    if step > 0:
        one[:, 1:] = before[:, :-1]
        two[:, 2:] = before[:, :-2]
        two[~skips] = _NOTHING
    else:
        one[:, :-1] = before[:, 1:]
        two[:, :-2] = xp.where(skips[:, 2:], before[:, 2:], _NOTHING)
    return xp.logaddexp(xp.logaddexp(before, one), two)


def _forward(xp: Namespace, log_probs: Array, states: _States) -> Array:
    """Log of the sums over paths up to each frame and state, itself included."""
    emissions = states.emissions(xp, log_probs)
    alpha = xp.full_like(emissions, _NOTHING)
    alpha[0, :, :2] = emissions[0, :, :2]
    alpha[0, ~states.real] = _NOTHING
    for frame in range(1, len(alpha)):
        moved = _moved(xp, alpha[frame - 1], states.skips, 1)
        alpha[frame] = xp.where(states.real, moved + emissions[frame], _NOTHING)
    return alpha


def _backward(xp: Namespace, log_probs: Array, states: _States, input_lengths: Array) -> Array:
    """Log of the sums over paths from each frame and state to the end, itself included."""
    emissions = states.emissions(xp, log_probs)
    beta = xp.full_like(emissions, _NOTHING)
    positions = xp.arange(states.labels.shape[1])
    last = states.real & (positions >= states.counts[:, None] - 2)
    for frame in range(len(beta) - 1, -1, -1):
        ends = (input_lengths == frame + 1)[:, None]
        inside = (input_lengths > frame + 1)[:, None]
        if frame + 1 < len(beta):
            moved = _moved(xp, beta[frame + 1], states.skips, -1) + emissions[frame]
            beta[frame] = xp.where(inside & states.real, moved, _NOTHING)
        beta[frame] = xp.where(ends & last, emissions[frame], beta[frame])
    return beta


def _losses(xp: Namespace, alpha: Array, states: _States, input_lengths: Array) -> Array:
    """Minus the log probabilities of the two states in which a path may end."""
    rows = xp.arange(len(input_lengths))
    ends = alpha[xp.maximum(input_lengths - 1, 0), rows]
    final = ends[rows, states.counts - 1]
    before = xp.where(states.counts > 1, ends[rows, states.counts - 2], _NOTHING)
    found = -xp.logaddexp(final, before)
    # no frames: only the empty target can be read from them
    empty = xp.where(states.counts == 1, 0.0, float("inf"))
    return xp.where(input_lengths == 0, empty, found).astype(alpha.dtype)


def _no_second_derivative(m: Table, g: Tensor) -> Tensor:
    raise errors.no_derivative("aten::_ctc_loss_backward")


@op(
    grad=_no_second_derivative,
    log_probs=_no_second_derivative,
    node_name="NotImplemented",
    aten="_ctc_loss_backward",
)
def _ctc_loss_gradient(
    xp: Namespace,
    grad: Array,
    log_probs: Array,
    targets: Array,
    losses: Array,
    alpha: Array,
    input_lengths: Array,
    target_lengths: Array,
    blank: int,
    zero_infinity: bool,
) -> Array:
    """The slopes by the scores whose log-softmax `log_probs` is: PyTorch's convention."""
    states = _States(xp, targets, target_lengths, blank)
    through = xp.moveaxis(alpha, 0, 1) + _backward(xp, log_probs, states, input_lengths)
    # log of the sum of all states with one label, in a number of its own for each label
    peak = xp.max(through, axis=2, keepdims=True)
    peak = xp.where(xp.isfinite(peak), peak, 0)
    weights = xp.exp(through - peak)
    sums = xp.zeros(log_probs.shape, log_probs.dtype)
    rows = xp.arange(sums.shape[1])
    for state in range(states.labels.shape[1]):  # labels may repeat within one example
        sums[:, rows, states.labels[:, state]] += weights[:, :, state]
    counted = xp.log(sums) + peak
    unnormalized = xp.where(sums > 0, counted + losses[:, None] - log_probs, _NOTHING)
    result = (xp.exp(log_probs) - xp.exp(unnormalized)) * grad[:, None]
    lost = xp.isinf(losses) & (losses > 0)
    if lost.any():
        result[:, lost] = 0 if zero_infinity else float("nan")
    result[xp.arange(len(result))[:, None] >= input_lengths] = 0
    return result.astype(log_probs.dtype, copy=False)


def _rule(
    m: Table,
    g: Sequence[Tensor],
    log_probs: Tensor,
    targets: Tensor,
    out0: Tensor,
    out1: Tensor,
    input_lengths: Tensor,
    target_lengths: Tensor,
    blank: int,
    zero_infinity: bool,
) -> Tensor:
    lengths = (input_lengths, target_lengths)
    return m._ctc_loss_gradient(
        g[0], log_probs, targets, out0, out1, *lengths, blank, zero_infinity
    )


def _no_tangents(m: Table, tangents: Tensor) -> Tensor:
    raise errors.no_forward_mode("_ctc_loss")


@op(
    log_probs=_rule,
    forward=_no_tangents,
    outputs=2,
    nondifferentiable=(1,),
    saved_names={"result0": "out0", "result1": "out1"},
    aten="_ctc_loss",
)
def _ctc_loss(
    xp: Namespace,
    log_probs: Array,
    targets: Array,
    input_lengths: Array,
    target_lengths: Array,
    blank: int,
    zero_infinity: bool,
) -> tuple[Array, Array]:
    """The losses of the examples, and the sums over paths from which gradients are computed."""
    _check(xp, log_probs, targets, input_lengths, target_lengths, blank)
    states = _States(xp, targets, target_lengths, blank)
    alpha = _forward(xp, log_probs, states)
    losses = _losses(xp, alpha, states, input_lengths)
    return losses, xp.ascontiguousarray(xp.moveaxis(alpha, 0, 1))


# ------------------------------------------------------------------------------ public functions


def _lengths(xp: Namespace, name: str, given: Tensor | Sequence[int]) -> Tensor:
    """Lengths as a vector of int64."""
    if not isinstance(given, Tensor):
        return wrap(xp.asarray(given, dtypes.I64).reshape(-1))
    if given._array.dtype.kind not in "iu":
        raise RuntimeError(f"{name} must be integral")
    given = given.unsqueeze(0) if given.ndim == 0 else given
    return given.to(dtypes.int64)


def _compute(
    log_probs: Tensor,
    targets: Tensor,
    input_lengths: Tensor | Sequence[int],
    target_lengths: Tensor | Sequence[int],
    blank: int,
    reduction: int,
    zero_infinity: bool,
) -> Tensor:
    if isinstance(input_lengths, Tensor) is not isinstance(target_lengths, Tensor):
        four = (log_probs, targets, input_lengths, target_lengths)
        raise errors.invalid_combination("ctc_loss", four)
    xp = xp_of(log_probs._array)
    inputs = _lengths(xp, "input_lengths", input_lengths)
    outputs = _lengths(xp, "target_lengths", target_lengths)
    batched = log_probs.ndim == 3
    if not batched:
        log_probs = log_probs.unsqueeze(1)
        targets = targets.unsqueeze(0) if targets.ndim == 1 else targets
    if log_probs._array.dtype not in (dtypes.F32, dtypes.F64):
        raise errors.not_implemented_for("ctc_loss_cpu", log_probs._array.dtype)
    four = (log_probs, targets.to(dtypes.int64), inputs, outputs)
    losses = RECORDED._ctc_loss(*four, blank, zero_infinity)[0]
    if zero_infinity:
        infinite = losses == float("inf")
        losses = RECORDED.where(infinite, RECORDED.zeros_like(losses), losses)
    if reduction == MEAN:
        losses = (losses / outputs.clamp_min(1).to(losses.dtype)).mean()
    elif reduction != NONE:
        losses = losses.sum()
    elif not batched:
        losses = losses.squeeze(0)
    return losses


def _samples(*ways: object) -> list[Sample]:
    # the slopes are those of unnormalised scores, so finite differences do not give them
    frames = T(6, 3, 5, low=-3.0, high=-0.5)
    labels = [[1, 2, 2, 4], [3, 3, 0, 0], [4, 1, 2, 0]]
    batch = (T(values=labels, dtype="int64"), (6, 5, 6), (4, 2, 3))
    fixed: dict[str, Any] = {"second": False, "numeric": False}
    lengths = (T(values=[6, 4, 5], dtype="int64"), T(values=[3, 0, 2], dtype="int32"))
    return [
        *(Sample(frames, *batch, reduction=way, **fixed) for way in ways),
        Sample(frames, T(values=labels, dtype="int32"), *lengths, **fixed),
        Sample(
            frames,
            T(values=[[0, 1, 2], [3, 3, 4], [2, 4, 4]], dtype="int64"),
            (6, 5, 6),
            (3, 2, 1),
            4,
            **fixed,
        ),
        Sample(frames, batch[0], (2, 5, 6), (4, 2, 3), zero_infinity=True, **fixed),
        Sample(frames, batch[0], (2, 5, 0), (4, 2, 3), reduction=ways[-1], **fixed),
        Sample(frames, batch[0], (6, 0, 4), (0, 0, 0), **fixed),
        *(
            Sample(
                T(5, 4, low=-3.0, high=-0.5),
                T(values=[1, 1, 3], dtype="int64"),
                T(values=5, dtype="int64"),
                T(values=3, dtype="int64"),
                reduction=way,
                **fixed,
            )
            for way in ways
        ),
        Sample(frames, batch[0], T(values=[6.0, 5.0, 6.0], grad=False), lengths[1]),
        Sample(frames, batch[0], lengths[0], batch[2]),
        Sample(frames, batch[0], (7, 5, 6), batch[2]),
        Sample(frames, batch[0], (6, -1, 6), batch[2]),
        Sample(frames, batch[0], (6, 5), batch[2]),
        Sample(frames, batch[0], batch[1], (5, 2, 3)),
        Sample(frames, batch[0], batch[1], (4, 2)),
        Sample(frames, batch[0], *batch[1:], 7),
        Sample(frames, T(values=labels[:2], dtype="int64"), *batch[1:]),
        Sample(frames, T(values=[1, 2, 3], dtype="int64"), *batch[1:]),
        Sample(T(6, 3, 5, dtype="float16"), *batch, grad=False),
        Sample(T(0, 3, 5), *batch),
    ]


@functional(samples=lambda: _samples("mean", "sum", "none"), autocast="float32")
def _functional_ctc_loss(
    log_probs: Tensor,
    targets: Tensor,
    input_lengths: Tensor | Sequence[int],
    target_lengths: Tensor | Sequence[int],
    blank: int = 0,
    reduction: str = "mean",
    zero_infinity: bool = False,
) -> Tensor:
    """Minus the log probability that frames of log probabilities read as given labels.

    >>> frames = torch.zeros(3, 1, 2).log_softmax(2)
    >>> torch.nn.functional.ctc_loss(frames, torch.tensor([[1]]), (3,), (1,))
    tensor(0.2877)
    """
    code = reduction_code(reduction)
    lengths = (input_lengths, target_lengths)
    return _compute(log_probs, targets, *lengths, blank, code, zero_infinity)


@function_only(samples=lambda: _samples(1, 2, 0), autocast="float32")
def _torch_ctc_loss(
    log_probs: Tensor,
    targets: Tensor,
    input_lengths: Tensor | Sequence[int],
    target_lengths: Tensor | Sequence[int],
    blank: int = 0,
    reduction: int = 0,
    zero_infinity: bool = False,
) -> Tensor:
    """The same; `reduction` is 0 for none (PyTorch's default here), 1 for mean, 2 for sum."""
    lengths = (input_lengths, target_lengths)
    return _compute(log_probs, targets, *lengths, blank, reduction, zero_infinity)
