"""The loader with worker processes: same batches as without, and nothing hangs or stays behind."""

from __future__ import annotations

import gc
import multiprocessing
import os
import random
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

import retrograd as torch
from retrograd.utils.data import DataLoader, Dataset, IterableDataset, get_worker_info
from tests.limits import ended_within

pytestmark = [
    pytest.mark.skipif(not hasattr(os, "fork"), reason="the tests fork their workers"),
    # on a machine with one processor, two workers are said to be too many
    pytest.mark.filterwarnings("ignore:This DataLoader will create"),
    # a process with threads of other tests in it is forked here
    pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning"),
]

LIMIT = 600  # seconds: only what hangs takes so long


@pytest.fixture(autouse=True)
def no_hanging():
    """A test that waits for ever fails; a test that leaves processes behind fails too."""

    def late(number, frame):
        raise TimeoutError(f"the test took more than {LIMIT} seconds")

    before = set(multiprocessing.active_children())
    previous = signal.signal(signal.SIGALRM, late)
    signal.alarm(LIMIT)
    try:
        yield
        gc.collect()
        left = set(multiprocessing.active_children()) - before
        for process in left:
            process.join(LIMIT / 10)  # one that was told to end may need a moment
        assert not any(process.is_alive() for process in left)
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, previous)


def load(dataset, **options):
    options.setdefault("num_workers", 2)
    options.setdefault("multiprocessing_context", "fork")
    return DataLoader(dataset, **options)


def values(batches):
    return [batch.tolist() for batch in batches]


class Squares(Dataset):
    def __init__(self, count=10):
        self.count = count

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        return torch.tensor(index * index)


class Shares(IterableDataset):
    """A stream of which each worker takes its share."""

    def __init__(self, count):
        self.count = count

    def __iter__(self):
        info = get_worker_info()
        return iter(range(info.id, self.count, info.num_workers))

    def __len__(self):
        return self.count


class Told(Dataset):
    """What the worker that looked up the sample knows of itself."""

    def __len__(self):
        return 4

    def __getitem__(self, index):
        info = get_worker_info()
        return info.id, info.num_workers, info.seed, type(info.dataset).__name__, os.getpid()


class Chance(Dataset):
    def __len__(self):
        return 4

    def __getitem__(self, index):
        return torch.rand(1).item(), random.random(), float(np.random.rand())


class Acting(Dataset):
    """A dataset in which looking up sample 2 does something."""

    def __init__(self, act):
        self.act = act

    def __len__(self):
        return 6

    def __getitem__(self, index):
        if index == 2:
            return self.act()
        return index


class Odd(Exception):
    def __init__(self, number, text):
        super().__init__(text)


class Unknown:
    def __reduce__(self):
        raise ValueError("no pickle of this")


def fail(error):
    def act():
        raise error

    return act


@pytest.mark.parametrize("options", [{}, {"prefetch_factor": 1}, {"prefetch_factor": 7}], ids=str)
@pytest.mark.parametrize("num_workers", [1, 2])
def test_batches_come_in_order(num_workers, options):
    loader = load(Squares(), batch_size=3, num_workers=num_workers, **options)
    expected = values(DataLoader(Squares(), batch_size=3))
    assert values(loader) == expected
    assert values(loader) == expected
    assert len(loader) == 4


def test_spawned_workers():
    loader = load(Squares(3), batch_size=2, num_workers=1, multiprocessing_context="spawn")
    assert values(loader) == [[0, 1], [4]]


def test_without_batches():
    assert list(load("abc", batch_size=None)) == ["a", "b", "c"]


def test_large_batches_and_long_index_lists():
    # Both more than a pipe takes at once: neither side may wait for the other.
    loader = load(range(120_000), batch_size=40_000, prefetch_factor=2)
    assert [batch.sum().item() for batch in loader] == [799980000, 2399980000, 3999980000]


@pytest.mark.parametrize("persistent", [False, True])
def test_streams(persistent):
    loader = load(Shares(5), batch_size=None, persistent_workers=persistent)
    for _ in range(2):
        assert list(loader) == [0, 1, 2, 3, 4]
    assert values(load(Shares(7), batch_size=2)) == [[0, 2], [1, 3], [4, 6], [5]]


