"""Operators that a program registers by name, beside PyTorch's."""

import gc
import weakref
from collections.abc import Callable
from typing import Any, Optional

import pytest

import retrograd

torch = pytest.importorskip("torch")
pytestmark = [
    pytest.mark.torch,
    pytest.mark.filterwarnings("ignore:.*performance drop"),
]


def outcome(call: Callable[[], Any]) -> str:
    """What a call gives, or the first sentence of its error."""
    try:
        return str(call())
    except Exception as error:  # both libraries' kinds
        return f"{type(error).__name__} {str(error).split('. ')[0].splitlines()[0]}"


def functional(lib: Any) -> list[Any]:
    def crop(x: lib.Tensor, low: int, high: int = 3) -> lib.Tensor:
        return x[low:high].clone()

    op = lib.library.custom_op("shop::crop", crop, mutates_args=())
    x = lib.arange(5.0, requires_grad=True)
    results = [
        repr(op),
        outcome(lambda: lib.ops.shop.crop.default._schema),
        outcome(lambda: op(x, 1)),
        outcome(lambda: op(x, 1).sum().backward()),
        outcome(lambda: op(x)),
        outcome(lambda: op(x, 1, 2, 3)),
        outcome(lambda: op(x, 1.5)),
        outcome(lambda: op(x, 1, other=2)),
        outcome(lambda: lib.vmap(lambda row: op(row, 1))(lib.ones(3, 5))),
        outcome(lambda: lib.ops.shop.absent),
    ]

    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.sizes = (inputs[0].shape[0], *inputs[1:])

    def backward(ctx: Any, grad: Any) -> Any:
        size, low, high = ctx.sizes
        whole = grad.new_zeros(size)
        whole[low:high] = grad
        return whole, None, None

    op.register_autograd(backward, setup_context=setup_context)
    op.register_fake(lambda x, low, high=3: x.new_empty(high - low))
    results += [
        outcome(lambda: lib.autograd.grad(op(x, low=1).pow(2).sum(), x)),
        outcome(lambda: op(x.detach(), 2).requires_grad),
        outcome(lambda: lib.autograd.gradcheck(op, (x.detach().double().requires_grad_(), 1, 4))),
    ]
    return results


def lists_and_options(lib: Any) -> list[Any]:
    def scaled(
        xs: list[lib.Tensor],
        w: Optional[lib.Tensor] = None,  # noqa: UP045
        *,
        scale: float = 2.0,
    ) -> list[lib.Tensor]:
        return [x * scale if w is None else x * scale * w for x in xs]

    op = lib.library.custom_op("shop::scaled", scaled, mutates_args=())
    needed = []

    def setup_context(ctx: Any, inputs: Any, output: Any, keyword_only_inputs: Any) -> None:
        ctx.scale = keyword_only_inputs["scale"]
        ctx.length = len(inputs[0])

    def backward(ctx: Any, grads: Any) -> Any:
        needed.append(ctx.needs_input_grad)
        return [g * ctx.scale for g in grads], None

    op.register_autograd(backward, setup_context=setup_context)
    x, y = lib.ones(2, requires_grad=True), lib.ones(2)
    out = op([x, y], lib.ones(2), scale=3.0)
    return [
        str(lib.ops.shop.scaled.default._schema),
        str(out),
        str(lib.autograd.grad(out[0].sum() + out[1].sum(), x)),
        str(needed),
    ]


def writing(lib: Any) -> list[Any]:
    def sine(x: lib.Tensor, out: lib.Tensor) -> None:
        out.copy_(x.sin())

    op = lib.library.custom_op("shop::sine", sine, mutates_args={"out"})
    out = lib.zeros(2)
    op(lib.ones(2), out)

    def itself(x: lib.Tensor) -> lib.Tensor:
        return x

    same = lib.library.custom_op("shop::itself", itself, mutates_args=())
    return [
        str(out),
        out._version,
        str(op._opoverload._schema),
        outcome(lambda: op.register_autograd(lambda ctx, grad: grad)),
        outcome(lambda: same(out)).rpartition(": ")[2],
    ]


def by_steps(lib: Any) -> list[Any]:
    lib.library.define(
        "shop::times", '(Tensor x, int n, float[] f=[1., 2.], str s="a,b") -> Tensor'
    )
    x = lib.arange(3.0, requires_grad=True)
    results = [outcome(lambda: lib.ops.shop.times(x, 2))]

    @lib.library.impl("shop::times", "cpu")
    def times(x: Any, n: int, f: Any = (1.0, 2.0), s: str = "a,b") -> Any:
        return x * n

    results.append(outcome(lambda: lib.ops.shop.times(x, 2)))
    lib.library.register_autograd(
        "shop::times",
        lambda ctx, grad: (grad * 10, None, None, None),
        setup_context=lambda ctx, inputs, output: None,
    )
    results.append(outcome(lambda: lib.autograd.grad(lib.ops.shop.times(x, n=2).sum(), x)))
    library = lib.library.Library("stall", "DEF")
    library.define("plus(Tensor x, *, Scalar a=1) -> Tensor")
    library.impl("plus", lambda x, *, a=1: x + a, "CompositeImplicitAutograd")
    results.append(outcome(lambda: lib.ops.stall.plus(x, a=2)))
    results.append(str(lib.ops.stall.plus.default._schema))
    return results


def mistakes(lib: Any) -> list[Any]:
    def untyped(x, y):  # type: ignore[no-untyped-def]
        return x

    def odd(x: lib.Tensor, y: dict) -> lib.Tensor:  # type: ignore[type-arg]
        return x

    def open_end(x: lib.Tensor):  # type: ignore[no-untyped-def]
        return x

    def make(function: Any, written: Any = ()) -> Callable[[], Any]:
        return lambda: lib.library.custom_op("shop::wrong", function, mutates_args=written)

    return [outcome(make(f)) for f in (untyped, odd, open_end)]


@pytest.mark.parametrize(
    "program",
    [functional, lists_and_options, writing, by_steps, mistakes],
    ids=lambda p: p.__name__,
)
def test_registered_operators_are_pytorchs(program: Callable[[Any], list[Any]]) -> None:
    assert program(retrograd) == program(torch)


@pytest.mark.parametrize("lib", [retrograd, torch], ids=["retrograd", "torch"])
def test_compiled_operators_are_an_os_error(lib: Any, tmp_path: Any) -> None:
    """Packages catch it, and do without their compiled part."""
    library = tmp_path / "_C.so"
    library.write_text("")
    with pytest.raises(OSError, match=r"_C\.so"):
        lib.ops.load_library(str(library))


def test_the_tensors_of_a_call_end_with_it() -> None:
    def double(x: retrograd.Tensor) -> retrograd.Tensor:
        return x * 2

    op: Any = retrograd.library.custom_op("shop::double", double, mutates_args=())
    op.register_autograd(lambda ctx, grad: grad * 2)
    x = retrograd.ones(3, requires_grad=True)
    inner = x * 1
    gone = weakref.ref(inner)
    gc.disable()
    try:
        out = op(inner)
        del inner
        out.sum().backward()
        del out
        assert gone() is None
    finally:
        gc.enable()
    # PyTorch refuses transforms of registered operators
    assert retrograd.func.grad(lambda x: op(x).pow(2).sum())(x.detach()).tolist() == [8.0] * 3
