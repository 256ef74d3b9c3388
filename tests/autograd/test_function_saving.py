"""Custom Functions, what they save: scenarios on PyTorch and on retrograd."""

from __future__ import annotations

from typing import Any

import pytest

from tests.autograd.function_pairs import Notes, Scenarios, compare, leaf, product

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch

scenario = Scenarios()


@scenario
def what_is_saved(lib: Any, note: Notes) -> None:
    x, y = leaf(lib, 1.0, 2.0), leaf(lib, 3.0, 4.0, grad=False)
    holder = {}

    class Save(lib.autograd.Function):
        @staticmethod
        def forward(ctx, x, y):
            middle = x * 3
            holder["middle"] = middle
            out = middle * y
            holder["out"] = out
            ctx.save_for_backward(x, None, middle, out, y)
            return out

        @staticmethod
        def backward(ctx, grad):
            a, nothing, middle, out, b = ctx.saved_tensors
            note(a is holder["x"], nothing, middle is holder["middle"], b is y)
            note(out is holder["out"], out, middle, a)
            note(out.grad_fn is ctx, len(ctx._raw_saved_tensors))
            return grad * b * 3, None

    holder["x"] = x
    Save.apply(x, y).sum().backward()
    note.gradients(x.grad)
    computed = holder["x"] = x * 2
    node = Save.apply(computed, y)
    note(node.grad_fn.saved_tensors, node.grad_fn.to_save, node.grad_fn.saved_for_forward)
    node.sum().backward()


