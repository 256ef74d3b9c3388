"""Every op and composite under vmap, with all its samples: the same as a loop over the examples."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pytest

import retrograd as torch
from retrograd.ops.registry import OPS
from retrograd.transforms.batching.rules import ELEMENTWISE, IMAGES, RULES
from tests.func.batches import cases, check, check_gradients
from tests.ops.compare import function_of

pytestmark = pytest.mark.slow

CASES = cases()


def _dtypes(sample: object) -> list[str]:
    """float64 where the sample has it; else its first dtype."""
    names = sample.dtypes  # type: ignore[attr-defined]
    return ["float64"] if "float64" in names else list(names[:1])


@pytest.mark.parametrize("name", CASES)
def test_results(name: str) -> None:
    function = function_of(name, torch)
    outcomes = [
        check(function, sample, dtype, name.split(".")[-1])
        for sample in CASES[name]
        for dtype in _dtypes(sample)
    ]
    settle(outcomes)


@pytest.mark.parametrize("name", CASES)
def test_half_precision_and_complex(name: str) -> None:
    function = function_of(name, torch)
    settle(
        check(function, sample, dtype, name.split(".")[-1])
        for sample in CASES[name]
        for dtype in sample.dtypes
        if dtype in ("float16", "complex64")
    )


@pytest.mark.parametrize("inside", [False, True], ids=["of_vmap", "in_vmap"])
@pytest.mark.parametrize("name", CASES)
def test_gradients(name: str, inside: bool) -> None:
    function = function_of(name, torch)
    settle(
        check_gradients(function, sample, dtype, inside=inside)
        for sample in CASES[name]
        for dtype in _dtypes(sample)
    )


def settle(outcomes: Iterable[str]) -> None:
    """A test that has compared no sample is skipped, where it is seen."""
    if "compared" not in (found := set(outcomes)):
        pytest.skip(f"nothing to compare: {', '.join(sorted(found)) or 'no sample'}")


def test_rules_are_of_ops() -> None:
    assert set(RULES) - {ELEMENTWISE, IMAGES} <= set(OPS)


def test_views_have_rules() -> None:
    """A copy instead of a view would lose what is written into it."""
    assert {name for name, op in OPS.items() if op.view is not None} <= set(RULES)


def test_views_share_memory() -> None:
    x = torch.zeros(2, 3, 4)
    y = torch.zeros(2, 3, dtype=torch.complex64)
    uses = {
        "select": lambda a: a[0],
        "slice": lambda a: a[1:],
        "expand": lambda a: a.expand(2, 3, 4),
        "transpose": lambda a: a.transpose(0, 1),
        "t": lambda a: a.t(),
        "permute": lambda a: a.permute(1, 0),
        "view": lambda a: a.view(12),
        "unsqueeze": lambda a: a.unsqueeze(0),
        "squeeze": lambda a: a.squeeze(),
        "diagonal": lambda a: a.diagonal(),
        "unfold": lambda a: a.unfold(0, 2, 1),
        "unbind": lambda a: a.unbind(0)[1],
        "split": lambda a: a.split(2)[0],
        "as_strided": lambda a: a.as_strided((2,), (1,)),
        "detach": lambda a: a.detach(),
    }
    for name, use in uses.items():
        found = torch.vmap(use)(x)
        assert np.shares_memory(found.numpy(), x.numpy()), name
    parts = torch.vmap(torch.view_as_real)(y)
    assert np.shares_memory(parts.numpy(), y.numpy())
