"""`gradcheck` of forward mode and of batches, compared with PyTorch."""

from __future__ import annotations

import pytest

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


def check(torch, log, function, inputs, **options):
    for fast_mode in (False, True):
        log.attempt(
            lambda fast_mode=fast_mode: torch.autograd.gradcheck(
                function, inputs, fast_mode=fast_mode, check_forward_ad=True, **options
            )
        )


ONLY_FORWARD = {"check_backward_ad": False}
NOTHING_ELSE = {**ONLY_FORWARD, "check_undefined_grad": False}


@scenario
def right_functions(torch, log):
    x, y = double(torch, 2), double(torch, 2)
    for options in ({}, ONLY_FORWARD, NOTHING_ELSE):
        check(torch, log, torch.sin, x, **options)
        check(torch, log, lambda a, b: (a + b, b), (x, y), **options)
        check(torch, log, lambda a, b: a * b, (x, y.detach()), **options)
        check(torch, log, lambda a, b: a.exp(), (x, y), **options)
        check(torch, log, lambda a, number: a**number, (x, 3), **options)
        check(torch, log, lambda a: torch.view_as_real(a * 1j), (x,), **options)


@scenario
def complex_functions(torch, log):
    x, z, w = double(torch, 2), cdouble(torch, 2), cdouble(torch, 2)
    check(torch, log, lambda a, b: (a + b, b), (z, x))
    check(torch, log, lambda a, b: (a + b, b), (z, w))
    check(torch, log, lambda a, b: a * b, (z, w))
    check(torch, log, lambda a: a.abs(), (z,))


@scenario
def wrong_functions(torch, log):
    forward_ad = torch.autograd.forward_ad

    def wrong(a, b):
        if forward_ad._current_level >= 0:
            primal, tangent = forward_ad.unpack_dual(b)
            if tangent is not None:
                b = forward_ad.make_dual(primal, tangent * 1.1)
        return a + b, b

    for inputs in (
        (double(torch, 2), double(torch, 2)),
        (cdouble(torch, 2), double(torch, 2)),
        (cdouble(torch, 2), cdouble(torch, 2)),
    ):
        check(torch, log, wrong, inputs)
        check(torch, log, wrong, inputs, raise_exception=False)


@scenario
def only_one_mode_is_right(torch, log):
    class Double(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, bad_forward, bad_backward):
            ctx.bad_forward, ctx.bad_backward = bad_forward, bad_backward
            return x * 2

        @staticmethod
        def vjp(ctx, gradient):
            if ctx.bad_backward:
                raise RuntimeError("backward fails")
            return 2 * gradient, None, None

        @staticmethod
        def jvp(ctx, tangent, _, __):
            if ctx.bad_forward:
                raise RuntimeError("forward fails")
            return 2 * tangent

    x = double(torch, 2)
    for forward in (True, False):
        for backward in (True, False):
            for flags in ((False, False), (True, False), (False, True), (True, True)):
                for fast_mode in (True, False):
                    log.attempt(
                        lambda forward=forward, backward=backward, flags=flags, fast=fast_mode: (
                            torch.autograd.gradcheck(
                                Double.apply,
                                (x, *flags),
                                check_forward_ad=forward,
                                check_backward_ad=backward,
                                check_undefined_grad=backward,
                                check_batched_grad=backward,
                                fast_mode=fast,
                            )
                        )
                    )


@scenario
def how_often_jvp_is_called(torch, log):
    count = [0]
    flags = []

    class Copies(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, y):
            if torch.autograd.forward_ad._current_level >= 0:
                flags.append((x.requires_grad, y.requires_grad))
            return x.clone(), y.clone()

        @staticmethod
        def jvp(ctx, x_tangent, y_tangent):
            count[0] += 1
            return x_tangent, y_tangent

    for grad in (True, False):
        inputs = (double(torch, 1), double(torch, 1, grad=grad))
        for undefined in (False, True):
            for batched in (False, True):
                torch.autograd.gradcheck(
                    Copies.apply,
                    inputs,
                    check_forward_ad=True,
                    check_backward_ad=False,
                    check_undefined_grad=undefined,
                    check_batched_forward_grad=batched,
                )
                log(count[0], any(any(pair) for pair in flags))
                count[0] = 0


@scenario
def batches(torch, log):
    x = double(torch, 2)
    options = {**NOTHING_ELSE, "check_batched_forward_grad": True}
    check(torch, log, lambda a, number: (a.clone(), a + 1), (x, 1), **options)
    check(torch, log, lambda a, b: a.clone(), (x, x.clone()), **options)
    check(torch, log, lambda a, b: (a * b, a.sum()), (x, double(torch, 2)), **options)


@scenario
def batches_that_fail(torch, log):
    class Random(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def vjp(ctx, gradient):
            torch.randn_like(gradient)
            return gradient * 2

        @staticmethod
        def jvp(ctx, tangent):
            torch.randn_like(tangent)
            return tangent * 2

    x = double(torch, 2)
    for options in (
        {"check_forward_ad": True, "check_batched_forward_grad": True},
        {"check_batched_grad": True},
    ):
        log.attempt(lambda options=options: torch.autograd.gradcheck(Random.apply, x, **options))

    class Wrong(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.clone()

        @staticmethod
        def vjp(ctx, gradient):
            return gradient * (1.0 if gradient.dim() == 1 else 2.0)

    log.attempt(lambda: torch.autograd.gradcheck(Wrong.apply, x, check_batched_grad=True))


@scenario
def second_derivatives(torch, log):
    x, z = double(torch, 2), cdouble(torch, 2)
    for fast_mode in (False, True):
        for values in (x, z):
            log.attempt(
                lambda values=values, fast_mode=fast_mode: torch.autograd.gradgradcheck(
                    lambda a: a * a * a, values, check_fwd_over_rev=True, fast_mode=fast_mode
                )
            )
        log.attempt(
            lambda fast_mode=fast_mode: torch.autograd.gradgradcheck(
                lambda a: a.exp(),
                x,
                check_fwd_over_rev=True,
                check_rev_over_rev=False,
                check_undefined_grad=False,
                fast_mode=fast_mode,
            )
        )


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda s: s.__name__)
def test_as_in_pytorch(scenario):
    assert_same(scenario, torch_library)
