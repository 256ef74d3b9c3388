"""Nodes, edges, arguments of backward and grad, `grad_dtype`: compared with PyTorch."""

# ruff: noqa: B023  (every function is called before its loop goes on)

from __future__ import annotations

import types
import warnings

import pytest

from tests.autograd.outcomes import assert_same

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch

SCENARIOS = []


def scenario(function):
    SCENARIOS.append(pytest.param(function, id=function.__name__))
    return function


@pytest.mark.parametrize("run", SCENARIOS)
def test_scenario(run):
    assert_same(run, torch)


def leaf(lib, *values, **options):
    return lib.tensor(list(values), requires_grad=True, **options)


def test_all_public_names_exist():
    import retrograd

    assert sorted(retrograd.autograd.graph.__all__) == sorted(torch.autograd.graph.__all__)
    for name in torch.autograd.graph.__all__:
        assert hasattr(retrograd.autograd.graph, name)


# --------------------------------------------------------------------------------------- nodes


@scenario
def nodes(lib, log):
    x = leaf(lib, 1.0, 2.0)
    y = x * x
    z = y.sum()
    accumulator = y.grad_fn.next_functions[0][0]
    kind = lib.autograd.graph.Node
    for node in (z.grad_fn, y.grad_fn, accumulator):
        log(node.name(), type(node).__name__, isinstance(node, kind), issubclass(type(node), kind))
        log(node.requires_grad, node.metadata, [(n, k) for n, k in node.next_functions])
        node.metadata["note"] = 3
        log(node.metadata)
        for entry in node._input_metadata:
            log(str(entry.dtype), tuple(entry.shape), str(entry.device), entry.is_nested_tensor)
    log(accumulator.variable is x, isinstance(3, kind), isinstance(x, kind))
    log(z.grad_fn._sequence_nr() > y.grad_fn._sequence_nr(), accumulator._sequence_nr())
    log(y.grad_fn is y.grad_fn, z.grad_fn.next_functions[0][0] is y.grad_fn)
    log.attempt(lambda: kind())
    log.attempt(lambda: y.grad_fn._saved_nothing)
    log.attempt(lambda: setattr(y.grad_fn, "note", 1))
    _, mean = lib.var_mean(lib.ones(2, 3, requires_grad=True), dim=0)
    log([tuple(m.shape) for m in mean.grad_fn._input_metadata], mean.output_nr)


@scenario
def order_set_by_hand(lib, log):
    x = leaf(lib, 1.0)
    a, b = x * 2, x * 3
    a.register_hook(lambda g: log("a"))
    b.register_hook(lambda g: log("b"))
    total = a + b
    total.backward(retain_graph=True)
    a.grad_fn._set_sequence_nr(b.grad_fn._sequence_nr() + 1)
    total.backward()
    log(x.grad)


@scenario
def calling_nodes(lib, log):
    x = leaf(lib, 1.0, 2.0)
    y = x * x
    ones = lib.ones(2)
    log.attempt(lambda: y.grad_fn(ones))
    log.attempt(lambda: y.exp().grad_fn(None))
    log.attempt(lambda: x.exp().grad_fn(ones))
    log.attempt(lambda: y.grad_fn(2))
    log.attempt(lambda: y.grad_fn())
    log.attempt(lambda: y.grad_fn(ones, ones))
    log.attempt(lambda: y.grad_fn.next_functions[0][0](ones))
    log(x.grad)
    with lib.no_grad():
        log.attempt(lambda: y.grad_fn(ones))
    y.sum().backward()
    log.attempt(lambda: y.grad_fn(ones))


# --------------------------------------------------------------------------------------- edges


