"""Datasets, samplers and the loader in one process."""

from __future__ import annotations

import collections
import itertools
import os
import subprocess
import sys

import numpy as np
import pytest

import retrograd as torch
from retrograd.utils.data import (
    ChainDataset,
    ConcatDataset,
    DataLoader,
    Dataset,
    DistributedSampler,
    IterableDataset,
    RandomSampler,
    StackDataset,
    Subset,
    TensorDataset,
    default_collate,
    default_convert,
    get_worker_info,
    random_split,
)
from tests.limits import LIMIT

Point = collections.namedtuple("Point", ["x", "y"])


class Stream(IterableDataset):
    def __init__(self, count, promised=None):
        self.count = count
        self.promised = promised

    def __iter__(self):
        return iter(range(self.count))

    def __len__(self):
        if self.promised is None:
            raise TypeError("no length")
        return self.promised


class AtOnce(Dataset):
    """Knows how to look up many keys in one call."""

    def __init__(self):
        self.calls = []

    def __getitems__(self, indices):
        self.calls.append(indices)
        return [10 * i for i in indices]

    def __len__(self):
        return 5


def values(batches):
    return [batch.tolist() for batch in batches]


def test_batches_of_a_tensor_dataset():
    data = TensorDataset(torch.arange(5), torch.arange(10.0).reshape(5, 2))
    loader = DataLoader(data, batch_size=2)
    assert len(loader) == 3
    xs, ys = zip(*loader, strict=True)
    assert values(xs) == [[0, 1], [2, 3], [4]]
    assert [tuple(y.shape) for y in ys] == [(2, 2), (2, 2), (1, 2)]
    assert len(DataLoader(data, batch_size=2, drop_last=True)) == 2


def test_no_batches():
    assert list(DataLoader([3, "a", None], batch_size=None)) == [3, "a", None]
    (sample,) = DataLoader([np.array([1, 2])], batch_size=None)
    assert isinstance(sample, torch.Tensor)


def test_batch_sampler_and_collate_fn():
    loader = DataLoader("abcd", batch_sampler=[[0, 3], [1]], collate_fn="".join)
    assert list(loader) == ["ad", "b"]
    assert len(loader) == 2
    assert loader.batch_size is None


def test_many_keys_at_once():
    data = AtOnce()
    assert values(DataLoader(data, batch_size=3)) == [[0, 10, 20], [30, 40]]
    assert values(DataLoader(Subset(data, [4, 0]), batch_size=2)) == [[40, 0]]
    assert data.calls == [[0, 1, 2], [3, 4], [4, 0]]
    stacked = StackDataset(data, "abcde").__getitems__([1, 2])
    assert stacked == [(10, "b"), (20, "c")]


def test_streams():
    assert values(DataLoader(Stream(5), batch_size=2)) == [[0, 1], [2, 3], [4]]
    assert values(DataLoader(Stream(5), batch_size=2, drop_last=True)) == [[0, 1], [2, 3]]
    assert list(DataLoader(Stream(3), batch_size=None)) == [0, 1, 2]
    with pytest.raises(TypeError, match="no length"):
        len(DataLoader(Stream(5)))


def test_a_stream_longer_than_it_said():
    loader = DataLoader(Stream(3, promised=2))
    assert len(loader) == 2
    with pytest.warns(UserWarning, match=r"was reported to be 2\(when accessing len\(dataloader"):
        assert len(list(loader)) == 3


def test_joined_datasets():
    both = ConcatDataset([[1, 2], [3]])
    assert (list(both[i] for i in range(3)), both[-1]) == ([1, 2, 3], 3)
    with pytest.raises(ValueError, match="absolute value of index"):
        both[-4]
    assert list(ChainDataset([Stream(1), Stream(2)])) == [0, 0, 1]
    assert list(Stream(1) + Stream(1)) == [0, 0]
    assert isinstance(AtOnce() + AtOnce(), ConcatDataset)
    with pytest.raises(AssertionError, match="ConcatDataset does not support IterableDataset"):
        ConcatDataset([Stream(1)])
    with pytest.warns(FutureWarning, match="renamed"):
        assert both.cummulative_sizes == [2, 3]


