"""Datasets: what a loader reads its samples from."""

from __future__ import annotations

import bisect
import itertools
import math
import warnings
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Generic, TypeVar

from retrograd.lifecycle.site import user_level
from retrograd.ops.random.sampling import randperm
from retrograd.random import Generator, default_generator
from retrograd.tensor import Tensor

Sample = TypeVar("Sample", covariant=True)


class Dataset(Generic[Sample]):
    """A map from keys to samples: a subclass defines `__getitem__`, and mostly `__len__`.

    A subclass may also define `__getitems__`, which turns a list of keys into a list of samples
    at once; loaders use it when it is there.

    >>> class Squares(torch.utils.data.Dataset):
    ...     def __len__(self):
    ...         return 4
    ...     def __getitem__(self, index):
    ...         return index * index
    >>> list(torch.utils.data.DataLoader(Squares(), batch_size=2))
    [tensor([0, 1]), tensor([4, 9])]
    """

    def __getitem__(self, index: Any) -> Sample:
        raise NotImplementedError("Subclasses of Dataset should implement __getitem__.")

    def __add__(self, other: Dataset[object]) -> Any:
        return ConcatDataset([self, other])


class IterableDataset(Dataset[Sample], Iterable[Sample]):
    """A stream of samples: a subclass defines `__iter__`.

    With worker processes each worker has a copy of the dataset and goes through all of it, unless
    `__iter__` asks `get_worker_info` for its share.

    >>> class Count(torch.utils.data.IterableDataset):
    ...     def __iter__(self):
    ...         return iter(range(3))
    >>> list(torch.utils.data.DataLoader(Count(), batch_size=2))
    [tensor([0, 1]), tensor([2])]
    """

    def __add__(self, other: Dataset[object]) -> ChainDataset:
        return ChainDataset([self, other])


class TensorDataset(Dataset[tuple[Tensor, ...]]):
    """Tensors side by side: sample `i` is the tuple of their entries `i`.

    >>> data = torch.utils.data.TensorDataset(torch.arange(3), torch.ones(3, 2))
    >>> len(data), data[2]
    (3, (tensor(2), tensor([1., 1.])))
    """

    tensors: tuple[Tensor, ...]

    def __init__(self, *tensors: Tensor) -> None:
        if any(tensor.size(0) != tensors[0].size(0) for tensor in tensors):
            raise AssertionError("Size mismatch between tensors")
        self.tensors = tensors

    def __getitem__(self, index: int) -> tuple[Tensor, ...]:
        return tuple([tensor[index] for tensor in self.tensors])

    def __len__(self) -> int:
        return int(self.tensors[0].size(0))


class StackDataset(Dataset[Any]):
    """Datasets side by side: a sample is the tuple (or, by keyword, the dict) of their samples.

    >>> torch.utils.data.StackDataset(letter="ab", number=[1, 2])[1]
    {'letter': 'b', 'number': 2}
    """

    datasets: tuple[Any, ...] | dict[str, Any]

    def __init__(self, *args: Any, **kwargs: object) -> None:
        if args and kwargs:
            raise ValueError(
                "Supported either ``tuple``- (via ``args``) or``dict``- (via ``kwargs``) like "
                "input/output, but both types are given."
            )
        if not args and not kwargs:
            raise ValueError("At least one dataset should be passed")
        self.datasets = args or kwargs
        parts = self._parts()
        self._length = len(parts[0])
        if any(len(part) != self._length for part in parts):
            raise ValueError("Size mismatch between datasets")

    def _parts(self) -> list[Any]:
        datasets = self.datasets
        return list(datasets.values() if isinstance(datasets, dict) else datasets)

    def _joined(self, samples: Iterable[object]) -> Any:
        if isinstance(self.datasets, dict):
            return dict(zip(self.datasets, samples, strict=True))
        return tuple(samples)

    def __getitem__(self, index: object) -> Any:
        return self._joined(part[index] for part in self._parts())

    def __getitems__(self, indices: list[int]) -> list[Any]:
        columns = []
        for part in self._parts():
            column = _samples(part, indices)
            if len(column) != len(indices):
                raise ValueError(
                    "Nested dataset's output size mismatch."
                    f" Expected {len(indices)}, got {len(column)}"
                )
            columns.append(column)
        return [self._joined(samples) for samples in zip(*columns, strict=True)]

    def __len__(self) -> int:
        return self._length


