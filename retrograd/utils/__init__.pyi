"""Utilities: checkpointing, data loading.

Written by ``python -m retrograd.compat.stubs``.
"""
# fmt: off
# ruff: noqa


from retrograd.utils import backcompat as backcompat
from retrograd.utils import benchmark as benchmark
from retrograd.utils import bundled_inputs as bundled_inputs
from retrograd.utils import checkpoint as checkpoint
from retrograd.utils import collect_env as collect_env
from retrograd.utils import cpp_extension as cpp_extension
from retrograd.utils import data as data
from retrograd.utils import deterministic as deterministic
from retrograd.utils import dlpack as dlpack
from retrograd.utils import flop_counter as flop_counter
from retrograd.utils import hooks as hooks
from retrograd.utils import mobile_optimizer as mobile_optimizer
from retrograd.utils import model_zoo as model_zoo
from retrograd.utils.swapping import swap_tensors as swap_tensors
from retrograd.utils import throughput_benchmark as throughput_benchmark
