"""Worker processes against PyTorch's: seeds, random numbers, order, texts of errors."""

from __future__ import annotations

import os
import random

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import retrograd

pytestmark = [
    pytest.mark.torch,
    pytest.mark.skipif(not hasattr(os, "fork"), reason="the tests fork their workers"),
    pytest.mark.filterwarnings("ignore:This DataLoader will create"),
    pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning"),
]


def loader(library, dataset, **options):
    return library.utils.data.DataLoader(
        dataset, num_workers=2, multiprocessing_context="fork", timeout=600, **options
    )


def both(function):
    outcomes = []
    for library in (torch, retrograd):
        library.manual_seed(11)
        outcomes.append((function(library), library.rand(3).tolist()))
    assert outcomes[1] == outcomes[0]


def chance(library):
    class Chance(library.utils.data.Dataset):
        def __len__(self):
            return 5

        def __getitem__(self, index):
            seed = library.utils.data.get_worker_info().seed
            return [index, seed, library.rand(2).tolist(), random.random(), np.random.rand()]

    return Chance()


def stream(library, counts):
    class Stream(library.utils.data.IterableDataset):
        def __iter__(self):
            me = library.utils.data.get_worker_info().id
            return iter([10 * me + i for i in range(counts[me])])

    return Stream()


@pytest.mark.parametrize("persistent", [False, True])
@pytest.mark.parametrize("own", [False, True], ids=["default", "generator"])
def test_seeds_and_orders(own, persistent):
    def run(library):
        generator = library.Generator().manual_seed(3) if own else None
        load = loader(
            library,
            chance(library),
            shuffle=True,
            batch_size=2,
            collate_fn=list,
            generator=generator,
            persistent_workers=persistent,
        )
        passes = [list(load) for _ in range(2)]
        return passes, None if generator is None else generator.get_state().tolist()

    both(run)


@pytest.mark.parametrize("counts", [(3, 3), (5, 1), (1, 5), (0, 4), (0, 0)])
def test_streams(counts):
    def run(library):
        load = loader(library, stream(library, counts), batch_size=2, collate_fn=list)
        return list(load)

    both(run)


@pytest.mark.parametrize("kind", [ValueError, KeyError, StopIteration, ZeroDivisionError])
def test_texts_of_errors(kind):
    def run(library):
        class Failing(library.utils.data.Dataset):
            def __len__(self):
                return 4

            def __getitem__(self, index):
                raise kind("some text")

        iterator = iter(loader(library, Failing()))
        lines = []
        for _ in range(4):
            with pytest.raises(kind) as caught:
                next(iterator)
            # Ours also say which item it was.
            text = [t for t in str(caught.value).splitlines() if not t.startswith("while ")]
            lines.append((text[:2], text[-1]))
        assert next(iterator, "the end") == "the end"
        return lines

    both(run)
