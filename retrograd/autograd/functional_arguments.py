"""What the functions of `autograd.functional` share: arguments, results, and their checks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from retrograd.autograd.api import grad
from retrograd.notices import explained, runtime_error
from retrograd.ops.registry import RECORDED
from retrograd.tensor import Tensor

Tensors = tuple[Tensor, ...]


def as_tuple(value: Any, name: str, function: str | None) -> tuple[bool, Tensors]:
    """A tensor or tuple of tensors as a tuple, and whether it was one."""
    several = isinstance(value, tuple)
    found = value if several else (value,)
    for index, item in enumerate(found):
        if not isinstance(item, Tensor):
            which = f"value at index {index}" if several else f"given {name}"
            raise explained(
                TypeError(
                    f"The {name} given to {function} must be either a Tensor or a tuple of Tensors "
                    f"but the {which} has type {type(item)}."
                ),
                code="RG607",
            )
    return several, found


OUTPUTS = "outputs of the user-provided function"


def outputs_of(func: Any, inputs: Tensors, function: str, strict: bool) -> tuple[bool, Tensors]:
    """Call the user's function; its outputs as a tuple, and whether they were one."""
    several, outputs = as_tuple(func(*inputs), OUTPUTS, function)
    if strict:
        check_dependence(outputs, "outputs")
    return several, outputs


def scalar_of(func: Callable[..., object], inputs: Tensors, function: str, strict: bool) -> Tensors:
    """Call a user's function that must return one tensor with one element."""
    several, outputs = outputs_of(func, inputs, function, strict)
    if several:
        raise runtime_error(
            f"The function given to {function} should return a single Tensor", code="RG606"
        )
    if outputs[0].numel() != 1:
        raise runtime_error(
            f"The Tensor returned by the function given to {function} should contain a single "
            "element",
            code="RG606",
        )
    return outputs


def prepared(tensors: Tensors, create_graph: bool, need_graph: bool) -> Tensors:
    """Inputs to differentiate: connected to the graph outside if asked, fresh leaves otherwise."""
    return tuple(
        [
            tensor.view_as(tensor)
            if create_graph and tensor.requires_grad
            else tensor.detach().requires_grad_(need_graph)
            for tensor in tensors
        ]
    )


def prepared_vector(
    v: object, function: str, like: Tensors, like_is_tuple: bool, create_graph: bool
) -> Tensors:
    """The given vector, checked against the tensors that it multiplies."""
    vector = prepared(as_tuple(v, "v", function)[1], create_graph, need_graph=False)
    if len(vector) != len(like):
        if like_is_tuple:
            raise runtime_error(
                f"v is a tuple of invalid length: should be {len(like)} but got {len(vector)}.",
                code="RG607",
            )
        raise runtime_error("The given v should contain a single Tensor.", code="RG607")
    for index, (given, wanted) in enumerate(zip(vector, like, strict=True)):
        if given.shape != wanted.shape:
            start = f"Entry {index} in " if like_is_tuple else ""
            raise runtime_error(
                f"{start}v has invalid size: should be {wanted.shape} but got {given.shape}.",
                code="RG607",
            )
    return vector


def input_vector(
    v: object, function: str, inputs: Tensors, several: bool, create_graph: bool
) -> Tensors | None:
    """The vector of a product with all inputs; may be left out for a single element."""
    if v is not None:
        return prepared_vector(v, function, inputs, several, create_graph)
    if len(inputs) != 1 or inputs[0].numel() != 1:
        raise runtime_error(
            "The vector v can only be None if the input to the user-provided function is a "
            "single Tensor with a single element.",
            code="RG607",
        )
    return None


