"""Samplers: the order in which a loader asks for samples.

For the same seed the orders are PyTorch's, and as many random numbers are drawn.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence, Sized
from typing import Any, Generic, TypeVar

from retrograd.dtypes import float64, int64
from retrograd.ops.making.construction import as_tensor
from retrograd.ops.random.sampling import multinomial, randint, randperm
from retrograd.random import Generator
from retrograd.random.integers import random_full
from retrograd.random.state import generator_or_default
from retrograd.tensor import Tensor

Index = TypeVar("Index", covariant=True)

# With replacement, this many indices are drawn at a time.
DRAWN_AT_ONCE = 32


def drawn_seed(generator: Generator | None) -> int:
    """A seed out of a generator, which moves on by one number of 64 bits."""
    return int(random_full(generator_or_default(generator, "random_"), 1, int64.numpy)[0])


class Sampler(Generic[Index]):
    """The base of samplers: a subclass defines `__iter__`, and `__len__` where it is known.

    >>> class Backwards(torch.utils.data.Sampler):
    ...     def __iter__(self):
    ...         return iter([2, 1, 0])
    >>> list(torch.utils.data.DataLoader("abc", sampler=Backwards(), batch_size=None))
    ['c', 'b', 'a']
    """

    def __iter__(self) -> Iterator[Index]:
        raise NotImplementedError


class SequentialSampler(Sampler[int]):
    """The indices of a dataset in order.

    >>> list(torch.utils.data.SequentialSampler("abc"))
    [0, 1, 2]
    """

    data_source: Sized

    def __init__(self, data_source: Sized) -> None:
        self.data_source = data_source

    def __iter__(self) -> Iterator[int]:
        return iter(range(len(self.data_source)))

    def __len__(self) -> int:
        return len(self.data_source)


class RandomSampler(Sampler[int]):
    """The indices of a dataset in random order, or drawn again and again with `replacement`.

    >>> chance = torch.Generator().manual_seed(0)
    >>> list(torch.utils.data.RandomSampler("abcd", generator=chance))
    [0, 1, 3, 2]
    """

    data_source: Sized
    replacement: bool

    def __init__(
        self,
        data_source: Sized,
        replacement: bool = False,
        num_samples: int | None = None,
        generator: Generator | None = None,
    ) -> None:
        self.data_source = data_source
        self.replacement = replacement
        self._num_samples = num_samples
        self.generator = generator
        if not isinstance(replacement, bool):
            raise TypeError(
                f"replacement should be a boolean value, but got replacement={replacement}"
            )
        count: object = self.num_samples
        if not isinstance(count, int) or count <= 0:
            raise ValueError(
                f"num_samples should be a positive integer value, but got num_samples={count}"
            )

    @property
    def num_samples(self) -> int:
        """How many indices a pass has; the dataset may change its length in between."""
        return len(self.data_source) if self._num_samples is None else self._num_samples

    def __iter__(self) -> Iterator[int]:
        count = len(self.data_source)
        generator = self.generator
        if generator is None:
            generator = Generator()
            generator.manual_seed(drawn_seed(None))
        at_once = DRAWN_AT_ONCE if self.replacement else count
        rounds, rest = divmod(self.num_samples, at_once)
        # The last round takes place even if nothing of it is needed: it moves the generator on.
        # Programs ask for 10 ** 10 samples to mean "without end": the rounds are not listed.
        for size in itertools.chain(itertools.repeat(at_once, rounds), [rest]):
            if self.replacement:
                drawn = randint(high=count, size=(size,), dtype=int64, generator=generator)
            else:
                drawn = randperm(count, generator=generator)
            yield from drawn.tolist()[:size]

    def __len__(self) -> int:
        return self.num_samples


class SubsetRandomSampler(Sampler[int]):
    """The given indices in random order.

    >>> sorted(torch.utils.data.SubsetRandomSampler([7, 5, 9]))
    [5, 7, 9]
    """

    indices: Sequence[int]

    def __init__(self, indices: Sequence[int], generator: Generator | None = None) -> None:
        self.indices = indices
        self.generator = generator

    def __iter__(self) -> Iterator[int]:
        for i in randperm(len(self.indices), generator=self.generator).tolist():
            yield self.indices[i]

    def __len__(self) -> int:
        return len(self.indices)


class WeightedRandomSampler(Sampler[int]):
    """Indices drawn with the given weights, which need not sum up to one.

    >>> list(torch.utils.data.WeightedRandomSampler([0.0, 1.0], 3))
    [1, 1, 1]
    """

    weights: Tensor
    num_samples: int
    replacement: bool

    def __init__(
        self,
        weights: Sequence[float],
        num_samples: int,
        replacement: bool = True,
        generator: Generator | None = None,
    ) -> None:
        if not _positive_integer(num_samples):
            raise ValueError(
                f"num_samples should be a positive integer value, but got num_samples={num_samples}"
            )
        if not isinstance(replacement, bool):
            raise ValueError(
                f"replacement should be a boolean value, but got replacement={replacement}"
            )
        self.weights = as_tensor(weights, dtype=float64)
        if self.weights.dim() != 1:
            raise ValueError(
                "weights should be a 1d sequence but given "
                f"weights have shape {tuple(self.weights.shape)}"
            )
        self.num_samples = num_samples
        self.replacement = replacement
        self.generator = generator

    def __iter__(self) -> Iterator[int]:
        drawn = multinomial(
            self.weights, self.num_samples, self.replacement, generator=self.generator
        )
        yield from drawn.tolist()

    def __len__(self) -> int:
        return self.num_samples


class BatchSampler(Sampler[list[int]]):
    """The indices of another sampler, in lists of `batch_size`.

    >>> list(torch.utils.data.BatchSampler(range(5), 2, drop_last=False))
    [[0, 1], [2, 3], [4]]
    """

    def __init__(
        self, sampler: Sampler[int] | Iterable[int], batch_size: int, drop_last: bool
    ) -> None:
        if not _positive_integer(batch_size):
            raise ValueError(
                f"batch_size should be a positive integer value, but got batch_size={batch_size}"
            )
        if not isinstance(drop_last, bool):
            raise ValueError(f"drop_last should be a boolean value, but got drop_last={drop_last}")
        self.sampler = sampler
        self.batch_size = batch_size
        self.drop_last = drop_last

    def __iter__(self) -> Iterator[list[int]]:
        indices = iter(self.sampler)
        while batch := list(itertools.islice(indices, self.batch_size)):
            if len(batch) < self.batch_size and self.drop_last:
                return
            yield batch

    def __len__(self) -> int:
        indices: Any = self.sampler
        whole, rest = divmod(len(indices), self.batch_size)
        return whole if self.drop_last or not rest else whole + 1


def _positive_integer(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value > 0
