"""Loaders with worker processes: scenarios for both libraries."""

from __future__ import annotations

import gc
import multiprocessing
import os
import random
import re
import time
import warnings

import numpy as np
import pytest

from tests.autograd.outcomes import assert_same

torch = pytest.importorskip("torch")
pytestmark = [
    pytest.mark.torch,
    pytest.mark.skipif(not hasattr(os, "fork"), reason="the tests fork their workers"),
]

SCENARIOS = []


class Strange(Exception):
    """Cannot be built from a text alone."""

    def __init__(self, first, second):
        super().__init__(first, second)


class WithMessage(Exception):
    """Has a message of its own."""

    def __init__(self, message):
        self.message = message
        super().__init__(message)


def scenario(function):
    SCENARIOS.append(pytest.param(function, id=function.__name__))
    return function


@pytest.mark.parametrize("run", SCENARIOS)
def test_scenario(run, monkeypatch):
    # So long PyTorch waits for each worker of a pass that failed before it ends it by force; not
    # where the test asks how workers end.
    asks = run is processes_after_a_pass
    monkeypatch.setattr(torch.utils.data._utils, "MP_STATUS_CHECK_INTERVAL", 600 if asks else 0.3)
    if asks or run is timeouts:
        monkeypatch.setattr("retrograd.utils.data.parallel.PATIENCE", 600 if asks else 0.3)

    def without_advice(lib, log):
        warnings.filterwarnings("ignore", "This DataLoader will create")
        warnings.filterwarnings("ignore", "This process .* is multi-threaded")
        run(lib, log)

    assert_same(without_advice, torch)


def shown(value):
    """A text of containers and tensors in which the libraries' own names are alike."""
    text = re.sub(r" at 0x[0-9a-f]+|pid(\(s\))? [\d, ]+", "", repr(value))
    return text.replace("retrograd.", "torch.")


def loading(lib, dataset, workers=2, **options):
    options.setdefault("timeout", 600)
    context = options.pop("multiprocessing_context", "fork")
    return lib.utils.data.DataLoader(
        dataset, num_workers=workers, multiprocessing_context=context, **options
    )


def counting(lib, length):
    class Counting(lib.utils.data.IterableDataset):
        def __len__(self):
            return length

        def __iter__(self):
            return iter(range(length))

        def __repr__(self):
            return f"Counting({length})"

    return Counting()


def sized(lib, *sizes):
    class Sized(lib.utils.data.IterableDataset):
        def __iter__(self):
            return iter(range(sizes[lib.utils.data.get_worker_info().id]))

    return Sized()


@scenario
def batches_and_samples(lib, log):
    tens = [10 * i for i in range(11)]
    for options in (
        {},
        {"batch_size": 3},
        {"batch_size": 3, "drop_last": True},
        {"batch_size": None},
        {"batch_size": 4, "shuffle": True},
        {"batch_size": None, "shuffle": True},
        {"sampler": [3, 1, 2], "batch_size": 2},
        {"batch_sampler": [(0, 1), (2, 3, 4)]},
        {"batch_size": 2, "prefetch_factor": 1},
        {"batch_size": 2, "prefetch_factor": 5, "persistent_workers": True},
        {"batch_size": 2, "in_order": True, "collate_fn": tuple},
    ):
        loader = loading(lib, tens, **options)
        log(len(loader), shown(list(loader)), shown(list(loader)), lib.rand(1))


@scenario
def more_workers_than_batches(lib, log):
    log(shown(list(loading(lib, [5], workers=3))))
    log(shown(list(loading(lib, [], workers=2))))
    log(shown(list(loading(lib, counting(lib, 0), workers=2))))


@scenario
def streams(lib, log):
    for sizes in ((0, 4, 20), (7, 0, 3)):
        for options in (
            {"batch_size": None},
            {"batch_size": 7},
            {"batch_size": 7, "drop_last": True},
            {"batch_size": 2, "prefetch_factor": 4},
            {"batch_size": 2, "persistent_workers": True},
        ):
            loader = loading(lib, sized(lib, *sizes), workers=3, **options)
            log(shown(list(loader)), shown(list(loader)))
    chain = counting(lib, 3) + counting(lib, 2)
    log(shown(list(loading(lib, chain, workers=1, batch_size=2))))


