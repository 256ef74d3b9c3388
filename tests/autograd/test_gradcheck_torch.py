"""`gradcheck` and its relatives: what they refuse and how; scenarios for both libraries."""

from __future__ import annotations

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


def jittering(lib):
    class Jitter(lib.autograd.Function):
        @staticmethod
        def forward(ctx, x, size=0.0):
            ctx.size = size
            return x * 1

        @staticmethod
        def backward(ctx, grad):
            noise = 1 + lib.rand_like(grad) * ctx.size
            return Jitter.apply(grad, ctx.size) * noise, None

    return Jitter


def shifted(x):
    y = x.clone()
    y.register_hook(lambda g: g + 1e-2)
    return y


def checks(lib, log, function, inputs, **options):
    """Both modes, with and without exceptions."""
    for fast in (True, False):
        for loud in (True, False):
            log.attempt(
                lambda fast=fast, loud=loud: lib.autograd.gradcheck(
                    function, inputs, fast_mode=fast, raise_exception=loud, **options
                )
            )


@scenario
def accepted(lib, log):
    x = lib.rand(3, dtype=lib.float64, requires_grad=True)
    y = lib.rand(3, dtype=lib.float64, requires_grad=True)
    z = lib.ones(2, dtype=lib.complex128, requires_grad=True)
    checks(lib, log, lambda a: a.mul(5), x)
    checks(lib, log, lambda a, b: a * a, (x, y))
    checks(lib, log, lambda a, b: (lib.complex(a, b), a + 1), (x, y))
    checks(lib, log, lambda a: (a, lib.real(a)), z)
    checks(lib, log, lambda a: (), (x,))
    for fast in (True, False):
        log(lib.autograd.gradgradcheck(lambda a, b: a * a * b, (x, y), fast_mode=fast))


@scenario
def wrong_inputs(lib, log):
    checks(lib, log, lambda a: a, (lib.rand(3),))
    checks(
        lib, log, lambda a: a, (lib.ones(1, dtype=lib.float64, requires_grad=True).expand(2, 2),)
    )
    checks(lib, log, lambda a: a, (lib.ones(1, requires_grad=True),), atol=1e-1)
    checks(lib, log, lambda a: a * 2, ())
    x = lib.ones(2, dtype=lib.float64, requires_grad=True)
    log.attempt(
        lambda: lib.autograd.gradcheck(
            lambda a: a, x, check_forward_ad=False, check_backward_ad=False
        )
    )
    log.attempt(lambda: lib.autograd.gradcheck(lambda a: a, x, check_batched_forward_grad=True))
    log.attempt(lambda: lib.autograd.gradcheck(lambda a: a * 2, x, check_backward_ad=False))


@scenario
def outputs_without_gradients(lib, log):
    x = lib.ones(1, requires_grad=True)
    checks(lib, log, lambda a: lib.tensor([a.item() * 2]), x)
    checks(lib, log, lambda a: lib.tensor([3.0]), x)


@scenario
def backward_that_varies(lib, log):
    jitter = jittering(lib)
    x = lib.rand(2, 2, dtype=lib.float64, requires_grad=True)
    quiet = {"check_batched_grad": False}
    checks(lib, log, lambda a: jitter.apply(a, 0.0), x, **quiet)
    checks(lib, log, lambda a: jitter.apply(a, 1e-6), x, nondet_tol=1e-5, **quiet)
    for fast in (True, False):
        log.attempt(
            lambda fast=fast: str(
                lib.autograd.gradcheck(
                    lambda a: jitter.apply(a, 1e-3), x, atol=1, fast_mode=fast, **quiet
                )
            )
        )
        log(
            lib.autograd.gradgradcheck(
                lambda a: jitter.apply(a, 1e-12), x, nondet_tol=1e-5, fast_mode=fast, **quiet
            )
        )


@scenario
def backward_that_ignores_its_gradient(lib, log):
    x = lib.ones(1, dtype=lib.float64, requires_grad=True)
    checks(lib, log, shifted, (x,), atol=1e-1)


