"""Every declared op over its samples, without PyTorch: derivatives, faces, twins, memory."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pytest

import retrograd
from retrograd.autograd import gradcheck, gradgradcheck
from retrograd.ops.registry import COMPOSITES, OPS
from retrograd.samples import T
from tests.each import for_each_op
from tests.ops.compare import build, cases, flatten, function_of, gradients, is_tensor, to_array

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")

CASES = [(name, sample) for name, sample in cases() if sample.error is None]


# samples that PyTorch refuses too (compared in test_against_torch): any other must run here
RAISING = set((Path(__file__).parent / "raising.txt").read_text().splitlines())
_ALIKE = Counter(f"{name} {sample}" for name, sample in CASES)


def refused(name, sample):
    """Whether PyTorch refuses the sample; False also where samples of other values look alike."""
    return f"{name} {sample}" in RAISING and _ALIKE[f"{name} {sample}"] == 1


def leaves_of(sample):
    """The tensors of a sample that can have a gradient."""
    values = [*sample.args, *sample.kwargs.values()]
    tensors = [x for v in values for x in (v if isinstance(v, (list, tuple)) else [v])]
    kinds = (None, "float16", "bfloat16", "float32", "float64", "complex64", "complex128")
    return [x for x in tensors if isinstance(x, T) and x.grad and x.dtype in kinds]


def smooth(sample):
    """Explicit values are special points (ties, zeros, nan): compared with PyTorch, not here."""
    leaves = leaves_of(sample)
    return sample.grad and leaves and not any(x.values is not None for x in leaves)


DIFFERENTIABLE = [(name, sample) for name, sample in CASES if smooth(sample)]
NUMERIC = [(name, sample) for name, sample in DIFFERENTIABLE if sample.numeric]

# their result depends on the strides of the input by design
LAYOUT = {
    *("torch.as_strided", "torch.as_strided_", "torch.as_strided_scatter", "as_strided"),
    *("None.view", "view_as_complex", "None.as_strided_", "torch.as_strided_copy"),
}


def precise(sample):
    """The double precision dtype in which a sample can be built."""
    return "float64" if "float64" in sample.dtypes else sample.dtypes[-1]


def call(name, sample, noncontiguous=False, grad=True):
    """(function of the tensors in the sample, those tensors); skips what PyTorch refuses too."""
    args, kwargs, leaves = build(sample, retrograd, precise(sample), noncontiguous, grad)
    function = function_of(name, retrograd)
    try:
        function(*args, **kwargs)
    except Exception as error:
        if not grad and f"{name} {sample}" not in RAISING:
            raise
        pytest.skip(f"refused, as test_against_torch compares: {error}")
    args, kwargs, leaves = build(sample, retrograd, precise(sample), noncontiguous, grad)
    return (lambda *_: function(*args, **kwargs)), leaves


@for_each_op(NUMERIC)
def test_gradient_against_finite_differences(name, sample):
    function, leaves = call(name, sample)
    coarse = (retrograd.float16, retrograd.bfloat16, retrograd.float32, retrograd.complex64)

    def tensors(*_):
        return [result for result in flatten(function()) if is_tensor(result)]

    results = tensors()
    if any(result.dtype in coarse for result in results):
        pytest.skip("a result too coarse for differences")
    if not all(np.isfinite(to_array(result)).all() for result in results):
        pytest.skip("a result that is not finite")
    gradcheck(tensors, leaves, fast_mode=True)
    if sample.second:
        gradgradcheck(tensors, leaves, fast_mode=True)


@for_each_op(DIFFERENTIABLE)
def test_raw_and_recorded_rules_agree(name, sample):
    function, leaves = call(name, sample)
    raw = gradients(flatten(function()), leaves, retrograd, False)
    recorded = gradients(flatten(function()), leaves, retrograd, True)
    for a, b in zip(raw, recorded, strict=True):
        assert (a is None) == (b is None)
        if a is not None:
            # half precision: on arrays a rule runs in float32 and rounds once
            loose = 1e-12 if precise(sample) in ("float64", "complex128") else 2e-2
            np.testing.assert_allclose(to_array(a), to_array(b), rtol=loose, atol=loose)
            assert a.dtype is b.dtype


@for_each_op(CASES)
def test_layout_and_memory(name, sample):
    """Strided inputs give the same values; results own their memory unless declared a view."""
    if refused(name, sample):
        args, kwargs, _ = build(sample, retrograd, precise(sample), False, False)
        with pytest.raises(Exception):  # noqa: B017 (which one: test_against_torch)
            function_of(name, retrograd)(*args, **kwargs)
        return
    function, _ = call(name, sample, grad=False)
    results = flatten(function())
    if name in LAYOUT:
        pytest.skip("it ran; its results depend on the layout")
    strided = call(name, sample, noncontiguous=True, grad=False)
    for a, b in zip(results, flatten(strided[0]()), strict=True):
        if is_tensor(a):
            np.testing.assert_allclose(to_array(a), to_array(b), rtol=1e-12, atol=1e-12)
    op = OPS.get(name)
    if op is not None and op.view is None:
        args, kwargs, _ = build(sample, retrograd, precise(sample), False, False)
        for result in flatten(function_of(name, retrograd)(*args, **kwargs)):
            for value in flatten([*args, *kwargs.values()]):
                if is_tensor(result) and is_tensor(value) and result is not value:
                    assert not np.may_share_memory(result._array, value._array)
            if is_tensor(result):
                assert result._array.flags.writeable
                assert all(stride >= 0 for stride in result._array.strides)


INPLACE = [
    (name, sample)
    for name, sample in CASES
    if name in OPS and OPS[name].inplace_name and sample.inplace and sample.grad
    if leaves_of(sample) and not refused(name, sample)
]


@for_each_op(INPLACE)
def test_in_place_twin(name, sample):
    """`x.op_()` writes what `op(x)` returns, and has the same gradients."""
    op = OPS[name]
    function, leaves = call(name, sample)
    expected = function()
    args, kwargs, again = build(sample, retrograd, precise(sample), False, True)
    target = args[0]
    if not is_tensor(target):
        pytest.skip("a number, which cannot be written to")
    if expected.dtype is not target.dtype or expected.shape != target.shape:
        pytest.skip("the result does not fit into the first operand")
    expected_gradients = gradients([expected], leaves, retrograd, False)
    target, leaves = target.clone(), again
    result = getattr(target, op.inplace_name)(*args[1:], **kwargs)
    assert result is target
    assert target._version == 1
    np.testing.assert_array_equal(to_array(target), to_array(expected))
    if not expected.requires_grad:
        return
    found_gradients = gradients([target], leaves, retrograd, False)
    for a, b in zip(found_gradients, expected_gradients, strict=True):
        assert (a is None) == (b is None)
        if a is not None:
            np.testing.assert_allclose(to_array(a), to_array(b), rtol=1e-12, atol=1e-12)


def test_every_op_has_samples_or_is_private():
    """A public op without samples is an op without tests."""
    missing = [
        name
        for name, op in OPS.items()
        if op.samples is None and (op.namespace is not None or op.methods)
    ]
    # creation, queries and random numbers are compared in tests/tensor and tests/random
    others = ("retrograd.ops.making", "retrograd.ops.random")
    missing += [
        name
        for name, c in COMPOSITES.items()
        if c.samples is None
        and c.namespace
        and c.function.__module__.startswith("retrograd.ops")
        and not c.function.__module__.startswith(others)
    ]
    # these refuse strided inputs, or look at indices, which the sweeps over samples do not allow
    assert sorted(missing) == ["torch.embedding_bag", "torch.native_group_norm"]  # tests/nn
