"""Loaders, samplers, datasets and batches in this process: scenarios for both libraries."""

from __future__ import annotations

import array
import collections
import pickle
import re

import numpy as np
import pytest

from tests.autograd.outcomes import assert_same

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch

SCENARIOS = []


def scenario(function):
    SCENARIOS.append(pytest.param(function, id=function.__name__))
    return function


@pytest.mark.parametrize("run", SCENARIOS)
def test_scenario(run):
    assert_same(run, torch)


def shown(value):
    """A text of containers and tensors in which the libraries' own names are alike."""
    return (
        re.sub(r" at 0x[0-9a-f]+", "", repr(value))
        .replace("retrograd.", "torch.")
        .replace("tensor.T", "T")
    )


def tries(log, *calls):
    for call in calls:
        log.attempt(lambda call=call: shown(call()))


class Columns(dict):
    """A mapping of the user's own."""


class Row(list):
    """A sequence of the user's own."""


class Frozen(collections.abc.Mapping):
    """A mapping that cannot be written."""

    def __init__(self, items):
        self.items_of = dict(items)

    def __getitem__(self, key):
        return self.items_of[key]

    def __iter__(self):
        return iter(self.items_of)

    def __len__(self):
        return len(self.items_of)

    def __repr__(self):
        return f"Frozen({self.items_of})"


class Keyed(collections.abc.Mapping):
    """A mapping that cannot be built from its items."""

    def __getitem__(self, key):
        return {"a": 1, "b": 2.0}[key]

    def __iter__(self):
        return iter("ab")

    def __len__(self):
        return 2


Point = collections.namedtuple("Point", "x y")


def counting(lib, length, tell=True):
    class Counting(lib.utils.data.IterableDataset):
        def __iter__(self):
            return iter(range(length))

    if tell:
        Counting.__len__ = lambda self: length
    return Counting()


# ------------------------------------------------------------------ batches


@scenario
def collated_containers(lib, log):
    collate = lib.utils.data.default_collate
    deep = {"a": [1, (2.0, "x")], "b": {"c": lib.ones(2), "d": Point(1, [True])}}
    tries(
        log,
        lambda: collate([deep, deep]),
        lambda: collate([Columns(a=1, b=2), Columns(a=3, b=4)]),
        lambda: collate([Row([1, 2, 3]), Row([4, 5, 6])]),
        lambda: collate([range(2), range(2)]),
        lambda: collate([Frozen({"a": 1}), Frozen({"a": 2})]),
        lambda: collate([Keyed(), Keyed()]),
        lambda: collate([collections.OrderedDict(b=1, a=2)] * 2),
        lambda: collate([collections.defaultdict(int, b=1)] * 2),
        lambda: collate([collections.Counter("aab")] * 2),
        lambda: collate([collections.deque([1, 2])] * 2),
        lambda: collate([collections.UserList([1, 2])] * 2),
        lambda: collate([(1, 2), (3, 4)]),
        lambda: collate([Point(1, 2.5), Point(3, 4.5)]),
        lambda: collate([b"ab", b"cd"]),
        lambda: collate(["ab", "cd"]),
        lambda: collate(("ab", "cd")),
        lambda: collate([array.array("d", [1, 2])] * 2),
        lambda: collate([lib.tensor(1), lib.tensor(2)]),
        lambda: collate([lib.nn.Parameter(lib.ones(1))] * 2),
        lambda: collate([[], []]),
        lambda: collate([{}, {}]),
    )