@scenario
def undefined_gradients(lib, log):
    def strict(x):
        def hook(g):
            if g is None:
                raise RuntimeError("undefined")

        y = x.clone()
        y.register_hook(hook)
        return y

    checks(lib, log, strict, (lib.ones(1, dtype=lib.float64, requires_grad=True),))


@scenario
def mismatches(lib, log):
    x = lib.ones(2, 2, dtype=lib.float64, requires_grad=True)
    z = lib.ones(2, 2, dtype=lib.complex128, requires_grad=True)

    def to_complex(a):
        y = lib.complex(a, a)
        y.register_hook(lambda g: g + 1e-2)
        return y

    def to_real(a):
        y = lib.real(a)
        y.register_hook(lambda g: g + 1e-2)
        return y

    for function, given in ((shifted, x), (shifted, z), (to_complex, x), (to_real, z)):
        checks(lib, log, function, (given,))

    def failing(a):
        raise RuntimeError("of the function")

    checks(lib, log, failing, (x,))
    error = lib.autograd.gradcheck.__globals__["GradcheckError"]
    log(issubclass(error, RuntimeError))


@scenario
def outputs_that_change_their_form(lib, log):
    x = lib.ones(1, dtype=lib.float64, requires_grad=True)

    def size(a):
        return lib.cat([a, a]) if lib.all(a >= 1) else a

    def kind(a):
        return a.to(lib.float32) if lib.all(a >= 1) else a

    checks(lib, log, size, (x,))
    checks(lib, log, kind, (x,))


@scenario
def old_jacobians(lib, log):
    import sys

    module = sys.modules[lib.autograd.gradcheck.__module__]
    a = lib.rand(2, 2, requires_grad=True, dtype=lib.float64)
    b = lib.rand(2, 2, requires_grad=True, dtype=lib.float64)

    def pair(inputs):
        return 2 * inputs[0] + inputs[1], inputs[0] + 2 * inputs[1]

    log.attempt(lambda: module.get_numerical_jacobian(pair, (a, b), target=a, eps=1e-6))
    log.attempt(lambda: module.get_numerical_jacobian(pair, (a, b), eps=1e-6))
    log.attempt(lambda: module.get_numerical_jacobian(pair, (a, b), eps=1e-6, grad_out=2.0))
    log.attempt(lambda: module.get_analytical_jacobian((a, b), pair((a, b))[0]))
    log.attempt(lambda: module.get_analytical_jacobian((a,), a * 2, grad_out=2.0))
    log.attempt(lambda: module.get_analytical_jacobian((a,), jittering(lib).apply(a, 1e-2))[1])


@scenario
def forward_mode(lib, log):
    forward = lib.autograd.forward_ad
    x = lib.rand(2, dtype=lib.float64, requires_grad=True)
    y = lib.rand(2, dtype=lib.float64, requires_grad=True)
    z = lib.rand(2, dtype=lib.complex128, requires_grad=True)

    def wrong(a, b):
        if forward._current_level >= 0:
            primal, tangent = forward.unpack_dual(b)
            b = forward.make_dual(primal, tangent * 1.1)
        return a + b, b

    for inputs in ((x, y), (z, y), (z, z.detach().requires_grad_())):
        checks(lib, log, lambda a, b: (a + b, b), inputs, check_forward_ad=True)
        checks(lib, log, wrong, inputs, check_forward_ad=True)
    checks(lib, log, lambda a: lib.view_as_real(lib.resolve_conj(a * 1j)), x, check_forward_ad=True)


