"""`vmap`: a function of one example becomes a function of a batch."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from retrograd.engine.state import STATE, Block
from retrograd.notices import explained, runtime_error
from retrograd.ops.registry import RECORDED
from retrograd.random import get_rng_state, set_rng_state
from retrograd.tensor import Tensor
from retrograd.transforms.batched import Level, batch, unwrap
from retrograd.transforms.trees import TreeSpec, broadcast, flatten, tree_map, unflatten

Dims = object  # an int, None, or a tree of them


class vmap_level(Block):
    """A new innermost `vmap` call in this thread; gives its level.

    direct      for batches of gradients: custom Functions need no rule of their own for it
    directions  for batches of tangents: the function itself sees no batch
    """

    def __init__(
        self, size: int, randomness: str, *, direct: bool = False, directions: bool = False
    ) -> None:
        outer = STATE.vmaps
        level = Level(len(outer) + 1, size, randomness)
        level.direct, level.directions = direct, directions
        self.levels = (*outer, level)
        self._entered = level.number

    def _inside(self) -> dict[str, object]:
        return {"vmaps": self.levels}


def vmap(
    func: Callable[..., object],
    in_dims: Dims = 0,
    out_dims: Dims = 0,
    randomness: str = "error",
    *,
    chunk_size: int | None = None,
) -> Callable[..., Any]:
    """A function that maps `func` over a dimension of its inputs, without a loop.

    in_dims     which dimension of each input is the batch; None: the same for all examples.
                A number for all inputs, or a tree in the shape of the inputs
    out_dims    where the batch appears in each output
    randomness  "error", or whether random numbers in `func` are the "same" or "different"
                for all examples
    chunk_size  map this many examples at a time

    >>> dot = torch.func.vmap(torch.dot)
    >>> dot(torch.ones(2, 3), torch.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]))
    tensor([ 6., 15.])
    """
    if randomness not in ("error", "different", "same"):
        raise runtime_error(
            "Only allowed values for randomness are 'error', 'different', or 'same'. Got "
            f"{randomness}",
            code="RG602",
        )
    if not (chunk_size is None or chunk_size > 0):
        raise explained(
            ValueError(f"vmap: chunk_size should be None or greater than 0. (got {chunk_size})"),
            code="RG604",
        )

    @functools.wraps(func)
    def mapped(*args: object, **kwargs: object) -> Any:
        STATE.transforms += 1
        try:
            return _run(func, in_dims, out_dims, randomness, chunk_size, args, kwargs)
        finally:
            STATE.transforms -= 1

    return mapped


def _run(
    func: Callable[..., object],
    in_dims: Dims,
    out_dims: Dims,
    randomness: str,
    chunk_size: int | None,
    args: tuple[object, ...],
    kwargs: dict[str, object],
) -> Any:
    _check_out_dims(func, out_dims)
    leaves, spec = flatten(args)
    dims = _input_dims(func, in_dims, args, leaves, spec)
    size = _batch_size(dims, leaves)
    if chunk_size is None:
        return _run_once(func, size, dims, leaves, spec, out_dims, randomness, kwargs)
    return _run_in_chunks(func, size, dims, leaves, spec, out_dims, randomness, kwargs, chunk_size)


def name_of(func: Callable[..., object]) -> str:
    """The name of a function in messages."""
    if hasattr(func, "__name__"):
        return str(func.__name__)
    if isinstance(func, functools.partial):
        return f"functools.partial({name_of(func.func)}, ...)"
    return repr(func)


# -------------------------------------------------------------------------------------- inputs


def _input_dims(
    func: Callable[..., object],
    in_dims: Dims,
    args: tuple[object, ...],
    leaves: list[Any],
    spec: TreeSpec,
) -> list[int | None]:
    """The batch dimension of every leaf of the inputs, not negative; None where it has none."""
    start = f"vmap({name_of(func)}, in_dims={in_dims}, ...)(<inputs>): "
    if not isinstance(in_dims, (int, tuple)):
        raise explained(
            ValueError(
                start + "expected `in_dims` to be int or a (potentially nested) tuple matching the "
                f"structure of inputs, got: {type(in_dims)}."
            ),
            code="RG604",
        )
    if not args:
        raise explained(
            ValueError(
                f"vmap({name_of(func)})(<inputs>): got no inputs. Maybe you forgot to add inputs, "
                "or you are trying to vmap over a function with no inputs. The latter is "
                "unsupported."
            ),
            code="RG604",
        )
    dims = broadcast(in_dims, spec)
    if dims is None:
        raise explained(
            ValueError(
                start + "in_dims is not compatible with the structure of `inputs`. in_dims has "
                f"structure {flatten(in_dims)[1]} but inputs has structure {spec}."
            ),
            code="RG604",
        )
    for place, (leaf, dim) in enumerate(zip(leaves, dims, strict=True)):
        if dim is None:
            continue
        if not isinstance(dim, int):
            raise explained(
                ValueError(
                    start + f"Got in_dim={dim} for an input but in_dim must be either an integer "
                    "dimension or None."
                ),
                code="RG604",
            )
        if not isinstance(leaf, Tensor):
            raise explained(
                ValueError(
                    start
                    + f"Got in_dim={dim} for an input but the input is of type {type(leaf)}. We "
                    "cannot vmap over non-Tensor arguments, please use None as the respective "
                    "in_dim"
                ),
                code="RG604",
            )
        rank = leaf._array.ndim
        if not -rank <= dim < rank:
            raise explained(
                ValueError(
                    start + f"Got in_dim={dim} for some input, but that input is a Tensor of "
                    f"dimensionality {rank} so expected in_dim to satisfy -{rank} <= in_dim < "
                    f"{rank}."
                ),
                code="RG604",
            )
        dims[place] = dim % rank
    return dims


def _batch_size(dims: list[int | None], leaves: list[Any]) -> int:
    sizes = [
        int(leaf._array.shape[dim])
        for dim, leaf in zip(dims, leaves, strict=True)
        if dim is not None
    ]
    if not sizes:
        raise explained(ValueError("vmap: Expected at least one Tensor to vmap over"), code="RG604")
    if any(size != sizes[0] for size in sizes):
        raise explained(
            ValueError(
                "vmap: Expected all tensors to have the same size in the mapped dimension, got "
                f"sizes {sizes} for the mapped dimension"
            ),
            code="RG604",
        )
    return sizes[0]


def wrapped(dims: list[int | None], leaves: list[Any], level: int) -> list[object]:
    """The leaves of the inputs, batched where they have a batch dimension."""
    return [
        leaf if dim is None else batch(leaf, dim, level)
        for dim, leaf in zip(dims, leaves, strict=True)
    ]


# ------------------------------------------------------------------------------------- running


def _run_once(
    func: Callable[..., Any],
    size: int,
    dims: list[int | None],
    leaves: list[Any],
    spec: TreeSpec,
    out_dims: Dims,
    randomness: str,
    kwargs: dict[str, object],
    directions: bool = False,
) -> Any:
    STATE.transforms += 1
    try:
        with vmap_level(size, randomness, directions=directions) as level:
            args = unflatten(wrapped(dims, leaves, level), spec)
            return _unwrapped(func, func(*args, **kwargs), out_dims, level, size)
    finally:
        STATE.transforms -= 1


def _run_in_chunks(
    func: Callable[..., object],
    size: int,
    dims: list[int | None],
    leaves: list[Any],
    spec: TreeSpec,
    out_dims: Dims,
    randomness: str,
    kwargs: dict[str, object],
    chunk_size: int,
) -> Any:
    state = get_rng_state() if randomness == "same" else None
    outputs: list[list[Any]] = []
    output_spec: TreeSpec | None = None
    for start in range(0, size, chunk_size):
        count = min(chunk_size, size - start)
        part = [
            leaf if dim is None else RECORDED.narrow(leaf, dim, start, count)
            for dim, leaf in zip(dims, leaves, strict=True)
        ]
        if state is not None:
            set_rng_state(state)
        result = _run_once(func, count, dims, part, spec, out_dims, randomness, kwargs)
        flat, output_spec = flatten(result)
        outputs.append(flat)
    if output_spec is None:  # no example at all
        return _run_once(func, 0, dims, leaves, spec, out_dims, randomness, kwargs)
    where = broadcast(out_dims, output_spec)
    assert where is not None  # checked by every chunk
    columns = zip(*outputs, strict=True)
    joined = [RECORDED.cat(list(c), dim) for c, dim in zip(columns, where, strict=True)]
    return unflatten(joined, output_spec)


# ------------------------------------------------------------------------------------- outputs


def _check_out_dims(func: Callable[..., object], out_dims: Dims) -> None:
    def check(dim: object) -> None:
        if dim is not None and not isinstance(dim, int):
            raise explained(
                ValueError(
                    f"vmap({name_of(func)}, ..., out_dims={out_dims}): `out_dims` must be an int, "
                    "None or a python collection of ints representing where in the outputs the "
                    "vmapped dimension should appear."
                ),
                code="RG604",
            )

    tree_map(check, out_dims)


def _unwrapped(
    func: Callable[..., object], outputs: Tensor, out_dims: Dims, level: int, size: int
) -> Any:
    """The outputs of the function as tensors with the batch where `out_dims` says."""
    leaves, spec = flatten(outputs)
    dims: list[Any] | None
    if isinstance(outputs, Tensor):
        if isinstance(out_dims, tuple) and len(out_dims) == 1:
            dims = list(out_dims)
        else:
            dims = [out_dims] if out_dims is None or isinstance(out_dims, int) else None
    else:
        dims = broadcast(out_dims, spec)
    if dims is None:
        raise explained(
            ValueError(
                f"vmap({name_of(func)}, ..., out_dims={out_dims})(<inputs>): out_dims is not "
                f"compatible with the structure of `outputs`. out_dims has structure "
                f"{flatten(out_dims)[1]} but outputs has structure {spec}."
            ),
            code="RG604",
        )
    found = [
        _with_batch_at(name_of(func), leaf, dim, level, size)
        for leaf, dim in zip(leaves, dims, strict=True)
    ]
    return unflatten(found, spec)


def _with_batch_at(name: str, value: Tensor, dim: int | None, level: int, size: int) -> Tensor:
    if dim is None:
        if isinstance(value, Tensor) and value._level == level:
            raise explained(
                ValueError(
                    f"vmap({name}, ...): `{name}` can not return a BatchedTensor when out_dim is "
                    "None"
                ),
                code="RG604",
            )
        return value
    if not isinstance(value, Tensor):
        raise explained(
            ValueError(
                f"vmap({name}, ...): `{name}` must only return Tensors, got type {type(value)}. "
                "Did you mean to set out_dims= to None for output?"
            ),
            code="RG604",
        )
    return with_batch_at(value, dim, level, size)


def map_directions(func: Callable[[Any], Any], tangents: object, randomness: str) -> Any:
    """`vmap` over tangents alone, for a function that uses them as tangents only."""
    leaves, spec = flatten((tangents,))
    size = _batch_size([0] * len(leaves), leaves)
    hidden = randomness != "different"  # else the function makes batches itself
    return _run_once(func, size, [0] * len(leaves), leaves, spec, 0, randomness, {}, hidden)


def map_directly(func: Callable[[Tensor], Sequence[Tensor]], tensor: Tensor) -> list[Tensor]:
    """The outputs of `func` for each row of a tensor, without the rules for users of `vmap`."""
    size = tensor._array.shape[0]
    with vmap_level(size, "error", direct=True) as level:
        found = func(batch(tensor, 0, level))
        return [with_batch_at(value, 0, level, size) for value in found]


def map_rows(
    func: Callable[[list[Tensor]], Sequence[Tensor]], rows: Sequence[Tensor]
) -> list[Tensor]:
    """The outputs of `func` for each row of some tensors of one length, stacked.

    As `vmap` of it, without what is done for arguments and results that are not known.
    """
    size = rows[0]._array.shape[0]
    STATE.transforms += 1
    try:
        with vmap_level(size, "error") as level:
            found = func([batch(row, 0, level) for row in rows])
            return [with_batch_at(value, 0, level, size) for value in found]
    finally:
        STATE.transforms -= 1


def with_batch_at(value: Tensor, dim: int, level: int, size: int) -> Tensor:
    """The physical tensor with its batch dimension at `dim`; expanded if it had none."""
    physical, place = unwrap(value, level)
    rank = value._array.ndim + 1
    if not -rank <= dim < rank:
        raise explained(
            IndexError(
                f"Dimension out of range (expected to be in range of [{-rank}, {rank - 1}], but "
                f"got {dim})"
            ),
            code="RG205",
        )
    dim %= rank
    if place is None:
        physical, place = RECORDED.expand(physical, (size, *physical._array.shape)), 0
    if place == dim:
        return physical
    rest = [d for d in range(rank) if d != place]
    return RECORDED.permute(physical, (*rest[:dim], place, *rest[dim:]))
