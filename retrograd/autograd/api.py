"""`backward` and `grad`: arguments checked in PyTorch's order, then handed to the engine."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

from retrograd import dtypes
from retrograd.backend import NAMED, apart, xp_of
from retrograd.backend.arrays import DType
from retrograd.engine import failures
from retrograd.engine.edges import GradientEdge
from retrograd.engine.inference import mark_inference
from retrograd.engine.node import AnyDtype, BackwardCall, Node
from retrograd.engine.retention import Retain, is_plain, retaining
from retrograd.engine.state import STATE, Cut
from retrograd.engine.views import edge_of, refresh, renew
from retrograd.engine.walk import COMPILED, Edge, run_backward
from retrograd.lifecycle.site import user_level, user_site
from retrograd.notices import explained, runtime_error, warn_once
from retrograd.signatures import forms
from retrograd.tensor import Tensor, tensor_method, wrap
from retrograd.tensor.size import Size

_CYCLE = (
    "Using backward() with create_graph=True will create a reference cycle between the parameter "
    "and its gradient which can cause a memory leak. We recommend using autograd.grad when "
    "creating the graph to avoid this. If you have to use this function, make sure to reset the "
    ".grad fields of your parameters to None after use to break the cycle and avoid the leak."
)

# Where differentiation starts or ends: a tensor, or a place in the graph.
Place = Tensor | GradientEdge
Places = Place | Sequence[Tensor] | Sequence[GradientEdge] | Sequence[Place]
Inputs = Places | dict[str, Tensor]
Gradients = Tensor | Sequence[Tensor | None] | None


def backward(
    tensors: Places,
    grad_tensors: Gradients = None,
    retain_graph: Retain = None,
    create_graph: bool = False,
    grad_variables: Gradients = None,
    inputs: Inputs | None = None,
) -> None:
    """Accumulate the gradients of `tensors` into the `.grad` of the leaves they came from.

    tensors        one or several tensors, or edges of the graph (`graph.get_gradient_edge`)
    grad_tensors   the gradient to start from at each of them; None for single elements
    retain_graph   keep the saved values, so that the graph can be walked again; of a list of
                   tensors, only those behind them; "recompute": let go of them, and compute
                   them again for the next walk
    create_graph   record the gradient computation itself, for higher orders
    inputs         accumulate only into these: tensors, edges, or a dict of tensors

    >>> x = torch.tensor(3.0, requires_grad=True)
    >>> torch.autograd.backward(x * x)
    >>> x.grad
    tensor(6.)
    """
    if STATE.transforms:
        raise failures.backward_in_transform()
    if grad_variables is not None:
        warnings.warn(
            "`grad_variables` is deprecated. Use `grad_tensors` instead.",
            FutureWarning,
            stacklevel=user_level(),
        )
        if grad_tensors is not None:
            raise RuntimeError(
                "`grad_tensors` and `grad_variables` (deprecated) arguments both passed to "
                "`backward()`. Please only use `grad_tensors`."
            )
        grad_tensors = grad_variables
    targets = None if inputs is None else _inputs("backward", inputs)
    roots = _places(tensors)
    gradients = _start_gradients(roots, _as_gradients(grad_tensors, len(roots)), batched=False)
    edges, started = _root_edges(roots, gradients)
    wanted: list[Edge | None] | None = None
    if targets is not None:
        wanted = [_filled_edge(target) for target in targets]
    if create_graph:
        warn_once(_CYCLE, user_level())
    plain = retain_graph is None or is_plain(retain_graph)
    retain = (
        create_graph
        if retain_graph is None
        else not isinstance(retain_graph, (list, tuple)) and bool(retain_graph)
    )
    create = bool(create_graph) and not STATE.inference
    call = BackwardCall("backward", retain, create, *user_site(2))
    if edges and plain:
        run_backward(edges, started, call, wanted)
    elif edges:
        nodes = [node for node, _ in edges]
        retaining(call, retain_graph, nodes, lambda: run_backward(edges, started, call, wanted))


_PLACES = (
    "Tensor | GradientEdge | Sequence[Tensor] | Sequence[GradientEdge] "
    "| Sequence[Tensor | GradientEdge]"
)
_OPTIONS = (
    "grad_outputs: Tensor | Sequence[Tensor | None] | None = None, "
    "retain_graph: bool | Sequence[Tensor] | Literal['recompute'] | None = None, "
    "create_graph: bool = False, only_inputs: bool = True, "
    "allow_unused: bool | None = None, is_grads_batched: bool = False, "
    "materialize_grads: bool = False"
)


@forms(
    f"(outputs: {_PLACES}, inputs: dict[str, Tensor], {_OPTIONS}) -> dict[str, Tensor]",
    f"(outputs: {_PLACES}, inputs: {_PLACES}, {_OPTIONS}) -> tuple[Tensor, ...]",
)
def grad(
    outputs: Places,
    inputs: Inputs,
    grad_outputs: Gradients = None,
    retain_graph: Retain = None,
    create_graph: bool = False,
    only_inputs: bool = True,
    allow_unused: bool | None = None,
    is_grads_batched: bool = False,
    materialize_grads: bool = False,
) -> Any:
    """The gradients of `outputs` with respect to `inputs`, without touching any `.grad`.

    outputs, inputs     tensors, or edges of the graph; a dict of inputs gives a dict of gradients
    grad_outputs        the gradient to start from at each output; None for single elements
    retain_graph        keep the saved values, so that the graph can be walked again; of a list of
                        tensors, only those behind them
    create_graph        record the gradient computation itself, for higher orders
    allow_unused        None, instead of an error, for inputs that the outputs do not depend on
    is_grads_batched    the first dimension of `grad_outputs` counts several starting gradients
    materialize_grads   zeros instead of None for unused inputs

    >>> x = torch.tensor(3.0, requires_grad=True)
    >>> torch.autograd.grad(x * x, x)
    (tensor(6.),)
    """
    if materialize_grads and allow_unused is False:
        raise ValueError(
            "Expected allow_unused to be True or not passed when materialize_grads=True, but got: "
            "allow_unused=False."
        )
    if allow_unused is None:
        allow_unused = materialize_grads
    plain = grad_outputs is None and only_inputs and not (allow_unused or is_grads_batched)
    if plain and COMPILED.grad is not None:
        done = COMPILED.grad(outputs, inputs, retain_graph, create_graph)
        if done is not NotImplemented:
            return done
    roots = _places(outputs)
    targets = _inputs("grad", inputs)
    if not only_inputs:
        warnings.warn(
            "only_inputs argument is deprecated and is ignored now (defaults to True). To "
            "accumulate gradient for other parts of the graph, please use "
            "torch.autograd.backward.",
            FutureWarning,
            stacklevel=user_level(),
        )
    given = _as_gradients(grad_outputs, len(roots))
    gradients = _start_gradients(roots, given, batched=is_grads_batched)
    plain = retain_graph is None or is_plain(retain_graph)
    retain = (
        create_graph
        if retain_graph is None
        else not isinstance(retain_graph, (list, tuple)) and bool(retain_graph)
    )
    create = bool(create_graph) and not STATE.inference
    call = BackwardCall("grad", retain, create, *user_site(2))
    capture = _batched if is_grads_batched else _captured
    if plain:
        found = capture(roots, targets, gradients, call, allow_unused)
    else:
        nodes = [node for node, _ in _root_edges(roots, gradients)[0]]
        found = retaining(
            *(call, retain_graph, nodes),
            lambda: capture(roots, targets, gradients, call, allow_unused),
        )
    if materialize_grads:
        _materialize(found, targets, create_graph)
    if type(inputs) is dict:
        return dict(zip(inputs, found, strict=True))
    return tuple(found)


def _captured(
    roots: tuple[Place, ...],
    targets: tuple[Place, ...],
    gradients: list[Tensor | None],
    call: BackwardCall,
    allow_unused: bool,
) -> list[Tensor | None]:
    """One run of the engine; what arrives at the targets."""
    edges, started = _root_edges(roots, gradients)
    wanted = [_captured_edge(target) for target in targets]
    found: list[Tensor | None] = [None] * len(targets)
    if edges:
        found = run_backward(edges, started, call, wanted)
    cut = None if call.create_graph else Cut("grad", "autograd.grad", call.code, call.lasti)
    inference = STATE.inference
    for index, result in enumerate(found):
        if result is not None:
            result._cut = cut
            if inference:
                mark_inference(result)
        elif not allow_unused:
            raise failures.unused_input(index, call)
    return found


def _batched(
    roots: tuple[Place, ...],
    targets: tuple[Place, ...],
    gradients: list[Tensor | None],
    call: BackwardCall,
    allow_unused: bool,
) -> list[Tensor | None]:
    """One run with batched gradients: their first dimension is that of a `vmap`."""
    sizes: set[int] = set()
    for gradient in gradients:
        if gradient is not None:
            if gradient._array.ndim == 0:
                raise explained(
                    ValueError(
                        "vmap(vjp, in_dims=0, ...)(<inputs>): Got in_dim=0 for some input, but "
                        "that input is a Tensor of dimensionality 0 so expected in_dim to satisfy "
                        "0 <= in_dim < 0."
                    ),
                    code="RG604",
                )
            sizes.add(gradient._array.shape[0])
    if len(sizes) > 1:
        listed = [g._array.shape[0] for g in gradients if g is not None]
        raise explained(
            ValueError(
                "vmap: Expected all tensors to have the same size in the mapped dimension, got "
                f"sizes {listed} for the mapped dimension"
            ),
            code="RG604",
        )
    from retrograd.transforms.batched import batch
    from retrograd.transforms.vmap import vmap_level, with_batch_at

    size = sizes.pop() if sizes else 0
    with vmap_level(size, "error", direct=True) as level:
        rows: list[Tensor | None] = [
            None if gradient is None else batch(gradient, 0, level) for gradient in gradients
        ]
        found = _captured(roots, targets, rows, call, allow_unused)
        return [None if row is None else with_batch_at(row, 0, level, size) for row in found]


def _calculate_shape(
    output: Tensor | GradientEdge, grad: Tensor, is_grads_batched: bool
) -> tuple[Size, Size]:
    """The shape of an output and that of a gradient for it, without the batch dimension."""
    if isinstance(output, GradientEdge):
        wanted = output.node._input_metadata[output.output_nr].shape
    else:
        wanted = output.shape
    return wanted, Size(grad.shape[1:] if is_grads_batched else grad.shape)


def _materialize(
    found: list[Tensor | None], targets: tuple[Place, ...], create_graph: bool
) -> None:
    """Zeros in place of gradients that did not arrive."""
    for index, target in enumerate(targets):
        if found[index] is not None:
            continue
        if not isinstance(target, Tensor):
            raise runtime_error(
                "materialize_grads cannot be used when the given input is a GradientEdge",
                code="RG618",
            )
        zeros = wrap(xp_of(target._array).zeros(target._array.shape, target.dtype.numpy))
        if create_graph:
            zeros.requires_grad = True
        found[index] = zeros


# ----------------------------------------------------------------------------------- arguments


def _places(given: Places) -> tuple[Place, ...]:
    if isinstance(given, (Tensor, GradientEdge)):
        return (given,)
    return tuple(given)


def _inputs(function: str, given: Inputs) -> tuple[Place, ...]:
    """The inputs of `backward` or `grad`, which may be a dict but no other mapping."""
    if isinstance(given, (Tensor, GradientEdge)):
        return (given,)
    if type(given) is dict:
        found: tuple[Place, ...] = tuple(given.values())
    elif isinstance(given, Mapping):
        raise TypeError(
            f"`inputs` argument to `{function}()` must be a dict, not {type(given).__name__}. "
            "Other Mapping types are not supported."
        )
    else:
        found = tuple(given)
    if not found:
        raise runtime_error(f"`inputs` argument to `{function}()` cannot be empty.", code="RG109")
    return found


def _as_gradients(given: Gradients, count: int) -> list[Tensor | None]:
    if given is None:
        return [None] * count
    return [given] if isinstance(given, Tensor) else list(given)


def _start_gradients(
    roots: tuple[Place, ...], given: list[Tensor | None], *, batched: bool
) -> list[Tensor | None]:
    """The gradient to start from at every root: checked if given, one if it is a scalar."""
    started: list[Tensor | None] = []
    for index, (root, gradient) in enumerate(zip(roots, given, strict=False)):
        if isinstance(root, Tensor):
            shape, dtype = root._array.shape, root._array.dtype
        elif isinstance(root, GradientEdge):
            described = root.node._input_metadata[root.output_nr]
            shape, dtype = tuple(described.shape), described.dtype.numpy
        else:
            raise AssertionError("Expected output to be a torch.Tensor")
        if isinstance(gradient, Tensor):
            _check_gradient(index, root, shape, dtype, gradient, batched)
            if isinstance(root, Tensor):
                gradient = _on_device_of(index, root, gradient)
        elif gradient is not None:
            raise TypeError(
                f"gradients can be either Tensors or None, but got {type(gradient).__name__}"
            )
        elif isinstance(root, GradientEdge) or root.requires_grad:
            if any(size != 1 for size in shape):
                raise failures.not_scalar(shape)
            if dtype in dtypes.COMPLEX_TYPES:
                raise failures.complex_root(dtypes.from_numpy_dtype(dtype))
            leaf = root if isinstance(root, Tensor) else _leaf_behind(root.node)
            xp = NAMED["cpu"].xp if leaf is None else xp_of(leaf._array)
            gradient = wrap(xp.filled(shape, 1, dtype))
        started.append(gradient)
    return started


def _leaf_behind(node: Any) -> Tensor | None:
    """A leaf that a node leads to: nodes do not know the device of their outputs, tensors do."""
    while node is not None:
        leaf: Tensor | None = getattr(node, "variable", None)
        if leaf is not None:
            return leaf
        node = next((after for after, _ in node.next_functions if after is not None), None)
    return None


def _on_device_of(index: int, root: Tensor, gradient: Tensor) -> Tensor:
    """The gradient on the root's device: one without dimensions is moved there."""
    if apart(root._array, gradient._array) is None:
        return gradient
    if gradient._array.ndim:
        raise failures.wrong_device(index, root._array, gradient._array)
    return gradient.to(root.device)


