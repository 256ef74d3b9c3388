"""The loader against PyTorch's: orders, batches, random numbers, errors."""

from __future__ import annotations

import collections
import warnings

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import retrograd

pytestmark = pytest.mark.torch

LIBRARIES = (torch, retrograd)


def both(function):
    """What `function` gives with each library, from the same seed, and where chance stands then."""
    outcomes = []
    for library in LIBRARIES:
        library.manual_seed(7)
        result = plain(function(library))
        outcomes.append((result, library.rand(3).tolist()))
    assert outcomes[1] == outcomes[0]


def plain(value):
    """A value in terms that both libraries share: type and contents of every tensor."""
    if isinstance(value, LIBRARIES_TENSORS):
        return str(value.dtype), tuple(value.shape), value.tolist()
    if isinstance(value, dict):
        return type(value).__name__, {key: plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple, collections.deque)):
        return type(value).__name__, [plain(item) for item in value]
    return value


LIBRARIES_TENSORS = (torch.Tensor, retrograd.Tensor)


@pytest.mark.parametrize("length", [1, 2, 31, 1000])
@pytest.mark.parametrize("own", [False, True], ids=["default", "generator"])
@pytest.mark.parametrize(
    "options",
    [
        {"batch_size": 3, "shuffle": True},
        {"batch_size": 4, "shuffle": True, "drop_last": True},
        {"batch_size": None, "shuffle": True},
        {"batch_size": 2},
    ],
    ids=str,
)
def test_three_passes(options, own, length):
    def run(library):
        generator = library.Generator().manual_seed(3) if own else None
        loader = library.utils.data.DataLoader(range(length), generator=generator, **options)
        passes = [list(loader) for _ in range(3)]
        return passes, len(loader), None if generator is None else generator.get_state().tolist()

    both(run)


def test_an_abandoned_pass_draws_as_much():
    def run(library):
        loader = library.utils.data.DataLoader(range(10), batch_size=2, shuffle=True)
        first = next(iter(loader))
        waiting = iter(loader)
        drawn = library.rand(2)
        return first, drawn, next(waiting), list(loader)

    both(run)


SAMPLERS = {
    "random": lambda d, g: d.RandomSampler(range(50), generator=g),
    "replacement": lambda d, g: d.RandomSampler(range(50), True, 70, g),
    "replacement 64": lambda d, g: d.RandomSampler(range(50), True, 64, g),
    "more": lambda d, g: d.RandomSampler(range(5), False, 13, g),
    "less": lambda d, g: d.RandomSampler(range(50), False, 13, g),
    "subset": lambda d, g: d.SubsetRandomSampler([5, 3, 8, 1], g),
    "weighted": lambda d, g: d.WeightedRandomSampler([0.1, 0.9, 0.4, 3.0], 20, generator=g),
    "weighted once": lambda d, g: d.WeightedRandomSampler([0.1, 0.9, 0.4, 3.0], 3, False, g),
    "batches": lambda d, g: d.BatchSampler(d.RandomSampler(range(7), generator=g), 3, False),
    "batches dropped": lambda d, g: d.BatchSampler(range(7), 3, True),
    "distributed": lambda d, g: d.DistributedSampler(range(11), 3, 1, seed=4),
    "distributed dropped": lambda d, g: d.DistributedSampler(range(11), 3, 2, drop_last=True),
    "distributed many": lambda d, g: d.DistributedSampler(range(2), 7, 6, shuffle=False),
}


@pytest.mark.parametrize("own", [False, True], ids=["default", "generator"])
@pytest.mark.parametrize("name", SAMPLERS)
def test_samplers(name, own):
    def run(library):
        generator = library.Generator().manual_seed(3) if own else None
        sampler = SAMPLERS[name](library.utils.data, generator)
        return list(sampler), list(sampler), len(sampler)

    both(run)


@pytest.mark.parametrize("lengths", [[4, 6], [0.5, 0.5], [0.33, 0.33, 0.34], [1, 9], [10]])
def test_random_split(lengths):
    def run(library):
        parts = library.utils.data.random_split(range(10), lengths)
        generator = library.Generator().manual_seed(1)
        more = library.utils.data.random_split(range(10), lengths, generator=generator)
        return [list(part.indices) for part in parts + more]

    both(run)


Point = collections.namedtuple("Point", ["x", "y"])

