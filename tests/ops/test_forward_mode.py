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
from retrograd.testing.samples import COMPLEX, Sample, T
from tests.ops.compare import flatten, function_of, is_tensor, to_array

torch = pytest.importorskip("torch")
pytestmark = [
    pytest.mark.torch,
    # PyTorch's own, from compiling what its forward mode is made of
    pytest.mark.filterwarnings("ignore::DeprecationWarning:torch"),
]

KINDS = ("float64", "complex128")
STEP = 1e-6


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
            moves = value.grad and name in KINDS
            if moves:
                direction = directions.uniform(-1, 1, array.shape)
                if name in COMPLEX:
                    direction = direction + 1j * directions.uniform(-1, 1, array.shape)
                direction = np.asarray(direction).astype(array.dtype)
                array = np.asarray(array + shift * direction).astype(array.dtype)
            tensor = library.from_numpy(np.array(array))
            if name == "bfloat16":
                tensor = tensor.to(library.bfloat16)
            return start(tensor, library.from_numpy(direction)) if moves and start else tensor
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


def sampled() -> list[Any]:
    found = []
    declared = {**OPS, **COMPOSITES}
    for name, item in declared.items():
        if item.samples is not None:
            found.append(name)
    return found


def moves(sample: Sample) -> bool:
    return sample.grad and sample.error is None


@pytest.mark.parametrize("name", sampled())
def test_tangents(name: str) -> None:
    declared: Any = {**OPS, **COMPOSITES}[name]
    for sample in declared.samples():
        for dtype in KINDS:
            if moves(sample) and dtype in sample.dtypes:
                compare(name, sample, dtype)


def compare(name: str, sample: Sample, dtype: str) -> None:
    try:
        call(name, torch, build(sample, torch, dtype, None))
    except Exception:
        return  # an error, whatever the mode
    try:
        expected = tangents(name, sample, torch, dtype)
        tolerance = 1e-9
    except (NotImplementedError, RuntimeError):
        if not sample.numeric:
            return
        expected = differences(name, sample, dtype)
        tolerance = 1e-5
    ours = tangents(name, sample, retrograd, dtype)
    assert len(ours) == len(expected), f"{name}{sample} {dtype}: number of results"
    for index, (a, b) in enumerate(zip(ours, expected, strict=True)):
        if a is None or b is None:
            some = a if a is not None else b
            assert some is None or not np.nan_to_num(some).any(), (
                f"{name}{sample} {dtype}: tangent {index} is None in one: {a} {b}"
            )
            continue
        np.testing.assert_allclose(
            a, b, rtol=tolerance, atol=tolerance, equal_nan=True,
            err_msg=f"{name}{sample} {dtype}: tangent {index}",
        )
