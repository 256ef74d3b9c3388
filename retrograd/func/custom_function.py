"""Custom Functions under `vmap`: the user's own rule, or one made of the Function's methods.

``MyFunction.apply`` comes here when an argument is batched. What happens on the batch happens
outside of that vmap: either the static method ``vmap(info, in_dims, *args)`` is called with the
physical tensors, or, with ``generate_vmap_rule = True``, another Function is made and applied,
whose methods run those of the user's class under a vmap of their own.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from retrograd.autograd.function import Function, FunctionCtx, has_setup_context
from retrograd.engine import failures
from retrograd.engine.state import STATE, Unmapped
from retrograd.notices import runtime_error
from retrograd.tensor import Tensor
from retrograd.transforms.batched import batch, level_of, unwrap
from retrograd.transforms.trees import broadcast, flatten, unflatten
from retrograd.transforms.vmap import vmap_level

_PAGE = "For more details, please see https://pytorch.org/docs/main/notes/extending.func.html"


class VmapInfo(NamedTuple):
    """What a Function's `vmap` is told of the vmap that it is called in."""

    batch_size: int
    randomness: str


def apply_to_batch(function: Any, arguments: tuple[Any, ...], level: int) -> Any:
    """The outputs of a Function one of whose arguments has this level, as batched tensors.

    History of this level is for the caller to record; that of levels outside is recorded here.
    """
    running = level_of(level)
    info = VmapInfo(running.size, running.randomness)
    physical, in_dims = _unwrapped(arguments, level)
    if running.direct:
        with _outside(level):
            outputs, out_dims = _parted(_direct(function, in_dims, info).apply(*physical))
        return _wrapped_outputs(outputs, out_dims, physical, arguments, level)
    if not has_setup_context(function):
        raise failures.old_function_in_transform()
    own = function.vmap is not Function.vmap
    if function.generate_vmap_rule and own:
        raise runtime_error(
            f"You tried to vmap over {function.__name__}, but it has both "
            "generate_vmap_rule=True and an overridden vmap staticmethod. Please set "
            "generate_vmap_rule=False or delete the overridden vmap staticmethod to avoid "
            f"ambiguity. {_PAGE}",
            code="RG610",
        )
    if not function.generate_vmap_rule and not own:
        raise runtime_error(
            f"You tried to vmap over {function.__name__}, but it does not have vmap support. "
            "Please override and implement the vmap staticmethod or set "
            "generate_vmap_rule=True. " + _PAGE,
            code="RG610",
        )
    with _outside(level):
        if own:
            outputs, out_dims = _two(function.vmap(info, in_dims, *physical))
        else:
            found = _generated(function, in_dims, info).apply(*physical)
            outputs, out_dims = _parted(found)
    return _wrapped_outputs(outputs, out_dims, physical, arguments, level)


def as_batches(outputs: Any, level: int) -> Any:
    """Outputs that can have a history of this level: those of levels below are expanded."""
    several = isinstance(outputs, tuple)
    size = level_of(level).size
    found: list[object] = []
    for value in outputs if several else (outputs,):
        if isinstance(value, Tensor) and value._level < level:
            wide = value.unsqueeze(0)
            value = batch(wide.expand((size, *value.shape)), 0, level)
        found.append(value)
    return tuple(found) if several else found[0]


def _outside(level: int) -> Unmapped:
    """Leave the vmap of a level, and those inside of it, for a while."""
    return Unmapped(STATE.vmaps[: level - 1])


def _unwrapped(values: object, level: int) -> tuple[Any, Any]:
    """A tree with physical tensors, and the tree of their batch dimensions."""
    leaves, spec = flatten(values)
    pairs = [unwrap(x, level) if isinstance(x, Tensor) else (x, None) for x in leaves]
    return unflatten([x for x, _ in pairs], spec), unflatten([dim for _, dim in pairs], spec)


def _wrapped(values: object, dims: object, level: int) -> Any:
    """The other way round; `dims` may be the top of a tree."""
    leaves, spec = flatten(values)
    places = broadcast(dims, spec)
    assert places is not None
    return unflatten(
        [
            batch(x, dim % x.ndim, level) if isinstance(x, Tensor) and dim is not None else x
            for x, dim in zip(leaves, places, strict=True)
        ],
        spec,
    )


