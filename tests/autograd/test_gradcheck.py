"""`gradcheck` and `gradgradcheck`, compared with PyTorch: verdicts, messages, warnings."""

from __future__ import annotations

import re

import pytest

import retrograd
from tests.autograd.outcomes import assert_same

torch_library = pytest.importorskip("torch")

pytestmark = pytest.mark.torch

SCENARIOS = []


def scenario(function):
    SCENARIOS.append(function)
    return function


def double(torch, *shape, grad=True):
    return torch.rand(shape, dtype=torch.float64, requires_grad=grad)


def cdouble(torch, *shape, grad=True):
    return torch.rand(shape, dtype=torch.complex128, requires_grad=grad)


def wrong(x, change=1e-2):
    """The identity, with a gradient that is not multiplied but moved."""
    y = x.clone()
    y.register_hook(lambda gradient: gradient + change)
    return y


def check(torch, log, function, inputs, **options):
    """The verdict in both modes, with and without exceptions."""
    for fast_mode in (False, True):
        log.attempt(
            lambda fast_mode=fast_mode: torch.autograd.gradcheck(
                function, inputs, fast_mode=fast_mode, **options
            )
        )
        log.attempt(
            lambda fast_mode=fast_mode: torch.autograd.gradcheck(
                function, inputs, fast_mode=fast_mode, raise_exception=False, **options
            )
        )


@scenario
def right_functions(torch, log):
    x, y = double(torch, 2, 3), double(torch, 2, 3)
    check(torch, log, torch.sin, x)
    check(torch, log, torch.sin, (x,))
    check(torch, log, torch.sin, [x])
    check(torch, log, lambda a, b: (a * b, a + b), (x, y))
    check(torch, log, lambda a, b: [a * b, a.sum()], (x, y))
    check(torch, log, lambda a, number: a**number, (x, 3))
    check(torch, log, lambda a, b: a * b, (x, y.detach()))
    check(torch, log, lambda a, b: a.exp(), (x, y))  # does not depend on the second
    check(torch, log, lambda a: a.t(), (x,))
    check(torch, log, lambda a: a, (x,))
    check(torch, log, lambda a: (a * 2, a.detach()), (x,))
    check(torch, log, lambda a: a.sum(), (double(torch),))
    check(torch, log, lambda a: a.sum(), (double(torch, 0, 3),))
    check(torch, log, lambda a: a[:0], (x,))


@scenario
def not_contiguous(torch, log):
    x = double(torch, 3, 2, grad=False).t().requires_grad_()
    check(torch, log, lambda a: a * a, (x,))
    y = double(torch, 6)[::2]
    check(torch, log, lambda a: a * a, (y,))


@scenario
def complex_functions(torch, log):
    z, w = cdouble(torch, 2, 2), cdouble(torch, 2, 2)
    x = double(torch, 2, 2)
    check(torch, log, lambda a, b: a * b, (z, w))
    check(torch, log, lambda a: (a.real, a.imag, a.abs()), (z,))
    check(torch, log, lambda a: (a, torch.real(a)), (z,))
    check(torch, log, lambda a, b: (torch.complex(a, a), b * a), (x, z))
    check(torch, log, lambda a: a.conj() * a, (z,))


@scenario
def wrong_functions(torch, log):
    x, z = double(torch, 2, 2), cdouble(torch, 2, 2)
    check(torch, log, wrong, (x,))
    check(torch, log, wrong, (z,))
    check(torch, log, lambda a: wrong(torch.complex(a, a)), (x,))
    check(torch, log, lambda a: wrong(torch.real(a)), (z,))
    check(torch, log, lambda a: (a * 2, wrong(a)), (x,))
    check(torch, log, lambda a, b: wrong(b) * a, (x, double(torch, 2, 2)))
    check(torch, log, lambda a: a * a.detach(), (x,))


@scenario
def tolerances(torch, log):
    x = torch.ones(1, dtype=torch.float64, requires_grad=True)
    check(torch, log, wrong, (x,), atol=1e-1)  # near enough, but not multiplied
    check(torch, log, wrong, (x,), atol=1e-1, masked=True)
    check(torch, log, lambda a: wrong(a, 1e-9), (x,), atol=1e-1, masked=True)
    check(torch, log, lambda a: a**3, (x,), eps=1e-1)
    check(torch, log, lambda a: a**3, (x,), eps=1e-1, atol=1e-1)
    check(torch, log, lambda a: a**3, (x,), eps=1e-1, rtol=1.0)


