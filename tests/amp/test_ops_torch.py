"""Every op over its samples under autocast, beside PyTorch: dtypes and values; and the lists."""

from __future__ import annotations

import pytest

import retrograd
from retrograd.ops.calling.aten_names import event_name
from retrograd.ops.registry import COMPOSITES, OPS
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


# ----------------------------------------------------------------------------- the declarations

# What is computed otherwise here than there: ops that PyTorch makes of those with an autocast
# kernel, and functions that it does not make of them.
OWN = {
    "aten::affine_grid_generator",
    "linalg.lu_solve",
    "linalg.pinv",
    "nn.functional.bilinear",
    "torch.bartlett_window",
    "torch.convolution",
}


def kernels():
    """The names for which PyTorch has an autocast kernel on the CPU, without overloads."""
    found = torch._C._dispatch_get_all_op_names()
    has = torch._C._dispatch_has_kernel_for_dispatch_key
    return {name[6:].partition(".")[0] for name in found if has(name, "AutocastCPU")}


def composite_name(key):
    """PyTorch's name for one of our composites: ``linalg_inv`` for ``linalg.inv``."""
    if key == "torch.lu":
        return "_lu_with_info"
    space, _, name = key.rpartition(".")
    if space in ("linalg", "fft"):
        return f"{space}_{name}"
    return "cross_entropy_loss" if name == "cross_entropy" else name


def test_declarations_follow_the_dispatcher():
    theirs = kernels()
    for op in OPS.values():
        name = event_name(op)
        listed = name.startswith("aten::") and name[6:] in theirs
        assert (op.autocast is not None) == (listed or name in OWN), name
    for key, made in COMPOSITES.items():
        listed = composite_name(key) in theirs
        assert (made.autocast is not None) == (listed or key in OWN), key


def test_listed_functions_are_found():
    """Each name with an autocast kernel that is public here is reached, as an op or a function."""
    reached = {event_name(op).rpartition("::")[2] for op in OPS.values() if op.autocast}
    reached |= {composite_name(key) for key, made in COMPOSITES.items() if made.autocast}
    for name in kernels():
        space, _, rest = name.partition("_")
        place = getattr(retrograd, space, None) if space in ("linalg", "fft") else retrograd
        public = rest if place is not retrograd else name
        if name.startswith("_") or public not in vars(place):
            continue
        assert name in reached, name