@scenario
def collated_numbers(lib, log):
    collate = lib.utils.data.default_collate
    tries(
        log,
        lambda: collate([1, 2, -1]),
        lambda: collate([1.1, 2.3, -0.9]),
        lambda: collate([True, False]),
        lambda: collate([1, 2.5]),
        lambda: collate([2.5, 1]),
        lambda: collate([True, 3]),
        lambda: collate([1 + 2j]),
        lambda: collate([2**40, 1]),
        lambda: collate([2**70]),
    )
    for kind in (
        np.float64,
        np.float32,
        np.float16,
        np.int64,
        np.int32,
        np.int16,
        np.int8,
        np.uint8,
        np.bool_,
        np.complex64,
        np.complex128,
    ):
        tries(log, lambda kind=kind: collate([kind(1), kind(0)]))
        tries(log, lambda kind=kind: collate([np.ones((2, 1), kind)] * 2))
        tries(log, lambda kind=kind: collate([np.array(1, kind)] * 2))
        tries(log, lambda kind=kind: lib.utils.data.default_convert(kind(1)))
    tries(
        log,
        lambda: collate(np.ones((2, 3))),
        lambda: collate([np.arange(3)[::-1]] * 2),
        lambda: collate(lib.ones(2, 3)),
        lambda: collate([np.memmap.__new__(np.ndarray, (2,), np.int64) * 0] * 2),
    )


@scenario
def what_cannot_be_collated(lib, log):
    collate = lib.utils.data.default_collate
    tries(
        log,
        lambda: collate([]),
        lambda: collate([None, None]),
        lambda: collate([object()]),
        lambda: collate([{1, 2}]),
        lambda: collate([["X"], ["X", "X"]]),
        lambda: collate([["X", "X"], ["X"]]),
        lambda: collate([[1], 2]),
        lambda: collate([{"a": 1}, {"b": 1}]),
        lambda: collate([{"a": 1}, {"a": 1, "b": 1}]),
        lambda: collate([{"a": 1, "b": 1}, {"a": 1}]),
        lambda: collate([lib.ones(2), lib.ones(3)]),
        lambda: collate([lib.ones(2), lib.ones(2, dtype=lib.float64)]),
        lambda: collate([lib.ones(2), 3]),
        lambda: collate([1, "a"]),
        lambda: collate([1.0, None]),
        lambda: collate(["a", 1]),
        lambda: collate(np.array(["a", "b"])),
        lambda: collate(np.array([[["a", "b"]]])),
        lambda: collate(np.array([object()])),
        lambda: collate(np.array([[[object()]]])),
        lambda: collate([np.array(["a"])]),
        lambda: collate([np.ones(2), np.ones(3)]),
        lambda: collate([np.datetime64("2020-01-01")]),
        lambda: collate([np.str_("a")]),
        lambda: collate([Point(1, 2), Point(None, 2)]),
    )


@scenario
def converted(lib, log):
    convert = lib.utils.data.default_convert
    tries(
        log,
        lambda: convert(Columns(a=1, b=np.ones(1))),
        lambda: convert(Row([1, np.float32(2)])),
        lambda: convert(range(2)),
        lambda: convert((1, np.ones(1))),
        lambda: convert(Point(np.ones(1), "a")),
        lambda: convert(np.array(["a"])),
        lambda: convert(np.array([None])),
        lambda: convert(np.str_("a")),
        lambda: convert("ab"),
        lambda: convert(b"ab"),
        lambda: convert(None),
        lambda: convert(3.5),
        lambda: convert(Frozen({"a": np.ones(1)})),
        lambda: convert(collections.OrderedDict(a=np.ones(1))),
        lambda: convert(collections.deque([np.ones(1)])),
        lambda: convert([[np.ones(1)], {"k": (np.int8(1),)}]),
    )


@scenario
def own_joining_functions(lib, log):
    from_map = lib.utils.data._utils.collate
    joined = from_map.collate(
        [(1, "a", Point(1, 2)), (2, "b", Point(3, 4))],
        collate_fn_map={
            int: lambda batch, *, collate_fn_map: sum(batch),
            str: lambda batch, *, collate_fn_map: "".join(batch),
        },
    )
    log(shown(joined))
    tries(
        log,
        lambda: from_map.collate([1], collate_fn_map={str: None}),
        lambda: from_map.collate([1]),
        lambda: from_map.collate([True], collate_fn_map={int: lambda b, **_: "as an int"}),
        lambda: from_map.collate([1], collate_fn_map={(int, str): lambda b, **_: "one of both"}),
    )
    log([shown(kind) for kind in from_map.default_collate_fn_map])


# ------------------------------------------------------------------ the loader