class ConcatDataset(Dataset[Sample]):
    """Datasets one after the other.

    >>> both = torch.utils.data.ConcatDataset([[1, 2], [3]])
    >>> len(both), both[2], both[-2]
    (3, 3, 2)
    """

    datasets: list[Dataset[Sample]]
    cumulative_sizes: list[int]

    @staticmethod
    def cumsum(sequence: Iterable[Any]) -> list[int]:
        """The lengths of the parts, summed up so far."""
        return list(itertools.accumulate(len(part) for part in sequence))

    def __init__(self, datasets: Iterable[Any]) -> None:
        super().__init__()
        self.datasets = list(datasets)
        if not self.datasets:
            raise AssertionError("datasets should not be an empty iterable")
        if any(isinstance(dataset, IterableDataset) for dataset in self.datasets):
            raise AssertionError("ConcatDataset does not support IterableDataset")
        self.cumulative_sizes = self.cumsum(self.datasets)

    def __len__(self) -> int:
        return self.cumulative_sizes[-1]

    def __getitem__(self, idx: int) -> Sample:
        if idx < 0:
            if -idx > len(self):
                raise ValueError("absolute value of index should not exceed dataset length")
            idx += len(self)
        which = bisect.bisect_right(self.cumulative_sizes, idx)
        start = self.cumulative_sizes[which - 1] if which else 0
        return self.datasets[which][idx - start]

    @property
    def cummulative_sizes(self) -> list[int]:
        """The old spelling of `cumulative_sizes`."""
        warnings.warn(
            "`cummulative_sizes` attribute is renamed to `cumulative_sizes`",
            FutureWarning,
            stacklevel=user_level(),
        )
        return self.cumulative_sizes


class ChainDataset(IterableDataset[Any]):
    """Streams one after the other.

    >>> class Count(torch.utils.data.IterableDataset):
    ...     def __iter__(self):
    ...         return iter(range(2))
    >>> list(Count() + Count())
    [0, 1, 0, 1]
    """

    def __init__(self, datasets: Iterable[object]) -> None:
        super().__init__()
        self.datasets = datasets

    def _streams(self) -> Iterator[Any]:
        for dataset in self.datasets:
            if not isinstance(dataset, IterableDataset):
                raise AssertionError("ChainDataset only supports IterableDataset")
            yield dataset

    def __iter__(self) -> Iterator[Any]:
        for dataset in self._streams():
            yield from dataset

    def __len__(self) -> int:
        return sum(len(dataset) for dataset in self._streams())


class Subset(Dataset[Sample]):
    """The samples of a dataset at the given indices.

    >>> list(torch.utils.data.Subset("abcd", [3, 0]))
    ['d', 'a']
    """

    dataset: Any
    indices: Sequence[int]

    def __init__(self, dataset: object, indices: Sequence[int]) -> None:
        self.dataset = dataset
        self.indices = indices
        kind = type(self)
        # A loader asks `__getitems__`, which would pass by a `__getitem__` of the subclass.
        if kind.__getitem__ is not Subset.__getitem__ and kind.__getitems__ is Subset.__getitems__:
            raise NotImplementedError(
                f"{kind.__name__} overrides __getitem__ but not __getitems__. "
                "When subclassing Subset and overriding __getitem__, you must also override "
                "__getitems__ to ensure DataLoader works correctly with your custom logic. "
                "A simple implementation:\n\n"
                "def __getitems__(self, indices):\n"
                "    return [self.__getitem__(idx) for idx in indices]"
            )

    def __getitem__(self, idx: Any) -> Any:
        if isinstance(idx, list):
            return self.dataset[[self.indices[i] for i in idx]]
        return self.dataset[self.indices[idx]]

    def __getitems__(self, indices: list[int]) -> list[Any]:
        return _samples(self.dataset, [self.indices[i] for i in indices])

    def __len__(self) -> int:
        return len(self.indices)


def _samples(dataset: Any, indices: list[int]) -> list[Any]:
    """The samples at `indices`, all at once where the dataset can do that."""
    at_once = getattr(dataset, "__getitems__", None)
    if callable(at_once):
        found: list[object] = at_once(indices)
        return found
    return [dataset[index] for index in indices]


def random_split(
    dataset: Any, lengths: Sequence[int | float], generator: Generator | None = default_generator
) -> list[Subset[Any]]:
    """Split a dataset by chance into parts of the given lengths, or fractions that sum up to 1.

    >>> chance = torch.Generator().manual_seed(0)
    >>> parts = torch.utils.data.random_split(range(10), [0.5, 0.3, 0.2], generator=chance)
    >>> [len(part) for part in parts]
    [5, 3, 2]
    """
    sizes: Sequence[Any] = lengths  # `randperm` refuses a sum that is no integer
    total = sum(sizes)
    if math.isclose(total, 1) and total <= 1:
        sizes = _whole_lengths(len(dataset), lengths)
        for i, length in enumerate(sizes):
            if length == 0:
                warnings.warn(
                    f"Length of split at index {i} is 0. This might result in an empty dataset.",
                    stacklevel=user_level(),
                )
        total = sum(sizes)
    if total != len(dataset):
        raise ValueError("Sum of input lengths does not equal the length of the input dataset!")
    order = randperm(total, generator=generator).tolist()
    ends = itertools.accumulate(sizes)
    return [
        Subset(dataset, order[end - length : end]) for end, length in zip(ends, sizes, strict=True)
    ]


def _whole_lengths(count: int, fractions: Sequence[float]) -> list[int]:
    """Each fraction of `count`, rounded down; the first parts share what is left over."""
    lengths = []
    for i, fraction in enumerate(fractions):
        if fraction < 0 or fraction > 1:
            raise ValueError(f"Fraction at index {i} is not between 0 and 1")
        lengths.append(math.floor(count * fraction))
    for i in range(count - sum(lengths)):
        lengths[i % len(lengths)] += 1
    return lengths
