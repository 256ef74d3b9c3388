"""`replay` of steps on a device: what is captured, copied and guarded; a stand-in for the graph."""

from __future__ import annotations

import contextlib
from types import SimpleNamespace

import pytest

import retrograd as torch
from retrograd.backend.device import forget, register
from retrograd.replay import cuda_graphs, on_device
from tests.strict.arrays import Library, StrictArray, StrictBackend

np = pytest.importorskip("numpy")


class Posing(StrictBackend):
    """The stand-in under the name of CUDA's devices, as far as a step asks."""


@pytest.fixture
def device(monkeypatch):
    backend = register(Posing("cuda", StrictArray, Library("cuda", np)))
    monkeypatch.setattr(on_device, "CUDAGraph", Graph)
    monkeypatch.setattr(on_device, "graph", recorded)
    monkeypatch.setattr(on_device.Captured, "__init__", _noting(on_device.Captured.__init__))
    yield
    forget(backend)


class Graph:
    """Runs the lines again in place of launching what they did."""

    def replay(self):
        self.again()


class recorded:
    """The lines run as they are recorded, which a device would not do: so they are taken back."""

    def __init__(self, graph):
        self.graph = graph

    def __enter__(self):
        pass

    def __exit__(self, *error):
        pass


def _noting(original):
    def __init__(self, step, args, kwargs, reading):
        outside = [x for x in reading.guards.registers if isinstance(x, torch.Tensor)]
        held = [x.detach().clone() for x in outside]
        original(self, step, args, kwargs, reading)
        for tensor, before in zip(outside, held, strict=True):
            tensor.detach().copy_(before)
        own_args, own_kwargs = on_device.unflatten(list(self.inputs), self.spec)

        def again():
            found, _ = on_device.flatten(step(*own_args, **own_kwargs))
            for kept, new in zip(self.results, found, strict=True):
                kept.copy_(new)
            for tensor, gradient in self.made:
                gradient.copy_(tensor.grad)
                tensor.grad = gradient

        self.graph.again = again

    return __init__


def training(replayed):
    weight = torch.arange(1.0, 4.0).to("cuda").requires_grad_()

    def step(x):
        weight.grad = None
        loss = (weight * x).pow(2).sum()
        loss.backward()
        with torch.no_grad():
            weight.sub_(weight.grad, alpha=0.1)
        return loss.detach()

    called = torch.replay(step) if replayed else step
    losses = [float(called(torch.full((3,), 0.1 * i).to("cuda"))) for i in range(1, 8)]
    return losses, weight.detach().cpu().tolist(), weight.grad.cpu().tolist(), called


def test_a_step_is_captured_and_goes_on(device):
    *expected, _ = training(False)
    *found, called = training(True)
    assert found == expected
    assert called.replayed == 4 and called.recorded == 3, called.explain()


def test_other_arguments_miss(device):
    weight = torch.ones(3).to("cuda")
    step = torch.replay(lambda x: weight * x)
    for count in (3, 3, 3, 3, 1):
        assert step(torch.ones(count).to("cuda")).shape == (3,)
    assert step.replayed >= 1


def test_what_is_refused_runs(device):
    weight, seen = torch.ones(3).to("cuda"), []

    def step(x):
        seen.append(float((weight * x).sum()))
        return weight * x

    called = torch.replay(step)
    for _ in range(5):
        assert called(torch.ones(3).to("cuda")).tolist() == [1.0] * 3
    assert seen == [3.0] * 5 and called.replayed == 0 and called.reasons


def test_a_number_that_is_returned_is_a_number(device):
    weight = torch.ones(3).to("cuda")
    called = torch.replay(lambda x: (weight * x).sum().item())
    assert [called(torch.full((3,), float(i)).to("cuda")) for i in range(5)] == [0, 3, 6, 9, 12]
    assert called.replayed == 0 and "returns a value that is no tensor" in called.explain()


def test_what_a_replay_sets_first_is_none_of_the_memory_of_the_graph():
    class Allocators(list):
        def using_allocator(self, allocate):
            self.append(allocate)
            return contextlib.nullcontext()

    cuda = Allocators()
    ours = SimpleNamespace(malloc="the default pool's")
    cupy = SimpleNamespace(cuda=cuda, get_default_memory_pool=lambda: ours, float64="float64")
    cupy.ndarray = lambda shape, dtype: (shape, dtype, cuda[-1])
    graph = cuda_graphs.CUDAGraph.__new__(cuda_graphs.CUDAGraph)
    graph._cupy = cupy
    assert graph.memory(3) == ((3,), "float64", "the default pool's")
