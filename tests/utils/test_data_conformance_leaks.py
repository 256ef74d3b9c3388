"""What loaders leave behind: no processes, no open files, after many passes and after Ctrl-C."""

from __future__ import annotations

import gc
import multiprocessing
import os
import signal
import subprocess
import sys
import textwrap
import time

import pytest

import retrograd
from tests.limits import ended_within

pytestmark = [
    pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="counts files in /proc"),
    pytest.mark.filterwarnings("ignore:This DataLoader will create"),
    pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning"),
]


def open_files() -> int:
    return len(os.listdir("/proc/self/fd"))


def fail(batch):
    raise ValueError("on purpose")


def a_pass(options):
    loader = retrograd.utils.data.DataLoader(
        range(6), num_workers=2, multiprocessing_context="fork", timeout=600, **options
    )
    if "collate_fn" in options:
        with pytest.raises(ValueError, match="on purpose"):
            list(loader)
        return
    iterator = iter(loader)
    next(iterator)
    if not options.get("persistent_workers"):
        list(iterator)


@pytest.mark.parametrize(
    "options",
    [{}, {"persistent_workers": True}, {"collate_fn": fail}],
    ids=["whole passes", "left early", "failing"],
)
def test_many_passes_leave_nothing(options):
    a_pass(options)
    gc.collect()
    before = open_files()
    for _ in range(8):
        a_pass(options)
    gc.collect()
    assert open_files() == before
    assert not multiprocessing.active_children()


def test_an_interrupted_program_leaves_no_process():
    program = """
        import sys, time, warnings
        warnings.simplefilter("ignore")
        import retrograd as torch

        class Slow(torch.utils.data.Dataset):
            def __len__(self):
                return 10**9
            def __getitem__(self, index):
                time.sleep(0.2)
                return index

        loader = torch.utils.data.DataLoader(
            Slow(), num_workers=2, multiprocessing_context="fork"
        )
        try:
            iterator = iter(loader)
            next(iterator)
            print(*(process.pid for process in iterator._workers), flush=True)
            for _ in iterator:
                pass
        except KeyboardInterrupt:
            print("interrupted", flush=True)
            raise SystemExit(7)
    """
    child = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(program)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    with ended_within(child):
        assert child.stdout is not None
        pids = [int(pid) for pid in child.stdout.readline().split()]
        assert len(pids) == 2
        os.killpg(child.pid, signal.SIGINT)  # as a terminal does: to all of its processes
        output, complaints = child.communicate(timeout=600)
    assert (child.returncode, output, complaints) == (7, "interrupted\n", "")
    deadline = time.monotonic() + 600  # for what stays
    while any(os.path.exists(f"/proc/{pid}") for pid in pids) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not any(os.path.exists(f"/proc/{pid}") for pid in pids)
