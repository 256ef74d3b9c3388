"""Utilities: checkpointing, data loading."""

from importlib import import_module as _import_module
from typing import Any

from retrograd.namespaces import missing
from retrograd.utils import checkpoint as checkpoint
from retrograd.utils import data as data
from retrograd.utils import hooks as hooks
from retrograd.utils.swapping import swap_tensors as swap_tensors

# seldom needed: imported when asked for
_LAZY = frozenset(
    """
    _foreach_utils _pytree backcompat benchmark bundled_inputs collect_env cpp_extension dlpack
    flop_counter mobile_optimizer model_zoo throughput_benchmark
    """.split()
)


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        return _import_module(f"retrograd.utils.{name}")
    raise missing(__name__, name, globals())
