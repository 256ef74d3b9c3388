"""The tangents of every op and composite, on all their samples.

Compared with PyTorch's forward mode; where PyTorch has none for an op, with central differences.
"""

from __future__ import annotations

import importlib
import warnings
import zlib
from typing import Any

import numpy as np
import pytest

import retrograd
from retrograd.ops.registry import COMPOSITES, OPS
from retrograd.samples import COMPLEX, Sample, T
from tests.ops.compare import cotangent, flatten, function_of, is_tensor, to_array

torch = pytest.importorskip("torch")
pytestmark = [
    pytest.mark.torch,
    # PyTorch's own, from compiling what its forward mode is made of
    pytest.mark.filterwarnings("ignore::DeprecationWarning:torch"),
]

KINDS = ("float64", "complex128")
# every op of a formula rounds, and the two libraries write some formulas in different ways
ROUNDED = {"float32": 2e-4, "float16": 2e-2, "bfloat16": 1.2e-1}
STEP = 1e-6


def in_type(library: Any, array: Any, name: str) -> Any:
    tensor = library.from_numpy(array)
    return tensor.to(library.bfloat16) if name == "bfloat16" else tensor


def build(sample: Sample, library: Any, dtype: str, start: Any, shift: float = 0.0) -> Any:
    """The sample's arguments; `start` makes a moving operand of a tensor and its direction.

    With `shift` the operands are moved that far along their directions instead.
    """
    generator = np.random.default_rng(zlib.crc32(repr(sample).encode()))
    directions = np.random.default_rng(7)

    def make(value: Any) -> Any:
        if isinstance(value, T):
            array = value.build(generator, dtype)
            name = value.dtype or dtype
            moves = value.grad and name in (KINDS if dtype in KINDS else ROUNDED)
            if moves:
                direction = directions.uniform(-1, 1, array.shape)
                if name in COMPLEX:
                    direction = direction + 1j * directions.uniform(-1, 1, array.shape)
                direction = np.asarray(direction).astype(array.dtype)
                array = np.asarray(array + shift * direction).astype(array.dtype)
            tensor = in_type(library, np.array(array), name)
            if not moves or start is None:
                return tensor
            return start(tensor, in_type(library, direction, name))
        if isinstance(value, (list, tuple)) and any(isinstance(v, T) for v in value):
            return type(value)(make(v) for v in value)
        if isinstance(value, tuple) and value:
            return tuple(make(v) for v in value)
        if isinstance(value, str) and value.startswith("dtype:"):
            return getattr(library, value[6:])
        return value

    return [make(v) for v in sample.args], {key: make(v) for key, v in sample.kwargs.items()}


