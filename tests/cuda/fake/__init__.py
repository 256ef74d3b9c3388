"""A `cupy` without a GPU: the strict arrays pose as those of CUDA devices.

One device or two with a little memory each, streams and events that are always reached, a pool that
counts, and kernels that cannot be launched. What retrograd calls of CuPy is here under CuPy's name
and does what it does there; everything else is missing, so a new call shows at once.

    with posing():
        torch.ones(2, device="cuda")
"""

from __future__ import annotations

import contextlib
import importlib
import sys

from retrograd.backend import cuda
from retrograd.backend.cuda import overrides
from retrograd.backend.device import NAMED, forget
from tests.cuda.fake import device_arrays, machine
from tests.cuda.fake.library import cupy, cupyx
from tests.strict import arrays


@contextlib.contextmanager
def posing(devices=1):
    """While it lasts there are CUDA devices, by this module in CuPy's place."""
    kept = {name: sys.modules.get(name) for name in ("cupy", "cupyx")}
    sys.modules.update(cupy=cupy, cupyx=cupyx)
    made, arrays.made = arrays.made, device_arrays.made
    install, overrides.install = overrides.install, lambda backend: None  # there are no launches
    machine.start(devices)
    cuda.forget_what_was_found()
    importlib.import_module("retrograd.random.cuda")  # the generators, by their definition
    try:
        yield machine
    finally:
        if "cuda" in NAMED:
            forget(NAMED["cuda"])
        arrays.made, overrides.install = made, install
        for name, module in kept.items():
            if module is None:
                sys.modules.pop(name)
            else:
                sys.modules[name] = module
        cuda.forget_what_was_found()
