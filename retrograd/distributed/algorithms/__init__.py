"""Ways of several processes to train one model."""

from retrograd.distributed.algorithms import ddp_comm_hooks as ddp_comm_hooks
from retrograd.distributed.algorithms.join import Join as Join
from retrograd.distributed.algorithms.join import Joinable as Joinable
from retrograd.distributed.algorithms.join import JoinHook as JoinHook
