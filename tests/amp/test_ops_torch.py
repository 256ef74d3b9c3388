"""Every op over its samples under autocast, beside PyTorch: dtypes and values; and the lists."""

from __future__ import annotations

import pytest

import retrograd
from retrograd.ops.calling.autocasting import FLOAT32, LOWER, WIDEST, listed_composites, way_of
from retrograd.ops.registry import OPS
from tests.amp.walk import SAMPLES, call, close, kinds
from tests.ops.compare import is_tensor, to_array

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch


@pytest.mark.parametrize("name", SAMPLES)
def test_dtypes_and_values(name):
    for sample in SAMPLES[name]:
        for dtype, lower in (("float32", "bfloat16"), ("bfloat16", "bfloat16")):
            theirs, _ = call(torch, name, sample, dtype, lower)
            ours, _ = call(retrograd, name, sample, dtype, lower)
            if kinds(ours) != kinds(theirs):
                apart = [kinds(call(t, name, sample, dtype, None)[0]) for t in (retrograd, torch)]
                assert apart[0] != apart[1], (sample, dtype, ours, theirs)
            elif kinds(theirs) != "raises":
                pairs = [p for p in zip(ours, theirs, strict=True) if is_tensor(p[1])]
                if all(close(to_array(x), to_array(y)) for x, y in pairs):
                    continue
                pair = [call(t, name, sample, dtype, None)[0] for t in (retrograd, torch)]
                same = all(
                    close(to_array(x), to_array(y)) for x, y in zip(*pair, strict=True)
                    if is_tensor(y)
                )  # fmt: skip
                assert not same, (sample, dtype, ours, theirs)  # random numbers differ anyway


# ------------------------------------------------------------------------------------ the lists


def kernels():
    """The names for which PyTorch has an autocast kernel on the CPU, without overloads."""
    found = torch._C._dispatch_get_all_op_names()
    has = torch._C._dispatch_has_kernel_for_dispatch_key
    return {name[6:].partition(".")[0] for name in found if has(name, "AutocastCPU")}


def test_lists_are_those_of_the_dispatcher():
    assert LOWER | FLOAT32 | WIDEST == kernels()
    assert not LOWER & FLOAT32 and not WIDEST & (LOWER | FLOAT32)


def test_listed_functions_are_found():
    """Each name of a list that is public here is reached, as an op or as a function."""
    from retrograd.ops.calling.aten_names import event_name
    from retrograd.ops.calling.autocasting import _composite_name

    reached = {event_name(op).rpartition("::")[2] for op in OPS.values() if way_of(op)}
    reached |= {_composite_name(key) for key in listed_composites()}
    for name in LOWER | FLOAT32 | WIDEST:
        space, _, rest = name.partition("_")
        place = getattr(retrograd, space, None) if space in ("linalg", "fft") else retrograd
        public = rest if place is not retrograd else name
        if name.startswith("_") or public not in vars(place):
            continue
        assert name in reached, name
