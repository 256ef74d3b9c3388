"""The functions of autocast, their errors and warnings, in both libraries."""

from __future__ import annotations

import re
import warnings

import pytest

import retrograd

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch

DEVICES = ["cpu", "cuda", "xpu", "mps", "xla", "hpu", "ipu", "mtia", "maia", "hip", "meta"]
DEVICES += ["vulkan", "privateuseone", "cuda:0", "nonsense", 3]


def outcome(function, library):
    """What a call returns or raises, and the warnings it gives."""
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        try:
            result = function(library)
            shown = type(result).__name__ if hasattr(result, "__enter__") else str(result)
        except Exception as error:
            kind = next(k for k in type(error).__mro__ if k.__module__ == "builtins")
            shown = f"{kind.__name__}: {str(error).replace('retrograd.tensor.size', 'torch')}"
    texts = [(w.category.__name__, re.sub(r" \(Triggered.*", "", str(w.message))) for w in seen]
    return shown, texts


def same(function):
    assert outcome(function, retrograd) == outcome(function, torch)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize(
    "call",
    [
        lambda t, d: t.get_autocast_dtype(d),
        lambda t, d: t.is_autocast_enabled(d),
        lambda t, d: t.amp.is_autocast_available(d),
        lambda t, d: t.autocast(d),
        lambda t, d: t.autocast(d, enabled=False),
        lambda t, d: t.set_autocast_enabled(d, False),
    ],
    ids=["dtype", "enabled", "available", "region", "disabled", "set"],
)
def test_devices(call, device):
    same(lambda t: call(t, device))


@pytest.mark.parametrize(
    "function",
    [
        lambda t: t.is_autocast_enabled(),
        lambda t: t.is_autocast_enabled(device_type="cpu"),
        lambda t: t.is_autocast_cpu_enabled(),
        lambda t: t.is_autocast_ipu_enabled(),
        lambda t: t.is_autocast_xla_enabled(),
        lambda t: t.get_autocast_cpu_dtype(),
        lambda t: t.get_autocast_gpu_dtype(),
        lambda t: t.get_autocast_ipu_dtype(),
        lambda t: t.get_autocast_xla_dtype(),
        lambda t: t.set_autocast_cpu_enabled(False),
        lambda t: t.set_autocast_cpu_enabled(1),
        lambda t: t.set_autocast_ipu_enabled(False),
        lambda t: t.set_autocast_xla_enabled(False),
        lambda t: t.set_autocast_cpu_dtype(t.bfloat16),
        lambda t: t.set_autocast_gpu_dtype(t.float16),
        lambda t: t.set_autocast_gpu_dtype(1),
        lambda t: t.set_autocast_xla_dtype(t.bfloat16),
        lambda t: t.set_autocast_ipu_dtype(t.float16),
        lambda t: t.set_autocast_enabled("cpu"),
        lambda t: t.set_autocast_enabled("cpu", 1),
        lambda t: t.set_autocast_enabled(1),
        lambda t: t.set_autocast_enabled(False),
        lambda t: t.set_autocast_dtype("cpu", 3),
        lambda t: t.set_autocast_dtype("cpu", t.bfloat16),
        lambda t: t.set_autocast_cache_enabled(1),
        lambda t: t.set_autocast_cache_enabled(True),
        lambda t: t.is_autocast_cache_enabled(),
        lambda t: t.clear_autocast_cache(),
        lambda t: t.autocast_increment_nesting(),
        lambda t: t.autocast_decrement_nesting(),
        lambda t: t.autocast(),
        lambda t: t.autocast("cpu", dtype=t.float32),
        lambda t: t.autocast("cpu", dtype=t.float64, enabled=False),
        lambda t: t.autocast("xpu", dtype=t.float32),
        lambda t: t.autocast("cuda", dtype=t.bfloat16),
        lambda t: t.autocast("cuda", enabled=False),
        lambda t: t.autocast(t.device("cpu")),
        lambda t: t.autocast("cpu")(3),
        lambda t: t.cuda.amp.autocast(),
        lambda t: t.cuda.amp.autocast(enabled=False),
        lambda t: t.cpu.amp.autocast(),
        lambda t: t.cuda.amp.custom_fwd(len).__name__,
        lambda t: t.cuda.amp.custom_bwd(len).__name__,
        lambda t: t.cuda.amp.autocast_mode._cast(1, t.float32),
        lambda t: t.cuda.amp.common.amp_definitely_not_available(),
        lambda t: t.amp.custom_fwd(len),
        lambda t: t.amp.custom_fwd(device_type=3),
        lambda t: t.amp.custom_bwd(device_type=3),
    ],
)
def test_calls(function):
    same(function)


