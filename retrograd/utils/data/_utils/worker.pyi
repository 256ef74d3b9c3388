"""`torch.utils.data._utils.worker`: what a worker knows, under PyTorch's own path.

Written by ``python -m retrograd.compat.stubs``.
"""
# fmt: off
# ruff: noqa

from retrograd.utils.data.worker import numpy_state

from retrograd.utils.data.information import WorkerInfo as WorkerInfo
_generate_state = numpy_state
from retrograd.utils.data.information import _worker_info as _worker_info
from retrograd.utils.data.information import get_worker_info as get_worker_info