def _check_gradient(
    index: int,
    root: Place,
    shape: tuple[int, ...],
    dtype: DType,
    gradient: Tensor,
    batched: bool,
) -> None:
    found = gradient._array.shape
    if batched:
        if not found:
            raise explained(
                IndexError(
                    "invalid index of a 0-dim tensor. Use `tensor.item()` in Python or "
                    "`tensor.item<T>()` in C++ to convert a 0-dim tensor to a number"
                ),
                code="RG204",
            )
        if found[0] == 0:
            raise explained(
                IndexError("index 0 is out of bounds for dimension 0 with size 0"), code="RG204"
            )
        if found[1:] != shape:
            if not isinstance(root, Tensor):
                raise runtime_error(
                    "Batched grads are not supported with GradientEdge", code="RG618"
                )
            raise failures.mismatched_batch(index, found, shape)
    elif found != shape:
        raise failures.mismatched_gradient(index, found, shape)
    if (gradient._array.dtype in dtypes.COMPLEX_TYPES) != (dtype in dtypes.COMPLEX_TYPES):
        raise failures.mismatched_complex(index, gradient.dtype, dtypes.from_numpy_dtype(dtype))


def _root_edges(
    roots: tuple[Place, ...], gradients: list[Tensor | None]
) -> tuple[list[Edge], list[Tensor]]:
    """Where the walk starts, and with what: gradients in the type of what they belong to."""
    if len(roots) != len(gradients):
        raise runtime_error(
            f"got {len(roots)} tensors and {len(gradients)} gradients", code="RG108"
        )
    edges: list[Edge] = []
    started: list[Tensor] = []
    for index, (root, gradient) in enumerate(zip(roots, gradients, strict=True)):
        if isinstance(root, GradientEdge):
            node, number = _engine_edge(root)
        else:
            found = None
            if root.requires_grad:
                if root._view is not None:
                    refresh(root)
                    renew(root)  # also where no grad mode asks for it
                found = edge_of(root)
            if found is None:
                raise failures.no_history(index, root)
            node, number = found, root._output_nr
        assert gradient is not None
        dtype = node.dtype[number] if isinstance(node.dtype, list) else node.dtype
        if gradient._array.dtype is not dtype and type(dtype) is not AnyDtype and dtype is not None:
            gradient = gradient.to(dtypes.from_numpy_dtype(dtype))
        edges.append((node, number))
        started.append(gradient)
    return edges, started


