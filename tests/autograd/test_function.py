"""Custom Functions, the ordinary life: scenarios on PyTorch and on retrograd."""

from __future__ import annotations

from typing import Any

import pytest

from tests.autograd.function_pairs import Notes, Scenarios, compare, leaf, product

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch

scenario = Scenarios()


@scenario
def first_and_second_order(lib: Any, note: Notes) -> None:
    class Mixed(lib.autograd.Function):
        @staticmethod
        def forward(ctx, first, number, second):
            ctx.number = number
            ctx.save_for_backward(first, second)
            return first + number * second + first * second

        @staticmethod
        def backward(ctx, grad):
            first, second = ctx.saved_tensors
            return grad + grad * second, None, grad * ctx.number + grad * first

    x, y = leaf(lib, 1.0, -2.0), leaf(lib, 0.5, 3.0)
    out = Mixed.apply(x, 2, y)
    note(out, out.grad_fn, out.grad_fn.number, out.grad_fn.next_functions)
    out.sum().backward(lib.ones((), dtype=lib.float64, requires_grad=True), create_graph=True)
    note.gradients(x.grad.tolist(), y.grad.tolist(), x.grad.requires_grad)
    x.grad.sum().backward()
    note.gradients(x.grad.tolist(), y.grad.tolist())


