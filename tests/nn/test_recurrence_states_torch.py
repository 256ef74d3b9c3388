"""`torch.gru` and the plain networks with states that do not fit, beside PyTorch."""

from __future__ import annotations

from typing import Any

import pytest

import retrograd

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch

SHAPES = ((2, 2, 2), (0, 2, 2), (2,), (1, 2, 3), (1, 5, 2), (1, 1, 3, 1, 2, 1), (1, 2, 2))


def said(library: Any, name: str, shape: tuple[int, ...], both: bool) -> Any:
    rows = 6 if name == "gru" else 2
    one = [library.ones(rows, 3), library.ones(rows, 2), library.ones(rows), library.ones(rows)]
    weights = one * 2 if both else one
    try:
        output, _ = getattr(library, name)(
            library.ones(4, 2, 3), library.ones(shape), weights, True, 1, 0.0, False, both, False
        )
    except RuntimeError as error:
        return str(error).split("\n")[0]
    return list(output.shape)


@pytest.mark.parametrize("name", ["gru", "rnn_tanh", "rnn_relu"])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_states(shape: tuple[int, ...], name: str) -> None:
    assert said(retrograd, name, shape, False) == said(torch, name, shape, False)


@pytest.mark.parametrize("shape", [(1, 2, 2), (2, 2, 2), (4, 2, 2)], ids=str)
def test_states_of_both_directions(shape: tuple[int, ...]) -> None:
    assert said(retrograd, "gru", shape, True) == said(torch, "gru", shape, True)
