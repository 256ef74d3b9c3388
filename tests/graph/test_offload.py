"""`graph.offload`: the gradients of plain `retain_graph=True`, with saved values in files."""

from __future__ import annotations

import errno
import gc
import os
import signal
import subprocess
import sys
import textwrap
import threading
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings

import retrograd as torch
from retrograd import core, graph
from retrograd.backend.device import forget, register
from retrograd.engine.state import HOT
from retrograd.graph import offloading
from retrograd.graph.sizes import bytes_of
from tests.graph.programs import Step, collected, leaves, programs, run
from tests.limits import LIMIT
from tests.strict.arrays import STRICT


@pytest.fixture
def folder(tmp_path: Path) -> Any:
    """A place for the files of a test, at whose end there are none."""
    yield str(tmp_path)
    gc.collect()  # a caught error holds frames, and they hold graphs
    assert HOT["UNUSUAL"] == 0
    assert list(tmp_path.iterdir()) == []


def files(folder: str) -> list[Path]:
    return sorted(Path(folder).glob("retrograd-offload-*/*"))


def same(found: list[Any], expected: list[Any]) -> bool:
    """Whether the bits are the same, those of a nan too: programs of random steps overflow."""

    def bits(values: list[Any]) -> list[bytes | None]:
        return [None if value is None else value.numpy().tobytes() for value in values]

    return bits(found) == bits(expected)


def walked(program: list[Step], make: Callable[..., Any]) -> list[Any]:
    inputs = leaves()
    roots = make(program, inputs)
    found = []
    for number in (0, 1, 0, 2, 1, 2, 0):
        roots[number].backward(retain_graph=True)
        found += collected(inputs)
    penalty = torch.autograd.grad(roots[0], inputs, create_graph=True, allow_unused=True)
    sum([(g * g).sum() for g in penalty if g is not None], roots[1]).backward()
    return found + collected(inputs)


def offloaded(program: list[Step], inputs: list[Any]) -> list[Any]:
    with graph.offload(over=0):
        return run(program, inputs)


@settings(max_examples=40, deadline=None)
@given(programs)
def test_random_programs_give_the_same_bits(program: list[Step]) -> None:
    found, expected = walked(program, offloaded), walked(program, run)
    assert same(found, expected)


@pytest.mark.skipif(not core.AVAILABLE, reason="needs the core to switch it off")
@settings(max_examples=10, deadline=None)
@given(programs)
def test_random_programs_without_the_core(program: list[Step]) -> None:
    expected = walked(program, run)
    core._core.switch(False)
    try:
        found = walked(program, offloaded)
    finally:
        core._core.switch(True)
    assert same(found, expected)


LAYERS: dict[str, Callable[[], tuple[Any, Any]]] = {
    "mlp": lambda: (
        torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.GELU(), torch.nn.Linear(16, 4)),
        torch.randn(5, 8),
    ),
    "conv": lambda: (
        torch.nn.Sequential(torch.nn.Conv2d(2, 4, 3), torch.nn.BatchNorm2d(4), torch.nn.ReLU()),
        torch.randn(2, 2, 6, 6),
    ),
    "lstm": lambda: (torch.nn.LSTM(4, 5, num_layers=2), torch.randn(6, 2, 4)),
    "attention": lambda: (
        torch.nn.TransformerEncoderLayer(8, 2, 16, dropout=0.3, batch_first=True),
        torch.randn(2, 5, 8),
    ),
    "embedding": lambda: (torch.nn.Embedding(7, 3), torch.tensor([[1, 2], [3, 1]])),
}


@pytest.mark.parametrize("name", LAYERS)
def test_layers(name: str, folder: str) -> None:
    found = []
    for offload in (False, True):
        torch.manual_seed(0)
        layer, x = LAYERS[name]()
        torch.manual_seed(1)
        if offload:
            with graph.offload(over=0, folder=folder):
                out = layer(x)
        else:
            out = layer(x)
        loss = (out[0] if isinstance(out, tuple) else out).square().sum()
        for _ in range(2):
            loss.backward(retain_graph=True)
        found.append([p.grad.clone() for p in layer.parameters()])
    for a, b in zip(*found, strict=True):
        torch.testing.assert_close(a, b, rtol=1e-6, atol=1e-7)
    del out, loss


