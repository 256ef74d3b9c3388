"""Every op's samples without elements: shapes, dtypes and strides as on the CPU, gradients too."""

from __future__ import annotations

import warnings

import pytest

import retrograd
from tests.meta.exceptions import OTHER_GRADIENTS, REFUSED, TEXTS
from tests.ops.compare import build, flatten, function_of, good_samples, is_tensor
from tests.ops.on_device import run

SAMPLES = good_samples()
NAMES = sorted(SAMPLES)


def number_of_results(name, sample, dtype):
    args, kwargs, _ = build(sample, retrograd, dtype, False, sample.grad)
    return len(flatten(function_of(name, retrograd)(*args, **kwargs)))


def agree(found, expected, results):
    """Gradients may lie otherwise: what takes a shorter way there is chosen by elements."""
    assert len(found) == len(expected)
    for place, (ours, theirs) in enumerate(zip(found, expected, strict=True)):
        if not is_tensor(theirs):
            assert ours == theirs
            continue
        assert ours.is_meta, f"on {ours.device}"
        assert ours.shape == theirs.shape
        assert ours.dtype is theirs.dtype
        if place < results and ours.numel():
            assert ours.stride() == theirs.stride()


@pytest.mark.parametrize("name", NAMES)
def test_samples(name):
    ran, refused = False, 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for sample in SAMPLES[name]:
            dtype = "float64" if "float64" in sample.dtypes else sample.dtypes[-1]
            try:
                expected = run(name, sample, dtype)
                results = number_of_results(name, sample, dtype)
            except Exception:
                continue  # bad arguments, which other tests compare with PyTorch
            ran = True
            try:
                found = run(name, sample, dtype, "meta")
            except (RuntimeError, IndexError) as error:
                assert name in REFUSED, f"{name} is refused: {error}"
                assert any(text in str(error) for text in TEXTS), str(error)
                refused += 1
                continue
            if found is None:  # made of nothing, as block_diag(), so on the CPU
                continue
            if name in OTHER_GRADIENTS:
                found, expected = found[:results], expected[:results]
            agree(found, expected, results)
    if not ran:
        pytest.skip("every sample is refused, as other tests compare")
    assert bool(refused) == (name in REFUSED), "no sample is refused: take it off the list"


def test_exceptions_are_ops():
    assert set(REFUSED) | set(OTHER_GRADIENTS) <= set(NAMES)
