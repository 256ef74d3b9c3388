"""Which module made a node."""

from __future__ import annotations

import importlib
from types import ModuleType

import pytest

from retrograd.watching.engines import RetrogradEngine, TorchEngine
from retrograd.watching.modules import ModuleLog
from retrograd.watching.reading import behind, reader_of


@pytest.fixture(params=["retrograd", pytest.param("torch", marks=pytest.mark.torch)])
def torch(request: pytest.FixtureRequest) -> ModuleType:
    return importlib.import_module(request.param)


def log_of(torch: ModuleType) -> ModuleLog:
    return ModuleLog(RetrogradEngine() if torch.__name__ == "retrograd" else TorchEngine())


def test_paths_of_nodes(torch: ModuleType) -> None:
    class Block(torch.nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.inner = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.Tanh())

        def forward(self, x):  # type: ignore[no-untyped-def]
            return self.inner(self.inner(x)).exp()

    model, log = Block(), log_of(torch)
    stop = log.start()
    loss = model(torch.ones(2, 3)).sum()
    stop()
    outside = model(torch.ones(2, 3))
    reader = reader_of(loss)
    found = {}
    for node in behind(reader, [reader.root(loss)]):
        call = log.of(reader.number(node))
        found.setdefault(reader.name(node), []).append(None if call is None else call.path)
    assert found["SumBackward0"] == [None]
    assert found["ExpBackward0"] == ["Block"]
    assert found["TanhBackward0"] == ["Block.inner.1"] * 2
    assert found["AddmmBackward0"] == ["Block.inner.0"] * 2
    assert log.of(reader.number(reader.root(outside))) is None
    call = log.of(reader.number(reader.root(loss)) - 2)
    assert call is not None


def test_an_exception_leaves_no_level(torch: ModuleType) -> None:
    class Fails(torch.nn.Module):  # type: ignore[misc, name-defined]
        def forward(self, x):  # type: ignore[no-untyped-def]
            raise ValueError("no")

    class Catches(torch.nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.fails = Fails()

        def forward(self, x):  # type: ignore[no-untyped-def]
            try:
                self.fails(x)
            except ValueError:
                pass
            return x.exp()

    log = log_of(torch)
    stop = log.start()
    y = Catches()(torch.ones(2, requires_grad=True))
    z = y.tanh()
    stop()
    reader = reader_of(y)
    call = log.of(reader.number(reader.root(y)))
    assert call is not None and call.path == "Catches"
    assert log.of(reader.number(reader.root(z))) is None