def test_values_wait_in_files_and_the_files_go_with_them(folder: str) -> None:
    x = torch.randn(100, 100, requires_grad=True)
    with graph.offload(over="10kB", folder=folder) as moved:
        loss = x.exp().sigmoid().sum()
        assert (moved.moved, moved.moved_bytes) == (2, 80_000)
    assert [path.stat().st_size for path in files(folder)] == [40_000, 40_000]
    assert graph.ledger(loss).total == 0  # nothing in memory, beside the leaf
    loss.backward(retain_graph=True)
    assert moved.read == 2 and len(files(folder)) == 2
    squashed = x.detach().exp().sigmoid()
    expected = squashed * (1 - squashed) * x.detach().exp()
    torch.testing.assert_close(x.grad, expected)
    loss.backward()
    assert files(folder) == [] and list(Path(folder).iterdir()) == []


def test_a_graph_that_is_dropped_takes_its_files_along(folder: str) -> None:
    gc.disable()
    try:
        x = torch.randn(100, 100, requires_grad=True)
        with graph.offload(over=0, folder=folder):
            loss = x.exp().sigmoid().sum()
        assert len(files(folder)) == 2
        del loss
        assert list(Path(folder).iterdir()) == []
    finally:
        gc.enable()


def test_the_array_itself_is_let_go(folder: str) -> None:
    x = torch.randn(100, 100, requires_grad=True)
    with graph.offload(over=0, folder=folder):
        y = x.exp()
        array = weakref.ref(y._array)
        loss = y.sum()
        del y
        assert array() is None
        loss.backward()


def test_a_value_that_several_nodes_keep_is_written_once(folder: str) -> None:
    x = torch.randn(50, 50, requires_grad=True)
    with graph.offload(over=0, folder=folder) as moved:
        y = x.exp()
        loss = (y * y).sum() + y.sin().sum() + y.cos().sum()
    assert moved.moved == 1
    loss.backward()
    del y, loss


def test_what_is_held_anyway_is_not_moved(folder: str) -> None:
    weight = torch.nn.Parameter(torch.randn(50, 50))
    x = torch.randn(50, 50, requires_grad=True)
    with graph.offload(over=0, folder=folder) as moved:
        loss = (x @ weight.t()).sum() + (torch.ones(1).expand(50, 50) * x).sum()
    assert moved.moved == 0
    loss.backward()


def test_smaller_values_stay(folder: str) -> None:
    x = torch.randn(10, requires_grad=True)
    with graph.offload(over=40, folder=folder) as moved:
        loss = x.exp().sum()
    assert moved.moved == 0
    loss.backward()


# -------------------------------------------------------------- what stays as it is without


def error_of(offload: bool, spoil: Callable[[Any], None], folder: str) -> str:
    x = torch.randn(5, 5, requires_grad=True)
    if offload:
        with graph.offload(over=0, folder=folder):
            y = x.exp()
            loss = (y * y.sin()).sum()
    else:
        y = x.exp()
        loss = (y * y.sin()).sum()
    spoil(y)
    with pytest.raises(RuntimeError) as caught:
        loss.backward()
    return f"{caught.value.code}: {caught.value}"


@pytest.mark.parametrize("way", ["add_", "index", "detach_"])
def test_writes_are_noticed_as_they_are_without(way: str, folder: str) -> None:
    def spoil(y: Any) -> None:
        with torch.no_grad():
            if way == "add_":
                y.add_(1)
            elif way == "index":
                y[0] = 3.0
            else:
                y.detach_()

    assert error_of(True, spoil, folder) == error_of(False, spoil, folder)


def test_a_saved_input_is_the_very_tensor(folder: str) -> None:
    x = torch.randn(5, 5, requires_grad=True)
    with graph.offload(over=0, folder=folder):
        y = x * 2
        z = y.sin()
    assert z.grad_fn._saved_self is y
    history = y.grad_fn
    del y
    found = z.grad_fn._saved_self
    assert found.grad_fn is history and torch.equal(found.detach(), (x * 2).detach())
    del z, found


def test_raw_saved_values_and_their_hooks(folder: str) -> None:
    x = torch.randn(5, 5, requires_grad=True)
    with graph.offload(over=0, folder=folder):
        y = x.exp()
    raw = y.grad_fn._raw_saved_result
    assert torch.equal(raw.data, y.detach()) and raw.unpack_hook is None
    raw.register_hooks(lambda t: t * 2, lambda t: t / 2)
    y.sum().backward()
    assert torch.equal(x.grad, x.detach().exp())


