"""retrograd: PyTorch's autograd in Python, with a graph whose life is visible.

>>> import retrograd as torch
>>> x = torch.tensor([1.0, 2.0], requires_grad=True)
>>> (x * x).sum().backward()
>>> x.grad
tensor([2., 4.])

Names are PyTorch's. Some of them (`float`, `int`, `bool`, `sum`, `range` ...) are Python's too, so
nothing is computed in this module: it only collects.
"""

from importlib import import_module as _import_module
from math import e as e
from math import inf as inf
from math import nan as nan
from math import pi as pi
from typing import Any as _Any

from retrograd import above as _above
from retrograd import autograd as autograd
from retrograd import dtypes as _dtypes
from retrograd import ops as ops
from retrograd import random as random
from retrograd import reduced_dtypes as _reduced_dtypes
from retrograd import removed as _removed
from retrograd import settings as _settings
from retrograd import sparse as sparse
from retrograd import symbolic as _symbolic
from retrograd.assertions import CONDITIONS as _CONDITIONS
from retrograd.autograd.anomaly_mode import (
    is_anomaly_check_nan_enabled as is_anomaly_check_nan_enabled,
)
from retrograd.autograd.anomaly_mode import is_anomaly_enabled as is_anomaly_enabled
from retrograd.autograd.anomaly_mode import set_anomaly_enabled as set_anomaly_enabled
from retrograd.connections import CONNECTIONS as _CONNECTIONS
from retrograd.engine.grad_mode import enable_grad as enable_grad
from retrograd.engine.grad_mode import inference_mode as inference_mode
from retrograd.engine.grad_mode import is_grad_enabled as is_grad_enabled
from retrograd.engine.grad_mode import is_inference_mode_enabled as is_inference_mode_enabled
from retrograd.engine.grad_mode import no_grad as no_grad
from retrograd.engine.grad_mode import set_grad_enabled as set_grad_enabled
from retrograd.namespaces import finder as _finder
from retrograd.namespaces import missing as _missing
from retrograd.namespaces import published as _published
from retrograd.nn import recurrence_functions as _recurrence_functions
from retrograd.notices import is_warn_always_enabled as is_warn_always_enabled
from retrograd.notices import set_warn_always as set_warn_always
from retrograd.ops.compiled.install import install as _install_core
from retrograd.ops.making import absent as _absent
from retrograd.ops.making import conversion as _conversion
from retrograd.ops.making import creation as _creation
from retrograd.ops.making import dlpack as _dlpack
from retrograd.ops.making import legacy as _legacy
from retrograd.ops.making import memory_facts as _memory_facts
from retrograd.ops.making import queries as _queries
from retrograd.ops.making import ranges as _ranges
from retrograd.ops.making.legacy import set_default_tensor_type as set_default_tensor_type
from retrograd.ops.making.memory import TypedStorage as TypedStorage
from retrograd.ops.making.memory import UntypedStorage as UntypedStorage
from retrograd.ops.random import gammas as _gammas
from retrograd.ops.random import inplace as _inplace
from retrograd.ops.random import sampling as _sampling
from retrograd.ops.registry import PUBLIC as _PUBLIC
from retrograd.random import Generator as Generator
from retrograd.random import default_generator as default_generator
from retrograd.random import get_rng_state as get_rng_state
from retrograd.random import initial_seed as initial_seed
from retrograd.random import manual_seed as manual_seed
from retrograd.random import seed as seed
from retrograd.random import set_rng_state as set_rng_state
from retrograd.random import thread_safe_generator as thread_safe_generator
from retrograd.sparse import functions as _sparse_functions
from retrograd.sparse import methods as _sparse_methods
from retrograd.tensor import Tensor as Tensor
from retrograd.tensor.size import Size as Size
from retrograd.tensor.size import channels_last as channels_last
from retrograd.tensor.size import channels_last_3d as channels_last_3d
from retrograd.tensor.size import contiguous_format as contiguous_format
from retrograd.tensor.size import device as device
from retrograd.tensor.size import layout as layout
from retrograd.tensor.size import memory_format as memory_format
from retrograd.tensor.size import preserve_format as preserve_format
from retrograd.tensor.size import sparse_bsc as sparse_bsc
from retrograd.tensor.size import sparse_bsr as sparse_bsr
from retrograd.tensor.size import sparse_coo as sparse_coo
from retrograd.tensor.size import sparse_csc as sparse_csc
from retrograd.tensor.size import sparse_csr as sparse_csr
from retrograd.tensor.size import strided as strided
from retrograd.tensors import pickling as _pickling
from retrograd.tensors import representation as _representation
from retrograd.tensors import sharing as _sharing
from retrograd.tensors.printing import get_printoptions as get_printoptions
from retrograd.tensors.printing import printoptions as printoptions
from retrograd.tensors.printing import set_printoptions as set_printoptions

__version__ = "0.1.0"

newaxis = None

has_lapack = True
has_mkl = False
has_openmp = False
has_spectral = True

# imported for what they attach to Tensor and publish below
_LOADED = (
    *(_conversion, _creation, _dlpack, _inplace, _pickling, _queries, _ranges, _sharing),
    *(_absent, _gammas, _memory_facts, _removed, _representation, _sampling, _settings, _symbolic),
    *(_recurrence_functions, _sparse_functions, _sparse_methods),
)

# Modules that a small program does not need: imported when asked for.
_MODULES = _finder.TOP | frozenset(
    """
    _utils amp distributed distributions doctor fft func futures graph interchange jit library
    linalg masked multiprocessing nn optim overrides profiler quasirandom replay return_types
    serialization signal special storage testing torch_version types utils
    """.split()
)
# Names from them, by module.
_PLACES = {
    "amp": "GradScaler autocast",
    "func": "vmap",
    "futures": "Future",
    "jit": "ScriptModule",
    "model_summary": "summary",
    "_C": "PyTorchFileReader PyTorchFileWriter SymBool SymFloat SymInt",
    "ops.making.compiled_part": "_reshape_from_tensor _shape_as_tensor",
    "backend.cuda.errors": "AcceleratorError OutOfMemoryError",
    "namespaces.streams": "Event Stream",
    "progress_bar": "progress",
    "serialization": "load save",
}
_NAMES = {name: place for place, names in _PLACES.items() for name in names.split()}

_above.connect(_CONNECTIONS)
globals().update(_dtypes.PUBLIC_NAMES)
globals().update(_reduced_dtypes.PUBLIC_NAMES)
globals().update(_legacy.TYPED_TENSORS)
globals().update(_CONDITIONS)
globals().update(_published(_PUBLIC["torch"], __name__))
_finder.install()
_install_core()


def __getattr__(name: str) -> _Any:
    if name in _MODULES:
        return _import_module(f"retrograd.{name}")
    if name in _NAMES:
        found = getattr(_import_module(f"retrograd.{_NAMES[name]}"), name)
    elif name.endswith("Storage"):
        found = _import_module("retrograd.storage").TYPED_STORAGES.get(name)
    elif "autocast" in name:
        found = _import_module("retrograd.amp.switches").PUBLIC.get(name)
    elif name.startswith("_foreach_"):
        found = _import_module("retrograd.foreach").PUBLIC.get(name)
    else:
        found = None
    if found is None:
        raise _missing(__name__, name, __dir__())
    globals().update(_published({name: found}, "retrograd"))
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *_MODULES, *_NAMES})
