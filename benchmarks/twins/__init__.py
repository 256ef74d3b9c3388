"""The workloads as a programmer of JAX writes them: one jitted function for a whole step.

A twin is registered under the name of its workload and takes the module, `jax`. Its step is
compiled once; parameters and the optimizer's state are one tree, whose buffers are donated;
optimizers are written out. Values are compared with PyTorch's as those of any other worker.
"""

# imported for the twins that they register
from benchmarks.twins import recurrent as _recurrent  # noqa: F401
from benchmarks.twins import tensors as _tensors  # noqa: F401
from benchmarks.twins import training as _training  # noqa: F401
from benchmarks.twins import transforms as _transforms  # noqa: F401
from benchmarks.twins.registry import TWINS as TWINS
