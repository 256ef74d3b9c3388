"""Custom Functions: every scenario on PyTorch and on retrograd, side by side."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.autograd.function_pairs import Notes, compare

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch

Scenario = Callable[[Any, Notes], None]
SCENARIOS: dict[str, Scenario] = {}


def scenario(function: Scenario) -> Scenario:
    SCENARIOS[function.__name__] = function
    return function


@pytest.mark.parametrize("name", SCENARIOS)
def test_scenario(name: str) -> None:
    compare(SCENARIOS[name], torch)


def leaf(lib: Any, *values: float, grad: bool = True) -> Any:
    return lib.tensor(list(values), dtype=lib.float64, requires_grad=grad)


def product(lib: Any) -> Any:
    """x * y, with everything by the book."""

    class Product(lib.autograd.Function):
        @staticmethod
        def forward(ctx, x, y):
            ctx.save_for_backward(x, y)
            return x * y

        @staticmethod
        def backward(ctx, grad):
            x, y = ctx.saved_tensors
            return grad * y, grad * x

    return Product


# ----------------------------------------------------------------------------- the ordinary life


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


# ----------------------------------------------------------------------- what backward may return


@scenario
def results_of_backward(lib: Any, note: Notes) -> None:
    x, y = leaf(lib, 1.0, 2.0), leaf(lib, 3.0, 4.0)

    class Free(lib.autograd.Function):
        @staticmethod
        def forward(ctx, x, number, y, result):
            ctx.result = result
            return x * y

        @staticmethod
        def backward(ctx, grad):
            return ctx.result(grad)

    for result in (
        lambda g: (g, None, g * 2, None),
        lambda g: (g, None, g * 2),
        lambda g: g,
        lambda g: (g, None, g, None, None, None),
        lambda g: (g, None, g, None, g),
        lambda g: (g, g, g, None),
        lambda g: (g, 1, g, None),
        lambda g: (2.0, None, g, None),
        lambda g: (g, None, "text", None),
        lambda g: (g[:1], None, g, None),
        lambda g: (g.sum(), None, g, None),
        lambda g: (g.expand(3, 2), None, g, None),
        lambda g: (lib.ones(2, 3), None, g, None),
        lambda g: (g.float(), None, g.to(lib.int64), None),
        lambda g: (g * (1 + 2j), None, g, None),
        lambda g: (None, None, None, None),
        lambda g: None,
        lambda g: (x, None, y, None),
        lambda g: (x.detach(), None, x.detach(), None),
    ):
        x.grad = y.grad = None
        note.attempt(lambda result=result: Free.apply(x, 1, y, result).sum().backward())
        note.gradients(x.grad, y.grad)
        for create in (False, True):
            note.attempt(
                lambda result=result, create=create: [
                    None if g is None else (g.tolist(), str(g.dtype), create and g.requires_grad)
                    for g in lib.autograd.grad(
                        Free.apply(x, 1, y, result).sum(),
                        [y, x],
                        allow_unused=True,
                        create_graph=create,
                    )
                ]
            )


@scenario
def gradients_that_share_memory(lib: Any, note: Notes) -> None:
    class Shared(lib.autograd.Function):
        @staticmethod
        def forward(ctx, x, y):
            ctx.save_for_backward(x)
            return x + y

        @staticmethod
        def backward(ctx, grad):
            (x,) = ctx.saved_tensors
            return (grad, grad) if ctx.needs_input_grad[1] else (x, None)

    x, y, z = leaf(lib, 1.0, 2.0), leaf(lib, 3.0, 4.0), leaf(lib, 5.0, 6.0, grad=False)
    start = lib.tensor([2.0, 3.0], dtype=lib.float64)
    Shared.apply(x, y).backward(start)
    Shared.apply(x, y).backward(start)
    note.gradients(x.grad, y.grad, start)
    x.grad.mul_(10)
    note.gradients(x.grad, y.grad, start)
    x.grad = None
    Shared.apply(x, z).sum().backward()
    Shared.apply(x, z).sum().backward()
    note.gradients(x, x.grad)


@scenario
def a_gradient_nobody_wants(lib: Any, note: Notes) -> None:
    class Pair(lib.autograd.Function):
        @staticmethod
        def forward(ctx, x, y):
            return x * y

        @staticmethod
        def backward(ctx, grad):
            return grad * 2, lib.ones(7)

    x, y = leaf(lib, 1.0), leaf(lib, 2.0, grad=False)
    Pair.apply(x, y).sum().backward()
    note.gradients(x.grad, y.grad)


# ------------------------------------------------------------------------------ missing gradients


@scenario
def materialized_gradients(lib: Any, note: Notes) -> None:
    for materialize in (True, False):
        for rest in (True, False):

            class Several(lib.autograd.Function):
                @staticmethod
                def forward(ctx, x, materialize, rest):
                    ctx.set_materialize_grads(materialize)
                    ctx._materialize_non_diff_grads = rest
                    constant = x.clone()
                    ctx.mark_non_differentiable(constant)
                    return x * 2, x.float() * 3, constant, x.long(), None

                @staticmethod
                def backward(ctx, *grads):
                    note.gradients(grads)
                    return grads[0], None, None

            x = leaf(lib, 1.0, 2.0)
            outs = Several.apply(x, materialize, rest)
            note(outs)
            lib.autograd.grad(outs[0].sum(), x, retain_graph=True)
            note.attempt(
                lambda x=x, outs=outs: [
                    None if g is None else g.tolist()
                    for g in lib.autograd.grad(outs[1].sum(), x, allow_unused=True)
                ]
            )


@scenario
def undefined_single_gradient(lib: Any, note: Notes) -> None:
    class Silent(lib.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            return None

    class Watch(lib.autograd.Function):
        @staticmethod
        def forward(ctx, x, materialize):
            ctx.set_materialize_grads(materialize)
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            note.gradients(grad)
            return grad, None

    x = leaf(lib, 1.0, 2.0)
    for materialize in (True, False):
        Silent.apply(Watch.apply(x, materialize)).sum().backward()
        note.gradients(x.grad)
    note.gradients(lib.autograd.grad(Silent.apply(x * x).sum(), x, allow_unused=True))


@scenario
def non_differentiable_outputs(lib: Any, note: Notes) -> None:
    class Sorted(lib.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            values, places = x.sort()
            doubled = x * 2
            ctx.mark_non_differentiable(places, doubled)
            ctx.save_for_backward(places)
            return values, places, doubled

        @staticmethod
        def backward(ctx, grad, *others):
            note.gradients(others)
            (places,) = ctx.saved_tensors
            return lib.zeros(3, dtype=lib.float64).index_add_(0, places, grad)

    x = leaf(lib, 3.0, 1.0, 2.0)
    values, places, doubled = Sorted.apply(x)
    note(values, places, doubled)
    (values * leaf(lib, 1.0, 2.0, 3.0, grad=False)).sum().backward()
    note.gradients(x.grad)
    note.attempt(lambda: doubled.sum().backward())


@scenario
def non_differentiable_none(lib: Any, note: Notes) -> None:
    class Identity(lib.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            out = x.clone()
            ctx.mark_non_differentiable(out)
            return out

        @staticmethod
        def backward(ctx, grad):
            return None

    x = leaf(lib, 1.0)
    note(Identity.apply(x * x) + (x * x))
    (Identity.apply(x * x) + (x * x)).sum().backward()
    note.gradients(x.grad)


# ----------------------------------------------------------------------------------------- saving


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


# ------------------------------------------------------------------------------ views and in place


def same_again(lib: Any) -> Any:
    class Same(lib.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x

        @staticmethod
        def backward(ctx, grad):
            return grad * 3

    return Same


@scenario
def an_input_comes_back(lib: Any, note: Notes) -> None:
    function = same_again(lib)
    x = leaf(lib, 1.0, 2.0)
    out = function.apply(x)
    note(out is x, out, x, out._base is x)
    out.sum().backward()
    note.gradients(x.grad)
    computed = x * 2
    out = function.apply(computed)
    note(out is computed, out, computed)
    note.attempt(lambda: out.mul_(2))
    computed.mul_(2)
    note(out, computed)
    note.attempt(lambda: out.sum())
    plain = leaf(lib, 1.0, grad=False)
    out = function.apply(plain)
    note(out is plain, out, out._base is plain)
    with lib.no_grad():
        out = function.apply(x)
        note(out is x, out)
        out.add_(1)
    note(out, x)
    view = function.apply((x * 2)[:1])
    note(view, view._base)


@scenario
def an_input_comes_back_twice(lib: Any, note: Notes) -> None:
    class Both(lib.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x, x

        @staticmethod
        def backward(ctx, first, second):
            return first * 2 + second * 3

    class BothDirty(Both):
        @staticmethod
        def forward(ctx, x):
            ctx.mark_dirty(x)
            return x, x

    class Twins(Both):
        @staticmethod
        def forward(ctx, x):
            out = x * 2
            return out, out

    x = leaf(lib, 1.0, 2.0)
    for function in (Both, BothDirty, Twins):
        a, b = function.apply(x.clone())
        note(a is b, a, b)
        note.attempt(lambda a=a, b=b: lib.autograd.grad((a * 5 + b).sum(), x))
        note.attempt(lambda a=a: a.mul_(2))


@scenario
def views_made_inside(lib: Any, note: Notes) -> None:
    class Row(lib.autograd.Function):
        @staticmethod
        def forward(ctx, x, several):
            return (x[:1], x[1:]) if several else x[:1]

        @staticmethod
        def backward(ctx, *grads):
            return lib.cat([grads[0], grads[-1]]) * 7, None

    x = leaf(lib, 1.0, 2.0)
    base = x * 2
    out = Row.apply(base, False)
    note(out, out._base is base)
    note.attempt(lambda: out.mul_(2))
    note.attempt(lambda: out.view(-1).mul_(2))
    note.gradients(lib.autograd.grad(out.sum(), x, retain_graph=True))
    base.mul_(2)
    note(out, base)
    note.attempt(lambda: out.sum())
    for base in (x * 2, x):
        a, b = Row.apply(base, True)
        note(a, b)
        note.attempt(lambda a=a: a.mul_(2))
        note.attempt(lambda b=b: b[:1].mul_(2))
    with lib.no_grad():
        out = Row.apply(x * 2, False)
        note(out)
        out = Row.apply(x, False)
    note(out)
    note.attempt(lambda: out.mul_(2))
    with lib.no_grad():
        out.mul_(2)
    note(out, x)


@scenario
def views_of_temporaries(lib: Any, note: Notes) -> None:
    class Temporary(lib.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return (x * 2)[:1]

        @staticmethod
        def backward(ctx, grad):
            return lib.cat([grad, grad])

    x = leaf(lib, 1.0, 2.0)
    out = Temporary.apply(x)
    note(out)
    note.attempt(lambda: out.mul_(2))
    note.gradients(lib.autograd.grad(Temporary.apply(x).sum(), x))


@scenario
def views_without_gradient(lib: Any, note: Notes) -> None:
    class Row(lib.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            out = x[:1]
            ctx.mark_non_differentiable(out)
            return out

    class Same(lib.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.mark_non_differentiable(x)
            return x

    x = leaf(lib, 1.0, 2.0)
    for function in (Row, Same):
        for source in (x, x * 2, x.detach()):
            out = function.apply(source)
            note(out, out is source)
            note.attempt(lambda out=out: out.mul_(2))


@scenario
def pure_views(lib: Any, note: Notes) -> None:
    class Flat(lib.autograd.Function):
        @staticmethod
        def forward(ctx, x, several):
            ctx._is_pure_view = True
            return (x.view(-1), x) if several else x.view(-1)

        @staticmethod
        def backward(ctx, grad, *others):
            return grad * 9, None

    x = leaf(lib, 1.0, 2.0)
    base = x * 2
    out = Flat.apply(base, False)
    note(out)
    out.mul_(3)
    note(out, base)
    note.gradients(lib.autograd.grad(base.sum(), x))
    note.attempt(lambda: Flat.apply(x * 2, True))


def doubled_in_place(lib: Any, saves: bool = False) -> Any:
    class Double(lib.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            x.mul_(2)
            ctx.mark_dirty(x)
            if saves:
                ctx.save_for_backward(x)
            return x

        @staticmethod
        def backward(ctx, grad):
            if saves:
                note_saved(ctx)
            return grad * 2

    def note_saved(ctx: Any) -> None:
        (saved,) = ctx.saved_tensors
        Double.seen.append((saved.tolist(), saved.grad_fn.name(), saved.requires_grad))

    Double.seen = []
    return Double


@scenario
def in_place(lib: Any, note: Notes) -> None:
    for saves in (False, True):
        function = doubled_in_place(lib, saves)
        x = leaf(lib, 1.0, 2.0)
        y = x * 3
        before = y.grad_fn
        out = function.apply(y)
        note(out is y, out, out.grad_fn.next_functions[0][0] is before)
        (out * out).sum().backward()
        note.gradients(x.grad, function.seen)
        note.attempt(lambda f=function, x=x: f.apply(x))
        note(x)
        plain = leaf(lib, 1.0, grad=False)
        note(function.apply(plain) is plain, plain)
        with lib.no_grad():
            z = x * 1
            note(function.apply(z) is z, z)
        z = x * 1
        with lib.no_grad():
            out = function.apply(z)
        note(out is z, out, z)


@scenario
def in_place_on_views(lib: Any, note: Notes) -> None:
    for saves in (False, True):
        function = doubled_in_place(lib, saves)
        x = leaf(lib, 1.0, 2.0, 3.0)
        base = x * 3
        view, other = base[:2], base[1:]
        out = function.apply(view)
        note(out is view, out, base, other)
        (base * base).sum().backward(retain_graph=True)
        note.gradients(x.grad, function.seen)
        note.attempt(lambda base=base: base.sum().backward())
        note.attempt(lambda f=function, x=x: f.apply(x[:1]))
        note.attempt(lambda f=function, x=x: f.apply((x * 2).unbind()[0]))
        with lib.no_grad():
            hidden = (x * 2)[:1]
        note.attempt(lambda f=function, hidden=hidden: f.apply(hidden))


@scenario
def in_place_second_order(lib: Any, note: Notes) -> None:
    function = doubled_in_place(lib, False)
    x = leaf(lib, 1.0, 2.0, 3.0)
    base = x * x
    function.apply(base[:2])
    (first,) = lib.autograd.grad((base * base).sum(), x, create_graph=True)
    note(first.tolist())
    note.gradients(lib.autograd.grad(first.sum(), x))


@scenario
def in_place_mistakes(lib: Any, note: Notes) -> None:
    class Dirty(lib.autograd.Function):
        @staticmethod
        def forward(ctx, x, how):
            if how == "not returned":
                ctx.mark_dirty(x)
                return x * 2
            if how == "not an input":
                out = x * 2
                ctx.mark_dirty(out)
                return out
            if how == "a view of a temporary":
                out = (x * 2)[:1]
                ctx.mark_dirty(out)
                return out
            if how == "a view of the input":
                out = x[:1]
                ctx.mark_dirty(out)
                return out
            if how == "several":
                ctx.mark_dirty(x)
                return x, x * 2
            if how == "with other things":
                ctx.mark_dirty(x)
                return x, 3
            ctx.mark_dirty(x, x)
            return x

        @staticmethod
        def backward(ctx, *grads):
            return grads[0] * 5, None

    x = leaf(lib, 1.0, 2.0)
    for how in (
        "not returned",
        "not an input",
        "a view of a temporary",
        "a view of the input",
        "several",
        "with other things",
        "twice",
    ):
        for source in (x * 2, (x * 2)[:1], x.detach().clone(), x):
            note.attempt(lambda how=how, source=source: Dirty.apply(source, how))
            note(source)


@scenario
def in_place_on_what_needs_no_grad(lib: Any, note: Notes) -> None:
    class Copy(lib.autograd.Function):
        @staticmethod
        def forward(ctx, target, source):
            target.copy_(source)
            ctx.mark_dirty(target)
            return target

        @staticmethod
        def backward(ctx, grad):
            return None, grad * 2

    x = leaf(lib, 1.0, 2.0)
    target = leaf(lib, 0.0, 0.0, grad=False)
    out = Copy.apply(target, x)
    note(out is target, out)
    out.sum().backward()
    note.gradients(x.grad)
    base = leaf(lib, 0.0, 0.0, 0.0, grad=False)
    view, rest = base[:2], base[2:]
    out = Copy.apply(view, x)
    note(out is view, out, base, rest)
    (base * base).sum().backward()
    note.gradients(x.grad)


@scenario
def hooks_and_retained_gradients_after_in_place(lib: Any, note: Notes) -> None:
    function = doubled_in_place(lib)
    x = leaf(lib, 1.0, 2.0)
    y = x * 3
    y.retain_grad()
    y.register_hook(lambda g: note("before", g.tolist()))
    function.apply(y)
    y.register_hook(lambda g: note("after", g.tolist()))
    y.sum().backward()
    note.gradients(y.grad, x.grad, y.retains_grad)


# ---------------------------------------------------------------------------------- node interface


@scenario
def hooks_on_the_node(lib: Any, note: Notes) -> None:
    class Sum(lib.autograd.Function):
        @staticmethod
        def forward(ctx, x, y):
            return x + y, x * 2

        @staticmethod
        def backward(ctx, first, second):
            return (first + second * 2).expand(3, 2), first.float()

    x, y = leaf(lib, 1.0, 2.0), leaf(lib, 3.0, 4.0)
    out, other = Sum.apply(x, y)
    node = out.grad_fn
    note(node.name(), node.metadata, len(node.next_functions))
    node.metadata["a"] = 1
    note(out.grad_fn.metadata)
    node.register_prehook(lambda grads: note.gradients("pre", grads))
    node.register_hook(lambda ins, outs: note.gradients("post", ins, outs))
    handle = node.register_hook(lambda ins, outs: (ins[0] * 10, ins[1]))
    out.sum().backward(retain_graph=True)
    note.gradients(x.grad, y.grad)
    handle.remove()
    other.sum().backward(retain_graph=True)
    note.gradients(x.grad, y.grad)
    note.gradients(lib.autograd.grad((out + other).sum(), y))


@scenario
def once_differentiable(lib: Any, note: Notes) -> None:
    once = lib.autograd.function.once_differentiable

    class Mixed(lib.autograd.Function):
        @staticmethod
        def forward(ctx, x, number, y):
            ctx.save_for_backward(x, y)
            return x * y * number

        @staticmethod
        @once
        def backward(ctx, grad):
            x, y = ctx.saved_tensors
            note(lib.is_grad_enabled(), grad.requires_grad)
            return grad * y, None, grad * x

    class Single(lib.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        @once
        def backward(ctx, grad):
            return grad * 2

    x, y = leaf(lib, 1.0, 2.0), leaf(lib, 3.0, 4.0)
    Mixed.apply(x, 2, y).sum().backward()
    note.gradients(x.grad, y.grad, Mixed.backward.__name__)
    found = lib.autograd.grad(Mixed.apply(x, 2, y).sum(), [x, y], create_graph=True)
    note(found)  # the gradient of sum() does not require grad
    found = lib.autograd.grad(Mixed.apply(x, 2, y).pow(2).sum(), [x, y], create_graph=True)
    note(found, found[0].grad_fn is found[1].grad_fn)
    note.attempt(lambda: found[0].sum().backward())
    (found,) = lib.autograd.grad(Single.apply(x).pow(2).sum(), x, create_graph=True)
    note(found)
    note.attempt(lambda: found.sum().backward())


@scenario
def inference_mode(lib: Any, note: Notes) -> None:
    function = product(lib)
    x, y = leaf(lib, 1.0), leaf(lib, 2.0)
    with lib.inference_mode():
        out = function.apply(x, y)
        made = lib.ones(1, dtype=lib.float64)
        note(out, out.is_inference(), same_again(lib).apply(x), same_again(lib).apply(made))
        note(doubled_in_place(lib).apply(made) is made, made)
    note.attempt(lambda: function.apply(x, made))
    note.attempt(lambda: same_again(lib).apply(made))
    note.attempt(lambda: doubled_in_place(lib).apply(made))


@scenario
def calls_back_into_backward(lib: Any, note: Notes) -> None:
    class Again(lib.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.value = x.item()
            return x.detach()

        @staticmethod
        def backward(ctx, grad):
            if ctx.value < 0:
                return grad
            with lib.enable_grad():
                inner = lib.tensor(ctx.value - 1, dtype=lib.float64, requires_grad=True)
                out = Again.apply(inner) * 2
            out.backward()
            note.gradients(ctx.value, inner.grad)
            return grad * inner.grad

    x = leaf(lib, 4.0)
    Again.apply(x).sum().backward()
    note.gradients(x.grad)


@scenario
def old_attributes(lib: Any, note: Notes) -> None:
    class Plain(lib.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            return grad

    out = Plain.apply(leaf(lib, 1.0))
    node = out.grad_fn
    for name in ("requires_grad", "saved_tensors", "next_functions", "metadata"):
        with pytest.raises(AttributeError):
            setattr(node, name, 3)
        note(name)
    for name in ("materialize_grads", "_is_pure_view"):
        with pytest.raises(AttributeError):
            getattr(node, name)
        note(name)
    note(node.dirty_tensors, node.non_differentiable, node._materialize_non_diff_grads)
    node.needs_input_grad = (False,)
    note(node.needs_input_grad)
    number = node._sequence_nr()
    node._set_sequence_nr(number + 5)
    note(node._sequence_nr() == number + 5)
    note(node.apply(lib.ones(1)))
    kept = node
    del out, node
    note(kept.name(), kept.next_functions, kept.metadata)


@scenario
def dtypes(lib: Any, note: Notes) -> None:
    class Convert(lib.autograd.Function):
        @staticmethod
        def forward(ctx, x, dtype):
            return x.to(dtype)

        @staticmethod
        def backward(ctx, grad):
            note(grad.dtype)
            return grad, None

    for name in ("float16", "bfloat16", "float32", "complex64", "complex128", "int64", "bool"):
        x = leaf(lib, 1.0, 2.0)
        out = Convert.apply(x, getattr(lib, name))
        note(out.requires_grad, out.dtype, out.grad_fn)
        if out.requires_grad:
            out.sum().abs().backward()
            note.gradients(x.grad)
