"""Modules on several devices or processes. There is one of each here, so little remains to do."""

from retrograd.nn.parallel.data_parallel import DataParallel as DataParallel
from retrograd.nn.parallel.data_parallel import data_parallel as data_parallel
from retrograd.nn.parallel.distributed import DistributedDataParallel as DistributedDataParallel
from retrograd.nn.parallel.parallel_apply import parallel_apply as parallel_apply
from retrograd.nn.parallel.replicate import replicate as replicate
from retrograd.nn.parallel.scatter_gather import gather as gather
from retrograd.nn.parallel.scatter_gather import scatter as scatter