def gradients(
    outputs: Any,
    inputs: Tensors,
    grad_outputs: Tensors | None = None,
    *,
    create_graph: bool = False,
    retain_graph: bool | None = None,
    batched: bool = False,
) -> tuple[Tensor | None, ...]:
    """`autograd.grad` of those outputs that have a graph; None for unused inputs."""
    sent = (None,) * len(outputs) if grad_outputs is None else grad_outputs
    pairs = [
        (output, gradient)
        for output, gradient in zip(outputs, sent, strict=True)
        if output is not None and output.requires_grad
    ]
    if not pairs:
        return (None,) * len(inputs)
    found: tuple[Tensor | None, ...] = grad(
        [output for output, _ in pairs],
        inputs,
        [gradient for _, gradient in pairs],
        retain_graph,
        create_graph,
        allow_unused=True,
        is_grads_batched=batched,
    )
    return found


def detached(results: Any, create_graph: bool) -> Any:
    """Results (tensors, or tuples of them) as they are returned."""
    if create_graph:
        return results
    if isinstance(results, Tensor):
        return results.detach()
    return tuple([detached(item, create_graph) for item in results])


def unpacked(results: Any, several: bool) -> Any:
    """A tuple, or the tensor itself where the user gave no tuple."""
    return results if several else results[0]


def unpacked_table(results: Any, outputs_several: bool, inputs_several: bool) -> Any:
    """The same for a tuple of tuples, over outputs and inputs."""
    return unpacked(tuple([unpacked(row, inputs_several) for row in results]), outputs_several)


# ----------------------------------------------------------------------------------- strict mode


def check_dependence(tensors: Any, what: str) -> None:
    """In strict mode: every tensor must exist and have a graph."""
    for index, tensor in enumerate(tensors):
        if tensor is None:
            raise runtime_error(
                f"The output of the user-provided function is independent of input {index}. "
                "This is not allowed in strict mode.",
                code="RG613",
            )
        if not tensor.requires_grad:
            raise runtime_error(_INDEPENDENT[what].format(index), code="RG613")


_INDEPENDENT = {
    "outputs": (
        "Output {} of the user-provided function does not require gradients. The outputs must be "
        "computed in a differentiable manner from the input when running in strict mode."
    ),
    "grad_inputs": (
        "The gradient with respect to input {} is independent of the inputs of the user-provided "
        "function. This is not allowed in strict mode."
    ),
    "jacobian": (
        "While computing the hessian, found that the jacobian of the user-provided function with "
        "respect to input {} is independent of the input. This is not allowed in strict mode. You "
        "should ensure that your function is twice differentiable and that the jacobian depends on "
        "the inputs (this would be violated by a linear function for example)."
    ),
    "hessian": (
        "The hessian of the user-provided function with respect to input {} is independent of the "
        "input. This is not allowed in strict mode. You should ensure that your function is thrice "
        "differentiable and that the hessian depends on the inputs."
    ),
}

_MISSING = {
    "back": (
        "The output of the user-provided function is independent of input {}. This is not allowed "
        "in strict mode."
    ),
    "back_trick": (
        "The gradient with respect to the input is independent of entry {} in the grad_outputs "
        "when using the double backward trick to compute forward mode gradients. This is not "
        "allowed in strict mode."
    ),
    "double_back": (
        "The jacobian of the user-provided function is independent of input {}. This is not "
        "allowed in strict mode."
    ),
    "double_back_trick": (
        "The hessian of the user-provided function is independent of entry {} in the "
        "grad_jacobian. This is not allowed in strict mode as it prevents from using the double "
        "backward trick to replace forward mode AD."
    ),
}


def filled(
    found: tuple[Tensor | None, ...], like: Tensors, stage: str, strict: bool, create_graph: bool
) -> Tensors:
    """Zeros for what is missing; in strict mode an error."""
    results: list[Tensor] = []
    for index, gradient in enumerate(found):
        if gradient is None:
            if strict:
                raise runtime_error(_MISSING[stage].format(index), code="RG613")
            gradient = RECORDED.zeros_like(like[index])
        elif strict and create_graph and not gradient.requires_grad:
            what = "hessian" if "double" in stage else "jacobian"
            raise runtime_error(
                f"The {what} of the user-provided function is independent of input {index}. "
                "This is not allowed in strict mode when create_graph=True.",
                code="RG613",
            )
        assert gradient is not None
        results.append(gradient)
    return tuple(results)
