"""Every op's samples on the stand-in device: values, first and second derivatives as on the CPU."""

from __future__ import annotations

import inspect
import warnings

import numpy as np
import pytest

import retrograd
from retrograd.backend import BACKENDS
from retrograd.ops.registry import OPS
from tests.ops.compare import (
    build,
    cotangent,
    flatten,
    function_of,
    good_samples,
    is_tensor,
    to_array,
)
from tests.strict.exceptions import CANNOT

DEVICE = "privateuseone"
SAMPLES = good_samples()
NAMES = sorted(SAMPLES)


def moved(value):
    """Arguments on the device, with leaves there that require what theirs do."""
    if is_tensor(value):
        there = value.detach().to(DEVICE)
        return there.requires_grad_(value.requires_grad)
    if isinstance(value, (list, tuple)):
        return type(value)(moved(item) for item in value)
    return value


def leaves_of(values):
    return [x for x in flatten(list(values)) if is_tensor(x) and x.requires_grad]


def says_where(function, args, kwargs):
    """Whether tensors among the arguments or, set here, ``device=`` name the device."""
    if any(is_tensor(x) for x in flatten([*args, *kwargs.values()])):
        return True
    parameters = inspect.signature(function).parameters.values()
    kwargs["device"] = DEVICE
    return any(p.name == "device" or p.kind is p.VAR_KEYWORD for p in parameters)


def run(name, sample, dtype, on_device):
    """Results, gradients and second derivatives of one sample, or the error of the call."""
    args, kwargs, _ = build(sample, retrograd, dtype, False, sample.grad)
    if on_device:
        if not says_where(function_of(name, retrograd), args, kwargs):
            return None
        args, kwargs = moved(args), {key: moved(value) for key, value in kwargs.items()}
    leaves = leaves_of([*args, *kwargs.values()])
    retrograd.manual_seed(0)
    results = flatten(function_of(name, retrograd)(*args, **kwargs))
    first = gradients(results, leaves, sample.second, on_device)
    again = [g for g in first if g is not None and g.requires_grad]
    second = gradients(again, leaves, False, on_device) if sample.second else []
    return [*results, *first, *second]


def gradients(results, leaves, create, on_device):
    outputs = [r for r in results if is_tensor(r) and r.requires_grad]
    if not outputs or not leaves:
        return []
    starts = [cotangent(r, retrograd, i) for i, r in enumerate(outputs)]
    if on_device:
        starts = moved(starts)
    return list(
        retrograd.autograd.grad(outputs, leaves, starts, create_graph=create, allow_unused=True)
    )


def agree(ours, theirs):
    """The same on both devices, and there in arrays of the device."""
    assert len(ours) == len(theirs)
    for a, b in zip(ours, theirs, strict=True):
        if not is_tensor(b):
            assert a == b or (a != a and b != b)
            continue
        assert is_tensor(a) and type(a._array) in BACKENDS and a.device.type == DEVICE
        assert a.shape == b.shape and a.dtype is b.dtype
        loose = 1e-10 if b.dtype.itemsize >= 8 else 1e-4
        np.testing.assert_allclose(to_array(a.cpu()), to_array(b), rtol=loose, atol=loose)


@pytest.mark.parametrize("name", NAMES)
def test_samples(name):
    if name in CANNOT:
        pytest.skip(CANNOT[name])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for sample in SAMPLES[name]:
            dtype = "float64" if "float64" in sample.dtypes else sample.dtypes[-1]
            try:
                expected = run(name, sample, dtype, False)
            except Exception:
                continue  # bad arguments, which other tests compare with PyTorch
            found = run(name, sample, dtype, True)
            if found is not None:  # None: made of nothing, as block_diag(), so on the CPU
                agree(found, expected)


def test_exceptions_are_ops():
    assert set(CANNOT) <= set(NAMES) | set(OPS)
