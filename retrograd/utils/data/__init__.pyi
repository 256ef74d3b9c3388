"""Data for training: datasets, samplers and the loader that makes batches of them.

Written by ``python -m retrograd.compat.stubs``.
"""
# fmt: off
# ruff: noqa


from retrograd.utils.data.sampler import BatchSampler as BatchSampler
from retrograd.utils.data.dataset import ChainDataset as ChainDataset
from retrograd.utils.data.dataset import ConcatDataset as ConcatDataset
from retrograd.utils.data.dataloader import DataLoader as DataLoader
from retrograd.utils.data.dataset import Dataset as Dataset
from retrograd.utils.data.distributed import DistributedSampler as DistributedSampler
from retrograd.utils.data.dataset import IterableDataset as IterableDataset
from retrograd.utils.data.sampler import RandomSampler as RandomSampler
from retrograd.utils.data.sampler import Sampler as Sampler
from retrograd.utils.data.sampler import SequentialSampler as SequentialSampler
from retrograd.utils.data.dataset import StackDataset as StackDataset
from retrograd.utils.data.dataset import Subset as Subset
from retrograd.utils.data.sampler import SubsetRandomSampler as SubsetRandomSampler
from retrograd.utils.data.dataset import TensorDataset as TensorDataset
from retrograd.utils.data.sampler import WeightedRandomSampler as WeightedRandomSampler
from retrograd.utils.data.fetch import _DatasetKind as _DatasetKind
from retrograd.utils.data import _utils as _utils
from retrograd.utils.data.collate import default_collate as default_collate
from retrograd.utils.data.collate import default_convert as default_convert
from retrograd.utils.data.information import get_worker_info as get_worker_info
from retrograd.utils.data.dataset import random_split as random_split
