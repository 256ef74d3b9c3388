"""`out=` of the functions of linear algebra that give several tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import retrograd

torch = pytest.importorskip("torch")
pytestmark = [pytest.mark.torch, pytest.mark.filterwarnings("ignore:.*deprecated")]

CALLS: dict[str, Callable[..., Any]] = {
    "cholesky_ex": lambda t, a, **o: t.linalg.cholesky_ex(a, **o),
    "inv_ex": lambda t, a, **o: t.linalg.inv_ex(a, **o),
    "lu_factor": lambda t, a, **o: t.linalg.lu_factor(a, **o),
    "lu_factor_ex": lambda t, a, **o: t.linalg.lu_factor_ex(a, check_errors=True, **o),
    "solve_ex": lambda t, a, **o: t.linalg.solve_ex(a, a, **o),
    "slogdet": lambda t, a, **o: t.slogdet(a, **o),
    "triangular_solve": lambda t, a, **o: t.triangular_solve(a, a, **o),
}


@pytest.mark.parametrize("name", CALLS)
def test_results_are_written(name: str) -> None:
    found = []
    for library in (torch, retrograd):
        a = library.eye(3) * 2 + 0.25
        out = tuple(library.empty(0, dtype=x.dtype) for x in CALLS[name](library, a))
        result = CALLS[name](library, a, out=out)
        assert all(x is y for x, y in zip(result, out, strict=True))
        found.append([pytest.approx(x.flatten().tolist(), abs=1e-6) for x in out])
        with pytest.raises(TypeError, match="tuple of"):
            CALLS[name](library, a, out=out[:1])
        with pytest.raises(TypeError, match="must be tuple of Tensors"):
            CALLS[name](library, a, out=out[0])
    assert [x.expected for x in found[0]] == found[1]


def test_diag() -> None:
    for library in (torch, retrograd):
        out = library.empty(0)
        assert library.diag(library.ones(2), 1, out=out) is out
        assert out.tolist() == [[0, 1, 0], [0, 0, 1], [0, 0, 0]]
