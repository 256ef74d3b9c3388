"""`gradcheck` and `gradgradcheck`: what autograd computes against finite differences.

The names are light; what they do is in `autograd.checking`, loaded at the first
call. `torch.autograd.gradcheck` names both this module (in imports) and the function.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from retrograd.lifecycle.site import user_level
from retrograd.notices import explained

__all__ = [
    "GradcheckError",
    "get_analytical_jacobian",
    "get_numerical_jacobian",
    "get_numerical_jacobian_wrt_specific_input",
    "gradcheck",
    "gradgradcheck",
]


class GradcheckError(RuntimeError):
    """A check of `gradcheck` or `gradgradcheck` failed."""


def gradcheck(
    func: Callable[..., object],
    inputs: object,
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    check_batched_forward_grad: bool = False,
    check_forward_ad: bool = False,
    check_backward_ad: bool = True,
    fast_mode: bool = False,
    masked: bool | None = None,
) -> bool:
    """Check the gradients of ``func(*inputs)`` against finite differences.

    Inputs that are float64 or complex128 tensors with ``requires_grad`` are checked: each of their
    elements is moved by ``eps`` both ways. ``fast_mode`` moves each input once, in a random
    direction, and compares one number per pair of input and output.

    eps, atol, rtol         step of the differences, and how far the results may be apart
    raise_exception         raise `GradcheckError` at a failed check, or return False
    nondet_tol              how far two runs of the same backward may be apart
    check_undefined_grad    outputs whose gradient is missing must count as zero
    check_grad_dtypes       a gradient must be complex where its input is
    check_batched_grad      a batch of gradients at once must give what one by one gives
    check_batched_forward_grad   the same in forward mode
    check_forward_ad, check_backward_ad   which modes to check
    fast_mode               compare in random directions instead of whole Jacobians
    masked                  compare zero gradients within a tolerance (for sparse tensors)

    >>> x = torch.tensor([0.5, 2.0], dtype=torch.float64, requires_grad=True)
    >>> torch.autograd.gradcheck(torch.sin, (x,))
    True
    """
    if not (check_forward_ad or check_backward_ad):
        raise explained(
            AssertionError(
                "Expected at least one of check_forward_ad or check_backward_ad to be True"
            ),
            code="RG615",
        )
    if check_batched_grad and not check_backward_ad:
        raise explained(
            AssertionError("Setting check_batched_grad=True requires check_backward_ad to be True"),
            code="RG615",
        )
    if check_batched_forward_grad and not check_forward_ad:
        raise explained(
            AssertionError(
                "Setting check_batched_forward_grad=True requires check_forward_ad to be True"
            ),
            code="RG615",
        )
    from retrograd.autograd.checking.case import Settings
    from retrograd.autograd.checking.checks import check_everything

    settings = Settings(
        eps=eps,
        atol=atol,
        rtol=rtol,
        nondet_tol=nondet_tol,
        grad_dtypes=check_grad_dtypes,
        undefined=check_undefined_grad,
        batched=check_batched_grad,
        batched_forward=check_batched_forward_grad,
        forward=check_forward_ad,
        backward=check_backward_ad,
        fast=fast_mode,
        masked=bool(masked),
    )
    try:
        check_everything(func, inputs, settings)
    except GradcheckError:
        if raise_exception:
            raise
        return False
    return True


def gradgradcheck(
    func: Callable[..., object],
    inputs: object,
    grad_outputs: object = None,
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    gen_non_contig_grad_outputs: bool = False,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    check_fwd_over_rev: bool = False,
    check_rev_over_rev: bool = True,
    fast_mode: bool = False,
    masked: bool = False,
) -> bool:
    """Check second derivatives: `gradcheck` of the gradients as a function.

    They are a function of the inputs and of ``grad_outputs``, the gradients that the outputs
    receive; random ones unless given. The other options are those of `gradcheck`.

    >>> x = torch.tensor([0.5, 2.0], dtype=torch.float64, requires_grad=True)
    >>> torch.autograd.gradgradcheck(torch.sin, (x,))
    True
    """
    if not (check_fwd_over_rev or check_rev_over_rev):
        raise explained(
            AssertionError(
                "Expected at least one of check_fwd_over_rev or check_rev_over_rev to be True"
            ),
            code="RG615",
        )
    if check_undefined_grad and not check_rev_over_rev:
        raise explained(
            AssertionError(
                "Setting check_undefined_grad=True requires check_rev_over_rev to be True"
            ),
            code="RG615",
        )
    if check_batched_grad and not check_rev_over_rev:
        raise explained(
            AssertionError(
                "Setting check_batched_grad=True requires check_rev_over_rev to be True"
            ),
            code="RG615",
        )
    from retrograd.autograd.checking.case import as_tuple
    from retrograd.autograd.checking.checks import gradient_function, random_gradients

    values = as_tuple(inputs)
    if grad_outputs is None:
        starts = random_gradients(func, values, gen_non_contig_grad_outputs)
    else:
        starts = as_tuple(grad_outputs)
    return gradcheck(
        gradient_function(func, values, starts),
        values + starts,
        eps=eps,
        atol=atol,
        rtol=rtol,
        raise_exception=raise_exception,
        nondet_tol=nondet_tol,
        check_undefined_grad=check_undefined_grad,
        check_grad_dtypes=check_grad_dtypes,
        check_batched_grad=check_batched_grad,
        check_forward_ad=check_fwd_over_rev,
        check_backward_ad=check_rev_over_rev,
        fast_mode=fast_mode,
        masked=masked,
    )


# ------------------------------------------------------------------------------- older functions


def _warn_private(name: str) -> None:
    warnings.warn(
        f"`{name}` was part of PyTorch's private API and not meant to be exposed. We are "
        "deprecating it and it will be removed in a future version of PyTorch. If you have a "
        "specific use for this or feature request for this to be a stable API, please file us an "
        "issue at https://github.com/pytorch/pytorch/issues/new",
        FutureWarning,
        stacklevel=user_level(),
    )


def _check_grad_out(name: str, grad_out: float) -> None:
    if grad_out != 1.0:
        raise ValueError(
            f"Expected grad_out to be 1.0. {name} no longer supports values of grad_out != 1.0."
        )


def get_numerical_jacobian(
    fn: Callable[..., object],
    inputs: object,
    target: object = None,
    eps: float = 1e-3,
    grad_out: float = 1.0,
) -> tuple[Any, ...]:
    """Deprecated: Jacobians of the first output of ``fn(inputs)`` by finite differences."""
    _warn_private("get_numerical_jacobian")
    _check_grad_out("get_numerical_jacobian", grad_out)
    from retrograd.autograd.checking.case import as_tuple
    from retrograd.autograd.checking.numerical import numerical_jacobians

    found = numerical_jacobians(
        lambda *values: fn(values),
        as_tuple(inputs),
        None if target is None else as_tuple(target),
        eps=eps,
    )
    return tuple(next(jacobian for jacobian in row if jacobian is not None) for row in found)


def get_numerical_jacobian_wrt_specific_input(
    fn: Callable[..., Any],
    input_idx: int,
    inputs: Any,
    outputs: Any,
    eps: float,
    input: Any = None,
    is_forward_ad: bool = False,
) -> tuple[Any, ...]:
    """Jacobians of the floating outputs of ``fn(*inputs)`` for one input, by differences."""
    from retrograd.autograd.checking.case import as_tuple
    from retrograd.autograd.checking.numerical import jacobians_of_input

    source = as_tuple(inputs)[input_idx] if input is None else input
    if not source.requires_grad:
        raise AssertionError("Expected input to have requires_grad=True")
    found = jacobians_of_input(
        fn, as_tuple(inputs), source, as_tuple(outputs), eps=eps, forward=is_forward_ad
    )
    return tuple(jacobian for jacobian in found if jacobian is not None)


def get_analytical_jacobian(
    inputs: Any, output: Any, nondet_tol: float = 0.0, grad_out: float = 1.0
) -> tuple[Any, bool, bool, bool]:
    """Deprecated: Jacobians of ``output``, and whether runs agree, sizes and dtypes are right."""
    _warn_private("get_analytical_jacobian")
    _check_grad_out("get_analytical_jacobian", grad_out)
    if output.is_complex():
        raise ValueError(
            "Expected output to be non-complex. get_analytical_jacobian no longer supports "
            "functions that return complex outputs."
        )
    from retrograd.autograd.checking.analytical import jacobians_twice
    from retrograd.autograd.checking.case import as_tuple

    found = jacobians_twice(as_tuple(inputs), output, nondet_tol)
    return found.jacobians, found.repeatable, found.sizes_right, found.dtypes_right