def test_every_worker_has_the_whole_stream_unless_told():
    class Everything(Shares):
        def __iter__(self):
            return iter(range(self.count))

    loader = load(Everything(2), batch_size=None)
    assert len(loader) == 2
    with pytest.warns(UserWarning, match="not properly configuring the IterableDataset replica"):
        assert sorted(loader) == [0, 0, 1, 1]


def test_workers_know_themselves():
    torch.manual_seed(5)
    samples = list(load(Told(), batch_size=None))
    seeds = [sample[2] for sample in samples]
    assert [sample[:2] for sample in samples] == [[0, 2], [1, 2], [0, 2], [1, 2]]
    assert seeds[1] == seeds[0] + 1 and seeds[2:] == seeds[:2]
    assert {sample[3] for sample in samples} == {"Told"}
    assert os.getpid() not in {sample[4] for sample in samples}
    assert get_worker_info() is None


def test_passes_differ_and_seeds_repeat():
    def run():
        torch.manual_seed(3)
        loader = load(Chance(), batch_size=None)
        return list(loader), list(loader)

    first = run()
    assert first == run()
    assert first[0] != first[1]


def test_init_function():
    def start(worker_id):
        get_worker_info().dataset.count = 3 + worker_id

    class Counted(Shares):
        def __iter__(self):
            return iter([self.count])

    assert list(load(Counted(9), batch_size=None, worker_init_fn=start)) == [3, 4]


@pytest.mark.parametrize("num_workers", [1, 2])
def test_persistent_workers_stay(num_workers):
    loader = load(Told(), batch_size=None, persistent_workers=True, num_workers=num_workers)
    first, second = ([sample[4] for sample in loader] for _ in range(2))
    assert first == second and len(set(first)) == num_workers
    next(iter(loader))  # a pass that is given up: the next one starts at the start
    assert [sample[4] for sample in loader] == first


def test_other_workers_go_on_out_of_order():
    later = multiprocessing.get_context("fork").Event()

    def wait():
        return 2 if later.wait(60) else "nothing came before it"

    found = []
    for sample in load(Acting(wait), batch_size=None, in_order=False):
        found.append(sample)
        if sample == 3:
            later.set()  # the sample after it was here: sample 2 held nobody up
    assert sorted(found, key=str) == list(range(6))


@pytest.mark.parametrize(
    "error", [ValueError("bad"), KeyError("key"), StopIteration("end")], ids=repr
)
def test_errors_are_raised_again(error):
    iterator = iter(load(Acting(fail(error)), batch_size=None))
    assert [next(iterator), next(iterator)] == [0, 1]
    with pytest.raises(type(error)) as caught:
        next(iterator)
    text = str(caught.value)
    name = type(error).__name__
    assert text.startswith(f"Caught {name} in DataLoader worker process 0.\nOriginal Traceback (")
    assert f"raise error\n{name}: " in text
    assert list(iterator) == [3, 4, 5]


def test_errors_that_cannot_be_built_or_sent():
    iterator = iter(load(Acting(fail(Odd(1, "text"))), batch_size=None))
    with pytest.raises(RuntimeError, match="Caught Odd in DataLoader worker process 0"):
        list(iterator)

    class Local(Exception):
        pass

    with pytest.raises(RuntimeError, match="Caught Local in DataLoader worker process 0"):
        list(load(Acting(fail(Local("text"))), batch_size=None))


def test_batches_that_cannot_be_sent():
    with pytest.raises(ValueError, match=r"(?s)Caught ValueError.*no pickle of this"):
        list(load(Acting(Unknown), batch_size=None, collate_fn=lambda sample: sample))
    with pytest.raises(RuntimeError, match="Cowardly refusing to serialize non-leaf tensor"):
        list(load(Acting(lambda: 2 * torch.ones(1, requires_grad=True)), batch_size=None))
    leaf = list(load(Acting(lambda: torch.ones(1, requires_grad=True)), batch_size=None))[2]
    assert leaf.requires_grad and leaf.is_leaf


def test_errors_at_the_start():
    def start(worker_id):
        if worker_id == 1:
            raise ValueError("not this one")

    iterator = iter(load(range(4), batch_size=None, worker_init_fn=start))
    assert next(iterator) == 0
    with pytest.raises(ValueError, match="Caught ValueError in DataLoader worker process 1"):
        next(iterator)
    with pytest.warns(UserWarning, match="Got pickle error when attempting to start a worker"):
        with pytest.raises((AttributeError, TypeError, __import__("pickle").PicklingError)):
            iter(load(Acting(lambda: 1), multiprocessing_context="spawn", num_workers=1))
    with pytest.raises(AssertionError, match="prefetch_factor must be greater than 0"):
        iter(load(range(2), prefetch_factor=0))