def _two(result: object) -> Any:
    """What the user's `vmap` returned: outputs and their dimensions."""
    start = (
        "Expected the vmap staticmethod to have two returns, an output and out_dims with pytree "
        "structure compatible with the output. "
    )
    if not isinstance(result, tuple):
        raise runtime_error(f"{start}Got a {type(result)} instead", code="RG610")
    if len(result) != 2:
        raise runtime_error(f"{start}Got {len(result)} returns instead", code="RG610")
    return result


def _as_tuple(dims: Any) -> tuple[Any, ...]:
    return dims if isinstance(dims, tuple) else (dims,)


def _parted(outputs: tuple[object, ...]) -> tuple[Any, Any]:
    """Outputs and dimensions of a generated Function, which returns them as one tuple."""
    *values, dims = outputs
    return (tuple(values) if isinstance(dims, tuple) else values[0]), dims


def _wrapped_outputs(
    outputs: object, dims: object, physical: object, given: object, level: int
) -> Any:
    """Batched outputs; an argument that came back is the argument itself."""
    known = {
        id(inner): outer
        for inner, outer in zip(flatten(physical)[0], flatten(given)[0], strict=True)
        if isinstance(inner, Tensor)
    }
    leaves, spec = flatten(outputs)
    places = broadcast(dims, spec)
    if places is None:
        raise runtime_error(
            "The autograd.Function's vmap staticmethod returned an incompatible (output, "
            f"out_dims) tuple. Expected out_dims={dims} to be compatible with the structure of "
            f"`output`. out_dims has structure {flatten(dims)[1]} but output has structure "
            f"{spec}. {_PAGE}",
            code="RG610",
        )
    found: list[object] = []
    for leaf, dim in zip(leaves, places, strict=True):
        if id(leaf) in known:
            found.append(known[id(leaf)])
        elif isinstance(leaf, Tensor) and dim is not None:
            found.append(batch(leaf, dim % leaf.ndim, level))
        else:
            found.append(leaf)
    return unflatten(found, spec)


# ------------------------------------------------------------------------- generated Functions


def _facts(ctx: Any) -> dict[str, Any]:
    """What a generated Function keeps in its context: one dictionary for each level of vmap.

    The Function of an outer level runs the methods of that of an inner one with a view of its own
    context, where both would write the same names.
    """
    depth = 0
    while isinstance(ctx, _Context):
        ctx, depth = ctx.__dict__["_inner"], depth + 1
    levels: dict[int, dict[str, Any]] | None = getattr(ctx, "_batch_facts", None)
    if levels is None:
        levels = ctx._batch_facts = {}
    return levels.setdefault(depth, {})


class _Context:
    """The user's view of `ctx`: tensors of one example, kept as batches in the real one."""

    def __init__(self, inner: object, saved: object = None) -> None:
        self.__dict__["_inner"] = inner
        self.__dict__["_saved"] = saved
        self.__dict__["_level"] = STATE.vmaps[-1].number

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def __setattr__(self, name: str, value: object) -> None:
        setattr(self._inner, name, value)

    @property
    def saved_tensors(self) -> Any:
        """The saved tensors, batched."""
        return self._saved

    def _keep(self, keep: Callable[..., None], tensors: tuple[object, ...]) -> None:
        physical, dims = _unwrapped(tensors, self._level)
        keep(*physical)
        _facts(self._inner)["saved dims"] = dims

    def save_for_backward(self, *tensors: object) -> None:
        """Keep the batches, and where they are in the tensors."""
        self._keep(self._inner.save_for_backward, tensors)

    def save_for_forward(self, *tensors: object) -> None:
        """The same for `jvp`."""
        self._keep(self._inner.save_for_forward, tensors)

    def mark_dirty(self, *tensors: object) -> None:
        """Say it of the batches."""
        self._inner.mark_dirty(*_unwrapped(tensors, self._level)[0])

    def mark_non_differentiable(self, *tensors: object) -> None:
        """Say it of the batches."""
        self._inner.mark_non_differentiable(*_unwrapped(tensors, self._level)[0])


