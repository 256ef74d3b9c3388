"""Utilities: checkpointing, data loading.

Written by ``python -m retrograd.compat.stubs``.
"""
# fmt: off
# ruff: noqa

from typing import Any

backcompat: Any
from retrograd.utils import benchmark as benchmark
bundled_inputs: Any
from retrograd.utils import checkpoint as checkpoint
from retrograd.utils import collect_env as collect_env
cpp_extension: Any
from retrograd.utils import data as data
from retrograd.utils import dlpack as dlpack
flop_counter: Any
from retrograd.utils import hooks as hooks
mobile_optimizer: Any
model_zoo: Any
from retrograd.utils.swapping import swap_tensors as swap_tensors
throughput_benchmark: Any
