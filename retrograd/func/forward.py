"""`jvp` and `linearize`: how the results of a function move when its inputs do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from retrograd import dtypes
from retrograd.engine.state import STATE
from retrograd.func.arguments import (
    Argnums,
    check_outputs,
    check_tensors,
    chosen,
    replaced,
    with_aux,
)
from retrograd.func.reverse import must_record, pull_back, roots_of
from retrograd.func.tracing import edge_to, tracing
from retrograd.marks import differs
from retrograd.notices import explained, runtime_error
from retrograd.ops.registry import RECORDED
from retrograd.tensor import Tensor
from retrograd.transforms.forward import (
    DualLevel,
    OpenLevel,
    make_dual,
    unpack_dual,
)
from retrograd.transforms.trees import flatten, tree_map, unflatten

_JVP = "jvp(f, primals, tangents)"


def jvp(
    func: Callable[..., object],
    primals: object,
    tangents: object,
    *,
    strict: bool = False,
    has_aux: bool = False,
) -> Any:
    """The value of `func` at `primals`, and its derivative in the direction of `tangents`.

    strict   raise where an output does not depend on the inputs, instead of giving zeros
    has_aux  `func` returns ``(output, aux)``, and aux is the third result

    >>> torch.func.jvp(torch.sin, (torch.zeros(2),), (torch.tensor([1.0, 2.0]),))
    (tensor([0., 0.]), tensor([1., 2.]))
    """
    return jvp_of(func, primals, tangents, None, strict=strict, has_aux=has_aux)


def jvp_of(
    func: Callable[..., object],
    primals: object,
    tangents: object,
    argnums: Argnums | None,
    *,
    strict: bool = False,
    has_aux: bool = False,
) -> Any:
    """`jvp` with respect to the arguments that `argnums` names; None: all of them."""
    if not isinstance(primals, tuple):
        raise runtime_error(
            f"{_JVP}: Expected primals to be a tuple. E.g. it should be valid to call f(*primals).",
            code="RG607",
        )
    flat, spec = flatten(primals if argnums is None else chosen(primals, argnums))
    flat_tangents, tangents_spec = flatten(tangents)
    if spec != tangents_spec:
        raise runtime_error(
            f"{_JVP}: Expected primals and tangents to have the same python structure. For "
            "example, if primals is a tuple of 3 tensors, tangents also must be. Got primals "
            f"with structure {spec} and tangents with structure {tangents_spec}",
            code="RG607",
        )
    check_tensors(flat, _JVP, "primals")
    check_tensors(flat_tangents, _JVP, "tangents")
    with tracing(func, reverse=False) as trace, OpenLevel() as level:
        duals = unflatten(
            [_dual(p, t, level) for p, t in zip(flat, flat_tangents, strict=True)], spec
        )
        if argnums is not None:
            duals = replaced(tree_map(trace.lend, primals), duals, argnums)
        output = func(*duals)
        aux: object = None
        if has_aux:
            output, aux = with_aux(_JVP, output)
            aux = trace.settled_tree(aux)
        outputs, output_spec = flatten(output)
        check_outputs(outputs, _JVP)
        trace.given = [primal._cell for primal in flat]
        trace.take_back(level)
        pairs = [_unpacked(value, level, strict) for value in outputs]
        value = unflatten([trace.settled(primal) for primal, _ in pairs], output_spec)
        moved = unflatten([trace.settled(tangent) for _, tangent in pairs], output_spec)
        return (value, moved, aux) if has_aux else (value, moved)


def _dual(primal: Tensor, tangent: Tensor, level: DualLevel) -> Tensor:
    _check_number("primal", primal)
    _check_number("tangent", tangent)
    return make_dual(primal, tangent, level)


def _check_number(name: str, value: Tensor) -> None:
    if value._array.dtype not in dtypes.DIFFERENTIABLE:
        raise explained(
            ValueError(f"Expected {name} to be floating point or complex, but got: {value.dtype}"),
            code="RG607",
        )


def _unpacked(value: Tensor, level: DualLevel, strict: bool) -> tuple[Tensor, Tensor]:
    primal, tangent = unpack_dual(value, level)
    if tangent is None:
        if strict:
            raise runtime_error(
                "jvp(f, primals, tangents, strict=True): The output of f is independent of the "
                "inputs. This is not allowed with strict=True.",
                code="RG613",
            )
        tangent = RECORDED.zeros_like(primal)
    return primal, tangent


@differs("transposes the recorded backward pass, so every op must have a second derivative")
def linearize(func: Callable[..., object], *primals: object) -> tuple[Any, Callable[..., Any]]:
    """The value of `func` at `primals`, and a function that computes `jvp` there.

    `func` runs once. Its derivative is kept as a graph: that of the gradients as a function of the
    cotangents, which is linear, and which a backward call turns round.

    >>> value, push = torch.func.linearize(torch.sin, torch.zeros(2))
    >>> push(torch.tensor([1.0, 2.0]))
    tensor([1., 2.])
    """
    flat, spec = flatten(primals)
    for primal in flat:
        if isinstance(primal, Tensor):
            _check_number("primal", primal)
    with tracing(func, links=True) as trace:
        aliases = [trace.alias(primal) for primal in flat]
        edges = [edge_to(alias) for alias in aliases]
        outputs, output_spec = flatten(func(*unflatten(aliases, spec)))
        tensors = [value for value in outputs if isinstance(value, Tensor)]
        roots = roots_of(tensors)
        # what the gradients are computed from does not matter: they are linear in it
        seeds = [
            trace.alias(RECORDED.zeros_like(value)) if edge is not None else None
            for value, edge in zip(tensors, roots, strict=True)
        ]
        moving = [seed for seed in seeds if seed is not None]
        gradients = roots_of(pull_back(roots, seeds, aliases, edges, record=True, retain=True))
        seed_edges = [edge_to(seed) for seed in moving]
        values = [trace.settled(v) if isinstance(v, Tensor) else v for v in outputs]

    facts = [{fact: getattr(primal, fact) for fact in _FACTS} for primal in flat]

    def push(*tangents: object) -> Any:
        given, given_spec = flatten(tangents)
        if given_spec != spec:
            raise runtime_error(
                f"Expected the tangents {given_spec} to have the same argspec as the primals "
                f"{spec}",
                code="RG607",
            )
        for place, (tangent, wanted) in enumerate(zip(given, facts, strict=True)):
            _check_tangent(place, tangent, wanted)
        record = STATE.grad_enabled and must_record(trace, gradients, given)
        pushed = iter(pull_back(gradients, given, moving, seed_edges, record, retain=True))
        found = iter([next(pushed) if seed is not None else None for seed in seeds])
        results: list[Any] = []
        for value in outputs:
            tangent = next(found) if isinstance(value, Tensor) else value
            if tangent is None:
                tangent = RECORDED.zeros_like(value)
            if isinstance(tangent, Tensor):
                tangent = trace.settled(tangent, later=True)
            results.append(tangent)
        return unflatten(results, output_spec)

    return unflatten(values, output_spec), push


_FACTS = ("shape", "device", "dtype")


def _check_tangent(place: int, tangent: Tensor, wanted: dict[str, object]) -> None:
    for fact in _FACTS:
        got = getattr(tangent, fact)
        if got != wanted[fact]:
            raise runtime_error(
                f"tangent:{place} with {fact} {got} in flattened pytree doesn't match the "
                f"{fact} {wanted[fact]} of the corresponding primal.",
                code="RG607",
            )