def _direct(function: Any, in_dims: Any, info: VmapInfo) -> Any:
    """The same for a batch of gradients, in which every Function may be called."""
    made = _generated(function, in_dims, info, direct=True)
    if has_setup_context(function):
        return made

    def forward(ctx: FunctionCtx, *operands: Any) -> Any:
        with vmap_level(*info, direct=True) as level:
            given = _wrapped(operands, in_dims, level)
            _facts(ctx)["saved dims"] = ()
            outputs = function.forward(_Context(ctx), *given)
            shapes = [x.shape if isinstance(x, Tensor) else None for x in given]
            found, dims = _unwrapped(outputs, level)
        _facts(ctx).update(dims=dims, shapes=shapes)
        return (*found, dims) if isinstance(found, tuple) else (found, dims)

    made.forward = staticmethod(forward)
    made.setup_context = Function.setup_context
    return made


def _generated(function: Any, in_dims: Any, info: VmapInfo, direct: bool = False) -> Any:
    """A Function of physical tensors that runs the methods of `function` under vmap."""

    def forward(*operands: Any) -> Any:
        with vmap_level(*info, direct=direct) as level:
            outputs = function.forward(*_wrapped(operands, in_dims, level))
            found, dims = _unwrapped(outputs, level)
        return (*found, dims) if isinstance(found, tuple) else (found, dims)

    def setup_context(ctx: FunctionCtx, inputs: Any, outputs: Any) -> None:
        values, dims = _parted(outputs)
        with vmap_level(*info, direct=direct) as level:
            given = _wrapped(inputs, in_dims, level)
            _facts(ctx)["saved dims"] = ()
            function.setup_context(_Context(ctx), given, _wrapped(values, dims, level))
            shapes = [x.shape if isinstance(x, Tensor) else None for x in given]
        _facts(ctx).update(dims=dims, shapes=shapes)

    def saved(ctx: FunctionCtx, level: int) -> Any:
        return _wrapped(tuple(ctx.saved_tensors), tuple(_facts(ctx)["saved dims"]), level)

    def backward(ctx: FunctionCtx, *gradients: Any) -> Any:
        dims, shapes = _as_tuple(_facts(ctx)["dims"]), _facts(ctx)["shapes"]
        with vmap_level(*info, direct=direct) as level:
            given = [
                g if g is None or dim is None else batch(g, dim % g.ndim, level)
                for g, dim in zip(gradients[:-1], dims, strict=True)
            ]
            found = function.backward(_Context(ctx, saved(ctx, level)), *given)
            found = found if isinstance(found, tuple) else (found,)
            fitted = [_summed(g, shape) for g, shape in zip(found, shapes, strict=False)]
            pairs = [unwrap(g, level) if isinstance(g, Tensor) else (g, None) for g in fitted]
        return tuple(
            [_placed(g, dim, into, info) for (g, dim), into in zip(pairs, in_dims, strict=False)]
        )

    def jvp(ctx: FunctionCtx, *tangents: Any) -> Any:
        with vmap_level(*info, direct=direct) as level:
            given = [
                t if t is None or dim is None else batch(t, dim % t.ndim, level)
                for t, dim in zip(tangents, in_dims, strict=True)
            ]
            found = function.jvp(_Context(ctx, saved(ctx, level)), *given)
            several = isinstance(found, tuple)
            parts = found if several else (found,)
            pairs = [unwrap(t, level) if isinstance(t, Tensor) else (t, None) for t in parts]
        dims = _as_tuple(_facts(ctx)["dims"])
        placed = [_placed(t, dim, into, info) for (t, dim), into in zip(pairs, dims, strict=True)]
        return (*placed, None)

    space = {
        "forward": staticmethod(forward),
        "setup_context": staticmethod(setup_context),
        "backward": staticmethod(backward),
        "jvp": staticmethod(jvp),
        "generate_vmap_rule": True,
    }
    return type(f"Vmapped{function.__name__}", (Function,), space)


def _summed(gradient: Any, shape: Any) -> Any:
    """A gradient of one example with the shape of its input: broadcast ones are summed."""
    if not isinstance(gradient, Tensor) or shape is None or gradient.shape == shape:
        return gradient
    return gradient.sum_to_size(shape)


def _placed(value: Any, dim: int | None, wanted: int | None, info: VmapInfo) -> Any:
    """A gradient or tangent with its batch where the tensor it belongs to has it."""
    if value is None or (dim is None and wanted is None):
        return value
    if wanted is None:
        return value.sum(dim)
    if dim is None:
        shape = list(value.shape)
        wanted %= len(shape) + 1
        shape.insert(wanted, info.batch_size)
        return value.unsqueeze(wanted).expand(shape)
    return value.movedim(dim, wanted)