COLLECTED = {
    "ints": lambda t: [1, 2, 3],
    "bools": lambda t: [True, False],
    "floats": lambda t: [0.1, 2.0],
    "float then int": lambda t: [0.1, 2],
    "texts": lambda t: ["a", "b"],
    "bytes": lambda t: [b"a", b"b"],
    "tensors": lambda t: [t.ones(2), t.zeros(2)],
    "arrays": lambda t: [np.ones((2, 1), np.float32), np.zeros((2, 1), np.float32)],
    "half arrays": lambda t: [np.ones(2, np.float16)],
    "numpy numbers": lambda t: [np.float32(1), np.float32(2)],
    "numpy bools": lambda t: [np.bool_(True)],
    "pairs": lambda t: [(1, "a"), (2, "b")],
    "lists": lambda t: [[1, 2.5], [2, 3.5]],
    "dicts": lambda t: [{"a": 1, "b": t.ones(1)}, {"a": 2, "b": t.zeros(1)}],
    "ordered": lambda t: [collections.OrderedDict(b=1, a=2)] * 2,
    "named": lambda t: [Point(1, (2, 3.0)), Point(4, (5, 6.0))],
    "ranges": lambda t: [range(2), range(2)],
    "empty tuples": lambda t: [(), ()],
    "deques": lambda t: [collections.deque([1, 2]), collections.deque([3, 4])],
    "uneven": lambda t: [[1], [1, 2]],
    "shapes": lambda t: [t.ones(2), t.ones(3)],
    "text arrays": lambda t: [np.array(["a"])],
    "nothing": lambda t: [None],
    "sets": lambda t: [{1}, {2}],
    "keys": lambda t: [{"a": 1}, {"b": 1}],
    "no samples": lambda t: [],
}