@scenario
def only_fast_mode_fails(torch, log):
    x = double(torch, 40)
    check(torch, log, lambda a: wrong(a, 1.02e-5) * 1.0, (x,), atol=1e-5, rtol=1e-6)


@scenario
def inputs_that_cannot_be_checked(torch, log):
    x = double(torch, 2)
    check(torch, log, torch.sin, (x.detach(),))
    check(torch, log, lambda number: number, (3,))
    check(torch, log, torch.sin, (double(torch, 1).expand(3),))
    check(torch, log, lambda a, b: a * b, (x, double(torch).expand(2)))
    check(torch, log, torch.sin, (double(torch, 1).expand(1),))


@scenario
def single_precision(torch, log):
    x = torch.ones(2, requires_grad=True)
    check(torch, log, lambda a: a * 1.0, (x,), atol=1e-1)
    check(torch, log, lambda a: a * a, (x, double(torch, 2)))
    with torch.no_grad():
        low = torch.ones(2, dtype=torch.float16)
    check(torch, log, lambda a, b: a * b, (x, low.requires_grad_()), eps=1e-2, atol=1.0)


@scenario
def outputs_without_gradient(torch, log):
    x = double(torch, 2)
    check(torch, log, lambda a: (), (x,))
    check(torch, log, lambda a: a.detach(), (x,))
    check(torch, log, lambda a: torch.ones(2, dtype=torch.float64), (x,))
    check(torch, log, lambda a: (a * 2, a.argmax()), (x,))


@scenario
def outputs_that_change_their_kind(torch, log):
    x = torch.ones(1, dtype=torch.float64, requires_grad=True)
    check(torch, log, lambda a: torch.cat([a, a]) if torch.all(a >= 1) else a, (x,))
    check(torch, log, lambda a: a.float() if torch.all(a >= 1) else a, (x,))


@scenario
def not_repeatable(torch, log):
    x = torch.ones(2, dtype=torch.float64, requires_grad=True)
    count = [0]

    def unsteady(a, jitter):
        def hook(gradient):
            count[0] += 1
            return gradient * (1 + jitter * (count[0] % 5))

        y = a.clone()
        y.register_hook(hook)
        return y

    check(torch, log, lambda a: unsteady(a, 0.0), (x,))
    check(torch, log, lambda a: unsteady(a, 1e-6), (x,))
    check(torch, log, lambda a: unsteady(a, 1e-6), (x,), nondet_tol=1e-5)


@scenario
def undefined_gradients(torch, log):
    x = torch.ones(1, dtype=torch.float64, requires_grad=True)

    def demands(a):
        def hook(gradient):
            if gradient is None:
                raise RuntimeError("undefined")

        y = a.clone()
        y.register_hook(hook)
        return y

    def invents(a):
        y = a.clone()
        y.register_hook(lambda gradient: torch.ones_like(a) if gradient is None else None)
        return y

    for function in (demands, invents, lambda a: (a * 2, demands(a))):
        check(torch, log, function, (x,))
        check(torch, log, function, (x,), check_undefined_grad=False)
    check(torch, log, lambda a: a.clone().unbind(), (double(torch, 3),))


@scenario
def errors_of_the_function(torch, log):
    def fails(a):
        raise RuntimeError("not a GradcheckError")

    x = double(torch, 2)
    check(torch, log, fails, (x,))
    check(torch, log, lambda a: (a, None), (x,))
    check(torch, log, lambda a: 3, (x,))