def _engine_edge(edge: GradientEdge) -> Edge:
    from retrograd.autograd.custom.context import engine_node

    node: Node = engine_node(edge.node)
    return node, edge.output_nr


def _filled_edge(target: Place) -> Edge | None:
    """The edge of an input of `backward`, which is to get a `.grad`."""
    if isinstance(target, GradientEdge):
        return _engine_edge(target)
    if not isinstance(target, Tensor):
        raise _not_a_place(target)
    if target.grad_fn is not None or not target.requires_grad:
        target.retain_grad()
    node = edge_of(target)
    return None if node is None else (node, target._output_nr)


def _captured_edge(target: Place) -> Edge | None:
    """The edge of an input of `grad`."""
    if isinstance(target, GradientEdge):
        return _engine_edge(target)
    if not isinstance(target, Tensor):
        raise _not_a_place(target)
    if not target.requires_grad:
        raise runtime_error("One of the differentiated Tensors does not require grad", code="RG103")
    node = edge_of(target)
    return None if node is None else (node, target._output_nr)


def _not_a_place(target: Place) -> Exception:
    return runtime_error(
        f"all inputs have to be Tensors or GradientEdges, but got {type(target).__name__}",
        code="RG618",
    )


# ------------------------------------------------------------------------------- Tensor methods


@tensor_method
def requires_grad_(self: Tensor, requires_grad: bool = True) -> Tensor:
    """Set `requires_grad` in place and return the tensor."""
    if STATE.transforms:
        raise failures.flag_in_transform()
    if requires_grad and self._array.dtype not in dtypes.DIFFERENTIABLE:
        raise failures.nonfloat_flag(method=True)
    self.requires_grad = requires_grad
    return self


def _backward(
    self: Tensor,
    gradient: Tensor | None = None,
    retain_graph: Retain = None,
    create_graph: bool = False,
    inputs: Inputs | None = None,
) -> None:
    """Accumulate this tensor's gradients into the leaves it was computed from.

    gradient       the gradient of some further value with respect to this tensor; may be left
                   out for a single element
    retain_graph   keep the saved values, so that the graph can be walked again; of a list of
                   tensors, only those behind them
    create_graph   record the gradient computation itself, for higher orders
    inputs         accumulate only into these
    """
    done = COMPILED.backward
    if done is None or not done(self, gradient, retain_graph, create_graph, inputs):
        backward(self, gradient, retain_graph, create_graph, inputs=inputs)


_backward.__name__ = "backward"
tensor_method(_backward)