@scenario
def grad_mode_in_the_methods(lib: Any, note: Notes) -> None:
    class Watch(lib.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            note("forward", lib.is_grad_enabled())
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            note("backward", lib.is_grad_enabled(), grad.requires_grad)
            return grad * 2

    x = leaf(lib, 1.0, 2.0)
    Watch.apply(x).sum().backward()
    lib.autograd.grad(Watch.apply(x).sum(), x, create_graph=True)
    lib.autograd.grad(Watch.apply(x).pow(2).sum(), x, create_graph=True)
    with lib.no_grad():
        note(Watch.apply(x))
        with lib.enable_grad():
            note(Watch.apply(x))
    note.gradients(x.grad)


@scenario
def ctx_is_the_node(lib: Any, note: Notes) -> None:
    kept = []

    class Keep(lib.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            kept.append(ctx)
            ctx.shape, ctx.dtype, ctx.saved, ctx.edges = x.shape, x.dtype, 1, 2
            ctx.run, ctx.code, ctx.extra, ctx.op, ctx.sequence = 3, 4, 5, 6, 7
            ctx.buffer, ctx.pending, ctx.owned, ctx.visit, ctx.freed = 8, 9, 10, 11, 12
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            kept.append(ctx)
            note(ctx.shape, str(ctx.dtype), ctx.saved, ctx.edges, ctx.run, ctx.code, ctx.extra)
            note(ctx.op, ctx.sequence, ctx.buffer, ctx.pending, ctx.owned, ctx.visit, ctx.freed)
            return grad * 2

    x = leaf(lib, 1.0, 2.0)
    out = Keep.apply(x)
    out.sum().backward()
    note(out.grad_fn is kept[0], out.grad_fn is kept[1], out.grad_fn is out.grad_fn)
    note.gradients(sorted(vars(out.grad_fn)), out.grad_fn.shape, x.grad)
    kept.clear()
    note(out.grad_fn.shape, (out * 1).grad_fn.next_functions[0][0] is out.grad_fn)
    out.grad_fn.later = 3
    note(out.grad_fn.later)
    note(isinstance(out.grad_fn, lib.autograd.function.BackwardCFunction))
    note(isinstance(out.grad_fn, lib.autograd.function.FunctionCtx))
    note(out.grad_fn._forward_cls is Keep, Keep._backward_cls is type(out.grad_fn))
    note(repr(out), repr(out.grad_fn).split(" object")[0], out.grad_fn.requires_grad)


@scenario
def needs_input_grad(lib: Any, note: Notes) -> None:
    class Needs(lib.autograd.Function):
        @staticmethod
        def forward(ctx, a, b, c, d):
            note(ctx.needs_input_grad)
            return a * b

        @staticmethod
        def backward(ctx, grad):
            note(ctx.needs_input_grad)
            return grad, grad * 2, None, None

    a, b, c = leaf(lib, 1.0), leaf(lib, 2.0), leaf(lib, 3.0, grad=False)
    Needs.apply(a, b, c, "text").sum().backward()
    Needs.apply(c, b, a, None)
    with lib.no_grad():
        Needs.apply(a, b, c, 4)
    note.gradients(lib.autograd.grad(Needs.apply(a, b, c, 4).sum(), [b]))
    note.gradients(lib.autograd.grad(Needs.apply(a * 2, b, c, 4).sum(), [a]))


@scenario
def other_arguments_pass_through(lib: Any, note: Notes) -> None:
    x, y = leaf(lib, 1.0, 2.0), leaf(lib, 3.0, 4.0)

    class Nested(lib.autograd.Function):
        @staticmethod
        def forward(ctx, first, numbers, mapping, nothing):
            note(numbers[0] is y, mapping["y"] is y, nothing)
            return first * 2, [first, 3], {"a": 1}, None, "text", lib.arange(2)

        @staticmethod
        def backward(ctx, *grads):
            note.gradients(grads)
            return grads[0] * 2, None, None, None

    results = Nested.apply(x, [y], {"y": y}, None)
    note(results[0], results[1][0] is x, results[2:])
    results[0].sum().backward()
    note.gradients(x.grad, y.grad, len(results[0].grad_fn._input_metadata))
    for entry in results[0].grad_fn._input_metadata:
        note(list(entry.shape), entry.dtype)


@scenario
def lists_are_no_tuples(lib: Any, note: Notes) -> None:
    class Listed(lib.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return [x * 2, x * 3]

        @staticmethod
        def backward(ctx, grad):
            return [grad]

    class Single(lib.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return (x * 2,)

        @staticmethod
        def backward(ctx, grad):
            return [grad]

    class Nothing(lib.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return ()

    x = leaf(lib, 1.0)
    note(Listed.apply(x))
    note(Single.apply(x), Nothing.apply(x))
    note.attempt(lambda: Single.apply(x)[0].backward())


@scenario
def no_tensors(lib: Any, note: Notes) -> None:
    class Add(lib.autograd.Function):
        @staticmethod
        def forward(ctx, x, y):
            return x + y

    note(Add.apply(1, 2), Add.apply(leaf(lib, 1.0), 2))


@scenario
def keywords(lib: Any, note: Notes) -> None:
    class Scaled(lib.autograd.Function):
        @staticmethod
        def forward(ctx, x, factor, shift=1.0):
            ctx.factor = factor
            return x * factor + shift

        @staticmethod
        def backward(ctx, grad):
            note(ctx.needs_input_grad)
            return grad * ctx.factor, None, None

    x = leaf(lib, 1.0, 2.0)
    for action in (
        lambda: Scaled.apply(x, factor=3.0),
        lambda: Scaled.apply(factor=3.0, x=x),
        lambda: Scaled.apply(x, 3.0, shift=2.0),
        lambda: Scaled.apply(x, 3.0),
        lambda: Scaled.apply(x, shift=2.0),
        lambda: Scaled.apply(x, 3.0, scale=1),
        lambda: Scaled.apply(x, 3.0, x=x),
        lambda: Scaled.apply(x, 3.0, 4.0, 5.0),
        lambda: Scaled.apply(),
    ):
        note.attempt(action)
    note.attempt(lambda: Scaled.apply(factor=3.0, shift=0.0, x=x).sum().backward())
    note.gradients(x.grad)


@scenario
def inheritance(lib: Any, note: Notes) -> None:
    class Base(lib.autograd.Function):
        factor = 2.0

        @classmethod
        def forward(cls, ctx, x):
            return x * cls.factor

        @classmethod
        def backward(cls, ctx, grad):
            return grad * cls.factor

    class Derived(Base):
        factor = 5.0

    x = leaf(lib, 1.0)
    out = Derived.apply(Base.apply(x))
    note(out, out.grad_fn, Derived._backward_cls.__name__)
    out.sum().backward()
    note.gradients(x.grad)


@scenario
def vjp_is_backward(lib: Any, note: Notes) -> None:
    class Named(lib.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def vjp(ctx, grad):
            return grad * 7

    class Both(Named):
        @staticmethod
        def backward(ctx, grad):
            return grad

    x = leaf(lib, 1.0)
    Named.apply(x).sum().backward()
    note.gradients(x.grad)
    note.attempt(lambda: Both.apply(x).sum().backward())


@scenario
def setup_context(lib: Any, note: Notes) -> None:
    class Separate(lib.autograd.Function):
        @staticmethod
        def forward(x, y, scale=2.0):
            return x * y * scale, scale

        @staticmethod
        def setup_context(ctx, inputs, output):
            note(type(inputs), inputs[2], lib.is_grad_enabled(), output[1])
            ctx.scale = inputs[2]
            ctx.save_for_backward(inputs[0], inputs[1], output[0])

        @staticmethod
        def backward(ctx, grad, other):
            x, y, out = ctx.saved_tensors
            note.gradients(other, out, ctx.needs_input_grad)
            return grad * y * ctx.scale, grad * x * ctx.scale, None

    x, y = leaf(lib, 1.0, 2.0), leaf(lib, 3.0, 4.0)
    out, _ = Separate.apply(x, y=y)
    note(out)
    out.sum().backward()
    note.gradients(x.grad, y.grad)
    note.attempt(lambda: Separate.apply(x))
    note.attempt(lambda: Separate.apply(x, y, 1, 2))
    note.attempt(lambda: Separate.apply(x, y, other=2))


@scenario
def setup_context_cannot_save_a_returned_input(lib: Any, note: Notes) -> None:
    class Same(lib.autograd.Function):
        @staticmethod
        def forward(x):
            return x

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.save_for_backward(inputs[0])

        @staticmethod
        def backward(ctx, grad):
            return grad

    class View(Same):
        @staticmethod
        def forward(x):
            return x.view_as(x)

    note.attempt(lambda: Same.apply(leaf(lib, 1.0)))
    note.attempt(lambda: Same.apply(leaf(lib, 1.0, grad=False)))
    note.attempt(lambda: View.apply(leaf(lib, 1.0)))


@scenario
def nested_functions(lib: Any, note: Notes) -> None:
    inner = product(lib)

    class Outer(lib.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            with lib.enable_grad():
                ctx.x = x.detach().requires_grad_()
                ctx.out = inner.apply(ctx.x, ctx.x)
            note(ctx.out)
            return ctx.out.detach()

        @staticmethod
        def backward(ctx, grad):
            with lib.enable_grad():
                ctx.out.backward(grad)
            return ctx.x.grad

    x = leaf(lib, 1.0, 3.0)
    out = Outer.apply(x * 2)
    out.sum().backward()
    note.gradients(out, x.grad)


@scenario
def a_result_with_history_from_inside(lib: Any, note: Notes) -> None:
    class Recorded(lib.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            with lib.enable_grad():
                return x * 2

        @staticmethod
        def backward(ctx, grad):
            return grad * 5

    class Constant(Recorded):
        @staticmethod
        def forward(ctx, x):
            with lib.enable_grad():
                out = x * 2
            ctx.mark_non_differentiable(out)
            return out

    x = leaf(lib, 1.0)
    out = Recorded.apply(x)
    note(out, Constant.apply(x))
    out.sum().backward()
    with lib.no_grad():
        note(Recorded.apply(x))
    note.gradients(x.grad)


@scenario
def errors_in_the_methods(lib: Any, note: Notes) -> None:
    class Failing(lib.autograd.Function):
        @staticmethod
        def forward(ctx, x, early):
            if early:
                raise ValueError("early")
            ctx.save_for_backward(x)
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            note(ctx.saved_tensors)
            raise KeyError("late")

    x = leaf(lib, 1.0)
    note.attempt(lambda: Failing.apply(x, True))
    note(lib.is_grad_enabled())
    out = Failing.apply(x, False).sum()
    note.attempt(out.backward)
    note(lib.is_grad_enabled())
    note.attempt(out.backward)  # it failed, so nothing was freed


@scenario
def incomplete_classes(lib: Any, note: Notes) -> None:
    class Empty(lib.autograd.Function):
        pass

    class Forward(lib.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

    class Old(lib.autograd.Function):
        def forward(self, x):
            return x

        def backward(self, grad):
            return grad

    x = leaf(lib, 1.0)
    note.attempt(lambda: Empty.apply(x))
    note.attempt(lambda: Forward.apply(x))
    note.attempt(lambda: Forward.apply(x).sum().backward())
    note.attempt(lambda: Old()(x))
    note.attempt(lambda: Empty.jvp(None))
    note.attempt(lambda: Empty.vmap(None, None))
    note.attempt(lambda: Empty.setup_context(None, None, None))
    note.attempt(lambda: Empty.backward(None))
    note(type(lib.autograd.function.InplaceFunction).__name__)
    note(lib.autograd.function.NestedIOFunction.__mro__[1].__name__)


@scenario
def flags_must_be_bools(lib: Any, note: Notes) -> None:
    class Flags(lib.autograd.Function):
        @staticmethod
        def forward(ctx, x, what):
            if what == 0:
                ctx.set_materialize_grads(1)
            if what == 1:
                ctx._materialize_non_diff_grads = None
            if what == 2:
                ctx._is_pure_view = "yes"
            note(ctx._materialize_non_diff_grads)
            return x * 2

    for what in range(4):
        note.attempt(lambda what=what: Flags.apply(leaf(lib, 1.0), what))
    Flags.boxed_grads_call = 1
    note.attempt(lambda: Flags.apply(leaf(lib, 1.0), 3))
    Flags.clear_saved_tensors_on_access = "no"
    note.attempt(lambda: Flags.apply(leaf(lib, 1.0), 3))


@pytest.mark.parametrize("name", scenario)
def test_scenario(name: str) -> None:
    compare(scenario[name], torch)