@scenario
def options_that_exclude_each_other(torch, log):
    x = double(torch, 2)
    grad, second = torch.autograd.gradcheck, torch.autograd.gradgradcheck
    log.attempt(lambda: grad(torch.sin, x, check_backward_ad=False))
    options = {"check_forward_ad": True, "check_backward_ad": False}
    log.attempt(lambda: grad(torch.sin, x, check_batched_grad=True, **options))
    log.attempt(lambda: grad(torch.sin, x, check_batched_forward_grad=True))
    log.attempt(lambda: second(torch.sin, x, check_rev_over_rev=False))
    options = {"check_fwd_over_rev": True, "check_rev_over_rev": False}
    log.attempt(lambda: second(torch.sin, x, **options))
    options["check_undefined_grad"] = False
    log.attempt(lambda: second(torch.sin, x, check_batched_grad=True, **options))
    log.attempt(lambda: grad(torch.sin, x, 1e-6))
    log.attempt(lambda: grad(torch.sin))


@scenario
def batches(torch, log):
    x, z = double(torch, 2, 3), cdouble(torch, 2)
    check(torch, log, lambda a: (a * a, a.sum(0)), (x,), check_batched_grad=True)
    check(torch, log, lambda a, b: a.exp(), (x, double(torch, 2)), check_batched_grad=True)
    check(torch, log, lambda a: a * a, (z,), check_batched_grad=True)


@scenario
def second_derivatives(torch, log):
    x, y, z = double(torch, 3), double(torch, 3), cdouble(torch, 2)

    def second(function, inputs, *more, **options):
        for fast_mode in (False, True):
            options["fast_mode"] = fast_mode
            log.attempt(lambda: torch.autograd.gradgradcheck(function, inputs, *more, **options))

    second(lambda a: a * a * a, x)
    second(lambda a, b: (a * b, a.sum() * b), (x, y))
    second(lambda a, number: a**number, (x, 2))
    second(lambda a: a * a, z)
    second(lambda a: a * 2, x)
    second(lambda a: a * a, x, torch.ones(3, dtype=torch.float64, requires_grad=True))
    second(lambda a: a * a, x, [torch.ones(3, dtype=torch.float64)])
    second(lambda a: a * a, double(torch, 2, 3), gen_non_contig_grad_outputs=True)
    second(lambda a: a * wrong(a.detach().requires_grad_()), x)
    second(lambda a: wrong(a * a), x)
    second(lambda a: wrong(a * a), x, raise_exception=False)
    second(lambda a: a * a, x, check_batched_grad=True)
    second(torch.sin, x.detach())


@scenario
def generated_gradients_are_pytorchs(torch, log):
    """The random numbers come from the default generator in the same order."""
    x, z = double(torch, 2, 3), cdouble(torch, 2)
    seen = []

    def spy(*values):
        y = values[0].clone()
        y.register_hook(lambda gradient: seen.append(gradient.detach().clone()))
        return y

    torch.autograd.gradgradcheck(spy, x)
    torch.autograd.gradgradcheck(spy, z, gen_non_contig_grad_outputs=True)
    log(seen[0], seen[-1], torch.rand(1))