def test_hooks_of_the_user_come_first(folder: str) -> None:
    seen = []

    def pack(t: Any) -> Any:
        seen.append(tuple(t.shape))
        return t.numpy(force=True)

    x = torch.randn(5, 5, requires_grad=True)
    with graph.offload(over=0, folder=folder) as moved:
        with torch.autograd.graph.saved_tensors_hooks(pack, torch.from_numpy):
            loss = x.exp().sum()
    assert seen == [(5, 5)] and moved.moved == 0
    loss.backward()


def test_layouts_survive(folder: str) -> None:
    x = torch.randn(4, 6, dtype=torch.float64, requires_grad=True)
    with graph.offload(over=0, folder=folder):
        turned = (x * 1).t() * 2
        loss = turned.sin().sum() + (x * 1)[:, ::2].exp().cos().sum()
        strides = turned.stride()
        node = turned.sin().grad_fn
        del turned
    assert node._saved_self.stride() == strides
    loss.backward()
    del node, loss


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.complex64])
def test_other_dtypes(dtype: Any, folder: str) -> None:
    found = []
    for over in (0, 10**9):
        torch.manual_seed(0)
        x = torch.randn(7, 5, dtype=dtype, requires_grad=True)
        with graph.offload(over=over, folder=folder):
            loss = (x.exp() * x.sin()).abs().sum()
        loss.backward()
        found.append(x.grad)
    assert torch.equal(*found)
    del loss


def test_a_device_of_its_own() -> None:
    """To the host, and to files, with arrays that NumPy cannot read."""
    register(STRICT)
    try:
        for to in ("host", "disk"):
            x = torch.randn(5, 5).to("privateuseone").requires_grad_()
            with graph.offload(to=to, over=0) as moved:
                loss = x.exp().sigmoid().sum()
            assert moved.moved == 2
            loss.backward()
            assert moved.read == 2
            squashed = x.detach().cpu().exp().sigmoid()
            expected = squashed * (1 - squashed) * x.detach().cpu().exp()
            torch.testing.assert_close(x.grad.cpu(), expected)
            del loss
    finally:
        forget(STRICT)


def test_to_the_host_moves_nothing_of_the_cpu(folder: str) -> None:
    x = torch.randn(50, 50, requires_grad=True)
    with graph.offload(to="host", over=0) as moved:
        loss = x.exp().sum()
    loss.backward()
    assert str(moved) == "0 values, 0 B, to the host; 0 read back, 0 B"


# --------------------------------------------------------------------- threads, ends, errors