@scenario
def options_that_exclude_each_other(lib, log):
    data = lib.utils.data
    loader = data.DataLoader
    items = list(range(5))
    order = data.SequentialSampler(items)
    batches = data.BatchSampler(order, 3, False)
    stream = counting(lib, 5)
    for options in (
        {"num_workers": -1},
        {"timeout": -1},
        {"prefetch_factor": 2},
        {"prefetch_factor": -1, "num_workers": 1},
        {"persistent_workers": True},
        {"batch_size": None, "drop_last": True},
        {"multiprocessing_context": "fork"},
        {"num_workers": 1, "multiprocessing_context": "bad"},
        {"num_workers": 1, "multiprocessing_context": 3},
        {"sampler": order, "shuffle": True},
        {"sampler": order, "shuffle": True, "batch_sampler": batches},
        {"batch_sampler": batches, "batch_size": 2},
        {"batch_sampler": batches, "shuffle": True},
        {"batch_sampler": batches, "drop_last": 3},
        {"batch_sampler": batches, "sampler": order},
        {"batch_size": 0},
        {"batch_size": -1},
        {"batch_size": 2.0},
        {"batch_size": True},
        {"batch_size": "2"},
        {"drop_last": 1},
        {"shuffle": 3},
        {"nothing": 3},
        {"timeout": 3},
    ):
        log.attempt(lambda options=options: shown(len(list(loader(items, **options)))))
    for options in (
        {"shuffle": True},
        {"shuffle": 3},
        {"shuffle": False},
        {"sampler": 3},
        {"batch_sampler": 3},
        {"batch_size": None},
        {"batch_size": 2, "drop_last": True},
    ):
        log.attempt(lambda options=options: shown(list(loader(stream, **options))))
    tries(
        log,
        lambda: loader(),
        lambda: loader([], shuffle=True),
        lambda: list(loader([])),
        lambda: list(loader(items, 2, False, None, None, 0, list)),
        lambda: list(loader(None)),
        lambda: loader(None, shuffle=True),
        lambda: list(loader(3)),
    )


@scenario
def lengths(lib, log):
    data = lib.utils.data
    for size in (1, 2, 3, 5, None):
        for drop in (False, True):
            for source in ([0] * 10, counting(lib, 10), counting(lib, 10, tell=False)):
                tries(
                    log,
                    lambda *_, s=source, n=size, d=drop: len(
                        data.DataLoader(s, batch_size=n, drop_last=d)
                    ),
                    lambda *_, s=source, n=size, d=drop: len(
                        iter(data.DataLoader(s, batch_size=n, drop_last=d))
                    ),
                    lambda *_, s=source, n=size, d=drop: len(
                        list(data.DataLoader(s, batch_size=n, drop_last=d))
                    ),
                )
    growing = [lib.zeros(1)] * 4
    in_order, mixed = data.DataLoader(growing), data.DataLoader(growing, shuffle=True)
    growing.append(lib.ones(1))
    log(len(in_order), len(mixed), len(list(in_order)), len(list(mixed)))


@scenario
def attributes(lib, log):
    data = lib.utils.data
    loader = data.DataLoader(range(4), batch_size=2, shuffle=True, drop_last=True)
    names = "batch_size num_workers drop_last pin_memory timeout prefetch_factor in_order"
    for name in (*names.split(), "persistent_workers", "pin_memory_device", "generator"):
        log(name, shown(getattr(loader, name)))
    for name in ("sampler", "batch_sampler", "dataset", "collate_fn", "multiprocessing_context"):
        log(name, type(getattr(loader, name)).__name__)
    for name in ("batch_size", "batch_sampler", "sampler", "drop_last", "dataset", "num_workers"):
        tries(log, lambda name=name: setattr(loader, name, 1))
    tries(
        log,
        lambda: setattr(loader, "persistent_workers", True),
        lambda: setattr(loader, "multiprocessing_context", "fork"),
        lambda: setattr(loader, "own", 1),
        lambda: next(loader),
        lambda: loader[0],
        lambda: pickle.dumps(iter(data.DataLoader(range(2)))),
    )
    log(data.DataLoader(range(2), num_workers=0, prefetch_factor=None).prefetch_factor)


