"""Recurrent layers, attention and pooling by the device's own kernels, beside the CPU's results."""

from __future__ import annotations

from contextlib import nullcontext

import retrograd as torch
from benchmarks.device_models import MODELS, make_inputs, make_model
from retrograd.backend.cuda import cuda_backend
from tests.cuda.device.comparing import close, same
from tests.cuda.device.test_graphs import on_a_real_device, recorded

nn, F = torch.nn, torch.nn.functional
KINDS = {torch.float32: 1e-4, torch.float64: 1e-9, torch.float16: 1e-2, torch.bfloat16: 6e-2}


def has_kernels(*names):
    """Whether the device's backend has kernels of its own; the fake has none."""
    backend = cuda_backend()
    return backend is not None and all(name in backend.overrides for name in names)


def layer(kind, make, shape):
    """What a layer gives, and its gradients."""

    def program(device):
        torch.manual_seed(0)
        module, x = make().to(kind), torch.randn(shape).to(kind)
        module, x = module.to(device), x.to(device).requires_grad_()
        output, last = module(x)
        last = last if isinstance(last, tuple) else (last,)
        sum(part.square().sum() for part in (output, *last)).backward()
        return [output, *last, x.grad, *[p.grad for p in module.parameters()]]

    return program


def test_recurrent_layers():
    options = [
        ((1, 1, 1), dict(input_size=1, hidden_size=1)),
        ((5, 3, 7), dict(input_size=7, hidden_size=13)),
        ((33, 17, 20), dict(input_size=20, hidden_size=65, num_layers=2, bidirectional=True)),
        ((4, 9, 6), dict(input_size=6, hidden_size=32, batch_first=True, bias=False)),
        ((3, 64, 512), dict(input_size=512, hidden_size=300)),
    ]
    if not has_kernels("_lstm_step"):
        options = options[:2]
    for kind, loose in KINDS.items():
        for mode in (nn.LSTM, nn.GRU):
            for shape, given in options:
                same(layer(kind, lambda m=mode, g=given: m(**g), shape), loose * shape[0] ** 0.5)


def cells(kind):
    def program(device):
        torch.manual_seed(0)
        found = []
        for make in (nn.LSTMCell, nn.GRUCell):
            cell, x = make(7, 33).to(kind), torch.randn(5, 7).to(kind)
            cell, x = cell.to(device), x.to(device).requires_grad_()
            state = cell(x, cell(x))
            first = state[0] if isinstance(state, tuple) else state
            first.square().sum().backward()
            found += [first, x.grad, *[p.grad for p in cell.parameters()]]
        return found

    return program


def test_cells():
    for kind, loose in KINDS.items():
        same(cells(kind), loose)


def test_packed_sequences():
    rnn = nn.utils.rnn

    def program(device):
        torch.manual_seed(0)
        layer, x = nn.GRU(3, 4), torch.randn(4, 2, 3)
        layer, x = layer.to(device), x.to(device).requires_grad_()
        packed = rnn.pack_padded_sequence(x, [2, 4], enforce_sorted=False)
        padded, _ = rnn.pad_packed_sequence(layer(packed)[0])
        padded.square().sum().backward()
        return [padded, x.grad, *[p.grad for p in layer.parameters()]]

    same(program, 1e-4)


def attended(kind, shapes, mask=None, **options):
    def program(device):
        torch.manual_seed(0)
        three = [torch.randn(s).to(kind).to(device).requires_grad_() for s in shapes]
        given = None if mask is None else mask.to(device)
        found = F.scaled_dot_product_attention(*three, given, **options)
        found.square().sum().backward()
        return [found, *[x.grad for x in three]]

    return program


def test_attention():
    loose = {torch.float32: 1e-4, torch.float16: 1e-2, torch.bfloat16: 6e-2}
    lengths = ((7, 20), (1, 1), (64, 64), (130, 130), (7, 200), (200, 7))
    if not has_kernels("_efficient_attention"):
        lengths = lengths[:1]
    for kind, far in loose.items():
        for width in (1, 20, 32, 64, 101, 128):
            for rows, columns in lengths:
                shapes = [(2, 3, rows, width)] + [(2, 3, columns, width)] * 2
                same(attended(kind, shapes), far)
                same(attended(kind, shapes, is_causal=True), far)
                mask = torch.rand(2, 1, rows, columns) > 0.4
                same(attended(kind, shapes, mask), far)
                same(attended(kind, shapes, torch.randn(rows, columns).to(kind)), far)


def test_a_query_that_sees_nothing():
    mask = torch.ones(70, 70, dtype=torch.bool)
    mask[3], mask[66] = False, False
    same(attended(torch.float32, [(1, 2, 70, 16)] * 3, mask), 1e-4)


def test_no_scores_are_kept():
    on_a_real_device()
    x = torch.randn(4, 8, 1024, 64, device="cuda", requires_grad=True)
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated()
    F.scaled_dot_product_attention(x, x, x, is_causal=True).sum().backward()
    assert torch.cuda.max_memory_allocated() - before < 4 * 8 * 1024 * 1024 * 4


def test_maximum_pooling():
    def program(device):
        torch.manual_seed(0)
        found = []
        for kind in KINDS:
            for options in ((2,), (3, 2, 1), (3, 1), ((2, 3), 2, 0, 1, True)):
                x = torch.randn(3, 5, 19, 23).to(kind).to(device).requires_grad_()
                y, places = F.max_pool2d(x, *options, return_indices=True)
                (y * places.to(kind).remainder(3)).sum().backward()
                found += [y, places, x.grad]
        return found

    same(program, 2e-2)


def test_steps_of_networks_are_captured():
    on_a_real_device()
    for model in [m for m in MODELS if not m.large]:
        for half in (False, True):
            eager, step = training(model, half), training(model, half)
            expected = [float(eager()) for _ in range(7)]
            graph, loss = recorded(step, 3)  # three steps; what is recorded is not done
            found = []
            for _ in range(4):
                graph.replay()
                found.append(float(loss))
            close(found, expected[3:], 3e-2 if half else 1e-3, f"{model.name}, half={half}")


def training(model, half):
    """A training step; each call of this makes the same model."""
    torch.manual_seed(0)
    module = make_model(torch, model).cuda()
    inputs, target = (torch.from_numpy(x).cuda() for x in make_inputs(model))
    optimizer = torch.optim.SGD(module.parameters(), lr=0.01)

    def step():
        optimizer.zero_grad()
        with torch.autocast("cuda", torch.bfloat16) if half else nullcontext():
            made = module(inputs)
            loss = F.cross_entropy(made.reshape(-1, made.shape[-1]), target)
        loss.backward()
        optimizer.step()
        return loss.detach()

    return step


def test_peaks_after_a_graph_are_right():
    on_a_real_device()

    def work():
        x = torch.ones(1 << 22, device="cuda", requires_grad=True)
        (x * 2).sum().backward()
        return x.grad

    torch.cuda.reset_peak_memory_stats()
    graph, kept = recorded(work)
    del graph, kept
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated()
    torch.ones(1 << 20, device="cuda")
    assert torch.cuda.max_memory_allocated() - before < 1 << 23
