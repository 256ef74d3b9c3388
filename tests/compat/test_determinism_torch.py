"""Deterministic programs: what is refused, warned of and filled is what PyTorch says on the CPU."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

import retrograd

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch

PUT = "t.zeros(4).put_(t.tensor([0, 2]), t.tensor([2.0, 3.0])"
REFUSED = f"""
{PUT})
{PUT}, False)
{PUT}, accumulate=False)
t.zeros(4, dtype=t.int64).put_(t.tensor([0]), t.tensor([2]))
t.put(t.zeros(4), t.tensor([0]), t.tensor([2.0]))
t.zeros(4).put(t.tensor([0]), t.tensor([2.0]))
t.nn.functional.max_unpool1d(t.ones(1, 2), t.tensor([[1, 2]]), 2)
t.nn.functional.max_unpool2d(t.ones(1, 1, 2), t.tensor([[[1, 2]]]), (1, 2))
t.nn.functional.max_unpool3d(t.ones(1, 1, 1, 2), t.tensor([[[[1, 2]]]]), (1, 1, 2))
t.nn.MaxUnpool2d((1, 2))(t.ones(1, 1, 2), t.tensor([[[1, 2]]]))
""".strip().splitlines()

TAKEN = f"""
{PUT}, accumulate=True)
t.put(t.zeros(4), t.tensor([0, 0]), t.tensor([2.0, 3.0]), accumulate=True)
t.zeros(4).index_put_((t.tensor([0, 1]),), t.tensor([2.0, 3.0]))
t.zeros(4).index_put((t.tensor([0, 0]),), t.tensor([2.0, 3.0]), accumulate=True)
t.zeros(4).index_add(0, t.tensor([0, 0]), t.tensor([2.0, 3.0]))
t.zeros(4).index_copy(0, t.tensor([0]), t.tensor([2.0]))
t.zeros(4).scatter(0, t.tensor([0, 1]), t.tensor([2.0, 3.0]))
t.zeros(4).scatter_add(0, t.tensor([0, 0]), t.tensor([2.0, 3.0]))
t.zeros(4).scatter_reduce(0, t.tensor([0, 0]), t.tensor([2.0, 3.0]), 'sum')
t.arange(4.0).take(t.tensor([0, 0]))
t.arange(4.0).median(), t.arange(4.0).kthvalue(2), t.arange(4.0).cumsum(0)
t.histc(t.arange(4.0), 4), t.bincount(t.tensor([1, 1]), t.tensor([0.5, 1.0]))
t.nn.functional.interpolate(t.ones(1, 1, 2, 2), scale_factor=2, mode='bilinear')
t.nn.functional.ctc_loss(t.zeros(3, 1, 3), t.tensor([[1]]), t.tensor([3]), t.tensor([1]))
t.nn.functional.grid_sample(t.ones(1, 1, 2, 2), t.zeros(1, 1, 1, 2), align_corners=False)
t.nn.functional.adaptive_max_pool2d(t.ones(1, 1, 4, 4), 2)
t.nn.functional.pad(t.ones(1, 1, 4), (1, 1), 'reflect')
t.bmm(t.ones(1, 2, 2), t.ones(1, 2, 2))
t.nn.functional.embedding_bag(t.tensor([[0]]), t.ones(2, 2))
""".strip().splitlines()

DTYPES = "float16 bfloat16 float32 float64 complex64 complex128 int8 uint8 int16 int32 int64 bool"
FILLED = f"""
{chr(10).join(f"t.empty(3, dtype=t.{name})" for name in DTYPES.split())}
t.empty(2, 0), t.empty(()), t.empty(2, 3, requires_grad=True)
t.empty(1, 2, 2, 2, memory_format=t.channels_last)
t.empty(2, out=t.ones(2))
t.empty(5, out=t.ones(5, dtype=t.int32))
t.empty_like(t.ones(2, 2))
t.empty_like(t.ones(2, 2), dtype=t.int16)
t.empty_like(t.ones(2, 3).t())
t.empty_strided((2, 2), (1, 3))
t.empty_permuted((2, 2), (1, 0))
t.ones(2).new_empty(3)
t.ones(2, dtype=t.uint8).new_empty((1, 2))
t.ones(2).new_empty_strided((2, 2), (1, 2))
t.ones(2).resize_(5)
t.ones(2, dtype=t.int32).resize_(2, 2)
t.ones(6).resize_(3)
t.ones(6)[1:3].resize_(7)
t.ones(2).resize_as_(t.zeros(5))
t.Tensor(3), t.FloatTensor(2, 3), t.LongTensor(2), t.ones(2).new(3), t.Tensor(t.Size([2]))
t.Tensor([1, 2]), t.ones(2), t.full((2,), 3.0), t.zeros(2)
t.nn.Linear(2, 2).to_empty(device='cpu').weight
t.nn.LayerNorm(2).weight
""".strip().splitlines()

SET = """
t.use_deterministic_algorithms()
t.use_deterministic_algorithms('x')
t.use_deterministic_algorithms(1)
t.use_deterministic_algorithms(None)
t.use_deterministic_algorithms(True, warn_only=1)
t.use_deterministic_algorithms(True, True)
t.set_deterministic_debug_mode('loud')
t.set_deterministic_debug_mode(3)
t.set_deterministic_debug_mode(1.0)
(t.set_deterministic_debug_mode(True), t.get_deterministic_debug_mode())
(t.set_deterministic_debug_mode('error'), t.are_deterministic_algorithms_enabled())
(t.set_deterministic_debug_mode(1), t.is_deterministic_algorithms_warn_only_enabled())
(t.set_deterministic_debug_mode('default'), t.get_deterministic_debug_mode())
setattr(t.utils.deterministic, 'fill_uninitialized_memory', 1)
setattr(t.utils.deterministic, 'fill_uninitialized_memory', 'no')
t.utils.deterministic.fill_uninitialized_memory
""".strip().splitlines()


@contextmanager
def deterministic(library: Any, warn_only: bool = False) -> Iterator[None]:
    library.use_deterministic_algorithms(True, warn_only=warn_only)
    try:
        yield
    finally:
        library.use_deterministic_algorithms(False)
        library.utils.deterministic.fill_uninitialized_memory = True


def outcome(call: str, library: Any, warn_only: bool = False) -> tuple[Any, ...]:
    """What a call gives in a deterministic program, or its error; and what it warns of."""
    with warnings.catch_warnings(record=True) as said, deterministic(library, warn_only):
        warnings.simplefilter("always")
        try:
            found = plain(eval(call, {"t": library}))
        except Exception as error:
            found = (type(error).__name__, str(error))
    texts = [str(warning.message).split(" (Triggered")[0] for warning in said]
    return found, [text for text in texts if "determin" in text]


def plain(value: Any) -> Any:
    """A result in a form that compares, nan with nan."""
    if isinstance(value, (torch.Tensor, retrograd.Tensor)):
        value = value.detach()
        shown = value.float() if value.dtype in (torch.bfloat16, retrograd.bfloat16) else value
        return str(value.dtype), value.stride(), repr(np.asarray(shown).tolist())
    if isinstance(value, (tuple, list)):
        return [plain(item) for item in value]
    return value


@pytest.mark.parametrize("call", REFUSED)
def test_what_has_no_deterministic_algorithm_is_refused(call):
    found = outcome(call, retrograd)
    assert found == outcome(call, torch)
    assert found[0][0] == "RuntimeError" and "does not have a deterministic" in found[0][1]


@pytest.mark.parametrize("call", REFUSED)
def test_or_warned_of(call):
    found = outcome(call, retrograd, warn_only=True)
    assert found == outcome(call, torch, warn_only=True)
    assert len(found[1]) == 1


@pytest.mark.parametrize("call", [*TAKEN, *FILLED, *SET])
def test_everything_else_is_as_in_pytorch(call):
    assert outcome(call, retrograd) == outcome(call, torch)


def test_a_refused_write_writes_nothing():
    target = retrograd.zeros(3)
    with deterministic(retrograd), pytest.raises(RuntimeError, match="put_ does not have"):
        target.put_(retrograd.tensor([0]), retrograd.tensor([2.0]))
    assert target.tolist() == [0.0, 0.0, 0.0] and target._version == 0


def test_memory_is_filled_only_where_it_was_asked_for():
    """What is left unfilled has no value to compare: the fill itself must not happen."""
    for library in (retrograd, torch):
        with deterministic(library):
            library.utils.deterministic.fill_uninitialized_memory = False
            kept = library.arange(4.0).resize_(2).resize_(4)
            assert kept.tolist() == [0.0, 1.0, 2.0, 3.0]
            assert library.utils.deterministic.fill_uninitialized_memory is False
            # the library's own work is not what is filled
            assert not library.nn.Linear(3, 3).weight.isnan().any()