@scenario
def orders_of_keys(lib, log):
    data = lib.utils.data
    tens = [10 * i for i in range(20)]
    batches = [tuple(range(i, i + 2)) for i in range(0, 20, 5)]
    log(shown(list(data.DataLoader(tens, sampler=range(2, 12), batch_size=4))))
    log(shown(list(data.DataLoader(tens, batch_sampler=batches))))
    log(shown(list(data.DataLoader(tens, batch_sampler=[[0], [], [1]], collate_fn=list))))
    log(shown(list(data.DataLoader("abc", batch_size=None, shuffle=True))))
    log(shown(list(data.DataLoader({"a": 1, "b": 2}, sampler=["b", "a"]))))
    log(shown(list(data.DataLoader(lib.arange(5) * 2, batch_size=2, shuffle=True))))
    log(shown(list(data.DataLoader(np.arange(6).reshape(3, 2), batch_size=2))))
    tries(
        log,
        lambda: list(data.DataLoader(tens, batch_sampler=[[0], []])),
        lambda: list(data.DataLoader(tens, sampler=[100])),
        lambda: len(data.DataLoader(tens, sampler=iter([1]))),
        lambda: list(data.DataLoader(tens, sampler=iter([1]))),
        lambda: list(data.DataLoader(tens, sampler=3)),
        lambda: list(data.DataLoader(tens, batch_sampler=3)),
        lambda: list(data.DataLoader(tens, batch_sampler=[3])),
    )


@scenario
def errors_while_reading(lib, log):
    class Failing(lib.utils.data.Dataset):
        def __len__(self):
            return 6

        def __getitem__(self, index):
            if index % 2:
                raise ValueError(f"no item {index}")
            return index

    iterator = iter(lib.utils.data.DataLoader(Failing(), batch_size=1))
    found = []
    while True:
        try:
            found.append(shown(next(iterator)))
        except StopIteration:
            break
        except ValueError as error:
            found.append(str(error))
    log(found)
    plain = lib.utils.data.Dataset()
    tries(
        log,
        lambda: plain[0],
        lambda: len(plain),
        lambda: list(lib.utils.data.DataLoader(plain)),
        lambda: list(lib.utils.data.DataLoader(plain, shuffle=True)),
        lambda: iter(lib.utils.data.IterableDataset()),
        lambda: list(lib.utils.data.DataLoader(lib.utils.data.IterableDataset())),
        lambda: next(iter(lib.utils.data.Sampler())),
        lambda: lib.utils.data.Sampler(3),
    )


@scenario
def streams_that_say_their_length(lib, log):
    class Lying(lib.utils.data.IterableDataset):
        def __len__(self):
            return 2

        def __iter__(self):
            return iter(range(5))

        def __repr__(self):
            return "Lying()"

    loader = lib.utils.data.DataLoader(Lying())
    log(shown(list(loader)))
    log(len(loader), shown(list(loader)))
    once = iter([1, 2, 3])

    class Once(lib.utils.data.IterableDataset):
        def __iter__(self):
            return once

    loader = lib.utils.data.DataLoader(Once(), batch_size=2)
    log(shown(list(loader)), shown(list(loader)))
    iterator = iter(lib.utils.data.DataLoader(counting(lib, 1)))
    log(shown([next(iterator), next(iterator, None), next(iterator, None)]))