@scenario
def saving_is_by_the_last_call(lib: Any, note: Notes) -> None:
    class Twice(lib.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            ctx.save_for_backward(x * 2, x * 3)
            note(ctx.saved_tensors)
            return x * 4

        @staticmethod
        def backward(ctx, grad):
            note(ctx.saved_tensors)
            return grad

    x = leaf(lib, 1.0)
    Twice.apply(x).sum().backward()
    with lib.no_grad():
        Twice.apply(x)


@scenario
def saving_other_things(lib: Any, note: Notes) -> None:
    class Save(lib.autograd.Function):
        @staticmethod
        def forward(ctx, x, what):
            ctx.save_for_backward(x, what)
            return x * 2

    for what in (3, "text", [leaf(lib, 1.0)], (), None):
        note.attempt(lambda what=what: Save.apply(leaf(lib, 1.0), what))
        note.attempt(lambda what=what: Save.apply(leaf(lib, 1.0, grad=False), what))
        with lib.no_grad():
            note.attempt(lambda what=what: Save.apply(leaf(lib, 1.0), what))


@scenario
def marking_other_things(lib: Any, note: Notes) -> None:
    class Mark(lib.autograd.Function):
        @staticmethod
        def forward(ctx, x, method, what):
            getattr(ctx, method)(what)
            return x * 2

    for method in ("mark_dirty", "mark_non_differentiable", "save_for_forward"):
        note.attempt(lambda method=method: Mark.apply(leaf(lib, 1.0), method, 3))
    note.attempt(lambda: Mark.apply(leaf(lib, 1.0), "mark_shared_storage", 3))


@scenario
def freed(lib: Any, note: Notes) -> None:
    x, y = leaf(lib, 1.0, 2.0), leaf(lib, 3.0, 4.0)
    out = product(lib).apply(x, y)
    node = out.grad_fn
    out.sum().backward(retain_graph=True)
    note(node.saved_tensors)
    out.sum().backward()
    note.attempt(lambda: node.saved_tensors)
    note.attempt(lambda: node._raw_saved_tensors)
    note.attempt(lambda: out.sum().backward())
    note.attempt(lambda: lib.autograd.grad(out.sum(), x))

    class Attributes(lib.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.x = x
            return x * x

        @staticmethod
        def backward(ctx, grad):
            return 2 * grad * ctx.x

    kept = Attributes.apply(x)
    kept.sum().backward()
    kept.sum().backward()
    note.gradients(x.grad)
    note.attempt(lambda: kept.grad_fn.saved_tensors)


@scenario
def freed_only_where_it_ran(lib: Any, note: Notes) -> None:
    x, y = leaf(lib, 1.0), leaf(lib, 2.0)
    function = product(lib)
    a, b = function.apply(x, y), function.apply(x, x)
    lib.autograd.grad((a + b).sum(), y)
    note.attempt(lambda: a.grad_fn.saved_tensors)
    note.attempt(lambda: b.grad_fn.saved_tensors)


@scenario
def written_after_saving(lib: Any, note: Notes) -> None:
    function = product(lib)
    x, y = leaf(lib, 1.0, 2.0), leaf(lib, 3.0, 4.0)
    computed = x * 2
    out = function.apply(computed, y)
    computed.add_(1)
    note.attempt(lambda: out.sum().backward())
    note.attempt(lambda: out.grad_fn.saved_tensors)

    class Exponential(lib.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            out = x.exp()
            ctx.save_for_backward(out)
            return out

        @staticmethod
        def backward(ctx, grad):
            (out,) = ctx.saved_tensors
            return grad * out

    out = Exponential.apply(x)
    out.mul_(2)
    note.attempt(lambda: out.sum().backward())
    with lib.no_grad():
        y.add_(1)
    out = function.apply(x, y)
    with lib.no_grad():
        y.add_(1)
    note.attempt(lambda: out.sum().backward())


@scenario
def saved_outputs_second_order(lib: Any, note: Notes) -> None:
    class Exponential(lib.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            out = x.exp()
            ctx.save_for_backward(out)
            return out

        @staticmethod
        def backward(ctx, grad):
            (out,) = ctx.saved_tensors
            return grad * out

    x = leaf(lib, 0.5, -1.0)
    value = Exponential.apply(x)
    for _ in range(3):
        (value,) = lib.autograd.grad(value.sum(), x, create_graph=True)
        note(value)


@scenario
def saved_number_of_output(lib: Any, note: Notes) -> None:
    class Several(lib.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            first, second = x * 2, x * 3
            ctx.save_for_backward(second, first)
            return first, second

        @staticmethod
        def backward(ctx, a, b):
            second, first = ctx.saved_tensors
            note(second, first, second.output_nr, first.output_nr)
            return a * 2 + b * 3

    x = leaf(lib, 1.0)
    first, second = Several.apply(x)
    (first * second).sum().backward()
    note.gradients(x.grad)


@scenario
def saved_variables(lib: Any, note: Notes) -> None:
    out = product(lib).apply(leaf(lib, 1.0), leaf(lib, 2.0))
    note.attempt(lambda: out.grad_fn.saved_variables)


@scenario
def cleared_on_access(lib: Any, note: Notes) -> None:
    class Once(lib.autograd.Function):
        clear_saved_tensors_on_access = True

        @staticmethod
        def forward(ctx, x, times):
            ctx.times = times
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx, grad):
            for _ in range(ctx.times):
                (x,) = ctx.saved_tensors
            return grad * x * 2, None

    x = leaf(lib, 3.0)
    note.attempt(lambda: Once.apply(x, 1).sum().backward())
    note.attempt(lambda: Once.apply(x, 2).sum().backward())
    out = Once.apply(x, 1).sum()
    note.attempt(lambda: out.backward(retain_graph=True))
    note.attempt(lambda: out.backward())
    note.gradients(x.grad)


@scenario
def boxed_gradients(lib: Any, note: Notes) -> None:
    class Boxed(lib.autograd.Function):
        boxed_grads_call = True

        @staticmethod
        def forward(ctx, x, materialize):
            ctx.set_materialize_grads(materialize)
            return x * 2, x * 3

        @staticmethod
        def backward(ctx, grads):
            note.gradients(type(grads), list(grads))
            first = grads.pop(0)
            grads[0] = None
            return first * 2, None

    x = leaf(lib, 3.0)
    for materialize in (True, False):
        out = Boxed.apply(x, materialize)
        out[0].sum().backward()
        note.gradients(x.grad)
        note.attempt(lambda out=out: out[0].grad_fn.apply(out[0].detach(), out[1].detach()))


@scenario
def saved_tensor_hooks(lib: Any, note: Notes) -> None:
    x, y = leaf(lib, 1.0, 2.0), leaf(lib, 3.0, 4.0)
    packed = []

    def pack(tensor):
        packed.append(tensor)
        return tensor.tolist()

    def unpack(values):
        note("unpack", values)
        return lib.tensor(values, dtype=lib.float64)

    with lib.autograd.graph.saved_tensors_hooks(pack, unpack):
        out = product(lib).apply(x, y)
    note(len(packed), packed[0] is x, packed[1] is y)
    out.sum().backward()
    note.gradients(x.grad, y.grad)
    other = product(lib).apply(x, y)
    for saved in other.grad_fn._raw_saved_tensors:
        saved.register_hooks(lambda t: t * 2, lambda t: t * 5)
    note(other.grad_fn.saved_tensors)
    other.sum().backward()
    note.gradients(x.grad, y.grad)


@pytest.mark.parametrize("name", scenario)
def test_scenario(name: str) -> None:
    compare(scenario[name], torch)
