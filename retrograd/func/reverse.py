"""`grad`, `grad_and_value` and `vjp`: reverse mode as functions of functions."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from retrograd import dtypes
from retrograd.autograd.api import grad as autograd_grad
from retrograd.engine.edges import GradientEdge
from retrograd.engine.state import STATE, TRANSFORMS, set_inference
from retrograd.engine.views import edge_of
from retrograd.engine.walk import Edge
from retrograd.func.arguments import Argnums, check_outputs, chosen_places, sketch, with_aux
from retrograd.func.tracing import Trace, bare, edge_to, tracing
from retrograd.notices import runtime_error
from retrograd.ops.registry import RECORDED
from retrograd.tensor import Tensor
from retrograd.transforms.forward import is_recorded
from retrograd.transforms.trees import flatten, tree_map, unflatten


def grad(
    func: Callable[..., object], argnums: Argnums = 0, has_aux: bool = False
) -> Callable[..., Any]:
    """A function that computes the gradient of `func`, which returns one scalar.

    argnums  which arguments to differentiate: a number, or a tuple for a tuple of gradients
    has_aux  `func` returns ``(scalar, aux)``; the new function returns ``(gradient, aux)``

    >>> cube = lambda x: x ** 3
    >>> torch.func.grad(cube)(torch.tensor(2.0)), torch.func.grad(torch.func.grad(cube))(
    ...     torch.tensor(2.0))
    (tensor(12.), tensor(12.))
    """

    @functools.wraps(func)
    def gradient(*args: object, **kwargs: object) -> Any:
        found, value = _grad_and_value(func, argnums, has_aux, args, kwargs)
        return (found, value[1]) if has_aux else found

    return gradient


def grad_and_value(
    func: Callable[..., object], argnums: Argnums = 0, has_aux: bool = False
) -> Callable[..., Any]:
    """A function that computes the gradient of `func` and its value, in this order.

    >>> torch.func.grad_and_value(lambda x: x ** 3)(torch.tensor(2.0))
    (tensor(12.), tensor(8.))
    """

    @functools.wraps(func)
    def both(*args: object, **kwargs: object) -> Any:
        return _grad_and_value(func, argnums, has_aux, args, kwargs)

    return both


def _grad_and_value(
    func: Callable[..., object],
    argnums: Argnums,
    has_aux: bool,
    args: tuple[object, ...],
    kwargs: dict[str, object],
) -> tuple[Any, Any]:
    api = "grad_and_value(f)(*args)"
    with tracing(func) as trace:
        places = chosen_places(argnums, len(args))
        args, chosen = _with_aliases(trace, args, places)
        aliases, spec = flatten(chosen if isinstance(places, tuple) else chosen[0])
        edges = [edge_to(alias) for alias in aliases]
        output = func(*args, **tree_map(trace.lend, kwargs))
        aux: object = None
        if has_aux:
            output, aux = with_aux(api, output)
        if not isinstance(output, Tensor):
            raise runtime_error(
                f"{api}: Expected f(*args) to return a Tensor, got {type(output)}", code="RG606"
            )
        if output.ndim != 0:
            raise runtime_error(
                f"{api}: Expected f(*args) to return a scalar Tensor, got tensor with "
                f"{output.ndim} dims. Maybe you wanted to use the vjp or jacrev APIs instead?",
                code="RG606",
            )
        trace.take_back()
        roots = roots_of([output])
        record = must_record(trace, roots, [None])
        start = None if output.device.type == "cpu" else RECORDED.ones_like(output)
        gradients = pull_back(roots, [start], aliases, edges, record, retain=record or has_aux)
        found = trace.settled_tree(unflatten(gradients, spec))
        if record or not trace.records or output._grad_fn is None:
            value = trace.settled(output)
        else:
            value = bare(output)  # its graph was looked at: it stays in the trace
        if has_aux:
            return found, (value, trace.settled_tree(aux))
        return found, value


def vjp(func: Callable[..., object], *primals: object, has_aux: bool = False) -> Any:
    """The value of `func` at `primals`, and a function from cotangents to gradients.

    With ``has_aux=True`` `func` returns ``(output, aux)``, and aux is the third result.

    >>> value, pull_back = torch.func.vjp(torch.sin, torch.zeros(2))
    >>> pull_back(torch.tensor([1.0, 2.0]))
    (tensor([1., 2.]),)
    """
    return vjp_of(func, primals, None, has_aux)


def vjp_of(
    func: Callable[..., object],
    primals: tuple[object, ...],
    argnums: Argnums | None,
    has_aux: bool,
    *,
    results: bool = True,
) -> Any:
    """`vjp` with respect to the arguments that `argnums` names; None: all, as a tuple.

    results  whether the outputs are handed out; if not they are of the trace, for a look at their
             shapes, and nobody but the returned function has the graph
    """
    with tracing(func, links=True) as trace:
        if argnums is None:
            args = tree_map(trace.alias, primals)
            chosen: Any = args
        else:
            places = chosen_places(argnums, len(primals))
            args, several = _with_aliases(trace, primals, places)
            chosen = several if isinstance(places, tuple) else several[0]
        aliases, aliases_spec = flatten(chosen)
        edges = [edge_to(alias) for alias in aliases]
        output = func(*args)
        aux: object = None
        if has_aux:
            output, aux = with_aux("vjp(f, *primals)", output)
            aux = trace.settled_tree(aux)
        outputs, outputs_spec = flatten(output)
        check_outputs(outputs, "vjp(f, *primals)")
        trace.take_back()
        roots = roots_of(outputs)  # now: the caller may write into the results
        shared = results and is_shared(trace, roots)
        result = trace.settled_tree(output) if results else output
        for value in outputs:
            if value._array.dtype not in dtypes.DIFFERENTIABLE:
                raise runtime_error(
                    "vjp(f, ...): All outputs of f must be floating-point or complex Tensors, "
                    f"got Tensor with dtype {value.dtype}",
                    code="RG606",
                )

    def pull(
        cotangents: Tensor, retain_graph: bool = True, create_graph: bool | None = None
    ) -> Any:
        flat, spec = flatten(cotangents)
        if spec != outputs_spec:
            raise runtime_error(
                "Expected pytree structure of cotangents to be the same as pytree structure of "
                f"outputs to the function. cotangents: {sketch(spec)}, primal output: "
                f"{sketch(outputs_spec)}",
                code="RG607",
            )
        wanted = STATE.grad_enabled if create_graph is None else create_graph
        record = wanted and must_record(trace, roots, flat)
        inference = STATE.inference
        try:
            set_inference(False)
            found = pull_back(roots, flat, aliases, edges, record, retain=shared or retain_graph)
        finally:
            set_inference(inference)
        if record:
            found = [trace.settled(gradient, later=True) for gradient in found]
        return unflatten(found, aliases_spec)

    return (result, pull, aux) if has_aux else (result, pull)


# ------------------------------------------------------------------------------------- helpers


def _with_aliases(
    trace: Trace, args: tuple[object, ...], places: Argnums
) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """The arguments as the function gets them, and those among them that are differentiated."""
    where = (places,) if isinstance(places, int) else places
    found = [
        tree_map(trace.alias if place in where else trace.lend, value)
        for place, value in enumerate(args)
    ]
    return tuple(found), tuple([found[place] for place in where])


Root = Edge | None


def roots_of(outputs: list[Tensor]) -> list[Root]:
    """The edges that lead into the outputs' graphs; None where no gradient flows.

    Not the outputs themselves: a graph does not need the elements of its results.
    """
    found: list[Root] = []
    for output in outputs:
        node = edge_of(output) if output.requires_grad else None
        found.append(None if node is None else (node, output._output_nr))
    return found


def must_record(trace: Trace, roots: list[Root], gradients: Sequence[Tensor | None]) -> bool:
    """Whether the gradients may depend on something outside, for which they need a history.

    Without one the engine is several times faster. The graph says it, with what it has saved where
    that may be batched or carry tangents; user code may do anything.
    """
    if any([is_recorded(gradient) for gradient in gradients]):
        return True
    nodes = [edge[0] for edge in roots if edge is not None]
    return any(trace.leads_outside(nodes, saved=bool(TRANSFORMS.dual_levels or trace.level)))


def is_shared(trace: Trace, roots: list[Root]) -> bool:
    """Whether results of the trace keep the graph, so that no walk may free it."""
    return trace.leads_outside([edge[0] for edge in roots if edge is not None])[0]


def pull_back(
    roots: list[Root],
    gradients: Sequence[Tensor | None],
    aliases: list[Tensor],
    edges: list[Edge],
    record: bool,
    retain: bool,
) -> list[Tensor]:
    """The gradients of the aliases; zeros for those that the outputs do not depend on."""
    live = [
        (edge, gradient)
        for edge, gradient in zip(roots, gradients, strict=True)
        if edge is not None
    ]
    found: Sequence[Tensor | None] = [None] * len(aliases)
    if live and aliases:
        found = autograd_grad(
            [GradientEdge(*edge) for edge, _ in live],
            [GradientEdge(*edge) for edge in edges],
            [gradient for _, gradient in live],
            retain_graph=retain,
            create_graph=record,
            allow_unused=True,
        )
    return [
        RECORDED.zeros_like(alias) if gradient is None else gradient
        for gradient, alias in zip(found, aliases, strict=True)
    ]