@scenario
def edges(lib, log):
    graph = lib.autograd.graph
    x = leaf(lib, 1.0, 2.0)
    y = x * x
    z = y.exp().sum()
    to_x, to_y = graph.get_gradient_edge(x), graph.get_gradient_edge(y)
    log(to_x._fields, to_x.output_nr, to_x.ownership_token, to_y.node is y.grad_fn)
    log(to_x.node is y.grad_fn.next_functions[0][0], to_x == graph.get_gradient_edge(x))
    log.attempt(lambda: graph.get_gradient_edge(lib.ones(2)))
    log(lib.autograd.grad(z, to_x, retain_graph=True))
    log(lib.autograd.grad(z, [to_y, x, y], retain_graph=True))
    log(lib.autograd.grad(to_y, x, lib.ones(2), retain_graph=True))
    log(lib.autograd.grad([to_y, z], [to_x], [lib.ones(2), None], retain_graph=True))
    log.attempt(lambda: lib.autograd.grad(to_y, x, retain_graph=True))
    log.attempt(lambda: lib.autograd.grad(to_y, x, lib.ones(3), retain_graph=True))
    lib.autograd.backward(z, inputs=to_x, retain_graph=True)
    lib.autograd.backward(z, inputs=[to_x, y], retain_graph=True)
    lib.autograd.backward(graph.get_gradient_edge(z), retain_graph=True)
    lib.autograd.backward(z, inputs=[to_y], retain_graph=True)
    log(x.grad, y.grad)
    u = leaf(lib, 1.0)
    to_u = graph.get_gradient_edge(u)
    log(lib.autograd.grad(z, [x, to_u], allow_unused=True, retain_graph=True))
    log.attempt(lambda: lib.autograd.grad(z, [x, to_u], materialize_grads=True, retain_graph=True))
    log.attempt(lambda: lib.autograd.grad(z, [x, to_u], retain_graph=True))
    _, mean = lib.var_mean(x * 1, dim=0)
    edge = graph.get_gradient_edge(mean)
    log(edge.output_nr, lib.autograd.grad(mean * 3, edge), lib.autograd.grad(edge, x))
    with lib.no_grad():
        hidden = x[:1]
    log.attempt(lambda: graph.get_gradient_edge(hidden))


@scenario
def edges_outlive_tensors(lib, log):
    x = leaf(lib, 1.0, 2.0)
    y = x * x
    edge = lib.autograd.graph.get_gradient_edge(y)
    z = y.exp().sum()
    del y
    log(lib.autograd.grad(z, edge, retain_graph=True))
    del z
    log(lib.autograd.grad(edge, x, lib.ones(2)))


@scenario
def versions(lib, log):
    increment = lib.autograd.graph.increment_version
    x = leaf(lib, 1.0, 2.0)
    y = x.clone()
    z = y * y
    for argument in (y, [y, y], (t for t in [y]), y[:1], []):
        increment(argument)
        log(y._version)
    log.attempt(lambda: z.sum().backward())
    log.attempt(lambda: increment(3))
    log.attempt(lambda: increment([3]))
    with lib.inference_mode():
        hidden = lib.ones(2)
    increment(hidden)


@scenario
def settings_without_effect(lib, log):
    graph = lib.autograd.graph
    log(graph.set_warn_on_accumulate_grad_stream_mismatch(True))
    log(graph.set_override_stale_capture_stream(False))
    for budget in (0.5, 2.0, "x", True):
        log.attempt(lambda: graph.region_activation_memory_budget(budget))


# ----------------------------------------------------------------------------------- arguments


