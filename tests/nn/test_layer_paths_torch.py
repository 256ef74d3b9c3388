"""Every layer with inputs that it refuses: PyTorch's error, and in ours the layer's path."""

from __future__ import annotations

import re
import warnings
from typing import Any

import pytest

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch

import retrograd
from tests.nn.failing_layers import CALLS, LAZY, LOSSES, SHAPES


def failure(library: Any, make: str, args: str) -> Exception | None:
    nn = library.nn

    class Model(nn.Module):  # type: ignore[name-defined, misc]
        def __init__(self, part: Any) -> None:
            super().__init__()
            self.blocks = nn.ModuleList([nn.Identity(), part])

        def forward(self, *args: Any) -> Any:
            return self.blocks[1](*args)

    names = {"torch": library, "nn": nn}
    library.manual_seed(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = Model(eval(make, names))
        given = eval(f"({args},)" if args else "()", names)
        try:
            model(*given)
        except Exception as error:
            return error
    return None


@pytest.mark.parametrize(("make", "args"), [*SHAPES, *LAZY, *LOSSES, *CALLS])
def test_the_error_and_the_path(make: str, args: str) -> None:
    theirs, ours = failure(torch, make, args), failure(retrograd, make, args)
    assert theirs is not None and ours is not None
    assert type(ours).__name__ == type(theirs).__name__
    assert str(ours).split("\n")[0] == str(theirs).split("\n")[0]
    told = re.sub(r"[\s|]+", " ", "\n".join(ours.__notes__))
    assert "inside model.blocks[1]" in told
    assert len(re.findall(r"inside model\.blocks", told)) == 1


def test_every_layer_is_in_the_table() -> None:
    made = " ".join(make for make, _ in [*SHAPES, *LAZY, *LOSSES, *CALLS])
    named = set(re.findall(r"nn\.(\w+)", made))
    layers = {
        name
        for name in dir(torch.nn)
        if isinstance(getattr(torch.nn, name), type)
        and issubclass(getattr(torch.nn, name), torch.nn.Module)
        and hasattr(retrograd.nn, name)
    }
    bases = {"Module", "Container", "RNNBase", "RNNCellBase", "ParameterList", "ParameterDict"}
    several = {"DataParallel", "SyncBatchNorm"}  # for several devices
    assert layers - named - bases - several == set()