def outcome(function):
    """What a call gives: its value, or the type and first line of its error, and its warnings."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            result = plain(function())
        except Exception as error:
            result = (
                type(error).__name__,
                str(error).partition("\n")[0].replace("retrograd", "torch"),
            )
    return result, [(item.category.__name__, str(item.message)) for item in caught]


@pytest.mark.parametrize("name", COLLECTED)
@pytest.mark.parametrize("function", ["default_collate", "default_convert"])
def test_collate_and_convert(function, name):
    theirs, ours = (
        outcome(lambda t=library: getattr(t.utils.data, function)(COLLECTED[name](t)))
        for library in LIBRARIES
    )
    assert ours == theirs


def stream(library, count=3, promised=None):
    class Stream(library.utils.data.IterableDataset):
        def __iter__(self):
            return iter(range(count))

        def __len__(self):
            return promised

        def __repr__(self):
            return "Stream()"

    return Stream()


def load(t, *args, **kwargs):
    return list(t.utils.data.DataLoader(*args, **kwargs))


def lengths(t, *args, **kwargs):
    loader = t.utils.data.DataLoader(*args, **kwargs)
    return len(loader), list(loader)


def change(t, name):
    setattr(t.utils.data.DataLoader(range(2)), name, 1)


CALLS = {
    "negative workers": lambda t: load(t, range(2), num_workers=-1),
    "negative timeout": lambda t: load(t, range(2), timeout=-1),
    "prefetch alone": lambda t: load(t, range(2), prefetch_factor=2),
    "negative prefetch": lambda t: load(t, range(2), num_workers=1, prefetch_factor=-2),
    "persistent alone": lambda t: load(t, range(2), persistent_workers=True),
    "context alone": lambda t: load(t, range(2), multiprocessing_context="fork"),
    "unknown context": lambda t: load(t, [1], num_workers=1, multiprocessing_context="x"),
    "no context": lambda t: load(t, [1], num_workers=1, multiprocessing_context=3),
    "many workers": lambda t: t.utils.data.DataLoader([1], num_workers=9999) and None,
    "timeout alone": lambda t: load(t, range(2), timeout=1),
    "sampler and shuffle": lambda t: load(t, range(2), sampler=[1], shuffle=True),
    "batches and shuffle": lambda t: load(t, range(2), batch_sampler=[[1]], shuffle=True),
    "batches and size": lambda t: load(t, range(2), batch_sampler=[[1]], batch_size=3),
    "drop of nothing": lambda t: load(t, range(2), batch_size=None, drop_last=True),
    "size zero": lambda t: load(t, range(2), batch_size=0),
    "size of truth": lambda t: load(t, range(2), batch_size=True),
    "drop number": lambda t: load(t, range(2), drop_last=1),
    "nothing to shuffle": lambda t: load(t, [], shuffle=True),
    "nothing": lambda t: load(t, []),
    "shuffled stream": lambda t: load(t, stream(t), shuffle=True),
    "unshuffled stream": lambda t: load(t, stream(t), shuffle=False),
    "stream and sampler": lambda t: load(t, stream(t), sampler=[1]),
    "stream and batches": lambda t: load(t, stream(t), batch_sampler=[[1]]),
    "stream": lambda t: lengths(t, stream(t, 5, 5), batch_size=2),
    "stream dropped": lambda t: lengths(t, stream(t, 5, 5), batch_size=2, drop_last=True),
    "stream too long": lambda t: lengths(t, stream(t, 5, 3)),
    "pinned": lambda t: load(t, range(2), pin_memory=True),
    "pinned somewhere": lambda t: load(t, range(2), pin_memory=True, pin_memory_device="cuda"),
    "batches": lambda t: lengths(t, range(5), batch_sampler=[[1, 2], [4]]),
    "sampler": lambda t: lengths(t, range(5), sampler=[4, 1], batch_size=2),
    "no getitem": lambda t: t.utils.data.Dataset()[0],
    "no samples": lambda t: iter(t.utils.data.Sampler()),
    "no length": lambda t: len(t.utils.data.DataLoader(iter([1]))),
    "sizes": lambda t: t.utils.data.TensorDataset(t.ones(2), t.ones(3)),
    "stack of both": lambda t: t.utils.data.StackDataset([1], a=[2]),
    "stack of none": lambda t: t.utils.data.StackDataset(),
    "stack of sizes": lambda t: t.utils.data.StackDataset([1], [2, 3]),
    "stack": lambda t: load(t, t.utils.data.StackDataset(a=[1, 2], b="xy"), batch_size=2),
    "concat of none": lambda t: t.utils.data.ConcatDataset([]),
    "concat of streams": lambda t: t.utils.data.ConcatDataset([stream(t)]),
    "chain of maps": lambda t: list(t.utils.data.ChainDataset([[1]])),
    "chain length": lambda t: len(t.utils.data.ChainDataset([stream(t, 3, 3), stream(t, 2, 2)])),
    "fraction": lambda t: t.utils.data.random_split(range(4), [1.5, -0.5]),
    "fractions": lambda t: t.utils.data.random_split(range(4), [0.5, 0.2]),
    "empty part": lambda t: len(t.utils.data.random_split(range(1), [0.5, 0.5])),
    "samples": lambda t: t.utils.data.RandomSampler(range(2), num_samples=0),
    "samples text": lambda t: t.utils.data.RandomSampler(range(2), num_samples="a"),
    "replacement": lambda t: t.utils.data.RandomSampler(range(2), replacement=1),
    "weights": lambda t: t.utils.data.WeightedRandomSampler([[1.0]], 2),
    "weight samples": lambda t: t.utils.data.WeightedRandomSampler([1.0], True),
    "weight replacement": lambda t: t.utils.data.WeightedRandomSampler([1.0], 2, 1),
    "too many weights": lambda t: list(t.utils.data.WeightedRandomSampler([1.0], 2, False)),
    "rank": lambda t: t.utils.data.DistributedSampler([1], 2, 2),
    "change batch_size": lambda t: change(t, "batch_size"),
    "change dataset": lambda t: change(t, "dataset"),
    "change num_workers": lambda t: change(t, "num_workers"),
    "tensor subset": lambda t: load(
        t, t.utils.data.Subset(t.utils.data.TensorDataset(t.arange(4)), [3, 1]), batch_size=2
    ),
}


@pytest.mark.parametrize("name", CALLS)
def test_calls(name):
    theirs, ours = (outcome(lambda t=library: CALLS[name](t)) for library in LIBRARIES)
    assert ours == theirs


def test_signatures():
    import inspect

    for name in ("DataLoader", "RandomSampler", "BatchSampler", "DistributedSampler", "Subset"):
        theirs, ours = (
            [
                (p.name, p.kind, p.default)
                for p in inspect.signature(getattr(t.utils.data, name)).parameters.values()
            ]
            for t in LIBRARIES
        )
        assert ours == theirs, name