@scenario
def forward_rules_are_counted(lib, log):
    count = 0

    class Copies(lib.autograd.Function):
        @staticmethod
        def forward(ctx, a, b):
            if lib.autograd.forward_ad._current_level >= 0:
                log(a.requires_grad, b.requires_grad)
            return a.clone(), b.clone()

        @staticmethod
        def jvp(ctx, a, b):
            nonlocal count
            count += 1
            return a, b

    x = lib.rand(1, dtype=lib.float64, requires_grad=True)
    for y in (lib.rand(1, dtype=lib.float64, requires_grad=True), lib.rand(1, dtype=lib.float64)):
        for undefined, batched in ((False, False), (True, False), (True, True)):
            log.attempt(
                lambda y=y, undefined=undefined, batched=batched: lib.autograd.gradcheck(
                    Copies.apply,
                    (x, y),
                    check_forward_ad=True,
                    check_undefined_grad=undefined,
                    check_backward_ad=False,
                    check_batched_grad=False,
                    check_batched_forward_grad=batched,
                )
            )
            log(count)


@scenario
def only_one_direction(lib, log):
    class Choice(lib.autograd.Function):
        @staticmethod
        def forward(ctx, x, bad_forward, bad_backward):
            ctx.bad_forward, ctx.bad_backward = bad_forward, bad_backward
            return x * 2

        @staticmethod
        def vjp(ctx, grad):
            if ctx.bad_backward:
                raise RuntimeError("backward failed")
            return 2 * grad, None, None

        @staticmethod
        def jvp(ctx, tangent, *rest):
            if ctx.bad_forward:
                raise RuntimeError("forward failed")
            return 2 * tangent

    x = lib.rand(2, dtype=lib.float64, requires_grad=True)
    for number in range(32):
        fast, forward, backward, bad_forward, bad_backward = (
            bool(number >> k & 1) for k in range(5)
        )
        log.attempt(
            lambda: lib.autograd.gradcheck(
                Choice.apply,
                (x, bad_forward, bad_backward),  # noqa: B023
                check_forward_ad=forward,  # noqa: B023
                check_backward_ad=backward,  # noqa: B023
                check_undefined_grad=backward,  # noqa: B023
                check_batched_grad=backward,  # noqa: B023
                fast_mode=fast,  # noqa: B023
            )
        )


@scenario
def batched_forward_mode(lib, log):
    class Random(lib.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def vjp(ctx, grad):
            return grad * 2

        @staticmethod
        def jvp(ctx, tangent):
            lib.randn_like(tangent)
            return tangent * 2

    x = lib.rand(2, dtype=lib.float64, requires_grad=True)
    options = {
        "check_forward_ad": True,
        "check_backward_ad": False,
        "check_batched_grad": False,
        "check_undefined_grad": False,
        "check_batched_forward_grad": True,
    }
    log.attempt(lambda: lib.autograd.gradcheck(lambda a, n: (a.clone(), a + 1), (x, 1), **options))
    log.attempt(lambda: lib.autograd.gradcheck(lambda a, b: a.clone(), (x, x.clone()), **options))
    log.attempt(lambda: lib.autograd.gradcheck(Random.apply, (x,), **options))


@scenario
def functions_in_batches_of_gradients(lib, log):
    class Inner(lib.autograd.Function):
        @staticmethod
        def forward(ctx, x, factor):
            ctx.factor = factor
            log("inner", tuple(x.shape))
            return x * factor

        @staticmethod
        def backward(ctx, grad):
            return grad * ctx.factor, None

    class Outer(lib.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x**3

        @staticmethod
        def backward(ctx, grad):
            (x,) = ctx.saved_tensors
            return Inner.apply(grad * x**2, 3.0)

    class Tangents(lib.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def jvp(ctx, tangent):
            return tangent * 2

    x = leaf(lib, 1.0, 2.0, dtype=lib.float64)
    rows = lib.eye(2, dtype=lib.float64)
    log(lib.autograd.grad(Outer.apply(x), x, rows, is_grads_batched=True))
    jacobian = lib.autograd.functional.jacobian
    log(jacobian(Outer.apply, x, vectorize=True))
    log(jacobian(Tangents.apply, x.detach(), vectorize=True, strategy="forward-mode"))
    log(lib.autograd.functional.hessian(lambda a: Outer.apply(a).sin().sum(), x, vectorize=True))
    checks(lib, log, Outer.apply, (x,), check_batched_grad=True)
    log(lib.autograd.gradgradcheck(Outer.apply, x, check_batched_grad=True))
