"""No op computes wrong numbers from a sparse operand: the dense result, or an error."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import retrograd as torch
from retrograd.ops.registry import COMPOSITES, OPS
from tests.ops.compare import build, cases, flatten, function_of

# what depends on the layout and not on elements, on chance, or on memory that nobody wrote
_SKIPPED = {
    "torch.is_nonzero",
    "empty_like",
    "dropout",
}


def _names() -> list[str]:
    found: dict[str, None] = {}
    for name, _ in cases():
        found.setdefault(name)
    return list(found)


def _dense(value: Any) -> Any:
    return value.to_dense() if isinstance(value, torch.Tensor) else value


def _sparse_versions(args: list[Any], layout: str) -> list[tuple[str, list[Any]]]:
    """The arguments with one tensor made sparse, for each that can be."""
    found = []
    for place, value in enumerate(args):
        if isinstance(value, torch.Tensor) and value.ndim == 2:
            made = value.detach().to_sparse() if layout == "coo" else value.to_sparse_csr()
            found.append((f"{layout} {place}", [*args[:place], made, *args[place + 1 :]]))
        elif isinstance(value, (list, tuple)) and any(isinstance(x, torch.Tensor) for x in value):
            if all(isinstance(x, torch.Tensor) and x.ndim == 2 for x in value):
                items = [x.to_sparse() if layout == "coo" else x.to_sparse_csr() for x in value]
                found.append((f"{layout} {place}", [*args[:place], items, *args[place + 1 :]]))
    return found


def _run(function: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
    torch.manual_seed(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return function(*args, **kwargs)


def _same(one: Any, two: Any) -> bool:
    if isinstance(one, torch.Tensor) and isinstance(two, torch.Tensor):
        one, two = _dense(one), _dense(two)
        if one.shape != two.shape:
            return False
        left, right = (x.detach().to(torch.complex128).numpy() for x in (one, two))
        return bool(np.allclose(left, right, rtol=1e-6, atol=1e-8, equal_nan=True))
    return bool(one == two) if not isinstance(one, torch.Tensor) else False


@pytest.mark.parametrize("name", _names())
def test_sparse_operands_give_the_dense_numbers_or_raise(name: str) -> None:
    declared: Any = OPS.get(name) or COMPOSITES[name]
    if declared.name in _SKIPPED or name in _SKIPPED:
        pytest.skip("nothing to compare")
    function = function_of(name, torch)
    for _, sample in [case for case in cases_of(name)][:6]:
        if sample.error is not None:
            continue
        for layout in ("coo", "csr"):
            count = len(_sparse_versions(build(sample, torch, "float64", False, False)[0], layout))
            for number in range(count):
                args, kwargs, _ = build(sample, torch, "float64", False, False)
                label, sparse = _sparse_versions(args, layout)[number]
                try:
                    expected = _run(function, args, kwargs)
                except Exception:
                    continue
                try:
                    found = _run(function, sparse, kwargs)
                except (NotImplementedError, RuntimeError, TypeError, IndexError, ValueError) as e:
                    assert str(e), f"{name} {label}: an error without a word"
                    continue
                wrong = [
                    (one, two)
                    for one, two in zip(flatten(expected), flatten(found), strict=True)
                    if not _same(one, two)
                ]
                assert not wrong, f"{name}({sample!r}) with {label}"


_BY_NAME: dict[str, list[Any]] = {}


def cases_of(name: str) -> list[Any]:
    """The samples of one op."""
    if not _BY_NAME:
        for case in cases():
            _BY_NAME.setdefault(case[0], []).append(case)
    return _BY_NAME[name]
