"""The workloads: each is written once, against a module called `torch`.

A workload is a function that takes the module (PyTorch or retrograd), prepares its tensors and
returns a `Prepared`: the step to time and the leaf tensors it changes. Inputs come from plain
formulas, so that both sides start from the same values.
"""

# imported for the workloads that they register, in the order of the table
from benchmarks.workloads import tensors as _tensors  # noqa: F401, I001
from benchmarks.workloads import training as _training  # noqa: F401
from benchmarks.workloads import autograd as _autograd  # noqa: F401
from benchmarks.workloads import transforms as _transforms  # noqa: F401
from benchmarks.workloads import ops as _ops  # noqa: F401
from benchmarks.workloads import calls as _calls  # noqa: F401
from benchmarks.workloads import draws as _draws  # noqa: F401
from benchmarks.workloads.loading import LOADING
from benchmarks.workloads.registry import WORKLOADS as WORKLOADS
from benchmarks.workloads.single import OPS

EVERY = {**WORKLOADS, **OPS, **LOADING}  # whose names have nothing in common
"""What a worker can run: the workloads, single ops, and epochs of a `DataLoader`."""