def call(name: str, library: Any, arguments: Any) -> list[Any]:
    args, kwargs = arguments
    library.manual_seed(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return flatten(function_of(name, library)(*args, **kwargs))


def tangents(name: str, sample: Sample, library: Any, dtype: str) -> list[Any]:
    """The tangent of each result as an array; None where there is none."""
    forward_ad = importlib.import_module(f"{library.__name__}.autograd.forward_ad")
    with forward_ad.dual_level():
        results = call(name, library, build(sample, library, dtype, forward_ad.make_dual))
        found = []
        for result in results:
            tangent = forward_ad.unpack_dual(result).tangent if is_tensor(result) else None
            if tangent is not None and library is retrograd:
                assert tangent.dtype == result.dtype and tangent.shape == result.shape
            found.append(None if tangent is None else to_array(tangent))
        return found


def differences(name: str, sample: Sample, dtype: str) -> list[Any]:
    """Central differences of the results along the directions."""
    ends = []
    for shift in (STEP, -STEP):
        results = call(name, retrograd, build(sample, retrograd, dtype, None, shift))
        ends.append([to_array(r) if is_tensor(r) else None for r in results])
    return [None if a is None else (a - b) / (2 * STEP) for a, b in zip(*ends, strict=True)]


# Where a function has no derivative (kinks, nan, means of nothing) PyTorch's formulas of the two
# modes differ from each other. Here forward mode follows backward mode; samples of such points,
# those with given values or without elements, are not compared.
POINTS = """
    angle logsumexp scatter_reduce index_reduce logit maximum minimum fmax sgn atan2 torch.cdist
    nn.functional.binary_cross_entropy nn.functional.binary_cross_entropy_with_logits
    nn.functional.soft_margin_loss nn.functional.cross_entropy torch.pdist torch.div torch.max
    torch.min torch.prelu nn.functional.mse_loss nn.functional.smooth_l1_loss torch.clamp
    nn.functional.huber_loss torch.median torch.nanmedian torch.clamp_min torch.clamp_max torch.std
    torch.var_mean torch.std_mean
""".split()
# Where PyTorch's tangent is not the slope: parts of a matrix that are not read have one there, the
# imaginary part of a real number's power is dropped, a product has none at all.
SLOPES = "torch.triangular_solve torch.pow scatter_reduce".split()
# Samples that are no triangular or symmetric matrix any more, once they are moved.
SHAPED = "torch.cholesky torch.cholesky_inverse".split()
# Arguments without a derivative: a tangent there is refused, where PyTorch forgets it.
REFUSED = {
    "nn.functional.binary_cross_entropy": "weight",
    "nn.functional.binary_cross_entropy_with_logits": "weight",
    "nn.functional.soft_margin_loss": "target",
    "nn.functional.nll_loss": "weight",
    "nn.functional.cross_entropy": "weight",
    "nn.functional.multi_margin_loss": "weight",
    "nn.functional.ctc_loss": "log_probs",  # PyTorch refuses it, too
    "torch.ctc_loss": "log_probs",
}


def sampled() -> list[str]:
    return [name for name, item in {**OPS, **COMPOSITES}.items() if item.samples is not None]


def tensors_of(sample: Sample) -> list[T]:
    found = []
    for value in flatten([*sample.args, *sample.kwargs.values()]):
        found += [value] if isinstance(value, T) else []
    return found


def is_compared(name: str, sample: Sample) -> bool:
    if not sample.grad or sample.error is not None:
        return False
    if name in SHAPED:
        return False
    special = [t for t in tensors_of(sample) if t.values is not None or 0 in t.shape]
    return name not in POINTS or not [t for t in special if t.grad]


@pytest.mark.parametrize("name", sampled())
def test_tangents(name: str) -> None:
    declared: Any = {**OPS, **COMPOSITES}[name]
    compared = [
        compare(name, sample, dtype)
        for sample in declared.samples()
        for dtype in KINDS
        if is_compared(name, sample) and dtype in sample.dtypes
    ]
    if not any(compared):
        pytest.skip("no sample whose tangents can be compared")


@pytest.mark.parametrize("name", [name for name in sampled() if name not in SLOPES])
def test_rounded_tangents(name: str) -> None:
    """A few samples of each op in the shorter floating types."""
    declared: Any = {**OPS, **COMPOSITES}[name]
    compared = 0
    for sample in declared.samples():
        for dtype, tolerance in ROUNDED.items():
            if compared == 6 or dtype not in sample.dtypes or not is_compared(name, sample):
                continue
            if any(t.values is not None or 0 in t.shape for t in tensors_of(sample)):
                continue
            try:
                expected = tangents(name, sample, torch, dtype)
            except Exception:
                continue  # an error, or an op without forward mode in PyTorch
            try:
                ours = tangents(name, sample, retrograd, dtype)
            except NotImplementedError as error:
                assert name in REFUSED and "forward AD" in str(error)
                continue
            compared += 1
            check(ours, expected, tolerance, f"{name}{sample} {dtype}")
    if not compared:
        pytest.skip("no sample that both libraries push forward in these types")


def compare(name: str, sample: Sample, dtype: str) -> bool:
    """The tangents of one call must be PyTorch's, or the slopes where PyTorch has none.

    False if there was nothing to compare with.
    """
    try:
        call(name, torch, build(sample, torch, dtype, None))
    except Exception:
        return False  # an error, whatever the mode
    label = f"{name}{sample} {dtype}"
    try:
        ours = tangents(name, sample, retrograd, dtype)
    except NotImplementedError as error:
        assert name in REFUSED and "forward AD" in str(error), label
        return True
    try:
        expected = tangents(name, sample, torch, dtype)
    except Exception:
        if sample.numeric:
            check(ours, differences(name, sample, dtype), 1e-5, label)
        return sample.numeric
    try:
        check(ours, expected, 1e-9, label)
    except AssertionError:
        if name not in SLOPES:
            raise
        check(ours, differences(name, sample, dtype), 1e-5, label)
    return True


@pytest.mark.parametrize("upper", [False, True])
def test_factors(upper: bool) -> None:
    """Functions of triangular and symmetric matrices, moved along such matrices."""
    generator = np.random.default_rng(0)
    factor, direction = (np.tril(generator.uniform(0.5, 1.5, (3, 3))) for _ in range(2))
    if upper:
        factor, direction = factor.T.copy(), direction.T.copy()

    def matrix(array: Any) -> Any:
        return array.T @ array if upper else array @ array.T

    def product(array: Any, other: Any) -> Any:
        return array.T @ other + other.T @ array if upper else array @ other.T + other @ array.T

    with retrograd.autograd.forward_ad.dual_level():
        make_dual = retrograd.autograd.forward_ad.make_dual
        dual = make_dual(retrograd.tensor(factor), retrograd.tensor(direction))
        inverse = retrograd.autograd.forward_ad.unpack_dual(
            retrograd.cholesky_inverse(dual, upper=upper)
        ).tangent
        whole = make_dual(
            retrograd.tensor(matrix(factor)), retrograd.tensor(product(factor, direction))
        )
        again = retrograd.autograd.forward_ad.unpack_dual(
            retrograd.cholesky(whole, upper=upper)
        ).tangent
    inverted = np.linalg.inv(matrix(factor))
    moved = -inverted @ product(factor, direction) @ inverted
    np.testing.assert_allclose(inverse.numpy(), moved, rtol=1e-9)
    np.testing.assert_allclose(again.numpy(), direction, rtol=1e-9, atol=1e-12)


def check(ours: list[Any], expected: list[Any], tolerance: float, label: str) -> None:
    assert len(ours) == len(expected), f"{label}: number of results"
    for index, (a, b) in enumerate(zip(ours, expected, strict=True)):
        if a is None or b is None:  # one library may have zeros where the other has nothing
            some = a if a is not None else b
            assert some is None or not np.nan_to_num(some).any(), f"{label}: tangent {index}"
        else:
            np.testing.assert_allclose(
                a, b, rtol=tolerance, atol=tolerance, err_msg=f"{label}: tangent {index}"
            )


# ------------------------------------------------------------------------------- second order

# Parts of these are computed without a graph: there the two modes differ, as PyTorch's do.
DETACHED = ("torch.cosine_similarity", "nn.functional.gaussian_nll_loss", "torch.nan_to_num")


def is_smooth(name: str, sample: Sample) -> bool:
    if not sample.grad or not sample.second or sample.error is not None or name in DETACHED:
        return False
    return not any(t.values is not None or 0 in t.shape for t in tensors_of(sample) if t.grad)


def second_order(name: str, sample: Sample, dtype: str) -> Any:
    """The product of the results' second derivative with the directions, in three ways."""
    forward_ad = retrograd.autograd.forward_ad
    grad = retrograd.autograd.grad
    leaves: list[Any] = []
    directions: list[Any] = []

    def dual(tensor: Any, direction: Any) -> Any:
        leaves.append(tensor.requires_grad_())
        directions.append(direction)
        return forward_ad.make_dual(tensor, direction)

    def leaf(tensor: Any, direction: Any) -> Any:
        leaves.append(tensor.requires_grad_())
        return tensor

    def products(outputs: Any, starts: Any) -> list[Any]:
        pairs = [
            (a, b)
            for a, b in zip(outputs, starts, strict=True)
            if a is not None and a.requires_grad
        ]
        if not pairs:
            return [None] * len(leaves)
        outputs, starts = zip(*pairs, strict=True)
        found = grad(outputs, leaves, starts, allow_unused=True, create_graph=True)
        return [None if x is None else to_array(x) for x in found]

    with forward_ad.dual_level():
        results = call(name, retrograd, build(sample, retrograd, dtype, dual))
        results = [r for r in results if is_tensor(r) and r.requires_grad]
        starts = [cotangent(r, retrograd, i) for i, r in enumerate(results)]
        if not results:
            return None
        gradients = grad(results, leaves, starts, create_graph=True, allow_unused=True)
        moved = [None if g is None else forward_ad.unpack_dual(g).tangent for g in gradients]
        forward_over_reverse = [None if x is None else to_array(x) for x in moved]
        slopes = [forward_ad.unpack_dual(r).tangent for r in results]
        reverse_over_forward = products(slopes, starts)
    leaves.clear()
    results = call(name, retrograd, build(sample, retrograd, dtype, leaf))
    results = [r for r in results if is_tensor(r) and r.requires_grad]
    gradients = grad(results, leaves, starts, create_graph=True, allow_unused=True)
    return forward_over_reverse, reverse_over_forward, products(gradients, directions)


@pytest.mark.parametrize(
    "name", [name for name in sampled() if name not in ("None.t_", "None.transpose_")]
)
def test_second_order(name: str) -> None:
    """Forward over reverse and reverse over forward give what reverse over reverse gives."""
    declared: Any = {**OPS, **COMPOSITES}[name]
    compared = 0
    for sample in declared.samples():
        for dtype in KINDS:
            if compared == 6 or not is_smooth(name, sample) or dtype not in sample.dtypes:
                continue
            try:
                call(name, retrograd, build(sample, retrograd, dtype, None))
            except Exception:
                continue  # a sample of an error
            try:
                found = second_order(name, sample, dtype)
            except (NotImplementedError, RuntimeError) as error:
                assert name in REFUSED and "not differentiable" in str(error), f"{name}{sample}"
                continue
            if found is None:
                continue
            compared += 1
            forward_over_reverse, reverse_over_forward, expected = found
            label = f"{name}{sample} {dtype}"
            check(forward_over_reverse, expected, 1e-8, f"{label}, forward over reverse")
            check(reverse_over_forward, expected, 1e-8, f"{label}, reverse over forward")
    if not compared:
        pytest.skip("no smooth sample")
