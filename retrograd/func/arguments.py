"""Arguments and results of transforms: which arguments are differentiated, what may come back."""

from __future__ import annotations

from collections.abc import Sequence

from retrograd import dtypes
from retrograd.notices import runtime_error
from retrograd.tensor import Tensor
from retrograd.transforms.trees import TreeSpec, flatten, unflatten

Argnums = int | tuple[int, ...]


def chosen_places(argnums: object, count: int) -> Argnums:
    """`argnums` checked and counted from the front."""
    if not isinstance(argnums, (int, tuple)):
        raise runtime_error(
            f"argnums must be int or Tuple[int, ...], got: {type(argnums)}", code="RG607"
        )
    if isinstance(argnums, int):
        return _chosen_place(argnums, count)
    places = tuple([_chosen_place(number, count) for number in argnums])
    if not places:
        raise runtime_error("argnums must be non-empty", code="RG607")
    if len(set(places)) != len(places):
        raise runtime_error(f"argnums elements must be unique, got {places}", code="RG607")
    return places


def _chosen_place(number: int, count: int) -> int:
    if not isinstance(number, int):
        raise runtime_error(f"argnum must be int, got: {type(number)}", code="RG607")
    if not -count <= number < count:
        raise runtime_error(
            f"Got argnum={number}, but only {count} positional inputs", code="RG607"
        )
    return number % count


def chosen(args: tuple[object, ...], argnums: object) -> tuple[object, ...]:
    """The arguments that `argnums` names, as a tuple even for a single number."""
    places = chosen_places(argnums, len(args))
    return tuple([args[place] for place in ((places,) if isinstance(places, int) else places)])


def replaced(
    args: tuple[object, ...], new: tuple[object, ...], argnums: object
) -> tuple[object, ...]:
    """The arguments with those that `argnums` names replaced."""
    places = chosen_places(argnums, len(args))
    found = list(args)
    for place, value in zip((places,) if isinstance(places, int) else places, new, strict=True):
        found[place] = value
    return tuple(found)


def refuse_complex(api: str, values: Sequence[Tensor], what: str) -> None:
    """Jacobians are real: raise at the first complex tensor."""
    for place, value in enumerate(flatten(values)[0]):
        if isinstance(value, Tensor) and value._array.dtype in dtypes.COMPLEX_TYPES:
            raise runtime_error(
                f"{api}: Expected all {what} to be real but received complex tensor at "
                f"flattened input idx: {place}",
                code="RG606",
            )


def check_outputs(outputs: Sequence[object], api: str) -> None:
    """The flat outputs of a differentiated function: at least one, and all of them tensors."""
    if not outputs or (len(outputs) == 1 and outputs[0] is None):
        raise runtime_error(
            f"{api}: Expected f to be a function that has non-empty output "
            f"(got output = {outputs})",
            code="RG606",
        )
    for output in outputs:
        if not isinstance(output, Tensor):
            raise runtime_error(
                f"{api}: expected f(*primals) to return only tensors, got unsupported type "
                f"{type(output)}",
                code="RG606",
            )


def check_tensors(values: Sequence[object], api: str, name: str) -> None:
    """A flat list of inputs: at least one, and all of them tensors."""
    if not values:
        raise runtime_error(f"{api}: Expected {name} to contain at least one Tensor.", code="RG607")
    for value in values:
        if not isinstance(value, Tensor):
            raise runtime_error(
                f"{api}: Expected {name} to only contain Tensors, got {type(value)}", code="RG607"
            )


def with_aux(api: str, outputs: object) -> tuple[object, object]:
    """The two halves of what a function with ``has_aux=True`` returned."""
    if not (isinstance(outputs, tuple) and len(outputs) == 2):
        raise runtime_error(
            f"{api}: output of function f should be a tuple: (output, aux) if has_aux is True",
            code="RG606",
        )
    return outputs


class _Leaf:
    def __repr__(self) -> str:
        return "*"


def sketch(spec: TreeSpec) -> str:
    """A tree's shape as the tree would be printed, with a star for every leaf."""
    return repr(unflatten([_Leaf()] * spec.leaves, spec))