@scenario
def arguments_of_grad(lib, log):
    x, u = leaf(lib, 1.0, 2.0), leaf(lib, 3.0)
    grad = lib.autograd.grad

    def total():
        return (x * x).sum()

    calls = [
        lambda: grad(total(), x),
        lambda: grad([total()], [x]),
        lambda: grad((total(), total()), (x,), (None, lib.tensor(2.0))),
        lambda: grad(total(), {"a": x, "b": x}),
        lambda: grad(total(), types.MappingProxyType({"a": x})),
        lambda: grad(total(), {}),
        lambda: grad(total(), []),
        lambda: grad(total(), [x, u]),
        lambda: grad(total(), [x, u], allow_unused=True),
        lambda: grad(total(), [x, u], materialize_grads=True),
        lambda: grad(total(), [x, u], materialize_grads=True, create_graph=True),
        lambda: grad(total(), [x, u], allow_unused=False, materialize_grads=True),
        lambda: grad(total(), {"a": x, "b": u}, allow_unused=True),
        lambda: grad(total(), [None]),
        lambda: grad(total(), [3]),
        lambda: grad(3, x),
        lambda: grad([3], x),
        lambda: grad([], x),
        lambda: grad([], x, allow_unused=True),
        lambda: grad(None, x),
        lambda: grad(total(), lib.ones(2)),
        lambda: grad(lib.ones(2), x),
        lambda: grad([total(), lib.ones(1)], x),
        lambda: grad([lib.ones(1)], x, [lib.ones(1)]),
        lambda: grad(x * x, x),
        lambda: grad(x * x, x, [None]),
        lambda: grad(x * x, x, lib.ones(2)),
        lambda: grad(x * x, x, lib.ones(3)),
        lambda: grad(x * x, x, lib.ones(1, 2)),
        lambda: grad(x * x, x, 3.0),
        lambda: grad(x * x, x, [3.0]),
        lambda: grad(x * x, x, lib.ones(2).double()),
        lambda: grad(x * x, x, lib.ones(2) * 1j),
        lambda: grad((x * 1j).sum(), x),
        lambda: grad((x * 1j).sum(), x, lib.tensor(1j)),
        lambda: grad(x, x, lib.ones(2)),
        lambda: grad([x, total()], x, [lib.ones(2), None]),
        lambda: grad([total(), total()], x, [None]),
        lambda: grad([total()], x, [None, None]),
        lambda: grad(total(), x, only_inputs=False),
    ]
    for call in calls:
        log.attempt(call)
    log(x.grad, u.grad)


@scenario
def batches_of_gradients(lib, log):
    x = leaf(lib, 1.0, 2.0)
    grad = lib.autograd.grad
    batch = lib.eye(2)
    calls = [
        lambda: grad(x * x, x, batch, is_grads_batched=True),
        lambda: grad(x * x, x, lib.arange(6.0).reshape(3, 2), is_grads_batched=True),
        lambda: grad((x * x).sum(), x, lib.arange(3), is_grads_batched=True),
        lambda: grad(x * x, x, lib.ones(2, 3), is_grads_batched=True),
        lambda: grad(x * x, x, lib.ones(2), is_grads_batched=True),
        lambda: grad((x * x).sum(), x, lib.ones(2, 1), is_grads_batched=True),
        lambda: grad((x * x).sum(), x, is_grads_batched=True),
        lambda: grad(x * x, {"x": x}, batch, is_grads_batched=True),
    ]
    for call in calls:
        log.attempt(call)
    (first,) = grad(x * x * x, x, batch, is_grads_batched=True, create_graph=True)
    log(first.requires_grad, grad(first.sum(), x))


@scenario
def arguments_of_backward(lib, log):
    x, u = leaf(lib, 1.0, 2.0), leaf(lib, 3.0)
    backward = lib.autograd.backward

    def total():
        return (x * x).sum()

    def middle(**options):
        y = x * 3
        backward((y * y).sum(), inputs=[y], **options)
        log(y.grad, y.retains_grad)

    calls = [
        lambda: backward(total()),
        lambda: backward([total(), total()], [None, lib.tensor(2.0)]),
        lambda: backward(total(), grad_variables=[lib.tensor(2.0)]),
        lambda: backward(total(), lib.tensor(1.0), grad_variables=[lib.tensor(2.0)]),
        lambda: backward(total(), inputs=x),
        lambda: backward(total(), inputs=[x, u]),
        lambda: backward(total(), inputs={"x": x}),
        lambda: backward(total(), inputs={}),
        lambda: backward(total(), inputs=[]),
        lambda: backward(total(), inputs=()),
        lambda: backward(total(), inputs=types.MappingProxyType({"x": x})),
        lambda: backward(total(), inputs=[3]),
        lambda: backward(total(), inputs=[lib.ones(2)]),
        lambda: backward(total(), inputs=[u]),
        middle,
        lambda: backward([]),
        lambda: backward([3]),
        lambda: backward(None),
        lambda: backward(total(), [3]),
        lambda: backward(total(), [None, None]),
        lambda: backward([total(), total()], [None]),
        lambda: backward(total(), lib.ones(2)),
        lambda: backward([x * x], [lib.ones(2)]),
        lambda: backward([x * x]),
        lambda: backward(lib.ones(1)),
        lambda: total().backward(lib.tensor(2.0)),
        lambda: total().backward(inputs=x),
        lambda: (x * x).backward(lib.ones(2).double()),
        lambda: x.backward(lib.ones(2).double()),
    ]
    for call in calls:
        log.attempt(call)
        log(x.grad, u.grad)
        x.grad = u.grad = None