def test_a_context_is_one_thread_s(folder: str) -> None:
    def train(results: list[Any], offload: bool) -> None:
        x = torch.full((20, 20), 0.5, requires_grad=True)
        for _ in range(20):
            if offload:
                with graph.offload(over=0, folder=folder) as moved:
                    loss = x.exp().sigmoid().sum()
                results.append(moved.moved)
            else:
                loss = x.exp().sigmoid().sum()
            loss.backward()
        results.append(x.grad)

    outcomes: list[list[Any]] = [[] for _ in range(4)]
    threads = [
        threading.Thread(target=train, args=(results, number % 2 == 0))
        for number, results in enumerate(outcomes)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(torch.equal(results[-1], outcomes[0][-1]) for results in outcomes)
    assert outcomes[0][:-1] == [2] * 20


def test_contexts_nest_and_end_with_errors(folder: str) -> None:
    x = torch.randn(50, 50, requires_grad=True)
    with graph.offload(over=0, folder=folder) as outer:
        with pytest.raises(ZeroDivisionError), graph.offload(over=10**9) as inner:
            x.exp()
            raise ZeroDivisionError
        loss = x.exp().sum()
    assert (outer.moved, inner.moved) == (1, 0)
    loss.backward()
    kept = x.exp()
    assert outer.moved == 1 and type(kept._grad_fn.saved[0]) is not type(None)


def test_a_full_disk_is_said_and_leaves_nothing(folder: str, monkeypatch: Any) -> None:
    written = []

    class Full:
        def __init__(self, path: str, mode: str, buffering: int) -> None:
            self.file = open(path, mode, buffering=buffering)

        def __enter__(self) -> Any:
            return self

        def __exit__(self, *_: object) -> None:
            self.file.close()

        def write(self, rest: Any) -> int:
            if written:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            written.append(self.file.write(rest[:100]))
            return 100

    x = torch.randn(50, 50, requires_grad=True)
    monkeypatch.setattr(offloading, "open", Full, raising=False)
    with graph.offload(over=0, folder=folder):
        with pytest.raises(OSError, match=r"value of 9\.8 KiB could not be written .* no space is"):
            x.exp()
        monkeypatch.undo()
        assert files(folder) == []
        loss = x.exp().sum()
    loss.backward()
    assert torch.equal(x.grad, x.detach().exp())
    del loss


def test_an_interrupted_write_leaves_nothing(folder: str, monkeypatch: Any) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    x = torch.randn(50, 50, requires_grad=True)
    with graph.offload(over=0, folder=folder):
        monkeypatch.setattr(os, "replace", interrupted)
        with pytest.raises(KeyboardInterrupt):
            x.exp()
        monkeypatch.undo()
        assert files(folder) == []


def test_a_file_that_somebody_removed(folder: str) -> None:
    x = torch.randn(50, 50, requires_grad=True)
    with graph.offload(over=0, folder=folder):
        loss = x.exp().sum()
    for path in files(folder):
        path.unlink()
    with pytest.raises(RuntimeError, match="cannot be read back: No such file"):
        loss.backward()
    del loss


def program(folder: str, end: str) -> subprocess.CompletedProcess[str]:
    text = f"""
        import os, signal, sys
        import retrograd as torch
        from retrograd import graph
        x = torch.randn(100, 100, requires_grad=True)
        with graph.offload(over=0, folder={folder!r}):
            loss = x.exp().sigmoid().sum()
            print(sum(len(f) for _, _, f in os.walk({folder!r})), flush=True)
            {end}
    """
    command = [sys.executable, "-c", textwrap.dedent(text)]
    return subprocess.run(command, capture_output=True, text=True, timeout=120)


@pytest.mark.parametrize("end", ["pass", "sys.exit(3)", "1 / 0", "os.fork() or sys.exit(0)"])
def test_nothing_is_left_when_a_program_ends(end: str, folder: str) -> None:
    done = program(folder, end)
    assert done.stdout == "2\n", done.stderr


def test_a_killed_program_leaves_its_folder_to_the_system(tmp_path: Path) -> None:
    done = program(str(tmp_path), "os.kill(os.getpid(), signal.SIGKILL)")
    assert done.returncode == -signal.SIGKILL and len(files(str(tmp_path))) == 2


MEASURED = """
    import retrograd as torch
    from retrograd import graph
    layers = [torch.nn.Linear(64, 64), torch.nn.GELU()] * 6
    net = torch.nn.Sequential(*layers)
    x = torch.randn(32768, 64)  # a value takes 8 MB, the graph saves about 12 of them
    with {scope}:
        loss = net(x).square().mean()
    loss.backward(retain_graph=True)
    loss.backward()
    print(next(line for line in open("/proc/self/status") if line.startswith("VmHWM")).split()[1])
"""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="Linux tells it there")
def test_a_fresh_process_takes_less_memory(folder: str) -> None:
    """What the ledger says is what the system sees: pages of files do not count for the arrays."""
    peaks = []
    for scope in ("torch.enable_grad()", f'graph.budget("30MB", folder={folder!r})'):
        text = textwrap.dedent(MEASURED.format(scope=scope))
        done = subprocess.run(
            [sys.executable, "-c", text], capture_output=True, text=True, timeout=LIMIT
        )
        assert done.returncode == 0, done.stderr
        peaks.append(int(done.stdout) / 1000)
    assert peaks[0] - peaks[1] > 30  # MB; the graph of the first has about 100


def test_arguments_that_it_does_not_take() -> None:
    with pytest.raises(ValueError, match=r'to must be "disk" or "host", not \'gpu\''):
        graph.offload(to="gpu")
    with pytest.raises(ValueError, match='folder is for to="disk"'):
        graph.offload(to="host", folder="/tmp")
    with pytest.raises(ValueError, match="over must be a size such as"):
        graph.offload(over="many")
    with pytest.raises(TypeError, match="over must be a number of bytes"):
        graph.offload(over=1.5)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="must not be negative"):
        graph.offload(over=-1)
    assert bytes_of("2 GiB", "") == 2**31 and bytes_of("1.5kb", "") == 1500
