"""CUDA graphs: what is recorded once and launched again; only a real device records."""

from __future__ import annotations

import unittest
import warnings

import retrograd as torch
from retrograd.backend.cuda import cuda_backend
from retrograd.random.cuda import CudaGenerator
from retrograd.replay import cuda_graphs
from tests.cuda.device.comparing import close, raised

nn, F = torch.nn, torch.nn.functional


def on_a_real_device():
    backend = cuda_backend()
    if backend is None or not hasattr(backend.cupy.cuda, "Graph"):
        raise unittest.SkipTest("there is no device that records")


def recorded(function, warm_up=2):
    """A graph of a call, and what the call returned."""
    graph = cuda_graphs.CUDAGraph()
    block = cuda_graphs.graph(graph)
    with cuda_graphs.cupy_stream(block.capture_stream):
        for _ in range(warm_up):
            function()
    with block:
        found = function()
    return graph, found


def test_elementwise_work_is_launched_again():
    on_a_real_device()
    x = torch.arange(6.0, device="cuda")
    graph, y = recorded(lambda: (x * 2).exp().sum())
    for start in (1.0, -3.0):
        x.copy_(torch.arange(6.0).mul(0.1).add(start).cuda())
        graph.replay()
        close(y, (x.cpu() * 2).exp().sum())


def test_products_can_be_recorded():
    on_a_real_device()
    x, w = (torch.randn(8, 8, device="cuda") for _ in range(2))
    graph, y = recorded(lambda: x @ w)
    x.mul_(2)
    graph.replay()
    close(y, x.cpu() @ w.cpu(), 1e-4)


def test_random_numbers_go_on():
    on_a_real_device()
    generator = CudaGenerator.default()

    def draw():
        return torch.rand(4, device="cuda"), F.dropout(torch.ones(8, device="cuda"))

    graph, found = recorded(draw)
    torch.manual_seed(9)
    eager = [[t.tolist() for t in draw()] for _ in range(3)]
    torch.manual_seed(9)
    replays = []
    for _ in range(3):
        graph.replay()
        replays.append([t.tolist() for t in found])
    assert replays == eager and generator.get_offset() == 24


def test_a_whole_step():
    on_a_real_device()

    def training():
        torch.manual_seed(0)
        model = nn.Sequential(nn.Linear(6, 16), nn.Tanh(), nn.Linear(16, 3)).cuda()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        x, y = torch.randn(5, 6).cuda(), torch.tensor([0, 1, 2, 0, 1]).cuda()

        def step():
            optimizer.zero_grad()
            loss = F.cross_entropy(model(x), y)
            loss.backward()
            optimizer.step()
            return loss.detach()

        return model, step

    model, step = training()
    for _ in range(7):
        step()
    other, again = training()
    graph, loss = recorded(again)  # two steps; what is recorded is not done
    for _ in range(5):
        graph.replay()
    close(other[0].weight, model[0].weight, 1e-4)
    assert loss.isfinite()


def test_what_cannot_be_recorded():
    on_a_real_device()
    x = torch.ones(4, device="cuda")
    for function in (lambda: x.sum().item(), lambda: x.cpu(), lambda: torch.ones(3).cuda() + 1):
        assert raised(lambda f=function: recorded(f, 1)) is not None
    close(x + 1, [2.0] * 4)  # the device works on


def test_replay_of_a_step():
    on_a_real_device()

    def training(replayed):
        torch.manual_seed(0)
        model = nn.Sequential(nn.Linear(6, 16), nn.Dropout(0.2), nn.Tanh(), nn.Linear(16, 3)).cuda()
        optimizer = torch.optim.Adam(model.parameters(), lr=0.05)
        x, y = torch.randn(8, 5, 6).cuda(), torch.tensor([0, 1, 2, 0, 1]).cuda()

        def step(x):
            optimizer.zero_grad()
            loss = F.cross_entropy(model(x), y)
            loss.backward()
            optimizer.step()
            return loss.detach()

        called = torch.replay(step) if replayed else step
        losses = []
        for i in range(8):
            if i == 5:
                optimizer.param_groups[0]["lr"] = 0.01
            losses.append(float(called(x[i])))
        return losses, model[0].weight, called

    expected, weight, _ = training(False)
    found, other, called = training(True)
    close(found, expected, 1e-4)
    close(other, weight, 1e-4)
    assert called.replayed >= 3, called.explain()


def test_misuse():
    on_a_real_device()
    graph = cuda_graphs.CUDAGraph()
    wanted = "RuntimeError: Called CUDAGraph::replay without a preceding successful capture."
    assert raised(graph.replay) == wanted
    assert (raised(graph.pool) or "").startswith("RuntimeError: Called CUDAGraph::pool() without")
    assert "non-default stream" in (raised(graph.capture_begin) or "")
    assert not cuda_graphs.is_current_stream_capturing()
    x = torch.ones(2, device="cuda")
    graph, _ = recorded(lambda: x + 1)
    assert "already owns a captured graph" in (raised(lambda: again(graph)) or "")


def again(graph):
    with cuda_graphs.graph(graph):
        pass


def test_graphed_callables():
    on_a_real_device()
    torch.manual_seed(0)
    layer = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 2)).cuda()
    x = torch.randn(3, 4).cuda().requires_grad_()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = layer(x)
        wanted = torch.autograd.grad(expected.pow(2).sum(), [x, *layer.parameters()])
    sample = torch.zeros(3, 4, device="cuda", requires_grad=True)
    made = cuda_graphs.make_graphed_callables(layer, (sample,))
    assert made is layer
    for scale in (1.0, 2.0):
        found = layer(x * scale)
        if scale == 1.0:
            close(found, expected, 1e-4)
            close(
                list(torch.autograd.grad(found.pow(2).sum(), [x, *layer.parameters()])),
                list(wanted),
                1e-4,
            )
    layer.eval()
    close(layer(x), expected, 1e-4)  # another mode than the recorded one: as it is written
