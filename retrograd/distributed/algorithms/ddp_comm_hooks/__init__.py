"""Functions for `DistributedDataParallel.register_comm_hook`."""

from retrograd.distributed.algorithms.ddp_comm_hooks import default_hooks as default_hooks
