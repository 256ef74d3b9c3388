"""The ledger, checked against the arrays' own sizes, on models and on programs with known sums."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest

from retrograd import graph


@pytest.fixture(params=["retrograd", pytest.param("torch", marks=pytest.mark.torch)])
def torch(request: pytest.FixtureRequest) -> ModuleType:
    return importlib.import_module(request.param)


def mlp(torch: ModuleType) -> tuple[Any, tuple[int, ...]]:
    nn = torch.nn
    return nn.Sequential(nn.Linear(6, 7), nn.Tanh(), nn.LayerNorm(7), nn.Linear(7, 2)), (5, 6)


def cnn(torch: ModuleType) -> tuple[Any, tuple[int, ...]]:
    nn = torch.nn
    layers = nn.Conv2d(1, 3, 3), nn.BatchNorm2d(3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten()
    return nn.Sequential(*layers, nn.Linear(27, 2)), (2, 1, 8, 8)


def encoder(torch: ModuleType) -> tuple[Any, tuple[int, ...]]:
    layer = torch.nn.TransformerEncoderLayer(8, 2, 12, dropout=0.0, batch_first=True)
    return layer, (2, 3, 8)


@pytest.mark.parametrize("make", [mlp, cnn, encoder])
def test_the_sum_is_that_of_the_memories(
    torch: ModuleType, make: Callable[[ModuleType], tuple[Any, tuple[int, ...]]]
) -> None:
    """Hooks see every saved value: each memory once, without that of parameters."""
    model, shape = make(torch)
    x = torch.randn(*shape)
    loss = model(x).sum()
    kept = graph.ledger(loss)

    known = {tensor.untyped_storage().data_ptr() for tensor in model.parameters()}
    memories: dict[int, int] = {}
    alive = []

    def pack(tensor: Any) -> Any:
        alive.append(tensor)  # an address is not used again while it lives
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in known:
            memories[storage.data_ptr()] = storage.nbytes()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        again = model(x).sum()
    assert kept.total + kept.outside == sum(memories.values())
    assert sorted(entry.bytes for entry in kept.entries) == sorted(memories.values())
    assert kept.total > kept.outside
    del again


def test_views_count_with_their_base(torch: ModuleType) -> None:
    x = torch.ones(100, requires_grad=True)
    h = x.exp()
    loss = (h[:3] * h[:3]).sum()
    del h
    kept = graph.ledger(loss)
    assert kept.total == 400 and len(kept.entries) == 1
    entry = kept.entries[0]
    assert (entry.op, entry.nodes) == ("ExpBackward0", 2)


def test_sums_by_line_op_and_module() -> None:
    import retrograd as torch

    model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Tanh(), torch.nn.Linear(8, 3))
    with graph.watch(engine="retrograd") as w:
        model(torch.ones(2, 4)).exp().sum().backward()
    kept = w.steps[0].ledger
    assert [(row.key, row.bytes) for row in kept.by("op")] == [
        ("TanhBackward0", 64),
        ("ExpBackward0", 24),
    ]
    assert [(row.key, row.bytes) for row in kept.by("module")] == [
        ("Sequential.1", 64),
        ("(module not known)", 24),
    ]
    (line,) = kept.by("line")
    assert "test_ledger.py:" in line.key and line.share == 1.0
    with pytest.raises(ValueError, match="key must be one of line, op, module, not 'file'"):
        kept.by("file")


def test_everything_that_lives() -> None:
    import retrograd as torch

    before = graph.ledger(engine="retrograd").total
    x = torch.ones(1000, requires_grad=True)
    held = [x.exp() for _ in range(3)]
    assert graph.ledger(engine="retrograd").total == before + 3 * 4000
    held[0].sum().backward()
    assert graph.ledger(engine="retrograd").total == before + 2 * 4000
    held.clear()
    assert graph.ledger(engine="retrograd").total == before


def test_tensors_of_two_libraries_are_refused() -> None:
    torch = pytest.importorskip("torch")
    import retrograd

    with pytest.raises(TypeError, match="a ledger is of one library"):
        graph.ledger(
            torch.ones(1, requires_grad=True).exp(), retrograd.ones(1, requires_grad=True).exp()
        )


def running_loss(torch: ModuleType) -> Any:
    """The sum of the losses keeps every step's graph."""
    w = torch.ones(10, requires_grad=True)
    total = 0
    for _ in range(4):
        total = total + (w.exp() * w).sum()
        yield total


def test_a_running_loss_grows_at_every_step(torch: ModuleType) -> None:
    with graph.watch(engine=torch.__name__) as watched:
        for total in running_loss(torch):
            total.backward(retain_graph=True)
    assert [step.bytes for step in watched.steps] == [40, 80, 120, 160]
    assert [step.change for step in watched.steps] == [0, 40, 40, 40]
    assert watched.peak is watched.steps[-1]
    changes = watched.between(1, 4)
    assert list(changes.values()) == [120]
    assert "test_ledger.py" in next(iter(changes))  # the line is known in PyTorch too
    assert watched.steps[0].place is not None and watched.steps[0].place.file == __file__
    assert "the most at call 4" in str(watched)


def test_the_program_is_unchanged(torch: ModuleType) -> None:
    def losses() -> list[float]:
        torch.manual_seed(0)
        model = torch.nn.Sequential(
            torch.nn.Linear(4, 4), torch.nn.Dropout(), torch.nn.Linear(4, 1)
        )
        optimizer = torch.optim.Adam(model.parameters(), 0.1)
        found = []
        for _ in range(5):
            optimizer.zero_grad()
            loss = model(torch.ones(3, 4)).pow(2).mean()
            loss.backward()
            optimizer.step()
            found.append(loss.item())
        return found

    plain = losses()
    with graph.watch(engine=torch.__name__) as watched:
        assert losses() == plain
    assert len({step.bytes for step in watched.steps}) == 1
    x = torch.ones(3, requires_grad=True)
    with graph.watch(engine=torch.__name__):
        y = x.exp()
        with torch.no_grad():
            y.mul_(2)
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            y.sum().backward()
        z = x.sin().sum()
        z.backward()
        with pytest.raises(RuntimeError, match="second time"):
            z.backward()
    assert losses() == plain


def test_only_so_many_steps_are_kept(torch: ModuleType) -> None:
    x = torch.ones(3, requires_grad=True)
    with graph.watch(engine=torch.__name__, keep=6) as watched:
        for step in range(20):
            (x.exp() if step != 9 else x.exp().exp()).sum().backward()
    numbers = [step.number for step in watched.steps]
    assert numbers == [1, 2, 3, 10, 19, 20]
    with pytest.raises(ValueError, match="no step 7 is kept"):
        watched.between(1, 7)