@scenario
def streams_longer_than_said(lib, log):
    loader = loading(lib, counting(lib, 3))
    log(shown(list(loader)))
    log(len(loader), shown(list(loader)))


@scenario
def what_workers_know(lib, log):
    class Told(lib.utils.data.Dataset):
        def __init__(self):
            self.value = "as given"

        def __len__(self):
            return 4

        def __getitem__(self, index):
            info = lib.utils.data.get_worker_info()
            assert info.dataset is self
            return [
                index,
                info.id,
                info.num_workers,
                info.seed,
                lib.initial_seed(),
                self.value,
                lib.get_num_threads(),
                sorted(name for name in ("id", "seed", "dataset") if hasattr(info, name)),
                lib.rand(1).item(),
                random.random(),
                np.random.rand(),
                lib.randperm(5).tolist(),
            ]

    def prepare(worker_id):
        info = lib.utils.data.get_worker_info()
        info.dataset.value = f"prepared by {worker_id}"

    told = Told()
    options = {"collate_fn": list, "batch_size": 2}
    lib.manual_seed(5)
    log([shown(batch) for batch in loading(lib, told, **options)])
    chance = lib.Generator().manual_seed(42)
    log([shown(batch) for batch in loading(lib, told, generator=chance, **options)])
    log([shown(batch) for batch in loading(lib, told, worker_init_fn=prepare, **options)])
    log(told.value, lib.utils.data.get_worker_info())

    def change(worker_id):
        lib.utils.data.get_worker_info().seed = 3

    log.attempt(lambda: list(loading(lib, told, worker_init_fn=change, **options)))
    gc.collect()
    log(shown(list(loading(lib, told, worker_init_fn=print, sampler=[], **options))))


@scenario
def errors_in_workers(lib, log):
    class Failing(lib.utils.data.Dataset):
        def __init__(self, error):
            self.error = error

        def __len__(self):
            return 5

        def __getitem__(self, index):
            if index == 2:
                raise self.error
            return index

    for error in (
        ValueError("no item"),
        KeyError("key"),
        IndexError("far"),
        RuntimeError("a\nb"),
        AssertionError(),
        StopIteration("end"),
        Strange(1, 2),
        WithMessage("text"),
        UnicodeDecodeError("utf-8", b"x", 0, 1, "bad"),
        OSError(2, "No such file", "name"),
        FileNotFoundError("name"),
    ):
        iterator = iter(loading(lib, Failing(error)))
        found = []
        while len(found) < 9:
            try:
                found.append(shown(next(iterator)))
            except StopIteration as end:
                if not str(end):
                    break
                found.append(_told(end))
            except Exception as caught:
                found.append(_told(caught))
        log(type(error).__name__, found)
        gc.collect()


def _told(error):
    """The kind of an error, and what its text says apart from places in files."""
    # Ours also say which item it was.
    lines = [line for line in str(error).splitlines() if not line.startswith((" ", "while "))]
    lines = [re.sub(r"\(pid.*?\)", "(pid)", line) for line in lines]
    return [type(error).__name__, lines[:2], lines[-1:] or [""]]


@scenario
def errors_at_other_places(lib, log):
    def fail(*_):
        raise ValueError("on purpose")

    class Stream(lib.utils.data.IterableDataset):
        def __iter__(self):
            yield 1
            raise ValueError("in the middle")

    class NoStart(lib.utils.data.IterableDataset):
        def __iter__(self):
            raise ValueError("at the start")

    class BadSampler:
        def __iter__(self):
            yield 0
            raise ValueError("in the sampler")

        def __len__(self):
            return 2

    for make in (
        lambda: loading(lib, [1, 2], collate_fn=fail),
        lambda: loading(lib, [1, 2], worker_init_fn=fail),
        lambda: loading(lib, [1, 2], worker_init_fn=lambda: None),
        lambda: loading(lib, [1, 2], sampler=[7]),
        lambda: loading(lib, Stream(), workers=1),
        lambda: loading(lib, NoStart(), workers=1),
        lambda: loading(lib, [1, 2, 3], sampler=BadSampler()),
        lambda: loading(lib, [None]),
    ):
        try:
            log(shown(list(make())))
        except Exception as error:
            log(_told(error))
        gc.collect()  # PyTorch's iterator is in a cycle with the error


