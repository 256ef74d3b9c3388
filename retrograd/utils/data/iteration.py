"""One pass over a loader: what every pass has in common, and the pass in one process."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any, NoReturn

from retrograd.autograd.profiler import record_function
from retrograd.backend.cuda import cuda_backend
from retrograd.lifecycle.site import user_level
from retrograd.tensor import Tensor
from retrograd.utils.data.fetch import _DatasetKind
from retrograd.utils.data.sampler import drawn_seed

if TYPE_CHECKING:
    from retrograd.utils.data.dataloader import DataLoader

    pass


class _BaseDataLoaderIter:
    def __init__(self, loader: DataLoader[Any]) -> None:
        self._dataset = loader.dataset
        self._dataset_kind: int = loader._dataset_kind
        self._IterableDataset_len_called: int | None = loader._IterableDataset_len_called
        self._auto_collation: bool = loader._auto_collation
        self._drop_last: bool = loader.drop_last
        self._index_sampler = loader._index_sampler
        self._num_workers: int = loader.num_workers
        self._timeout: float = loader.timeout
        self._collate_fn = loader.collate_fn
        self._pin_memory = loader.pin_memory and cuda_backend() is not None
        if loader.pin_memory and not self._pin_memory:
            _say_that_nothing_is_pinned(loader.pin_memory_device)
        self._sampler_iter = iter(self._index_sampler)
        # Drawn for every pass, with workers or without, before the sampler draws: from here on
        # the generator stands where PyTorch's does.
        self._base_seed = drawn_seed(loader.generator)
        self._num_yielded = 0
        self._profile_name = f"enumerate(DataLoader)#{type(self).__name__}.__next__"

    def __iter__(self) -> _BaseDataLoaderIter:
        return self

    def _reset(self, loader: DataLoader[Any], first_iter: bool = False) -> None:
        self._sampler_iter = iter(self._index_sampler)
        self._num_yielded = 0
        self._IterableDataset_len_called = loader._IterableDataset_len_called

    def _next_index(self) -> object:
        return next(self._sampler_iter)

    def _next_data(self) -> Any:
        raise NotImplementedError

    def __next__(self) -> Any:
        with record_function(self._profile_name):
            data = self._next_data()
            if self._pin_memory:
                data = pinned(data)
        self._num_yielded += 1
        promised = self._IterableDataset_len_called
        if (
            self._dataset_kind == _DatasetKind.Iterable
            and promised is not None
            and self._num_yielded > promised
        ):
            self._warn_of_length(promised)
        return data

    def _warn_of_length(self, promised: int) -> None:
        text = (
            f"Length of IterableDataset {self._dataset} was reported to be {promised}"
            f"(when accessing len(dataloader)), but {self._num_yielded} samples have been fetched. "
        )
        if self._num_workers > 0:
            text += (
                "For multiprocessing data-loading, this could be caused by not properly "
                "configuring the IterableDataset replica at each worker. Please see "
                "https://pytorch.org/docs/stable/data.html#torch.utils.data.IterableDataset for "
                "examples."
            )
        warnings.warn(text, stacklevel=user_level())

    def __len__(self) -> int:
        return len(self._index_sampler)

    def __getstate__(self) -> NoReturn:
        raise NotImplementedError("{} cannot be pickled", type(self).__name__)


class _SingleProcessDataLoaderIter(_BaseDataLoaderIter):
    def __init__(self, loader: DataLoader[Any]) -> None:
        super().__init__(loader)
        if self._timeout != 0:
            raise AssertionError("_SingleProcessDataLoaderIter requires timeout == 0")
        self._dataset_fetcher = _DatasetKind.create_fetcher(
            self._dataset_kind,
            self._dataset,
            self._auto_collation,
            self._collate_fn,
            self._drop_last,
        )

    def _next_data(self) -> Any:
        return self._dataset_fetcher.fetch(self._next_index())


def pinned(data: Any) -> Any:
    """What a loader made, with its tensors in memory that an accelerator reads by itself."""
    if isinstance(data, Tensor) or hasattr(data, "pin_memory"):
        return data.pin_memory()
    if isinstance(data, dict):
        return {key: pinned(value) for key, value in data.items()}
    if isinstance(data, tuple) and hasattr(data, "_fields"):
        return type(data)(*map(pinned, data))
    if isinstance(data, (list, tuple)):
        return type(data)(map(pinned, data))
    return data


def _say_that_nothing_is_pinned(device: str) -> None:
    if device:
        warnings.warn(
            "pin_memory_device is deprecated, the current accelerator will be used as the device,"
            f"ignore pin_memory_device='{device}'.",
            stacklevel=user_level(),
        )
    warnings.warn(
        "'pin_memory' argument is set as true but no accelerator is found, then device pinned "
        "memory won't be used.",
        stacklevel=user_level(),
    )
