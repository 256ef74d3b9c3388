"""What a checkpoint keeps: the arguments, and nothing else, until backward; and what it leaves."""

from __future__ import annotations

import gc
import threading
import weakref
from collections.abc import Iterator
from typing import Any

import pytest

import retrograd as torch
from retrograd.engine.state import HOT, STATE
from retrograd.utils.checkpoint import (
    CheckpointError,
    checkpoint,
    checkpoint_sequential,
    set_checkpoint_early_stop,
)

SIZE = 1000


@pytest.fixture(autouse=True)
def no_collector() -> Iterator[None]:
    """Arrays must go when the last reference goes, not when cycles are collected."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


class Layers:
    """Some steps of exp and sin; counts the bytes of their results that are alive."""

    def __init__(self, count: int) -> None:
        self.count = count
        self.made: list[weakref.ref[Any]] = []
        self.most = 0

    def __call__(self, x: Any) -> Any:
        for _ in range(self.count):
            x = x.sin().exp()
            self.made.append(weakref.ref(x._array))
            self.most = max(self.most, self.alive)
        return x

    @property
    def alive(self) -> int:
        """Bytes of results that still exist."""
        return sum(0 if ref() is None else ref().nbytes for ref in self.made)


def leaf() -> Any:
    return torch.full((SIZE,), 0.1, requires_grad=True)


BYTES = 4 * SIZE


def test_nothing_is_kept_between_forward_and_backward() -> None:
    plain, saving = Layers(10), Layers(10)
    x = leaf()
    first = plain(x).sum()
    second = checkpoint(saving, x, use_reentrant=False).sum()
    assert plain.alive == 10 * BYTES
    assert saving.alive == 0
    first.backward()
    expected = x.grad.tolist()
    x.grad = None
    second.backward()
    assert x.grad.tolist() == expected
    assert saving.alive == 0
    assert len(saving.made) == 19  # the second run stops with the last tensor that it needs


def test_reentrant_keeps_nothing_either() -> None:
    saving = Layers(10)
    out = checkpoint(saving, leaf(), use_reentrant=True).sum()
    assert saving.alive == 0
    out.backward()
    assert saving.alive == 0


def test_retained_graph_does_not_retain_what_was_recomputed() -> None:
    saving = Layers(10)
    out = checkpoint(saving, leaf(), use_reentrant=False).sum()
    out.backward(retain_graph=True)
    assert saving.alive == 0
    out.backward(retain_graph=True)
    assert saving.alive == 0


def test_values_go_as_backward_uses_them() -> None:
    seen: list[int] = []
    saving = Layers(5)

    def watched(x: Any) -> Any:
        x = saving(x)
        return x

    x = leaf()
    y = x * 1
    y.register_hook(lambda gradient: seen.append(saving.alive))
    checkpoint(watched, y, use_reentrant=False).sum().backward()
    assert seen == [0]


def test_segments_bound_the_peak() -> None:
    parts = [Layers(4) for _ in range(5)]
    counts: list[int] = []

    def watch(gradient: Any) -> None:
        counts.append(sum(part.alive for part in parts))

    x = leaf()
    value = x
    for part in parts:
        value = checkpoint(part, value, use_reentrant=False)
        value.register_hook(watch)
    value.sum().backward()
    # the results at the ends of the parts, which are the arguments of the next ones
    assert max(counts) <= 5 * BYTES
    assert len(counts) == 5


def test_sequential_keeps_the_ends_of_the_segments() -> None:
    parts = [Layers(3) for _ in range(4)]
    out = checkpoint_sequential(parts, 4, leaf(), use_reentrant=False)
    assert [part.alive for part in parts[:3]] == [BYTES] * 3
    assert parts[3].alive == 3 * BYTES  # the last one is not checkpointed
    out.sum().backward()
    assert sum(part.alive for part in parts) == BYTES  # `out` itself


def test_a_graph_that_is_dropped_lets_its_arguments_go() -> None:
    x = leaf()
    argument = x * 2
    reference = weakref.ref(argument._array)
    out = checkpoint(Layers(3), argument, use_reentrant=False)
    del argument
    assert reference() is not None
    del out
    assert reference() is None


def test_a_failed_recomputation_keeps_nothing() -> None:
    calls: list[int] = []
    saving = Layers(5)

    def function(x: Any) -> Any:
        calls.append(1)
        x = saving(x)
        if len(calls) == 2:
            raise ValueError("again")
        return x

    with set_checkpoint_early_stop(False):
        out = checkpoint(function, leaf(), use_reentrant=False).sum()
    try:
        out.backward()
    except ValueError:
        pass
    assert saving.alive == 0
    out.backward()
    assert len(calls) == 3


# --------------------------------------------------------------------------------- what it leaves


@pytest.mark.parametrize("early_stop", [True, False])
def test_no_mode_stays_behind(early_stop: bool) -> None:
    x = leaf()
    out = checkpoint(
        lambda x: checkpoint(Layers(2), x.exp(), use_reentrant=False).sin(),
        x,
        use_reentrant=False,
        early_stop=early_stop,
    )
    out.sum().backward()
    assert (STATE.saved_hooks, HOT["UNUSUAL"], HOT["NO_GRAD"]) == ((), 0, 0)


def test_a_value_written_after_it_was_recomputed_is_noticed() -> None:
    """PyTorch computes a wrong gradient here; without the checkpoint both refuse."""

    def function(x: Any) -> Any:
        y = x.exp()
        z = y * 1
        y.add_(1)
        return z * 2

    x = torch.tensor([0.0, 1.0], requires_grad=True)
    out = checkpoint(function, x, use_reentrant=False, early_stop=False)
    with pytest.raises(RuntimeError, match="modified by an inplace operation") as raised:
        out.sum().backward()
    assert raised.value.code == "RG102"


def test_the_report_names_the_lines_that_differ() -> None:
    calls: list[int] = []

    def function(x: Any) -> Any:
        calls.append(1)
        x = x.sin()
        if len(calls) == 1:
            return x.exp()
        return x[:1].tanh()

    x = torch.ones(3, requires_grad=True)
    out = checkpoint(function, x, use_reentrant=False)
    with pytest.raises(CheckpointError) as raised:
        out.sum().backward()
    error = raised.value
    assert error.code == "RG118"
    lines = [span.place.source.strip() for span in error.report.spans]
    assert lines == ["return x.exp()", "return x[:1].tanh()"]
    assert any("error[RG118]" in note for note in error.__notes__)


def test_every_public_name_is_there() -> None:
    theirs = pytest.importorskip("torch").utils.checkpoint.__all__
    assert set(torch.utils.checkpoint.__all__) == set(theirs)
    for name in theirs:
        getattr(torch.utils.checkpoint, name)


def test_threads_recompute_for_themselves() -> None:
    x = leaf()
    out = checkpoint(Layers(3), x, use_reentrant=False).sum()
    out.backward(retain_graph=True)
    expected = x.grad.clone()
    x.grad = None
    failures: list[BaseException] = []

    def work() -> None:
        try:
            for _ in range(5):
                out.backward(retain_graph=True)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert torch.allclose(x.grad, expected * 15)


def test_long_chain_of_checkpoints() -> None:
    x = torch.tensor(0.5, requires_grad=True)

    def step(value: Any) -> Any:
        return value * 1.0

    value = x
    for _ in range(200):
        value = checkpoint(step, value, use_reentrant=False)
    value.backward()
    assert x.grad.item() == 1.0
    value = x
    for _ in range(100):
        value = checkpoint(step, value, use_reentrant=True)
    value.backward()
    assert x.grad.item() == 2.0
