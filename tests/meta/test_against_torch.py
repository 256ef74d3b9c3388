"""Every op's samples without elements beside PyTorch's own: shape, dtype, strides, errors."""

from __future__ import annotations

import warnings

import pytest

import retrograd
from tests.meta.exceptions import REFUSED
from tests.ops.compare import build, flatten, function_of, good_samples, is_tensor
from tests.ops.on_device import moved, says_where

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch
SAMPLES = good_samples()

# Their factors and solutions lie by columns in PyTorch and by rows here, on the CPU too.
BY_ROWS = ("linalg.", "fft.")
ALSO_BY_ROWS = """
    cholesky cholesky_inverse cholesky_solve conv_tbc einsum geqrf inverse lu lu_solve nanquantile
    nonzero_static orgqr ormqr qr quantile segment_reduce svd triangular_solve unravel_index
""".split()
OTHER_SHAPES = {
    "nn.functional.multi_margin_loss": "PyTorch's has one dimension more than on its CPU",
    "nn.functional.multilabel_margin_loss": "PyTorch's has one dimension more than on its CPU",
    "torch.native_batch_norm": "PyTorch's statistics of evaluation are empty on its CPU only",
    "torch.pow": "PyTorch's power of truths is of integers here, and of truths on its CPU",
}
OTHER_ERRORS = {
    "torch.cov": "PyTorch has no `equal` for such tensors",
    "torch.histogram": "a number is asked for first",
    "torch.histogramdd": "a number is asked for first",
}


def outcome(name, sample, dtype, library, device):
    """What a call gives, or its error; None where nothing says that it is to run there."""
    args, kwargs, _ = build(sample, library, dtype, False, sample.grad)
    if device == "meta":
        if not says_where(function_of(name, library), args, kwargs, "meta"):
            return None
        args = moved(args, "meta")
        kwargs = {key: moved(value, "meta") for key, value in kwargs.items()}
    try:
        return flatten(function_of(name, library)(*args, **kwargs))
    except Exception as error:
        return error


def lies_by_rows(name):
    return name.startswith(BY_ROWS) or name.removeprefix("torch.") in ALSO_BY_ROWS


@pytest.mark.parametrize("name", sorted(SAMPLES))
def test_samples(name):
    ran = False
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for sample in SAMPLES[name]:
            dtype = "float64" if "float64" in sample.dtypes else sample.dtypes[-1]
            if isinstance(outcome(name, sample, dtype, retrograd, "cpu"), Exception):
                continue
            ours = outcome(name, sample, dtype, retrograd, "meta")
            theirs = outcome(name, sample, dtype, torch, "meta")
            if ours is None or theirs is None:
                continue
            ran = True
            if isinstance(theirs, Exception):
                if isinstance(ours, Exception) and name not in OTHER_ERRORS:
                    assert isinstance(ours, type(theirs))
                    assert str(ours).splitlines()[0] == str(theirs).splitlines()[0]
                continue  # what PyTorch lacks may be there
            if isinstance(ours, Exception):
                assert name in REFUSED, f"only PyTorch has {name}: {ours}"
                continue
            compare(name, ours, theirs)
    if not ran:
        pytest.skip("no sample runs, or none says where")


def compare(name, ours, theirs):
    assert len(ours) == len(theirs)
    for a, b in zip(ours, theirs, strict=True):
        if not is_tensor(b):
            assert a == b
            continue
        assert a.is_meta and b.is_meta
        if name in OTHER_SHAPES:
            continue
        assert tuple(a.shape) == tuple(b.shape)
        assert str(a.dtype) == str(b.dtype)
        if a.numel() and not lies_by_rows(name):
            assert a.stride() == b.stride()