@scenario
def leaves_that_require_gradients(lib, log):
    values = [lib.ones(2, requires_grad=True), lib.zeros(2)]
    for batch in loading(lib, values, batch_size=2, collate_fn=list):
        log(shown(batch), [value.requires_grad for value in batch])
    parameters = [lib.nn.Parameter(lib.ones(1))]
    for batch in loading(lib, parameters, collate_fn=list):
        log(shown(batch), [type(value).__name__ for value in batch])


@scenario
def persistent_workers(lib, log):
    class Remembering(lib.utils.data.Dataset):
        def __init__(self):
            self.start = 0
            self.calls = 0

        def __len__(self):
            return 4

        def __getitem__(self, index):
            self.calls += 1
            return [index, self.start, self.calls, lib.utils.data.get_worker_info().seed]

    for persistent in (False, True):
        dataset = Remembering()
        loader = loading(lib, dataset, persistent_workers=persistent, collate_fn=list)
        for _ in range(3):
            log(shown(list(loader)), lib.rand(1))
            dataset.start += 1
        first = iter(loader)
        log(shown(next(first)))
        second = iter(loader)
        log(first is second, shown(next(second)))
        log(shown(list(second)))
        log(shown(next(second, "nothing more")))


@scenario
def two_loaders_at_once(lib, log):
    one = iter(loading(lib, range(5), workers=1))
    two = iter(loading(lib, range(10, 15), workers=2))
    log(shown([next(one), next(one), next(two), next(two), next(one), next(two)]))
    crew = [*one._workers, *two._workers]
    log(len(crew), [process.is_alive() for process in crew])
    del one, two
    for process in crew:
        process.join(20)
    log([(process.is_alive(), process.exitcode) for process in crew])


@scenario
def processes_after_a_pass(lib, log):
    for length, taken in ((6, 6), (6, 2)):
        iterator = iter(loading(lib, range(length)))
        crew = iterator._workers
        log(shown([next(iterator) for _ in range(taken)]))
        if taken == length:
            log(next(iterator, "the end"))
        del iterator
        for process in crew:
            process.join()
        log([(process.is_alive(), process.exitcode) for process in crew])


@scenario
def timeouts(lib, log):
    class Slow(lib.utils.data.Dataset):
        def __len__(self):
            return 1

        def __getitem__(self, index):
            time.sleep(600)  # until it is ended

    log.attempt(lambda: list(loading(lib, Slow(), workers=1, timeout=0.3)))


@scenario
def contexts(lib, log):
    loader = lib.utils.data.DataLoader([1], num_workers=1, multiprocessing_context="fork")
    log(type(loader.multiprocessing_context).__name__)
    context = multiprocessing.get_context("fork")
    loader = lib.utils.data.DataLoader([1], num_workers=1, multiprocessing_context=context)
    log(loader.multiprocessing_context is context, shown(list(loader)))
    loader.multiprocessing_context = None
    log(loader.multiprocessing_context)
    log.attempt(lambda: setattr(loader, "multiprocessing_context", "nothing"))


@scenario
def out_of_order(lib, log):
    loader = loading(lib, range(8), in_order=False, batch_size=2)
    log(sorted(shown(batch) for batch in loader))
    log(sorted(shown(batch) for batch in loading(lib, sized(lib, 3, 5), in_order=False)))
    log(shown(list(loading(lib, range(4), workers=1, in_order=False))))


@scenario
def spawned_workers_need_pickles(lib, log):
    def local(worker_id):
        return None

    for options in ({"worker_init_fn": local}, {"collate_fn": lambda batch: batch}):
        loader = loading(lib, [1], workers=1, multiprocessing_context="spawn", **options)
        try:
            iter(loader)
        except Exception as error:
            text = re.sub(r"<function .*?>|'.*?'", "...", str(error))
            log(type(error).__name__, re.sub(r" at 0x\w+", "", text).splitlines()[0])