# ---------------------------------------------------------------------------------- grad_dtype


@scenario
def gradient_types(lib, log):
    x = leaf(lib, 1.0, 2.0)

    def choose(tensor, dtype):
        tensor.grad_dtype = dtype
        return str(tensor.grad_dtype)

    log(str(x.grad_dtype), str(lib.tensor([1]).grad_dtype))
    log.attempt(lambda: (x * 2).grad_dtype)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # PyTorch looks at the .grad of a non-leaf, and says so
        log.attempt(lambda: choose(x * 2, lib.float16))
    log.attempt(lambda: choose(x, 3))
    log.attempt(lambda: choose(lib.tensor([1]), lib.float32))
    log.attempt(lambda: choose(x, lib.float16))
    seen = []
    x.register_hook(lambda g: seen.append(str(g.dtype)))
    (x * x).sum().backward()
    log(x.grad, seen)
    log.attempt(lambda: choose(x, lib.float32))
    log.attempt(lambda: choose(x, lib.float16))
    (x * x).sum().backward()
    log(x.grad)
    log(lib.autograd.grad((x * x).sum(), x))
    log.attempt(lambda: setattr(x, "grad", lib.ones(2)))
    log.attempt(lambda: setattr(x, "grad", lib.ones(2).half()))
    x.backward(lib.ones(2))
    log(x.grad)
    log.attempt(lambda: choose(x, None))
    x.backward(lib.ones(2).double())
    log(x.grad)
    x.grad = None
    x.backward(lib.ones(2).double())
    log(x.grad)
    (x * x).sum().backward()
    log(x.grad)
    x.grad = lib.ones(2).half()
    (x * x).sum().backward()
    log(x.grad)


@scenario
def gradient_types_and_graphs(lib, log):
    x = leaf(lib, 1.0, 2.0)
    y = (x * x).sum()
    x.grad_dtype = lib.float64
    y.backward()
    log(x.grad)
    x.grad = None
    y = (x * x).sum()
    x.grad_dtype = None
    x.grad_dtype = lib.float16
    y.backward()
    log(x.grad)
    x.grad = None
    (first,) = lib.autograd.grad((x**3).sum(), x, create_graph=True)
    log(first, lib.autograd.grad(first.sum(), x))
    for made in (x.detach(), x.data, x.clone().detach()):
        log(str(made.grad_dtype))
    x.grad_dtype = lib.complex64
    (x * x).sum().backward()
    log(x.grad)
    x.grad = None
    x.grad_dtype = None
    (x * lib.tensor([1j, 2j])).backward(lib.tensor([1 + 1j, 2 + 1j]))
    log(x.grad)


@scenario
def gradients_that_do_not_fit(lib, log):
    x = leaf(lib, 1.0, 2.0)
    y = x * 2
    y.retain_grad()
    for tensor in (x, y, lib.ones(2)):
        for gradient in (lib.ones(2).double(), lib.ones(3), 3, "x", tensor):
            log.attempt(lambda: setattr(tensor, "grad", gradient))
    integer = lib.tensor([1, 2])
    log.attempt(lambda: setattr(integer, "grad", lib.ones(2)))
    log.attempt(lambda: setattr(integer, "grad", lib.tensor([1, 2])))
    del x.grad
    log(x.grad)
