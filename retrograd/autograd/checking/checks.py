"""The order of `gradcheck`: what it demands of inputs, what it compares, what else must hold."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

from retrograd.autograd.api import grad
from retrograd.autograd.checking.case import (
    Case,
    Settings,
    as_tuple,
    checked_inputs,
    differentiable,
    is_checked,
)
from retrograd.autograd.checking.compare import compare, random_direction
from retrograd.autograd.checking.forward import check_batched_tangents, check_undefined_tangents
from retrograd.autograd.checking.sparse_inputs import dense_gradient, is_sparse
from retrograd.autograd.checking.texts import BATCHED, batched_failure, batched_mismatch
from retrograd.autograd.gradcheck import GradcheckError
from retrograd.dtypes import complex128, float64
from retrograd.engine.node import BackwardCall, Node, fill_node
from retrograd.engine.views import edge_of
from retrograd.lifecycle.site import user_level, user_site
from retrograd.notices import explained, explained_warning, runtime_error
from retrograd.ops.elementwise.comparison import allclose
from retrograd.ops.elementwise.complexes import imag, real
from retrograd.ops.making.creation import empty, zeros, zeros_like
from retrograd.ops.random.sampling import randn_like
from retrograd.ops.registry import RECORDED
from retrograd.random import Generator
from retrograd.tensor import Tensor, wrap


def check_everything(function: Callable[..., object], inputs: object, settings: Settings) -> None:
    """Run every check that the settings ask for."""
    values = as_tuple(inputs)
    _check_inputs(values)
    result = as_tuple(function(*values))
    if any(is_sparse(output) for output in result):
        raise explained(
            ValueError(
                "Sparse output is not supported at gradcheck yet. Please call "
                "to_dense(masked_grad=...) on the output of fn for gradcheck."
            ),
            code="RG615",
        )
    outputs = differentiable(result)
    if settings.backward:
        _check_backward(function, result, values, settings)
    if settings.forward:
        _check_forward(function, result, values, settings)
    if settings.batched_forward:
        check_batched_tangents(function, values)
    if not settings.backward:
        return
    if settings.batched:
        for number, output in enumerate(outputs):
            _check_batched(values, output, number)
    if outputs:
        _check_zero_start(outputs, values, settings.masked)
        if settings.undefined:
            _check_undefined(function, len(outputs), values)


def _check_inputs(values: tuple[object, ...]) -> None:
    for number, value in enumerate(values):
        if not is_checked(value):
            continue
        if value.dtype not in (float64, complex128):
            warnings.warn(
                explained_warning(
                    f"Input #{number} requires gradient and is not a double precision floating "
                    "point or complex. This check will likely fail if all the inputs are not of "
                    "double precision floating point or complex. ",
                    code="RG615",
                ),
                stacklevel=user_level(),
            )
        if not is_sparse(value) and any(
            s == 0 and n > 1 for s, n in zip(value.stride(), value.shape, strict=True)
        ):
            raise runtime_error(
                f"The {number}th input has a dimension with stride 0. gradcheck only supports "
                "inputs that are non-overlapping to be able to compute the numerical gradients "
                "correctly. You should call .contiguous on the input before passing it to "
                "gradcheck.",
                code="RG615",
            )
    if not any(is_checked(value) for value in values):
        raise explained(
            ValueError(
                "gradcheck expects at least one input tensor to require gradient, but none of them "
                "have requires_grad=True."
            ),
            code="RG615",
        )


# ------------------------------------------------------------------------- real and imaginary


def _check_backward(
    function: Callable[..., object],
    result: tuple[Any, ...],
    values: tuple[object, ...],
    settings: Settings,
) -> None:
    """Backward is right for real outputs: a complex one is checked part by part."""
    if not any(output.is_complex() for output in result):
        compare(Case(function, result, values), settings)
        return
    places = _complex_places(differentiable(result))
    for imaginary in (True, False):
        part = imag if imaginary else real

        def of_part(*given: Any, part: Any = part) -> tuple[Any, ...]:
            outputs = as_tuple(function(*given))
            return tuple(part(output) if output.is_complex() else output for output in outputs)

        case = Case(
            of_part,
            of_part(*values),
            values,
            complex_places=places,
            imaginary=imaginary,
        )
        compare(case, settings)


def _check_forward(
    function: Callable[..., object],
    result: tuple[object, ...],
    values: tuple[object, ...],
    settings: Settings,
) -> None:
    """Forward mode is right for real inputs: a complex one is checked part by part."""
    places = _complex_places(values)
    cases = [Case(function, result, values, forward=True)]
    if places:
        cases = [_part_of_inputs(function, values, places, flag) for flag in (True, False)]
    for case in cases:
        compare(case, settings)
    if settings.undefined:
        for case in cases:
            generator = Generator()
            directions = [random_direction(x, generator) for x in checked_inputs(case.inputs)]
            check_undefined_tangents(case.function, case.inputs, directions)


def _complex_places(values: tuple[object, ...]) -> tuple[int, ...]:
    return tuple(i for i, x in enumerate(values) if isinstance(x, Tensor) and x.is_complex())


def _part_of_inputs(
    function: Callable[..., object],
    values: tuple[Any, ...],
    places: tuple[int, ...],
    imaginary: bool,
) -> Case:
    """The function of one part of its complex inputs, the other part held at its value."""

    def of_part(*given: Any) -> tuple[Any, ...]:
        whole = list(given)
        for place in places:
            if imaginary:
                whole[place] = values[place].real + given[place] * 1j
            else:
                whole[place] = given[place] + values[place].imag * 1j
        return as_tuple(function(*whole))

    parts = list(values)
    for place in places:
        parts[place] = values[place].imag if imaginary else values[place].real
    inputs = tuple(parts)
    return Case(of_part, of_part(*inputs), inputs, True, places, imaginary)


# ------------------------------------------------------------------------- other rules of backward


def _check_batched(inputs: tuple[object, ...], output: Tensor, number: int) -> None:
    """A batch of gradients at once must give what one by one gives."""
    from retrograd.transforms.vmap import map_directly

    sources = checked_inputs(inputs)

    def gradients(start: Tensor) -> tuple[Tensor, ...]:
        found = grad(output, sources, start, retain_graph=True, allow_unused=True)
        return tuple(
            zeros_like(source.detach()) if gradient is None else gradient
            for gradient, source in zip(found, sources, strict=True)
        )

    starts = [randn_like(output.detach()) for _ in range(2)]
    single = [gradients(start) for start in starts]
    try:
        batched = map_directly(gradients, RECORDED.stack(starts))
    except RuntimeError as error:
        raise explained(GradcheckError(batched_failure(error, BATCHED)), code="RG614") from error
    for place, (got, *parts) in enumerate(zip(batched, *single, strict=True)):
        expected = RECORDED.stack(parts)
        if not allclose(got, expected):
            raise explained(
                GradcheckError(batched_mismatch(number, place, got, expected, BATCHED)),
                code="RG614",
            )


def _zeros_like(outputs: Sequence[Tensor]) -> list[Tensor]:
    return [zeros(output.shape, dtype=output.dtype, device=output.device) for output in outputs]


def _check_zero_start(
    outputs: tuple[Tensor, ...], inputs: tuple[object, ...], masked: bool
) -> None:
    """A backward that starts from zero must arrive with zero, of the right kind."""
    sources = checked_inputs(inputs)
    gradients = grad(outputs, sources, _zeros_like(outputs), allow_unused=True)
    for gradient, source in zip(gradients, sources, strict=True):
        if gradient is None:
            continue
        gradient = dense_gradient(gradient)
        near = allclose(gradient, zeros_like(gradient)) if masked else False
        if not near and not bool(gradient.eq(0).all()):
            raise explained(GradcheckError("backward not multiplied by grad_output"), code="RG614")
        if gradient.dtype != source.dtype:
            raise explained(GradcheckError("grad is incorrect type"), code="RG614")
        if gradient.shape != source.shape:
            raise explained(GradcheckError("grad is incorrect size"), code="RG614")


def _check_undefined(
    function: Callable[..., object], count: int, inputs: tuple[object, ...]
) -> None:
    """Outputs without a gradient, all or one at a time, must count as outputs with a zero one."""
    sources = checked_inputs(inputs)
    missing: list[set[int]] = [set(range(count))]
    if count > 1:
        missing += [{number} for number in range(count)]
    for numbers in missing:
        outputs = [
            without_gradient(output) if number in numbers else output
            for number, output in enumerate(differentiable(function(*inputs)))
        ]
        try:
            gradients = grad(outputs, sources, _zeros_like(outputs), allow_unused=True)
        except RuntimeError as error:
            _warn_undefined()
            raise explained(
                GradcheckError(
                    "Expected backward function to handle undefined output grads. Please look at "
                    '"Notes about undefined output gradients" in "tools/autograd/derivatives.yaml"'
                ),
                code="RG614",
            ) from error
        if any(
            found is not None and not bool(dense_gradient(found).eq(0).all()) for found in gradients
        ):
            _warn_undefined()
            raise explained(
                GradcheckError(
                    "Expected all input grads to be undefined or zero when all output grads are "
                    'undefined or zero. Please look at "Notes about undefined output gradients" in '
                    '"tools/autograd/derivatives.yaml"'
                ),
                code="RG614",
            )


def _warn_undefined() -> None:
    warnings.warn(
        "Backwards compatibility: New undefined gradient support checking feature is enabled by "
        "default, but it may break existing callers of this function. If this is true for you, you "
        'can call this function with "check_undefined_grad=False" to disable the feature',
        stacklevel=user_level(),
    )


class UndefinedGradBackward(Node):
    """Passes no gradient on, whatever it receives."""

    __slots__ = ()
    display_name = "torch::autograd::UndefinedGradBackward"

    def run_raw(self, gradient: object, need: object, freeing: BackwardCall | None) -> Any:
        return (None,)

    run_recorded = run_raw


def without_gradient(tensor: Tensor) -> Tensor:
    """The same values as a tensor through which no gradient flows, not even zero."""
    node = UndefinedGradBackward()
    fill_node(node, UndefinedGradBackward)
    node.edges = (edge_of(tensor),)
    node.edge_numbers = (tensor._output_nr,) if tensor._output_nr else None
    node.shape, node.dtype = tensor._array.shape, tensor._array.dtype
    node.code, node.lasti = user_site(2)
    made = wrap(tensor._array)
    made._grad_fn = node
    made._requires_grad = True
    return made


# ------------------------------------------------------------------------------- second derivatives


def random_gradients(
    function: Callable[..., object], values: tuple[object, ...], noncontiguous: bool
) -> tuple[Tensor, ...]:
    """A random gradient, between -1 and 1, for each output of a function."""
    made: list[Tensor] = []
    for output in differentiable(function(*values)):
        shape = list(output.shape)
        strided = noncontiguous and output.numel() > 1
        if strided:
            shape[-1] *= 2  # every second element is used
        gradient = empty(shape, dtype=output.dtype, device=output.device)
        (RECORDED.view_as_real(gradient) if output.is_complex() else gradient).uniform_(-1, 1)
        made.append((gradient[..., 1::2] if strided else gradient).requires_grad_())
    return tuple(made)


def gradient_function(
    function: Callable[..., object], values: tuple[object, ...], starts: tuple[Any, ...]
) -> Callable[..., tuple[Tensor, ...]]:
    """The gradients of a function, as a function of its inputs and of the gradients it receives.

    Forward mode passes detached tensors: those that required grad do so again.
    """
    flags = [is_checked(value) for value in values + starts]

    def gradients(*given: Any) -> tuple[Tensor, ...]:
        every = [x.requires_grad_() if flag else x for x, flag in zip(given, flags, strict=True)]
        inputs = every[: len(values)]
        outputs = differentiable(function(*inputs))
        sources = [x for x, flag in zip(inputs, flags, strict=False) if flag]
        found = grad(outputs, sources, every[len(values) :], create_graph=True, allow_unused=True)
        return tuple(gradient for gradient in found if gradient is not None)

    return gradients
