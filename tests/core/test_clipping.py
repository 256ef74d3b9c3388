"""Gradient clipping by the compiled core and by Python: the same bits, the same facts."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import retrograd as torch
from retrograd import core
from retrograd.nn.utils import clip_grad

pytestmark = pytest.mark.skipif(not core.AVAILABLE, reason="needs the compiled core")

SHAPES: list[tuple[int, ...]] = [(3, 5), (7,), (), (0, 2), (64, 33)]


def parameters(dtype: Any = np.float32, scale: float = 1.0, absent: int = 1) -> list[Any]:
    generator = np.random.default_rng(3)
    made = []
    for number, shape in enumerate(SHAPES):
        parameter = torch.nn.Parameter(torch.from_numpy(np.ones(shape, dtype)))
        if number != absent:
            gradient = np.array(generator.standard_normal(shape) * scale, dtype, order="F")
            parameter.grad = torch.from_numpy(gradient)
        made.append(parameter)
    return made


def facts(made: list[Any]) -> list[Any]:
    found = []
    for parameter in made:
        gradient = parameter.grad
        if gradient is not None:
            cell = gradient._cell
            array = gradient.detach().numpy()
            found.append((array.dtype.str, array.shape, np.nan_to_num(array).tobytes()))
            found.append(np.isnan(array).tobytes())
            found.append((gradient._version, cell and cell.writer, cell and cell.code))
    return found


@pytest.fixture(params=core._core.builds() if core.AVAILABLE else [])
def build(request: Any) -> Any:
    before = core._core.use_build(request.param)
    yield request.param
    core._core.use_build(before)


def both_ways(
    monkeypatch: Any, clip: Any, made: Any, compiled: bool = True
) -> tuple[list[Any], list[Any]]:
    """The outcomes of a clip, compiled and in Python, from one line."""
    outcomes = []
    for way in ("compiled", "python"):
        with monkeypatch.context() as patch:
            if way == "python":
                patch.setattr(clip_grad, "_compiled_norm", None)
                patch.setattr(clip_grad, "_compiled_value", None)
            elif compiled:  # Python must not be asked
                patch.setattr(clip_grad, "_gradients", None)
            given = made()
            result = clip(given)
            number = None if result is None else (result.dtype, result.numpy().tobytes())
            outcomes.append([number, *facts(given)])
    return outcomes[0], outcomes[1]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e20])
def test_norms(dtype: Any, scale: float, build: str, monkeypatch: Any) -> None:
    for limit in (0.0, 0.5, 1, 1e30):
        ours, theirs = both_ways(
            monkeypatch,
            lambda given, limit=limit: torch.nn.utils.clip_grad_norm_(given, limit),
            lambda: parameters(dtype, scale),
        )
        assert ours == theirs


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_values(dtype: Any, build: str, monkeypatch: Any) -> None:
    for limit in (0.3, 1e-30, 2, float("inf")):
        ours, theirs = both_ways(
            monkeypatch,
            lambda given, limit=limit: torch.nn.utils.clip_grad_value_(given, limit),
            lambda: parameters(dtype),
        )
        assert ours == theirs


@pytest.mark.parametrize("odd", [np.nan, np.inf])
def test_odd_values_spread(odd: float, monkeypatch: Any) -> None:
    def made() -> list[Any]:
        given = parameters()
        given[0].grad[0, 0] = odd
        return given

    for clip in (
        lambda given: torch.nn.utils.clip_grad_norm_(given, 1.0),
        lambda given: torch.nn.utils.clip_grad_value_(given, 0.5),
    ):
        ours, theirs = both_ways(monkeypatch, clip, made)
        assert ours == theirs


def test_what_is_unusual_goes_to_python(monkeypatch: Any) -> None:
    def half() -> list[Any]:
        return parameters(np.float16)

    def mixed() -> list[Any]:
        return parameters() + parameters(np.float64)

    def strided() -> list[Any]:
        given = parameters()
        given[0].grad = torch.ones(3, 10)[:, ::2]
        return given

    def recorded() -> list[Any]:
        given = parameters()
        given[1].grad = (given[1] * 2).detach().requires_grad_()
        return given

    for made in (half, mixed, strided, recorded):
        for limit in (0.5, 100):
            ours, theirs = both_ways(
                monkeypatch,
                lambda given, limit=limit: torch.nn.utils.clip_grad_norm_(given, limit),
                made,
                compiled=False,
            )
            assert ours == theirs
    for other in (1, float("inf"), 3):
        ours, theirs = both_ways(
            monkeypatch,
            lambda given, other=other: torch.nn.utils.clip_grad_norm_(given, 0.5, other),
            lambda: parameters(absent=3),  # an empty one has no largest element
            compiled=False,
        )
        assert ours == theirs


def test_one_tensor_a_generator_and_nothing() -> None:
    weight = torch.nn.Parameter(torch.zeros(2))
    weight.grad = torch.tensor([3.0, 4.0])
    assert torch.nn.utils.clip_grad_norm_(weight, 1.0).item() == 5.0
    weight.grad = torch.tensor([3.0, 4.0])
    assert torch.nn.utils.clip_grad_norm_((w for w in [weight]), 1.0).item() == 5.0
    assert torch.nn.utils.clip_grad_norm_([torch.nn.Parameter(torch.zeros(1))], 1.0).item() == 0
    torch.nn.utils.clip_grad_value_((w for w in [weight]), 0.1)
    assert weight.grad.tolist() == pytest.approx([0.1, 0.1])
    with pytest.raises(RuntimeError, match="non-finite"):
        weight.grad = torch.tensor([float("nan"), 1.0])
        torch.nn.utils.clip_grad_norm_([weight], 1.0, error_if_nonfinite=True)


def test_a_gradient_shared_by_two_parameters(monkeypatch: Any) -> None:
    def made() -> list[Any]:
        given = [torch.nn.Parameter(torch.zeros(3)) for _ in range(2)]
        given[0].grad = given[1].grad = torch.tensor([3.0, 4.0, 5.0])
        return given

    ours, theirs = both_ways(
        monkeypatch, lambda given: torch.nn.utils.clip_grad_norm_(given, 1.0), made
    )
    assert ours == theirs
