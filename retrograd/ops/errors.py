"""Errors that ops raise about their arguments: PyTorch's types and first lines."""

from __future__ import annotations

from collections.abc import Sequence

from retrograd import dtypes
from retrograd.engine.failures import broadcast as broadcast
from retrograd.engine.failures import inference_saved as inference_saved
from retrograd.notices import adopted as adopted
from retrograd.notices import explained as explained
from retrograd.notices import runtime_error as runtime_error
from retrograd.ops.kinds import DType
from retrograd.tensor import Tensor


def type_name(value: object) -> str:
    """The name of a value's type as PyTorch's messages print it."""
    name = type(value).__name__
    return f"numpy.{name}" if type(value).__module__ == "numpy" else name


def argument_type(
    function: str, name: str, position: int, expected: str, value: object
) -> Exception:
    """An argument of the wrong type."""
    return TypeError(
        f"{function}(): argument '{name}' (position {position}) must be {expected}, not "
        f"{type_name(value)}"
    )


def class_text(value: object) -> str:
    """The class of a value as messages show it: ``<class 'torch.Tensor'>``."""
    kind = type(value)
    own = kind.__module__.partition(".")[0] == "retrograd"
    return f"<class 'torch.{kind.__name__}'>" if own else repr(kind)


def require_list_of_tensors(items: Sequence[object]) -> None:
    """Raise where something among the tensors that a function was given is none."""
    for number, item in enumerate(items):
        if not isinstance(item, Tensor):
            raise TypeError(
                f"expected Tensor as element {number} in argument 0, but got {type_name(item)}"
            )


def not_tensors(function: str, **arguments: object) -> Exception:
    """The error for the first argument that is no Tensor; they are given in PyTorch's order.

    For an AttributeError that shows it: looking before would cost every call.
    """
    from retrograd.tensor import Tensor

    for position, (name, value) in enumerate(arguments.items(), 1):
        if not isinstance(value, Tensor):
            return argument_type(function, name, position, "Tensor", value)
    return RuntimeError(f"{function}(): not all arguments are tensors")


def without(attribute: str, *values: object) -> Exception:
    """The same where PyTorch's Python code meets a value that has no attribute of a Tensor."""
    found = next((value for value in values if not isinstance(value, Tensor)), None)
    return AttributeError(f"'{type(found).__name__}' object has no attribute '{attribute}'")


def cannot_cast_result(source: dtypes.dtype, target: dtypes.dtype) -> Exception:
    """A result that cannot be written into a tensor of a lower category."""
    return runtime_error(
        f"result type {source.type_name} can't be cast to the desired output type "
        f"{target.type_name}",
        code="RG303",
    )


def output_shape(target: Sequence[int], result: Sequence[int]) -> Exception:
    """An in-place result that is larger than its target."""
    return runtime_error(
        f"output with shape {list(target)} doesn't match the broadcast shape {list(result)}",
        code="RG201",
    )


def dimension_range(dim: int, ndim: int) -> Exception:
    """A dimension outside a tensor's."""
    low, high = (-ndim, ndim - 1) if ndim else (-1, 0)
    return explained(
        IndexError(
            f"Dimension out of range (expected to be in range of [{low}, {high}], but got {dim})"
        ),
        code="RG205",
    )


def unsupported(what: str) -> Exception:
    """Something PyTorch has and this library does not (yet): says so by name."""
    return explained(NotImplementedError(f"retrograd does not support {what}"), code="RG901")


def not_implemented_for(kernel: str, numpy_type: DType) -> Exception:
    """A dtype that PyTorch's kernel of this name does not take."""
    found = dtypes.from_numpy_dtype(numpy_type)
    return explained(
        NotImplementedError(f"\"{kernel}\" not implemented for '{found.type_name}'"), code="RG304"
    )


def no_derivative(name: str) -> Exception:
    """A backward pass through an op that PyTorch cannot differentiate either."""
    return runtime_error(f"derivative for {name} is not implemented", code="RG121")


def no_forward_mode(name: str) -> Exception:
    """A tangent that an op cannot pass on, as PyTorch says it."""
    return explained(
        NotImplementedError(
            f"Trying to use forward AD with {name} that does not support it because it has not "
            "been implemented yet.\nPlease file an issue to PyTorch at "
            "https://github.com/pytorch/pytorch/issues/new?template=feature-request.yml so that we "
            "can prioritize its implementation or submit a PR adding the implementation to "
            "derivatives.yaml"
        ),
        code="RG612",
    )


def invalid_combination(function: str, values: Sequence[object]) -> Exception:
    """Arguments that fit none of a function's overloads."""
    given = ", ".join(type_name(value) for value in values)
    return TypeError(
        f"{function}() received an invalid combination of arguments - got ({given}), but "
        "expected one of:"
    )


def target_size_warning(input: object, target: object) -> Warning:
    """A loss whose target will be broadcast, which is rarely meant."""
    from retrograd.lifecycle import why

    return why.coded_warning(
        f"Using a target size ({target}) that is different to the input size ({input}). This will "
        "likely lead to incorrect results due to broadcasting. Please ensure they have the same "
        "size."
    )