@pytest.mark.parametrize(
    ("act", "why"),
    [
        (lambda: os._exit(3), "exited unexpectedly with exit code 3"),
        (lambda: os.kill(os.getpid(), signal.SIGKILL), "is killed by signal: Killed"),
    ],
    ids=["exit", "kill"],
)
def test_a_worker_that_dies(act, why):
    with pytest.raises(RuntimeError, match=r"DataLoader worker \(pid\(s\) \d+\) exited") as caught:
        list(load(Acting(act), batch_size=None))
    assert why in str(caught.value.__cause__)


def test_timeout(monkeypatch):
    # The worker sleeps on, so that it has to be ended by force.
    monkeypatch.setattr("retrograd.utils.data.parallel.PATIENCE", 0.5)
    loader = load(Acting(lambda: time.sleep(LIMIT)), batch_size=None, timeout=0.5, num_workers=1)
    with pytest.raises(RuntimeError, match=r"DataLoader timed out after 0\.5 seconds"):
        list(loader)


def test_garbage_that_has_the_pipes_in_it_first(monkeypatch):
    """A collection finalizes in any order; pipes that came first were closed twice."""
    ignored = []
    monkeypatch.setattr(sys, "unraisablehook", lambda report: ignored.append(report.exc_value))

    def abandon():
        batches = iter(DataLoader(range(20), num_workers=2))
        next(batches)
        pipes = [end for worker in batches._crew for end in (worker.tasks, worker.results)]
        processes = batches._workers
        gc.collect()
        box = [batches]
        del batches
        gc.collect()  # what only `box` holds goes to the end of the collector's list
        box[0].itself = box[0]
        del pipes
        return processes

    processes = abandon()
    gc.collect()
    assert ignored == [] and not any(process.is_alive() for process in processes)


def test_an_abandoned_pass_ends_its_workers():
    iterator = iter(load(Squares(1000)))
    next(iterator)
    pids = [worker.pid for worker in iterator._workers]
    del iterator
    gc.collect()
    for pid in pids:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)


PROGRAM = """
import os, sys, time
import retrograd as torch

class Slow(torch.utils.data.Dataset):
    def __len__(self):
        return 10**9

    def __getitem__(self, index):
        time.sleep(0.05)
        return os.getpid()

loader = torch.utils.data.DataLoader(
    Slow(), batch_size=None, num_workers=2, multiprocessing_context="fork",
    persistent_workers=True)
iterator = iter(loader)
print(next(iterator), next(iterator), flush=True)
if sys.argv[1] == "wait":
    for pid in iterator:
        pass
"""


def gone(pid):
    """Whether a process ends; one that waits for its parent counts."""
    end = time.monotonic() + LIMIT / 2
    while time.monotonic() < end:
        try:
            with open(f"/proc/{pid}/stat") as file:
                if file.read().rpartition(")")[2].split()[0] == "Z":
                    return True
        except OSError:
            return True
        time.sleep(0.02)
    return False


@pytest.mark.skipif(not os.path.exists("/proc/self/stat"), reason="looks up processes in /proc")
@pytest.mark.parametrize("how", ["end", "interrupt", "kill"])
def test_the_program_ends_and_so_do_its_workers(how):
    program = subprocess.Popen(
        [sys.executable, "-W", "ignore", "-c", PROGRAM, "end" if how == "end" else "wait"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    with ended_within(program, LIMIT):
        workers = [int(pid) for pid in program.stdout.readline().split()]
        if how == "interrupt":
            os.killpg(program.pid, signal.SIGINT)  # what Ctrl-C in a terminal does
        elif how == "kill":
            program.kill()
        errors = program.communicate(timeout=LIMIT)[1]
        assert len(workers) == 2, errors
        assert all(gone(pid) for pid in workers)
        if how == "end":
            assert (program.returncode, errors) == (0, "")
        elif how == "interrupt":
            assert errors.count("KeyboardInterrupt") == 1, errors  # the program's, not the workers'
