"""Smaller modules in both libraries: calls with the same outcome, value or error."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import retrograd

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch

CALLS = """
t.cuda.memory_allocated()
t.cuda.max_memory_allocated()
t.cuda.memory_reserved(0)
t.cuda.memory_stats()
t.cuda.device_count()
t.cuda.is_tf32_supported()
t.cuda.get_arch_list()
t.cuda.seed_all()
t.cuda.current_device()
t.cuda.synchronize()
t.cuda.get_device_name(0)
t.cuda.get_device_properties(0)
t.cuda.mem_get_info()
t.cuda.Event()
t.cuda.Stream()
t.cuda.CUDAGraph()
t.cuda.device(0).__enter__()
t.cuda.device(-1).__enter__()
t.cuda.device('cpu')
t.cuda.device_of(t.ones(1)).__enter__()
t.cuda.stream(None).__enter__()
t.cuda.get_rng_state()
t.cuda.get_rng_state_all()
t.cuda.FloatStorage(2)
t.cuda.FloatTensor(2)
t.cuda.has_magma
issubclass(t.cuda.OutOfMemoryError, RuntimeError)
t.OutOfMemoryError.__name__
t.accelerator.memory_allocated()
t.accelerator.current_device_index()
t.accelerator.set_device_index(0)
t.accelerator.current_accelerator()
t.backends.cudnn.version()
t.backends.cudnn.flags(enabled=True).__enter__()
t.backends.cuda.flash_sdp_enabled()
t.backends.cuda.is_flash_attention_available()
t.backends.cuda.sdp_kernel().__enter__()
t.backends.mps.is_available()
t.backends.cuda.is_built()
t.set_deterministic_debug_mode('bad')
t.set_deterministic_debug_mode(7)
t.set_deterministic_debug_mode(None)
t.set_deterministic_debug_mode('warn'), t.get_deterministic_debug_mode()
t.are_deterministic_algorithms_enabled()
t.set_deterministic_debug_mode(0), t.are_deterministic_algorithms_enabled()
t.sym_int(-2.7)
t.sym_max(1, 2.5), t.sym_max(1.0, 2), t.sym_min(3, 2)
t.sym_sum([1, 2]), t.sym_not(True), t.sym_ite(True, 1, 2), t.sym_float(2), t.sym_sqrt(4)
t.version.cuda, t.version.hip, t.version.debug
t.FloatStorage([1, 2, 3])
t.LongStorage([1, 2, 3]).tolist()
t.BoolStorage([True, False]).tolist()
t.FloatStorage(3).size(), t.FloatStorage.dtype
isinstance(t.FloatStorage(1), t.FloatStorage), isinstance(t.FloatStorage(1), t.DoubleStorage)
t.is_storage(t.IntStorage(2))
t.ones(2).storage_type().__name__
t.overrides.has_torch_function((t.ones(1),))
t.overrides.is_tensor_like(t.ones(1)), t.overrides.is_tensor_like(1)
t.overrides.resolve_name(t.add), t.overrides.resolve_name(t.nn.functional.relu)
t.overrides.is_tensor_method_or_property(t.Tensor.add)
t.multiprocessing.get_all_sharing_strategies()
t.multiprocessing.get_sharing_strategy()
t.functional.einsum('i,i->', t.ones(2), t.ones(2))
t.random.thread_safe_generator()
t.utils.dlpack.DLDeviceType.kDLCUDA
t.nn.attention.SDPBackend.MATH
t.nn.attention.sdpa_kernel(3).__enter__()
t.nn.attention.sdpa_kernel([t.nn.attention.SDPBackend.MATH]).__enter__()
t.ones(2).xpu()
t.ones(2).ipu()
t.ones(2).is_xla, t.ones(2).is_vulkan, t.ones(2).is_ipu, t.ones(2).name
t.ones(2, 3, 4).permute(2, 0, 1).dim_order()
t.ones(2, 1, 1).dim_order(ambiguity_check=True)
t.ones(2, 3).resize(3, 2), t.ones(2, 3).resize_as(t.ones(6))
t.ones(2, 3).resize(3, 3)
t.ones(2).map2_(t.ones(2), t.ones(2), lambda a, b, c: a + b + c)
t.ones(2).module_load(t.zeros(2)), t.ones(2).module_load(t.zeros(2), assign=True)
t.ones(2).is_distributed(), t.is_distributed(t.ones(2)), t.dequantize(t.ones(2))
t.hash_tensor(t.tensor([1.5, 2.5])), t.hash_tensor(t.arange(6).reshape(2, 3), 1)
t.hash_tensor(t.tensor([1.5, 2.5, 1.0]), dim=0, keepdim=True), t.hash_tensor(t.ones(3).half())
t.hash_tensor(t.ones(2), mode=1)
t.hash_tensor(t.ones(2) * 1j)
t.ones(2).reinforce(1)
t.get_device_module('nonsense')
t.get_device_module().__name__.split('.')[-1]
t._C._LinAlgError is t.linalg.LinAlgError
t.cuda.CudaError.__mro__[1:]
t.types.Number
""".strip().splitlines()
WINDOWS = [
    ("bartlett", {}), ("blackman", {}), ("cosine", {}), ("exponential", {"tau": 2.0}),
    ("exponential", {"center": 1, "sym": False}), ("gaussian", {"std": 0.7}),
    ("general_cosine", {"a": [0.4, 0.3, 0.2]}), ("general_hamming", {"alpha": 0.7}),
    ("hamming", {}), ("hann", {}), ("kaiser", {"beta": 5.0}), ("nuttall", {}),
    ("exponential", {"tau": 0}), ("gaussian", {"std": -1}), ("kaiser", {"beta": -1}),
    ("exponential", {"center": 1}), ("general_cosine", {"a": []}), ("general_cosine", {"a": 3}),
]  # fmt: skip


def outcome(library, expression):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            found = eval(expression, {"t": library})
        except Exception as error:
            return type(error).__name__, str(error).split("\n")[0]
    return repr(found)


@pytest.mark.parametrize("expression", CALLS)
def test_same_outcome(expression):
    assert outcome(retrograd, expression) == outcome(torch, expression)


@pytest.mark.parametrize("length", [-1, 0, 1, 2, 7, 8])
@pytest.mark.parametrize(("name", "options"), WINDOWS, ids=str)
@pytest.mark.parametrize("more", [{}, {"sym": False}, {"dtype": "float64"}, {"dtype": "float16"}])
def test_windows(name, options, length, more):
    seen = []
    for library in (retrograd, torch):
        named = {**options, **more}
        if "dtype" in named:
            named["dtype"] = getattr(library, named["dtype"])
        try:
            seen.append(getattr(library.signal.windows, name)(length, **named))
        except Exception as error:
            seen.append((type(error).__name__, str(error).split("\n")[0]))
    ours, theirs = seen
    if isinstance(theirs, tuple):
        assert ours == theirs
        return
    assert str(ours.dtype) == str(theirs.dtype)
    tolerance = 1e-12 if "dtype" in more else 3e-7
    np.testing.assert_allclose(ours.numpy(), theirs.numpy(), rtol=tolerance, atol=tolerance)