@scenario
def seeds_and_generators(lib, log):
    data = lib.utils.data
    for options in ({}, {"shuffle": True}, {"shuffle": True, "batch_size": 3}):
        for own in (False, True):
            lib.manual_seed(7)
            chance = lib.Generator().manual_seed(42) if own else None
            loader = data.DataLoader(range(8), generator=chance, **options)
            log(shown([list(loader), list(loader)]), lib.initial_seed())
            first, second = iter(loader), iter(loader)
            log(shown([next(first), next(second), next(first), lib.rand(1)]))
            if own:
                log(lib.rand(1, generator=chance), chance.initial_seed())
    weights = [0.1, 0.9, 0.4, 0.7, 3.0, 0.6]
    for make in (
        lambda g: data.RandomSampler(range(9), num_samples=5, replacement=True, generator=g),
        lambda g: data.RandomSampler(range(9), num_samples=40, replacement=True, generator=g),
        lambda g: data.RandomSampler(range(9), num_samples=32, replacement=True, generator=g),
        lambda g: data.RandomSampler(range(9), num_samples=20, generator=g),
        lambda g: data.RandomSampler(range(9), num_samples=9, generator=g),
        lambda g: data.RandomSampler(range(9), generator=g),
        lambda g: data.WeightedRandomSampler(weights, 5, generator=g),
        lambda g: data.WeightedRandomSampler(weights, 5, False, generator=g),
        lambda g: data.WeightedRandomSampler(lib.tensor(weights), 3, generator=g),
        lambda g: data.SubsetRandomSampler(range(10), generator=g),
    ):
        for chance in (None, lib.Generator().manual_seed(42)):
            sampler = make(chance)
            lib.manual_seed(0)
            log(len(sampler), list(sampler), list(sampler), lib.rand(1))
            steps = (iter(sampler), iter(sampler))
            log([[next(one) for one in steps] for _ in range(len(sampler))], lib.rand(1))


@scenario
def samplers_refuse(lib, log):
    data = lib.utils.data
    shares = data.distributed.DistributedSampler
    tries(
        log,
        lambda: data.RandomSampler(range(3), replacement=0),
        lambda: data.RandomSampler(range(3), num_samples=0),
        lambda: data.RandomSampler(range(3), num_samples=-1),
        lambda: data.RandomSampler(range(3), num_samples=1.5),
        lambda: data.RandomSampler([]),
        lambda: list(data.RandomSampler([], num_samples=2)),
        lambda: data.WeightedRandomSampler([1.0], 0),
        lambda: data.WeightedRandomSampler([1.0], True),
        lambda: data.WeightedRandomSampler([1.0], 1, replacement=1),
        lambda: data.WeightedRandomSampler([[1.0]], 1),
        lambda: data.WeightedRandomSampler("a", 1),
        lambda: list(data.WeightedRandomSampler([1.0], 2, replacement=False)),
        lambda: list(data.WeightedRandomSampler([0.0, 0.0], 2)),
        lambda: list(data.WeightedRandomSampler([-1.0, 2.0], 2)),
        lambda: list(data.WeightedRandomSampler([], 2)),
        lambda: data.BatchSampler([1], 0, False),
        lambda: data.BatchSampler([1], True, False),
        lambda: data.BatchSampler([1], 1.0, False),
        lambda: data.BatchSampler([1], 1, 0),
        lambda: list(data.BatchSampler([], 3, False)),
        lambda: len(data.BatchSampler(iter([1]), 3, False)),
        lambda: list(data.SubsetRandomSampler([])),
        lambda: shares(range(5), 3, 3),
        lambda: shares(range(5), 3, -1),
    )
    for options in ({}, {"shuffle": False}, {"seed": 3}, {"drop_last": True}):
        for rank in range(3):
            part = shares(range(10), 3, rank, **options)
            log(len(part), list(part), list(part))
            part.set_epoch(1)
            log(list(part))


@scenario
def nothing_is_pinned_here(lib, log):
    loader = lib.utils.data.DataLoader([lib.ones(1)], pin_memory=True)
    log([batch.is_pinned() for batch in loader])
    loader = lib.utils.data.DataLoader([lib.ones(1)], pin_memory_device="cuda")
    log([batch.is_pinned() for batch in loader])


# ------------------------------------------------------------------ datasets