@scenario
def custom_functions(torch, log):
    class Cube(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, wrong):
            ctx.save_for_backward(x)
            ctx.wrong = wrong
            return x**3

        @staticmethod
        def backward(ctx, gradient):
            (x,) = ctx.saved_tensors
            return 3 * x**2 * gradient * (1.1 if ctx.wrong else 1.0), None

    x = double(torch, 2)
    check(torch, log, lambda a: Cube.apply(a, False), (x,))
    check(torch, log, Cube.apply, (x, True))
    log.attempt(lambda: torch.autograd.gradgradcheck(Cube.apply, (x, False)))
    log.attempt(lambda: torch.autograd.gradgradcheck(Cube.apply, (x, True)))

    class Strict(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.set_materialize_grads(False)
            return x.clone()

        @staticmethod
        def backward(ctx, gradient):
            if gradient is None:
                raise RuntimeError("no gradient")
            return gradient

    check(torch, log, Strict.apply, (x,))

    class Unsteady(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, jitter):
            ctx.jitter = jitter
            return x.clone()

        @staticmethod
        def backward(ctx, gradient):
            return gradient * (1 + torch.rand_like(gradient) * ctx.jitter), None

    check(torch, log, Unsteady.apply, (x, 0.0))
    check(torch, log, Unsteady.apply, (x, 1e-5))
    check(torch, log, Unsteady.apply, (x, 1e-5), nondet_tol=1e-4)


@scenario
def older_functions(torch, log):
    import importlib

    module = importlib.import_module(f"{torch.__name__}.autograd.gradcheck")
    a, b = double(torch, 2, 2), double(torch, 2, 2)

    def together(inputs):
        return 2 * inputs[0] + inputs[1], inputs[0] + 2 * inputs[1]

    numerical = module.get_numerical_jacobian
    log(numerical(together, (a, b), eps=1e-6))
    log(numerical(together, (a, b), target=a, eps=1e-6))
    log(numerical(together, (a, b), target=(b,), eps=1e-6))
    log.attempt(lambda: numerical(together, (a, b), eps=1e-6, grad_out=2.0))
    log.attempt(lambda: numerical(lambda v: v[0] * 1j, (a,), eps=1e-6))

    analytical = module.get_analytical_jacobian
    log(analytical((a, b), together((a, b))[0]))
    log.attempt(lambda: analytical((a, b), together((a, b))[0], grad_out=2.0))
    log.attempt(lambda: analytical((a,), a * 1j))

    def apart(x, y):
        return 2 * x + y, x * y

    single = module.get_numerical_jacobian_wrt_specific_input
    log(single(apart, 1, (a, b), apart(a, b), 1e-6))
    log(single(apart, 0, (a, b), apart(a, b), 1e-6, input=b))
    log.attempt(lambda: single(apart, 0, (a.detach(), b), apart(a, b), 1e-6))
    log.attempt(lambda: single(lambda x: x * 1j, 0, (a,), (a * 1j,), 1e-6))
    log(sorted(module.__all__), issubclass(module.GradcheckError, RuntimeError))


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda s: s.__name__)
def test_as_in_pytorch(scenario):
    assert_same(scenario, torch_library)


def full_message(library, fast_mode):
    with pytest.raises(RuntimeError) as caught:
        x = library.ones(2, 2, dtype=library.float64, requires_grad=True)
        library.autograd.gradcheck(wrong, x, fast_mode=fast_mode)
    return re.sub(r"\d+\.\d{6,}", lambda number: f"{float(number[0]):.9g}", str(caught.value))


@pytest.mark.parametrize("fast_mode", [False, True])
def test_whole_message_of_a_mismatch(fast_mode):
    assert full_message(retrograd, fast_mode) == full_message(torch_library, fast_mode)


# ------------------------------------------------------- where PyTorch mixes up several outputs


def test_integer_outputs_may_come_first():
    """Differences of outputs that carry no gradient are left out, wherever they stand."""
    x = retrograd.rand(3, dtype=retrograd.float64, requires_grad=True)
    for fast_mode in (False, True):
        for output in (lambda a: a.argmax(), lambda a: a > 0.5, lambda a: a.detach().floor()):
            for function in (lambda a: (output(a), a * a), lambda a: (a * a, output(a))):  # noqa: B023
                assert retrograd.autograd.gradcheck(function, x, fast_mode=fast_mode)
            failing = lambda a: (output(a), wrong(a))  # noqa: B023, E731
            assert not retrograd.autograd.gradcheck(
                failing, x, fast_mode=fast_mode, raise_exception=False
            )


def test_second_derivatives_without_any_output():
    x = retrograd.ones(2, dtype=retrograd.float64, requires_grad=True)
    assert retrograd.autograd.gradgradcheck(lambda a: a.detach() * 0, x)


def test_inputs_are_put_back_when_the_function_fails():
    x = retrograd.ones(2, dtype=retrograd.float64, requires_grad=True)
    runs = []

    def fails_later(a):
        runs.append(1)
        if len(runs) > 2:
            raise ValueError("third run")
        return a * a

    with pytest.raises(ValueError, match="third run"):
        retrograd.autograd.gradcheck(fails_later, x)
    assert x.tolist() == [1.0, 1.0]
    assert x._version == 0


def test_module_and_function_share_a_name():
    """`torch.autograd.gradcheck` is the function; importing from it works all the same."""
    from retrograd.autograd.gradcheck import GradcheckError, gradcheck

    assert retrograd.autograd.gradcheck is gradcheck
    assert GradcheckError.__name__ == "GradcheckError"
