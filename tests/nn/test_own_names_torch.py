"""Errors of convolutions name the class that the program uses, as PyTorch's do."""

from __future__ import annotations

import inspect
import pickle

import pytest

import retrograd

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch

KINDS = [f"{stem}{rank}d" for stem in ("Conv", "ConvTranspose") for rank in (1, 2, 3)]
CALLS = """
kind()
kind(1, 2)
kind(1, 2, 3)()
kind(1, 2, 3)(1, dim=2)
kind(1, 2, 3, 4, z=1)
""".strip().splitlines()


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("name", KINDS)
def test_the_message_is_that_of_pytorch(name, call):
    found = []
    for library in (retrograd, torch):
        with pytest.raises(TypeError) as caught:
            eval(call, {"kind": getattr(library.nn, name)})
        found.append(str(caught.value).split("\n")[0])
    assert found[0] == found[1]
    assert "_Conv" not in found[0]


@pytest.mark.parametrize("name", KINDS)
def test_a_subclass_and_a_pickle_work(name):
    kind = getattr(retrograd.nn, name)

    class Own(kind):
        def __init__(self) -> None:
            super().__init__(1, 2, 3)

        def forward(self, input):
            return super().forward(input) * 2

    assert kind.forward.__qualname__ == f"{name}.forward"
    assert list(inspect.signature(kind).parameters)[:2] == ["in_channels", "out_channels"]
    rank = int(name[-2])
    layer, x = Own(), retrograd.ones(1, 1, *[4] * rank)
    plain = kind(1, 2, 3)
    plain.load_state_dict(layer.state_dict())
    assert retrograd.allclose(layer(x), plain(x) * 2)
    again = pickle.loads(pickle.dumps(plain))
    assert retrograd.equal(again(x), plain(x))