@scenario
def datasets(lib, log):
    data = lib.utils.data
    tensors = data.TensorDataset(lib.arange(4), lib.arange(8.0).reshape(4, 2))
    log(len(tensors), shown(tensors[1]), shown(tensors[1:3]), shown(tensors[[0, 2]]))
    joined = data.ConcatDataset([[1, 2], "abc", [3]])
    log(len(joined), [joined[i] for i in range(6)], joined[-1], joined.cumulative_sizes)
    stacked = data.StackDataset(lib.arange(3), "abc")
    log(len(stacked), shown(stacked[1]), shown(stacked.__getitems__([0, 2])))
    named = data.StackDataset(x=lib.arange(3), y=data.Subset("abcd", [3, 1, 0]))
    log(len(named), shown(named[1]), shown(list(data.DataLoader(named, batch_size=2))))
    half = data.Subset(tensors, [3, 0])
    log(len(half), shown(half[0]), shown(half[[0, 1]]), shown(half.__getitems__([1])))
    twice = tensors + tensors
    log(type(twice).__name__, len(twice), shown(twice[5]))
    chain = counting(lib, 2) + counting(lib, 3)
    log(type(chain).__name__, len(chain), list(chain))
    tries(
        log,
        lambda: data.TensorDataset(lib.ones(2), lib.ones(3)),
        lambda: data.TensorDataset(),
        lambda: data.TensorDataset(lib.tensor(1)),
        lambda: tensors[4],
        lambda: data.ConcatDataset([]),
        lambda: data.ConcatDataset([counting(lib, 1)]),
        lambda: joined[6],
        lambda: joined[-7],
        lambda: data.StackDataset(),
        lambda: data.StackDataset([1], x=[1]),
        lambda: data.StackDataset([1], [1, 2]),
        lambda: data.StackDataset(x=[1], y=[1, 2]),
        lambda: data.Subset([1], [3])[0],
        lambda: list(data.ChainDataset([counting(lib, 1), [1]])),
        lambda: len(data.ChainDataset([counting(lib, 1), [1]])),
        lambda: list(counting(lib, 1).__add__([1])),
        lambda: data.ConcatDataset([[1]]).cummulative_sizes,
    )


@scenario
def random_splits(lib, log):
    split = lib.utils.data.random_split
    for lengths in (
        [3, 7],
        [0.5, 0.5],
        [0.3, 0.3, 0.4],
        [0.1] * 10,
        [0.33, 0.33, 0.34],
        [1.0],
        [10],
        [0, 10],
        [0.0, 1.0],
        [0.001, 0.999],
        [0.7, 0.2, 0.1],
        (4, 6),
    ):
        chance = lib.Generator().manual_seed(1)
        log([list(part.indices) for part in split(range(10), lengths, generator=chance)])
        log([list(part) for part in split(range(10), lengths)])
    tries(
        log,
        lambda: split(range(10), [3, 6]),
        lambda: split(range(10), [0.5, 0.6]),
        lambda: split(range(10), [0.5, 0.4]),
        lambda: split(range(10), [-0.5, 1.5]),
        lambda: split(range(10), []),
        lambda: split([], []),
        lambda: split(range(3), [-1, 4]),
        lambda: split(counting(lib, 3, tell=False), [3]),
        lambda: [len(part) for part in split(range(1), [0.5, 0.5])],
        lambda: [list(part) for part in split(lib.utils.data.Subset(range(9), [4, 2]), [1, 1])],
    )


@scenario
def many_keys_at_once(lib, log):
    class Batched(lib.utils.data.Dataset):
        def __len__(self):
            return 5

        def __getitem__(self, index):
            return index

        def __getitems__(self, indices):
            return [10 * index for index in indices]

    loader = lib.utils.data.DataLoader
    log(shown(list(loader(Batched(), batch_size=2))))
    log(shown(list(loader(Batched(), batch_size=None))))
    log(shown(list(loader(lib.utils.data.Subset(Batched(), [1, 3]), batch_size=2))))
    log(shown(list(loader(lib.utils.data.StackDataset(Batched(), range(5)), batch_size=2))))
    log(shown(list(loader(lib.utils.data.ConcatDataset([Batched()] * 2), batch_size=5))))

    class Short(Batched):
        def __getitems__(self, indices):
            return [1]

    tries(
        log,
        lambda: list(loader(Short(), batch_size=2)),
        lambda: list(loader(lib.utils.data.StackDataset(Short()), batch_size=2)),
    )

    class Half(lib.utils.data.Subset):
        def __getitem__(self, index):
            return -1

    tries(log, lambda: Half([1], [0]))