def test_subset_with_half_an_override():
    class Half(Subset):
        def __getitem__(self, index):
            return -1

    with pytest.raises(NotImplementedError, match="Half overrides __getitem__ but not __getitems"):
        Half("abc", [0])


def test_random_split_covers_everything():
    parts = random_split(range(7), [0.5, 0.5])
    assert [len(part) for part in parts] == [4, 3]
    assert sorted(i for part in parts for i in part.indices) == list(range(7))
    with pytest.warns(UserWarning, match="Length of split at index 1 is 0"):
        random_split(range(1), [0.5, 0.5])
    with pytest.raises(ValueError, match="Sum of input lengths does not equal"):
        random_split(range(3), [1, 1])


def test_collate_keeps_containers():
    batch = default_collate(
        [{"p": Point(1, 2.0), "l": [1, "a"]}, {"p": Point(3, 4.0), "l": [5, "b"]}]
    )
    assert batch["p"].x.tolist() == [1, 3]
    assert batch["p"].y.dtype is torch.float64
    assert batch["l"][0].tolist() == [1, 5]
    assert batch["l"][1] == ("a", "b")
    assert isinstance(default_collate([collections.OrderedDict(a=1)]), collections.OrderedDict)
    with pytest.raises(RuntimeError, match="each element in list of batch should be of equal size"):
        default_collate([[1], [1, 2]])
    with pytest.raises(TypeError, match="default_collate: batch must contain tensors"):
        default_collate([object()])


def test_collate_functions_for_more_types(monkeypatch):
    from retrograd.utils.data._utils.collate import default_collate_fn_map

    monkeypatch.setitem(default_collate_fn_map, slice, lambda batch, collate_fn_map: len(batch))
    assert default_collate([(slice(1), 1), (slice(2), 2)])[0] == 2


def test_collate_is_differentiable():
    x = torch.ones(2, requires_grad=True)
    default_collate([x, 2 * x]).sum().backward()
    assert x.grad.tolist() == [3.0, 3.0]


def test_convert_leaves_text_alone():
    text = np.array(["a", "b"])
    assert default_convert(text) is text
    assert default_convert("ab") == "ab"
    assert default_convert(Point(np.float32(1), 2)).x.dtype is torch.float32


def test_fixed_attributes():
    loader = DataLoader(range(3))
    with pytest.raises(ValueError, match="batch_size attribute should not be set after DataLoader"):
        loader.batch_size = 2


def test_pin_memory_says_that_it_does_nothing():
    with pytest.warns(UserWarning, match="'pin_memory' argument is set as true but no accelerator"):
        assert len(list(DataLoader(range(2), pin_memory=True))) == 2


def test_distributed_shares():
    shares = [list(DistributedSampler(range(10), 3, rank)) for rank in range(3)]
    assert {len(share) for share in shares} == {4}
    assert set().union(*shares) == set(range(10))
    shares = [list(DistributedSampler(range(10), 3, rank, drop_last=True)) for rank in range(3)]
    assert len(set().union(*shares)) == 9


def test_an_iterator_cannot_be_pickled():
    import pickle

    with pytest.raises(NotImplementedError):
        pickle.dumps(iter(DataLoader(range(2))))


def test_the_profiler_shows_the_loader():
    with torch.autograd.profiler.profile() as prof:
        list(DataLoader(range(2)))
    names = [event.name for event in prof.function_events]
    assert names.count("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__") == 3


def test_importing_needs_no_multiprocessing():
    code = (
        "import sys, retrograd as torch; import retrograd.utils.data.dataset, "
        "retrograd.utils.data.sampler; list(torch.utils.data.DataLoader(range(3), 2));"
        "assert 'multiprocessing' not in sys.modules; print('fine')"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=environment, timeout=LIMIT
    )
    assert done.stdout == "fine\n", done.stderr


def test_samplers_refuse():
    with pytest.raises(ValueError, match="num_samples should be a positive integer"):
        RandomSampler([])
    assert get_worker_info() is None


def test_random_sampler_can_be_asked_for_samples_without_end():
    endless = RandomSampler(range(10), replacement=True, num_samples=10**18)
    assert all(0 <= index < 10 for index in itertools.islice(endless, 100))
