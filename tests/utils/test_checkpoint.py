"""Checkpointing, side by side with PyTorch: numbers, number of calls, errors, warnings, modes."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import retrograd
import retrograd.utils.checkpoint

Log = list[Any]


def numbers(value: Any) -> Any:
    if hasattr(value, "detach"):
        return np.round(np.array(value.detach().numpy(), np.float64), 5).tolist()
    if isinstance(value, (tuple, list)):
        return [numbers(item) for item in value]
    return value


class Side:
    """One library, with short names for what the scenarios use, and a log of what they saw."""

    def __init__(self, torch: Any) -> None:
        self.torch = torch
        self.lib = torch.utils.checkpoint
        self.checkpoint = torch.utils.checkpoint.checkpoint
        self.log: Log = []
        self.calls = 0

    def leaf(self, *values: float) -> Any:
        return self.torch.tensor(list(values), requires_grad=True)

    def note(self, *values: Any) -> None:
        self.log.append([numbers(value) for value in values])

    def counted(self, function: Callable[..., Any]) -> Callable[..., Any]:
        def run(*args: Any, **kwargs: Any) -> Any:
            self.calls += 1
            return function(*args, **kwargs)

        return run

    def fails(self, action: Callable[[], Any], lines: int = 1) -> None:
        try:
            action()
        except Exception as error:
            self.log.append((type(error).__name__, str(error).splitlines()[:lines]))
        else:
            self.log.append("no error")


def block(x: Any, y: Any, scale: float = 1.0) -> Any:
    return ((x * y).sin() * scale).exp()


def both_variants(s: Side) -> None:
    for reentrant in (True, False):
        x, y = s.leaf(0.1, 0.2), s.leaf(0.3, 0.4)
        out = s.checkpoint(s.counted(block), x * 1, y, use_reentrant=reentrant)
        out.sum().backward()
        s.note(out, x.grad, y.grad, s.calls, type(out.grad_fn).__name__)


def keyword_arguments(s: Side) -> None:
    x = s.leaf(0.1, 0.2)
    scale = s.torch.tensor(2.0, requires_grad=True)
    s.checkpoint(block, x, y=x, scale=scale, use_reentrant=False).sum().backward()
    s.note(x.grad, scale.grad)
    s.fails(lambda: s.checkpoint(block, x, x, scale=scale, use_reentrant=True))


def twice_with_retain_graph(s: Side) -> None:
    x = s.leaf(0.1, 0.2)
    out = s.checkpoint(s.counted(block), x, x, use_reentrant=False).sum()
    out.backward(retain_graph=True)
    s.note(x.grad, s.calls)
    out.backward(retain_graph=True)
    out.backward()
    s.note(x.grad, s.calls)
    s.fails(out.backward)


def double_backward(s: Side) -> None:
    x = s.leaf(0.1, 0.2)
    out = s.checkpoint(s.counted(block), x, x, use_reentrant=False).sum()
    (g,) = s.torch.autograd.grad(out, x, create_graph=True)
    (h,) = s.torch.autograd.grad(g.sum(), x, create_graph=True)
    (k,) = s.torch.autograd.grad(h.sum(), x)
    s.note(g, h, k, s.calls)


def grad_of_some_inputs(s: Side) -> None:
    x, y = s.leaf(0.1, 0.2), s.leaf(0.3, 0.4)
    out = s.checkpoint(s.counted(block), x, y, use_reentrant=False).sum()
    s.note(s.torch.autograd.grad(out, y, retain_graph=True), s.calls)
    out.backward(inputs=[x])
    s.note(x.grad, y.grad, s.calls)


def grad_refused_by_reentrant(s: Side) -> None:
    x = s.leaf(0.1, 0.2)
    out = s.checkpoint(block, x, x, use_reentrant=True).sum()
    s.fails(lambda: s.torch.autograd.grad(out, x, retain_graph=True))
    s.fails(lambda: out.backward(inputs=[x], retain_graph=True))
    out.backward()
    s.note(x.grad)


def nested_two_and_three(s: Side) -> None:
    def inner(x: Any) -> Any:
        return x.sin().exp()

    def middle(x: Any) -> Any:
        return s.checkpoint(s.counted(inner), x.cos(), use_reentrant=False).tanh()

    def outer(x: Any) -> Any:
        return s.checkpoint(s.counted(middle), x.exp(), use_reentrant=False).sin()

    for function in (middle, outer):
        s.calls = 0
        x = s.leaf(0.1, 0.2)
        out = s.checkpoint(s.counted(function), x, use_reentrant=False).sum()
        s.note(out, s.calls)
        out.backward(retain_graph=True)
        s.note(x.grad, s.calls)
        out.backward()
        s.note(x.grad, s.calls)


def nested_reentrant(s: Side) -> None:
    for first in (True, False):
        for second in (True, False):
            x = s.leaf(0.1, 0.2)

            def outer(x: Any, second: bool = second) -> Any:
                y = s.checkpoint(s.counted(block), x.cos(), x.sin(), use_reentrant=second)
                return y.sin()

            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # inside no_grad nothing requires grad
                s.checkpoint(outer, x, use_reentrant=first).sum().backward()
            s.note(x.grad, s.calls)


def early_stop(s: Side) -> None:
    def function(x: Any) -> Any:
        y = x.sin().exp()
        s.log.append("after exp")
        return y + 1

    for how in ("default", "argument", "context"):
        x = s.leaf(0.1, 0.2)
        context: Any = contextlib.nullcontext()
        options = {}
        if how == "argument":
            options["early_stop"] = False
        if how == "context":
            context = s.lib.set_checkpoint_early_stop(False)
        with context:
            out = s.checkpoint(function, x, use_reentrant=False, **options)
        out.sum().backward()
        s.note(how, x.grad)


def backward_inside(s: Side) -> None:
    def function(x: Any) -> Any:
        z = x.sin().exp()
        (g,) = s.torch.autograd.grad(z.sum(), x, create_graph=True)
        return g * z

    for stop in (True, False):
        with s.lib.set_checkpoint_early_stop(stop):
            x = s.leaf(0.1, 0.2)
            out = s.checkpoint(s.counted(function), x, use_reentrant=False)
            out.sum().backward()
            s.note(x.grad)


def random_state(s: Side) -> None:
    def function(x: Any) -> Any:
        return s.torch.nn.functional.dropout(x.exp(), 0.5) * s.torch.rand(6)

    for reentrant in (True, False):
        for preserve in (True, False):
            s.torch.manual_seed(3)
            x = s.leaf(0.1, 0.2, 0.3, 0.4, 0.5, 0.6)
            out = s.checkpoint(function, x, use_reentrant=reentrant, preserve_rng_state=preserve)
            s.note(out, s.torch.rand(2))
            out.sum().backward()
            s.note(x.grad, s.torch.rand(2))


def without_grad(s: Side) -> None:
    x = s.leaf(0.1, 0.2)
    with s.torch.no_grad():
        out = s.checkpoint(s.counted(block), x, x, use_reentrant=False)
    s.note(out, out.requires_grad, s.calls)


def no_input_requires_grad(s: Side) -> None:
    w = s.leaf(0.3, 0.4)
    x = s.torch.tensor([0.1, 0.2])
    out = s.checkpoint(lambda x: (x * w).exp(), x, use_reentrant=False)
    out.sum().backward()
    s.note(w.grad)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        out = s.checkpoint(lambda x: (x * w).exp(), x, use_reentrant=True)
    s.note(out.requires_grad, [str(item.message) for item in caught])


def use_reentrant_not_given(s: Side) -> None:
    x = s.leaf(0.1, 0.2)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        out = s.checkpoint(block, x, x)
        s.lib.checkpoint_sequential([s.torch.exp, s.torch.sin], 2, x)
    s.note(type(out.grad_fn).__name__, [(str(w.message), w.category.__name__) for w in caught])


def differs(s: Side) -> None:
    """What the second run does otherwise, and every line of the message but the tip."""
    x = s.leaf(0.1, 0.2)
    seconds = [
        (lambda x: x[:1].sin().exp(), 2),
        (lambda x: x.double().sin().exp(), 2),
        (lambda x: x.sin(), 3),
        (lambda x: x * 1.0, 3),
        (lambda x: x.sin().exp().exp(), 1),
    ]
    for second, lines in seconds:
        for stop in (True, False):
            for check in ("default", "none"):
                s.calls = 0

                def function(x: Any, second: Any = second) -> Any:
                    s.calls += 1
                    return x.sin().exp() if s.calls == 1 else second(x)

                out = s.checkpoint(
                    function, x, use_reentrant=False, early_stop=stop, determinism_check=check
                )
                s.fails(lambda out=out: out.sum().backward(), lines)
                x.grad = None


def wrong_arguments(s: Side) -> None:
    x = s.leaf(0.1, 0.2)
    contexts = s.lib.noop_context_fn

    def own_contexts() -> Any:
        return contexts()

    s.fails(lambda: s.checkpoint(block, x, x, use_reentrant=True, context_fn=own_contexts))
    s.fails(lambda: s.checkpoint(block, x, x, use_reentrant=True, debug=True))
    s.fails(
        lambda: s.checkpoint(block, x, x, use_reentrant=False, debug=True, context_fn=own_contexts)
    )
    s.fails(lambda: s.checkpoint(block, x, x, use_reentrant=False, determinism_check="x"))
    s.fails(lambda: s.checkpoint(block, x, x, nothing=1, use_reentrant=False))
    s.fails(lambda: s.lib.checkpoint_sequential([], 1, x, use_reentrant=False, other=1))
    s.fails(lambda: s.lib.detach_variable([x]))


def context_functions(s: Side) -> None:
    @contextlib.contextmanager
    def named(name: str) -> Any:
        s.log.append(f"{name} begins")
        yield
        s.log.append(f"{name} ends")

    def contexts() -> Any:
        return named("forward"), named("again")

    x = s.leaf(0.1, 0.2)
    out = s.checkpoint(block, x, x, use_reentrant=False, context_fn=contexts, early_stop=False)
    out.sum().backward()
    s.note(x.grad)


def forward_context_that_hides_errors(s: Side) -> None:
    def contexts() -> Any:
        return contextlib.suppress(ValueError), contextlib.nullcontext()

    def function(x: Any) -> Any:
        raise ValueError

    x = s.leaf(0.1, 0.2)
    s.fails(lambda: s.checkpoint(function, x, use_reentrant=False, context_fn=contexts))
    s.note(s.torch.is_grad_enabled())


def errors_in_the_function(s: Side) -> None:
    def function(x: Any) -> Any:
        s.calls += 1
        y = x.sin()
        if s.calls in (1, 3):
            raise ValueError(f"call {s.calls}")
        return y.exp()

    for reentrant in (True, False):
        s.calls = 0
        x = s.leaf(0.1, 0.2)
        s.fails(lambda x=x, r=reentrant: s.checkpoint(function, x, use_reentrant=r))
        out = s.checkpoint(function, x, use_reentrant=reentrant)
        s.fails(lambda out=out: out.sum().backward())
        s.note(x.grad, s.torch.is_grad_enabled())
        if not reentrant:
            out.sum().backward()
            s.note(x.grad)


def input_written_since(s: Side) -> None:
    x = s.leaf(0.1, 0.2)
    y = x.clone()
    out = s.checkpoint(block, y, x, use_reentrant=False)
    y.mul_(2)
    s.fails(lambda: out.sum().backward())


def several_outputs_and_structures(s: Side) -> None:
    def function(x: Any, pair: Any, flag: bool) -> Any:
        a, b = pair
        return (x * a).exp(), {"b": (x * b).sin()}, "text" if flag else None

    x, a, b = s.leaf(0.1, 0.2), s.leaf(0.3, 0.4), s.leaf(0.5, 0.6)
    first, second, text = s.checkpoint(function, x, (a, b), True, use_reentrant=False)
    (first.sum() + second["b"].sum()).backward()
    s.note(x.grad, a.grad, b.grad, text)


def reentrant_outputs(s: Side) -> None:
    def function(x: Any, number: float) -> Any:
        return (x * number).exp(), x.detach(), None

    x = s.leaf(0.1, 0.2)
    first, second, third = s.checkpoint(function, x, 3.0, use_reentrant=True)
    s.note(first.requires_grad, second.requires_grad, third)
    first.sum().backward()
    s.note(x.grad)
    out = s.checkpoint(lambda x: x.detach(), x, use_reentrant=True)
    s.fails(lambda: out.sum().backward())


def partly_used(s: Side) -> None:
    x = s.leaf(0.1, 0.2)
    a, b = s.checkpoint(s.counted(lambda x: (x.exp(), x.sin().exp())), x, use_reentrant=False)
    b.sum().backward(retain_graph=True)
    s.note(x.grad, s.calls)
    a.sum().backward()
    s.note(x.grad, s.calls)


def detached_and_in_place_inside(s: Side) -> None:
    def function(x: Any) -> Any:
        y = x.exp()
        z = y.detach() * x
        w = z * 2
        w.relu_()
        return w.sin() * y

    x = s.leaf(0.1, -0.2)
    s.checkpoint(function, x, use_reentrant=False).sum().backward()
    s.note(x.grad)


def exec_group(s: Side) -> None:
    x = s.leaf(0.1, 0.2)

    def function(x: Any) -> Any:
        return x.sin().exp(), x.cos().exp()

    a, b = s.checkpoint(s.counted(function), x, use_reentrant=False)
    group = s.lib.GraphExecGroup()
    with group:
        a.sum().backward()
        b.sum().backward()
        s.fails(lambda: _enter(group))
    s.note(x.grad, s.calls, s.lib.GraphExecGroup._get_current_group())
    out = s.checkpoint(s.counted(block), x, x, use_reentrant=False)
    with s.lib.GraphExecGroup():
        out.sum().backward(retain_graph=True)
        s.fails(lambda: out.sum().backward())


def _enter(group: Any) -> None:
    try:
        group.__enter__()
    except RuntimeError as error:
        raise RuntimeError(str(error).split("Already")[0]) from None


def saved_tensors_read_twice(s: Side) -> None:
    class Cube(s.torch.autograd.Function):  # type: ignore[misc,name-defined]
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return x**3

        @staticmethod
        def backward(ctx: Any, gradient: Any) -> Any:
            (x,) = ctx.saved_tensors
            (x,) = ctx.saved_tensors
            return 3 * x * x * gradient

    x = s.leaf(0.1, 0.2)
    out = s.checkpoint(lambda x: Cube.apply(x.exp()), x, use_reentrant=False)
    s.fails(lambda: out.sum().backward())


def sequential(s: Side) -> None:
    s.torch.manual_seed(0)
    model = s.torch.nn.Sequential(*[s.torch.nn.Linear(2, 2) for _ in range(5)])
    plain = s.leaf(0.1, 0.2)
    model(plain).sum().backward()
    s.note(plain.grad)
    for functions in (model, list(model)):
        for segments in (1, 2, 3, 5):
            for reentrant in (True, False):
                x = s.leaf(0.1, 0.2)
                model.zero_grad()
                out = s.lib.checkpoint_sequential(functions, segments, x, use_reentrant=reentrant)
                out.sum().backward()
                s.note(x.grad, [p.grad for p in model.parameters()])


def unpacked_outside_of_backward(s: Side) -> None:
    x = s.leaf(0.1, 0.2)
    out = s.checkpoint(s.counted(lambda x: x.exp()), x, use_reentrant=False)
    s.note(out.grad_fn._saved_result, s.calls)
    s.note(out.grad_fn._saved_result, s.calls)
    out.sum().backward()
    s.note(x.grad, s.calls)


def debug_lists_the_ops(s: Side) -> None:
    def function(x: Any) -> Any:
        s.calls += 1
        return x.sin().exp() if s.calls == 1 else x.sin()

    for how in ("argument", "context"):
        s.calls = 0
        x = s.leaf(0.1, 0.2)
        context: Any = contextlib.nullcontext()
        if how == "context":
            context = s.lib.set_checkpoint_debug_enabled(True)
        with context:
            out = s.checkpoint(function, x, use_reentrant=False, debug=how == "argument")
        try:
            out.sum().backward()
        except s.lib.CheckpointError as error:
            text = str(error)
            s.note(
                text.splitlines()[:2], "sin" in text, "exp" in text, type(error.__cause__).__name__
            )
    s.calls = 0
    with s.lib.set_checkpoint_debug_enabled(False):
        out = s.checkpoint(function, x, use_reentrant=False, debug=True)
    s.fails(lambda: out.sum().backward())


def helpers(s: Side) -> None:
    x = s.leaf(0.1, 0.2)
    cut = s.lib.detach_variable((x * 2, 3, s.torch.ones(1)))
    s.note(cut[0].requires_grad, cut[0].is_leaf, cut[1], cut[2].requires_grad)
    s.note(s.lib.get_device_states(x, 3), s.lib.DefaultDeviceType.get_device_type())
    s.lib.set_device_states([], [])
    s.note(len(s.lib.noop_context_fn()))


SCENARIOS = [
    *(both_variants, keyword_arguments, twice_with_retain_graph, double_backward),
    *(grad_of_some_inputs, grad_refused_by_reentrant, nested_two_and_three, nested_reentrant),
    *(early_stop, backward_inside, random_state, without_grad, no_input_requires_grad),
    *(use_reentrant_not_given, differs, wrong_arguments, context_functions),
    *(forward_context_that_hides_errors, errors_in_the_function, input_written_since),
    *(several_outputs_and_structures, reentrant_outputs, partly_used),
    *(detached_and_in_place_inside, exec_group, saved_tensors_read_twice, sequential),
    *(unpacked_outside_of_backward, debug_lists_the_ops, helpers),
]


@pytest.mark.torch
@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.__name__)
def test_like_pytorch(scenario: Callable[[Side], None]) -> None:
    torch = pytest.importorskip("torch")
    ours, theirs = Side(retrograd), Side(torch)
    scenario(theirs)
    scenario(ours)
    assert theirs.log
    assert ours.log == theirs.log
