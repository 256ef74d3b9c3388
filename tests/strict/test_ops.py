"""Every op's samples on the stand-in device: values, first and second derivatives as on the CPU."""

from __future__ import annotations

import warnings

import pytest

from retrograd.ops.registry import OPS
from tests.ops.compare import good_samples
from tests.ops.on_device import agree, run
from tests.strict.exceptions import CANNOT

DEVICE = "privateuseone"
SAMPLES = good_samples()
NAMES = sorted(SAMPLES)


LOOSE = {"float64": 1e-10, "complex128": 1e-10, "int64": 1e-10, "": 1e-4}


@pytest.mark.parametrize("name", NAMES)
def test_samples(name):
    if name in CANNOT:
        pytest.skip(CANNOT[name])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ran = False
        for sample in SAMPLES[name]:
            dtype = "float64" if "float64" in sample.dtypes else sample.dtypes[-1]
            try:
                expected = run(name, sample, dtype)
            except Exception:
                continue  # bad arguments, which other tests compare with PyTorch
            ran = True
            found = run(name, sample, dtype, DEVICE)
            if found is not None:  # None: made of nothing, as block_diag(), so on the CPU
                agree(found, expected, DEVICE, LOOSE)
        if not ran:
            pytest.skip("every sample is refused, as other tests compare")


def test_exceptions_are_ops():
    assert set(CANNOT) <= set(NAMES) | set(OPS)
