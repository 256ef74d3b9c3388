"""The loader: a dataset, an order and a way to make batches, together an iterable of batches."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Generic, TypeVar

from retrograd.lifecycle.site import user_level
from retrograd.namespaces import from_table
from retrograd.random import Generator
from retrograd.utils.data.collate import default_collate as default_collate
from retrograd.utils.data.collate import default_convert as default_convert
from retrograd.utils.data.dataset import Dataset, IterableDataset
from retrograd.utils.data.fetch import _DatasetKind
from retrograd.utils.data.information import get_worker_info as get_worker_info
from retrograd.utils.data.iteration import _BaseDataLoaderIter, _SingleProcessDataLoaderIter
from retrograd.utils.data.sampler import BatchSampler, RandomSampler, Sampler, SequentialSampler

Sample = TypeVar("Sample", covariant=True)

_collate_fn_t = Callable[[list[Any]], Any]

# What cannot be changed once a loader exists: its samplers were built from it.
FIXED = {"batch_size", "batch_sampler", "sampler", "drop_last", "dataset", "persistent_workers"}


class _InfiniteConstantSampler(Sampler[Any]):
    """The sampler of an iterable dataset, which has no keys and ends when it wants to."""

    def __iter__(self) -> Iterator[None]:
        while True:
            yield None


class DataLoader(Generic[Sample]):
    """Batches of a dataset, in order or shuffled, made in this process or in worker processes.

    >>> _ = torch.manual_seed(0)
    >>> list(torch.utils.data.DataLoader(range(5), batch_size=2, shuffle=True))
    [tensor([1, 4]), tensor([2, 3]), tensor([0])]
    """

    batch_size: int | None
    num_workers: int
    prefetch_factor: int | None
    _iterator: Any
    _initialized = False

    def __init__(
        self,
        dataset: Dataset[Sample] | Sequence[Sample],
        batch_size: int | None = 1,
        shuffle: bool | None = None,
        sampler: Sampler[Any] | Iterable[Any] | None = None,
        batch_sampler: Sampler[list[Any]] | Iterable[list[Any]] | None = None,
        num_workers: int = 0,
        collate_fn: Callable[[Any], object] | None = None,
        pin_memory: bool = False,
        drop_last: bool = False,
        timeout: float = 0,
        worker_init_fn: Callable[[int], None] | None = None,
        multiprocessing_context: str | None = None,
        generator: Generator | None = None,
        *,
        prefetch_factor: int | None = None,
        persistent_workers: bool = False,
        pin_memory_device: str = "",
        in_order: bool = True,
    ) -> None:
        _check_worker_options(num_workers, timeout, prefetch_factor, persistent_workers)
        self.dataset = dataset
        self.num_workers = num_workers
        self.prefetch_factor = 2 if num_workers and prefetch_factor is None else prefetch_factor
        self.pin_memory = pin_memory
        self.pin_memory_device = pin_memory_device
        self.timeout = timeout
        self.worker_init_fn = worker_init_fn
        self.multiprocessing_context = multiprocessing_context
        self.in_order = in_order
        if isinstance(dataset, IterableDataset):
            self._dataset_kind = _DatasetKind.Iterable
            _check_stream_options(shuffle, sampler, batch_sampler)
        else:
            self._dataset_kind = _DatasetKind.Map
        if sampler is not None and shuffle:
            raise ValueError("sampler option is mutually exclusive with shuffle")
        if batch_sampler is not None:
            if batch_size != 1 or shuffle or sampler is not None or drop_last:
                raise ValueError(
                    "batch_sampler option is mutually exclusive with batch_size, shuffle, sampler, "
                    "and drop_last"
                )
            batch_size = None
        elif batch_size is None and drop_last:
            raise ValueError(
                "batch_size=None option disables auto-batching and is mutually exclusive with "
                "drop_last"
            )
        source: Any = dataset  # one that is asked by index has a length
        if sampler is None:
            if self._dataset_kind == _DatasetKind.Iterable:
                sampler = _InfiniteConstantSampler()
            elif shuffle:
                sampler = RandomSampler(source, generator=generator)
            else:
                sampler = SequentialSampler(source)
        if batch_size is not None:
            batch_sampler = BatchSampler(sampler, batch_size, drop_last)
        self.batch_size = batch_size
        self.drop_last = drop_last
        self.sampler = sampler
        self.batch_sampler = batch_sampler
        self.generator = generator
        if collate_fn is None:
            collate_fn = default_collate if self._auto_collation else default_convert
        self.collate_fn = collate_fn
        self.persistent_workers = persistent_workers
        self._IterableDataset_len_called: int | None = None
        self._iterator = None
        self._initialized = True
        self.check_worker_number_rationality()

    @property
    def multiprocessing_context(self) -> Any:
        """How worker processes are started: a context of `multiprocessing`, or None."""
        return self._multiprocessing_context

    @multiprocessing_context.setter
    def multiprocessing_context(self, context: str | None) -> None:
        self._multiprocessing_context = (
            None if context is None else _start_context(context, self.num_workers)
        )

    def __setattr__(self, name: str, value: object) -> None:
        if self._initialized and name in FIXED:
            raise ValueError(
                f"{name} attribute should not be set after {type(self).__name__} is initialized"
            )
        super().__setattr__(name, value)

    def __iter__(self) -> _BaseDataLoaderIter:
        if not (self.persistent_workers and self.num_workers > 0):
            return self._get_iterator()
        if self._iterator is None:
            self._iterator = self._get_iterator()
        else:
            self._iterator._reset(self)
        kept: _BaseDataLoaderIter = self._iterator
        return kept

    def _get_iterator(self) -> _BaseDataLoaderIter:
        if self.num_workers == 0:
            return _SingleProcessDataLoaderIter(self)
        # only with workers: it takes a while to import `multiprocessing`
        from retrograd.utils.data.parallel import _MultiProcessingDataLoaderIter

        self.check_worker_number_rationality()
        return _MultiProcessingDataLoaderIter(self)

    @property
    def _auto_collation(self) -> bool:
        return self.batch_sampler is not None

    @property
    def _index_sampler(self) -> Any:
        return self.batch_sampler if self._auto_collation else self.sampler

    def __len__(self) -> int:
        if self._dataset_kind == _DatasetKind.Map:
            return len(self._index_sampler)
        # Kept: a pass that yields more than this warns.
        source: Any = self.dataset
        length = len(source)
        self._IterableDataset_len_called = length
        if self.batch_size is None:
            return length
        whole, rest = divmod(length, self.batch_size)
        return whole if self.drop_last or not rest else whole + 1

    def check_worker_number_rationality(self) -> None:
        """Warn if there are to be more workers than processors."""
        if not self.num_workers:
            return
        affinity = getattr(os, "sched_getaffinity", None)
        processors = len(affinity(0)) if affinity is not None else os.cpu_count()
        if processors is not None and self.num_workers <= processors:
            return
        if processors is None:
            suggestion = (
                "DataLoader is not able to compute a suggested max number of worker in current "
                "system."
            )
        else:
            aside = "" if affinity is not None else " (`cpuset` is not taken into account)"
            suggestion = (
                f"Our suggested max number of worker in current system is {processors}{aside}, "
                "which is smaller than what this DataLoader is going to create."
            )
        warnings.warn(
            f"This DataLoader will create {self.num_workers} worker processes in total. "
            f"{suggestion} Please be aware that excessive worker creation might get DataLoader "
            "running slow or even freeze, lower the worker number to avoid potential "
            "slowness/freeze if necessary.",
            stacklevel=user_level(),
        )


def _check_worker_options(
    num_workers: int, timeout: float, prefetch_factor: int | None, persistent_workers: bool
) -> None:
    if num_workers < 0:
        raise ValueError(
            "num_workers option should be non-negative; use num_workers=0 to disable "
            "multiprocessing."
        )
    if timeout < 0:
        raise ValueError("timeout option should be non-negative")
    if num_workers == 0 and prefetch_factor is not None:
        raise ValueError(
            "prefetch_factor option could only be specified in multiprocessing."
            "let num_workers > 0 to enable multiprocessing, otherwise set prefetch_factor to None."
        )
    if prefetch_factor is not None and prefetch_factor < 0:
        raise ValueError("prefetch_factor option should be non-negative")
    if persistent_workers and num_workers == 0:
        raise ValueError("persistent_workers option needs num_workers > 0")


def _check_stream_options(shuffle: object, sampler: object, batch_sampler: object) -> None:
    text = "DataLoader with IterableDataset: expected unspecified {0} option, but got {0}={1}"
    if shuffle not in {False, None}:
        raise ValueError(text.format("shuffle", shuffle))
    if sampler is not None:
        raise ValueError(text.format("sampler", sampler))
    if batch_sampler is not None:
        raise ValueError(text.format("batch_sampler", batch_sampler))


def _start_context(context: object, num_workers: int) -> Any:
    import multiprocessing
    from multiprocessing.context import BaseContext

    if num_workers == 0:
        raise ValueError(
            "multiprocessing_context can only be used with multi-process loading "
            f"(num_workers > 0), but got num_workers={num_workers}"
        )
    if isinstance(context, str):
        methods = multiprocessing.get_all_start_methods()
        if context not in methods:
            raise ValueError(
                f"multiprocessing_context option should specify a valid start method in "
                f"{methods!r}, but got multiprocessing_context={context!r}"
            )
        context = multiprocessing.get_context(context)
    if not isinstance(context, BaseContext):
        raise TypeError(
            "multiprocessing_context option should be a valid context object or a string "
            f"specifying the start method, but got multiprocessing_context={context}"
        )
    return context


from_table(__name__)
