"""Random numbers inside of `vmap`: none, the same for all examples, or different ones.

Every random function asks here, if a vmap is running in its thread, how its numbers are to be
drawn. Drawn *below* means outside of the innermost vmap, so an outer one has its say, too.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import ModuleType

import numpy as np

from retrograd.engine.state import STATE, Unmapped
from retrograd.notices import runtime_error
from retrograd.ops.making.creation import empty_like
from retrograd.ops.registry import RECORDED
from retrograd.tensor import Tensor, wrap
from retrograd.transforms.batched import Level, rewrap
from retrograd.transforms.batching.rules import to_front

_ERROR = (
    "vmap: called random operation while in randomness error mode. Please either use the 'same' or "
    "'different' randomness flags on vmap or perform the randomness operation out of vmap"
)
_SAME = (
    "Vmap does not currently support same randomness with a batched tensor input. Please file an "
    "issue with functorch"
)
_OUT = (
    "vmap: We do not support calling out variants of random operations inside of vmap. Please use "
    "non-out variants as a workaround"
)
_UNBATCHED = (
    "vmap: Cannot ask for different inplace randomness on an unbatched tensor. This will "
    "appear like same randomness. If this is necessary for your usage, please file an issue with "
    "functorch."
)
_BERNOULLI = (
    "vmap: inplace bernoulli(self, *extra_args) is not possible because there exists a Tensor "
    "`other` in extra_args that has more elements than `self`. This happened due to `other` being "
    "vmapped over but `self` not being vmapped over in a vmap. Please try to use out-of-place "
    "operators instead of inplace bernoulli. If said operator is being called inside the PyTorch "
    "framework, please file a bug report instead."
)


def rules() -> ModuleType:
    """This module: the random functions call `batches().like(...)`."""
    return sys.modules[__name__]


def is_mapped() -> bool:
    """Whether a vmap is running in this thread."""
    return bool(STATE.vmaps)


def _below() -> Unmapped:
    """The innermost vmap, which is left for a while; raises if it wants no random numbers."""
    level = STATE.vmaps[-1]
    if level.randomness == "error":
        raise runtime_error(_ERROR, code="RG602")
    return Unmapped(STATE.vmaps[:-1], level)


def by_shape(
    draw: Callable[[tuple[int, ...]], Tensor], shape: tuple[int, ...], out: Tensor | None = None
) -> Tensor:
    """Numbers of a shape: `draw` again with the batch in front, or once for all examples."""
    if out is not None:
        raise runtime_error(_OUT, code="RG602")
    with _below() as level:
        if level.randomness == "same":
            return draw(shape)
        # with requires_grad=True the mark would be the batched tensor's: nobody outside sees it
        return rewrap(draw((level.size, *shape)).detach(), 0, level.number)


def one_by_one(draw: Callable[[], Tensor], out: Tensor | None = None) -> Tensor:
    """The same for what cannot be drawn for a batch at once."""
    if out is not None:
        raise runtime_error(_OUT, code="RG602")
    with _below() as level:
        if level.randomness == "same":
            return draw()
        rows = [draw() for _ in range(level.size)]
        return rewrap(RECORDED.stack(rows, 0), 0, level.number)


def like(draw: Callable[[Tensor], Tensor], input: Tensor) -> Tensor:
    """Numbers in the shape of a tensor."""
    with _below() as level:
        if level.randomness == "different":
            return rewrap(draw(_with_batch(input, level)), 0, level.number)
        if input._level == level.number:
            input = RECORDED.select(to_front(input, level.number), 0, 0)
        return draw(input)


def check_batched(tensor: Tensor) -> None:
    """Raise where numbers that differ would be written into a tensor that is one for all."""
    level = STATE.vmaps[-1]
    if level.randomness == "different" and tensor._level != level.number:
        raise runtime_error(_UNBATCHED, code="RG602")


def of_tensors(draw: Callable[..., Tensor], *tensors: Tensor) -> Tensor:
    """Numbers that depend on tensors elementwise, as `bernoulli` does."""
    with _below() as level:
        if level.randomness == "same":
            return draw(*[_one_for_all(tensor, level) for tensor in tensors])
        rank = max([tensor._array.ndim for tensor in tensors])
        return rewrap(draw(*[_with_batch(t, level, rank) for t in tensors]), 0, level.number)


def of_rows(draw: Callable[[Tensor], Tensor], input: Tensor) -> Tensor:
    """Numbers for the rows of a tensor, as `multinomial` draws them."""
    with _below() as level:
        if level.randomness == "same":
            return draw(_one_for_all(input, level))
        wide = _with_batch(input, level)
        if wide._array.ndim == 2:
            return rewrap(draw(wide), 0, level.number)
        size, rows, columns = wide._array.shape
        found = draw(RECORDED.reshape(wide, (size * rows, columns)))
        return rewrap(RECORDED.reshape(found, (size, rows, -1)), 0, level.number)


def in_place(fill: Callable[[Tensor], object], target: Tensor) -> Tensor:
    """Overwrite a tensor: `fill` draws numbers into a fresh one, which is then copied over."""
    with _below() as level:
        own = target._level == level.number
        if level.randomness == "different":
            if not own:
                raise runtime_error(_UNBATCHED, code="RG602")
            made = _fresh_like(to_front(target, level.number))
            fill(made)
            values: Tensor = rewrap(made, 0, level.number)
        elif own:
            values = _plain_like(target)
            fill(values)
        else:
            fill(target)
            return target
    target.copy_(values)
    return target


def bernoulli_in_place(
    draw: Callable[[Tensor, Tensor], object], target: Tensor, p: Tensor
) -> Tensor:
    """`bernoulli_` with a tensor of probabilities."""
    level = STATE.vmaps[-1]
    if level.randomness == "same" and p._level == level.number:
        raise runtime_error(_SAME, code="RG602")
    if level.randomness == "different" and target._level != level.number == p._level:
        raise runtime_error(_BERNOULLI, code="RG603")

    def fill(made: Tensor) -> None:
        if level.randomness == "same" or p._level != level.number:
            draw(made, p)
        else:
            draw(made, _with_batch(p, level, target._array.ndim))

    return in_place(fill, target)


def _with_batch(tensor: Tensor, level: Level, rank: int = 0) -> Tensor:
    """A tensor with the batch in front of as many dimensions as `rank`."""
    missing = (1,) * max(rank - tensor._array.ndim, 0)
    shape = tuple(tensor._array.shape)
    if tensor._level == level.number:
        front = to_front(tensor, level.number)
        return RECORDED.view(front, (level.size, *missing, *shape)) if missing else front
    wide = (
        RECORDED.view(tensor, (1, *missing, *shape)) if missing else RECORDED.unsqueeze(tensor, 0)
    )
    return RECORDED.expand(wide, (level.size, *missing, *shape))


def _one_for_all(tensor: Tensor, level: Level) -> Tensor:
    """A tensor that is the same for all examples; raises where it is a batch."""
    if tensor._level != level.number:
        return tensor
    front = to_front(tensor, level.number)
    if level.size and front._array.strides[0] == 0:  # expanded, as `jvp` does with its primals
        return RECORDED.select(front, 0, 0)
    raise runtime_error(_SAME, code="RG602")


def _plain_like(tensor: Tensor) -> Tensor:
    """Fresh memory for one example."""
    array = tensor._array
    return wrap(np.empty(array.shape, array.dtype))


def _fresh_like(tensor: Tensor) -> Tensor:
    """Fresh memory for a whole batch, which may itself be batched outside."""
    return empty_like(tensor.detach())