def test_other_devices_have_their_own_switch():
    for t in (retrograd, torch):
        with t.autocast("xpu", dtype=t.bfloat16):
            assert t.is_autocast_enabled("xpu") and not t.is_autocast_enabled("cpu")
            assert t.get_autocast_dtype("xpu") is t.bfloat16
            assert (t.ones(2, 2) @ t.ones(2, 2)).dtype is t.float32
        assert not t.is_autocast_enabled("xpu")
        assert t.get_autocast_dtype("xpu") is t.float16


def test_an_unsupported_dtype_is_set_all_the_same():
    for t in (retrograd, torch):
        with pytest.warns(UserWarning, match="Disabling autocast"):
            region = t.autocast("cpu", dtype=t.float32)
        with region:
            assert t.get_autocast_dtype("cpu") is t.float32
            assert not t.is_autocast_enabled("cpu")
        assert t.get_autocast_dtype("cpu") is t.bfloat16


def test_public_names():
    assert set(retrograd.amp.__all__) == set(torch.amp.__all__)
    for name in dir(torch):
        if "autocast" in name:
            assert callable(getattr(retrograd, name)), name
    assert retrograd.GradScaler is retrograd.amp.GradScaler


def programs(t):
    """Small programs whose result must be the same."""
    F = t.nn.functional
    half, single, lower, wide = (
        t.ones(2, 2, dtype=getattr(t, name))
        for name in ("float16", "float32", "bfloat16", "float64")
    )
    yield lambda: t.cat([half, single])
    yield lambda: t.cat([single, half])
    yield lambda: t.cat([lower, single])
    yield lambda: t.cat([lower, wide])
    yield lambda: t.cat([wide, half])
    yield lambda: t.cat([t.ones(2, 2, dtype=t.int32), lower])
    yield lambda: t.stack([lower, single])
    yield lambda: single.index_copy(0, t.tensor([0]), lower[:1])
    yield lambda: t.mm(wide, single)
    yield lambda: t.mm(half, single)
    yield lambda: t.mm(t.ones(2, 2, dtype=t.int64), single)
    yield lambda: t.mm(t.ones(2, 2, dtype=t.complex64), single)
    yield lambda: t.mm(single, single, out=t.empty(2, 2))
    yield lambda: single.clone().addmm_(lower, single)
    yield lambda: t.prod(lower, dtype=t.bfloat16)
    yield lambda: lower.prod(0)
    yield lambda: F.layer_norm(lower, [2], single[0], single[0])
    yield lambda: F.mse_loss(lower, single)
    yield lambda: F.max_pool3d(t.ones(1, 1, 2, 2, 2).bfloat16(), 2, return_indices=True)[0]
    yield lambda: F.max_pool3d(t.ones(1, 1, 2, 2, 2).bfloat16(), 2)
    yield lambda: t.linalg.inv(lower, out=t.empty(2, 2))
    yield lambda: t.einsum("ij,jk->ik", single, lower)


@pytest.mark.parametrize("number", range(len(list(programs(retrograd)))))
def test_programs(number):
    found = []
    for t in (retrograd, torch):
        with t.autocast("cpu"):
            program = list(programs(t))[number]
            found.append(outcome(lambda t, program=program: program().dtype, t))
    assert found[0] == found[1]
