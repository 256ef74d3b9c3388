"""Forward mode: tensors that carry tangents, and how every op passes them on.

A dual tensor is an ordinary one whose `_meta.tangents` holds, for each dual level, the derivative
of its elements in the direction that the level is about. While a level is open every op takes the
general path, which calls `set_tangents` here after the forward; `forward_rules` knows the
derivative of each op.

Levels nest (`torch.func.jvp` of a function that calls it). A tangent of a level may itself carry
tangents of the levels outside of it, never of those inside: for level L the rules see operands
without their tangents at L and further in, so their own results get the outer ones by the same way.

A view and its base share one tangent, as they share elements: the tangent of a view is a view of
the base's tangent, also where the base got one only after the view was made.
"""

from __future__ import annotations

import importlib
import itertools
import weakref
from collections.abc import Iterable
from typing import Any

import numpy as np

from retrograd.dtypes import DIFFERENTIABLE
from retrograd.engine.accumulate import with_grad_mode
from retrograd.engine.slices import copy_with_strides
from retrograd.engine.state import STATE, TRANSFORMS, Block, put_modes
from retrograd.engine.views import Link, ViewInfo, ViewStep, edge_of
from retrograd.notices import runtime_error
from retrograd.ops.registry import Op
from retrograd.tensor import Array, Tensor, cell_of, meta_of, wrap

# --------------------------------------------------------------------------------------- levels


class DualLevel:
    """One open level: a direction in which derivatives are taken. Inner ones have larger numbers.

    It knows, weakly, where its tangents are, so that closing it lets go of them; and how many vmap
    calls it is inside of.
    """

    __slots__ = ("alive", "depth", "holders", "number")

    def __init__(self, number: int, depth: int) -> None:
        self.number = number
        self.depth = depth
        self.alive = True
        self.holders: dict[int, weakref.ref[Tangents]] = {}

    def close(self) -> None:
        """Let go of the tangents."""
        self.alive = False
        for reference in self.holders.values():
            holder = reference()
            if holder is not None:
                holder.pop(self, None)
        self.holders = {}

    def __repr__(self) -> str:
        return f"<dual level {self.number}{'' if self.alive else ', closed'}>"


class Tangents(dict[DualLevel, Tensor]):
    """The tangents of one tensor by level."""

    __slots__ = ("__weakref__",)

    def put(self, level: DualLevel, tangent: Tensor) -> None:
        """Set the tangent of a level, which will be forgotten when the level is closed."""
        self[level] = tangent
        level.holders[id(self)] = weakref.ref(self)

    @classmethod
    def of(cls, held: dict[DualLevel, Tensor]) -> Tangents:
        """The same tangents for another holder, which forgets them too."""
        made = cls()
        for level, tangent in held.items():
            made.put(level, tangent)
        return made


_numbers = itertools.count()


class OpenLevel(Block):
    """A new innermost level of this thread; closing it takes every tensor's tangent of it."""

    def __init__(self) -> None:
        if not hasattr(TRANSFORMS, "dual_shortcut"):  # not sooner: it needs the ops
            importlib.import_module("retrograd.transforms.forward_elementwise")
        self.level = self._entered = DualLevel(next(_numbers), len(STATE.vmaps))

    def _inside(self) -> dict[str, object]:
        return {"duals": (*STATE.duals, self.level), "passes_tangents": True}

    def _left(self, failed: bool) -> None:
        self.level.close()


def push_level() -> DualLevel:
    """Open a level inside those that this thread has open."""
    level = OpenLevel().level
    put_modes({"duals": (*STATE.duals, level)})
    return level


def pop_level(level: DualLevel) -> None:
    """Close a level: every tensor loses its tangent of that level."""
    put_modes({"duals": tuple([open for open in STATE.duals if open is not level])})
    level.close()


def active_levels() -> tuple[DualLevel, ...]:
    """The levels that this thread has open, the innermost last."""
    return STATE.duals


def is_enabled() -> bool:
    """Whether ops of this thread pass tangents on."""
    return STATE.passes_tangents and not STATE.inference


# in the dictionary of a leaf that a transform made: the transform's trace, or `NOBODY`
TRACE = "_trace"


class _Nobody:
    """Owns leaves that no result depends on, and that no graph ends in for anybody."""

    running = False


NOBODY = _Nobody()

# ------------------------------------------------------------------------- tangents of a tensor


class Origin:
    """The place of a dual tensor in a chain of views: where its tangents are, and its geometry.

    A dual tensor is a view of its primal, but their tangents are their own. So a view of the dual
    tensor finds its base, as far as tangents go, here.
    """

    __slots__ = ("array", "tangents")

    def __init__(self) -> None:
        self.tangents = Tangents()
        self.array: Any = None


def tangents_of(tensor: Tensor) -> Tangents | None:
    """All tangents of a tensor, those of a view's base included; None if there are none."""
    meta = tensor._meta
    own: Any = None if meta is None else meta.tangents
    info = tensor._view
    if info is not None:
        step: Link | None = info.last
        if own is not None and step is not None and step[0].barrier:
            if step[1][0].tangents is own:
                return own or None  # a dual tensor, or a primal: nothing comes from its base
        base, chain = _base_tangents(info)
        if base:
            for level in list(base):
                if level.alive and (own is None or level not in own):
                    own = holder_of(tensor)
                    own.put(level, _replayed(base[level], chain))
    return own or None


def tangent_of(tensor: Tensor, level: DualLevel) -> Tensor | None:
    """The tangent of a tensor at a level, or None."""
    if not is_enabled() or not level.alive:
        return None
    found = tangents_of(tensor)
    tangent = None if found is None else found.get(level)
    if tangent is None and tensor._level:  # of a level outside of the running vmap
        from retrograd.transforms.batched import rewrap

        batched: Any = tensor
        inner = tangent_of(batched._physical, level)
        if inner is not None:
            return rewrap(inner, batched._batch_dim, batched._level)
    return tangent


def holder_of(tensor: Tensor) -> Tangents:
    """Where a tensor keeps its tangents, made now if it had no place for them."""
    meta = meta_of(tensor)
    if not isinstance(meta.tangents, Tangents):
        before = meta.tangents or {}
        meta.tangents = Tangents()
        for level, tangent in before.items():
            meta.tangents.put(level, tangent)
    return meta.tangents


def is_recorded(value: object) -> bool:
    """Whether a tensor or one of its tangents, at any level, requires grad."""
    while isinstance(value, Tensor):
        held = tangents_of(value) if TRANSFORMS.dual_levels else None
        if value._requires_grad or (held and any([is_recorded(t) for t in held.values()])):
            return True
        value = getattr(value, "_physical", None)
    return False


def set_tangent(tensor: Tensor, level: DualLevel, tangent: Tensor) -> None:
    """Give a tensor a tangent, of its own shape; copied if it is laid out in another way."""
    if tensor._array.shape != tangent._array.shape:
        raise runtime_error(
            "Trying to set a forward gradient that has a different size than that of the "
            "original Tensor, this is not supported. Tensor is of size "
            f"{list(tensor._array.shape)} while the given forward gradient is of size "
            f"{list(tangent._array.shape)}.",
            code="RG607",
        )
    holder_of(tensor).put(level, laid_out_like(tensor, tangent))


def _base_tangents(info: ViewInfo) -> tuple[Tangents | None, list[ViewStep]]:
    """The tangents of the tensor that a view belongs to in forward mode, and the way from there."""
    steps: list[ViewStep] = []
    link: Link | None = info.last
    while link is not None:
        op, options, number, link = link
        if op.barrier:
            return options[0].tangents, steps[::-1]
        steps.append(ViewStep(op, options, number))
    meta = info.base._meta
    found: Any = None if meta is None else meta.tangents
    return found, steps[::-1]


def _replayed(tangent: Tensor, chain: Iterable[ViewStep]) -> Tensor:
    for step in chain:
        tangent = step.recorded(tangent)
    return tangent


# ---------------------------------------------------------------------------------------- layout


def laid_out_like(tensor: Tensor, tangent: Tensor) -> Tensor:
    """The tangent if its strides are the tensor's, else a copy that has them.

    Views of the tensor are taken of its tangent too: that must be possible in the same way.
    """
    if tensor._level or tangent._level:
        return tangent
    array, other = tensor._array, tangent._array
    if array.flags.c_contiguous and other.flags.c_contiguous:
        return tangent
    if _steps(array) == _steps(other):
        return tangent
    return copied_like(array, tangent)


def copied_like(array: Array, tangent: Tensor) -> Tensor:
    """A copy of a tangent with the geometry of an array."""
    from retrograd.ops.registry import RECORDED

    factor = tangent._array.itemsize
    strides = tuple([stride // array.itemsize * factor for stride in array.strides])
    return RECORDED._clone_with_strides(tangent, strides)


def _steps(array: Array) -> list[int]:
    """Strides in elements, of the dimensions where they matter."""
    unit = array.itemsize
    pairs = zip(array.strides, array.shape, strict=True)
    return [stride // unit for stride, size in pairs if size > 1]


def _zeros_for(array: Array, tangent: Tensor) -> Tensor:
    """Zeros with the geometry of a base, to write the tangent of one of its views into."""
    kind = tangent._array.dtype
    factor = kind.itemsize
    strides = tuple([stride // array.itemsize * factor for stride in array.strides])
    zeros = wrap(copy_with_strides(np.zeros(array.shape, kind), strides))
    if tangent._level:  # batched as the tangent is: the sum of no elements is a batched zero
        zeros = zeros + tangent.reshape(-1)[:0].sum()
    return zeros


# ------------------------------------------------------------------------------------- operands


def without_level(tensor: Tensor, level: DualLevel, *, copy: bool = False) -> Tensor:
    """The tensor as the rules of a level see it: the same elements and history, fewer tangents.

    `copy` gives it elements of its own, for one that is about to be written.
    """
    found = tangents_of(tensor)
    inner = found is not None and any([other.number >= level.number for other in found])
    if not inner and not copy:
        return tensor
    edge = edge_of(tensor) if tensor._requires_grad else None
    if copy and not tensor._level:
        made = wrap(tensor._array.copy(order="K"))
    else:
        cell_of(tensor)
        made = (tensor.clone() if copy else tensor)._without_history()
    if made._meta is not None:
        made._meta.tangents = None
    for other, tangent in (found or {}).items():
        if other.number < level.number:
            holder_of(made).put(other, tangent.clone() if copy else tangent)
    if edge is not None:
        made._grad_fn = edge
        made._output_nr = tensor._output_nr
        made._requires_grad = True
    return made


def parted(tensor: Tensor, vmap_level: int) -> tuple[Tensor, dict[DualLevel, Tensor]]:
    """A tensor without the tangents of dual levels that are inside of a vmap, and those tangents.

    They may be batched although the tensor is not: the vmap was over directions alone.
    """
    found = tangents_of(tensor) or Tangents()
    inner = {level: tangent for level, tangent in found.items() if level.depth >= vmap_level}
    if not inner:
        return tensor, inner
    return without_level(tensor, min(inner, key=lambda level: level.number)), inner


def lifted(
    vmap_level: int, args: tuple[object, ...], tensors: list[Any]
) -> tuple[tuple[Any, ...], list[Any]]:
    """The arguments and operands of an op at a level of vmap, of which some may move inside of it.

    Those are batched here, as the result will be: their tangents belong to the batch.
    """
    changed: dict[int, Tensor] = {}
    for x in tensors:
        if isinstance(x, Tensor) and x._level < vmap_level:
            if not (x._meta is None and x._view is None) and parted(x, vmap_level)[1]:
                from retrograd.transforms.batched import expanded

                changed[id(x)] = expanded(x, vmap_level)
    if not changed:
        return args, tensors

    def replaced(value: object) -> Any:
        if type(value) is list or type(value) is tuple:
            return [changed.get(id(item), item) for item in value]
        return changed.get(id(value), value)

    return tuple([replaced(value) for value in args]), [replaced(x) for x in tensors]


# -------------------------------------------------------------------------- packing, unpacking


def make_dual(primal: Tensor, tangent: Tensor, level: DualLevel) -> Tensor:
    """A view of `primal` that carries `tangent` at a level, as it is if its layout is the same."""
    from retrograd.ops.registry import RECORDED

    if tangent_of(primal, level) is not None:
        raise runtime_error(
            "Making a dual Tensor based on a Tensor that already has a forward gradient at the "
            "same level 0 is not supported.",
            code="RG611",
        )
    if tangent_of(tangent, level) is not None:
        raise runtime_error(
            "Setting a forward grad that itself has a forward gradient at the same level0 is "
            "not supported.",
            code="RG611",
        )
    if tangent._level > primal._level:
        from retrograd.transforms.batched import level_of, lift

        if level_of(tangent._level).randomness == "different":  # random ops batch it themselves
            primal = lift(primal)
    if primal._level:
        tangent = _batched_like(primal, tangent)
    origin = Origin()
    dual: Tensor = RECORDED._make_dual(primal, origin)
    if not _same_geometry(dual, tangent) and dual._array.shape == tangent._array.shape:
        tangent = copied_like(dual._array, tangent)
        _place_like(dual._array, tangent)
    _settle(dual, origin)
    set_tangent(dual, level, tangent)
    return dual


def _place_like(array: Array, tangent: Tensor) -> None:
    """Move a fresh tangent into a storage as large as that of an array, at the same place.

    `as_strided` of the array may show more of its storage: there must be as much of the tangent's.
    """
    from retrograd.ops.making.memory import address_of, owner_of, region

    owner = owner_of(array)
    if owner.size == owner_of(tangent._array).size or owner.dtype != array.dtype:
        return
    unit, kind = array.itemsize, tangent._array.dtype
    offset = (address_of(array) - address_of(owner)) // unit
    strides = [stride // unit for stride in array.strides]
    placed = region(np.zeros(owner.size, kind), array.shape, offset, strides)
    placed[...] = tangent._array
    tangent._array = placed


def _batched_like(primal: Tensor, tangent: Tensor) -> Tensor:
    """The tangent with a batch at every level of vmap that the primal has one.

    In-place ops will write into the tangent what they compute with the primal.
    """
    if batch_levels(primal) <= batch_levels(tangent):
        return tangent
    bare = primal._without_history()
    if bare._meta is not None:
        bare._meta.tangents = None
    nothing = with_grad_mode(False, lambda: bare.reshape(-1)[:0].sum())  # a batched zero
    wide: Tensor = tangent + nothing.to(tangent.dtype)
    return wide


def batch_levels(tensor: Tensor) -> set[int]:
    """The vmap calls that a tensor has a batch of."""
    found: set[int] = set()
    while tensor._level:
        found.add(tensor._level)
        tensor = tensor._physical
    return found


def unpack_dual(tensor: Tensor, level: DualLevel) -> tuple[Tensor, Tensor | None]:
    """The tensor without its tangent of a level, and that tangent."""
    from retrograd.ops.registry import RECORDED

    origin = Origin()
    tangent = tangent_of(tensor, level)
    primal: Tensor = RECORDED._fw_primal(tensor, origin)
    _settle(primal, origin)
    origin.tangents.pop(level, None)
    return primal, tangent


def _settle(view: Tensor, origin: Origin) -> None:
    """Let the views of `view` find its tangents through the step of the chain that made it."""
    for level, tangent in (tangents_of(view) or {}).items():
        origin.tangents.put(level, tangent)
    meta_of(view).tangents = origin.tangents
    origin.array = view._array


def _same_geometry(tensor: Tensor, tangent: Tensor) -> bool:
    """Whether two tensors lie in the same way in storages of the same size."""
    from retrograd.ops.making.memory import address_of, owner_of

    if tensor._level or tangent._level:
        return True
    array, other = tensor._array, tangent._array
    if _steps(array) != _steps(other):
        return False
    ours, theirs = owner_of(array), owner_of(other)
    if ours.size != theirs.size:
        return False
    offsets = [
        (address_of(x) - address_of(o)) // x.itemsize for x, o in ((array, ours), (other, theirs))
    ]
    return offsets[0] == offsets[1]


# --------------------------------------------------------------------- what the general path calls


def has_tangents(tensors: Iterable[object]) -> bool:
    """Whether an operand carries a tangent that its op must pass on."""
    depth = found = -1
    for x in tensors:
        if isinstance(x, Tensor):
            level = x._level
            if level > depth:
                depth = level
            if level > found and not (x._meta is None and x._view is None):
                if tangents_of(x) is not None:
                    found = level
    # tangents of an operand outside of the running vmap are passed on by the op out there
    return found >= 0 and found == depth and is_enabled()


def set_tangents(
    op: Op, args: tuple[object, ...], tensors: list[Any], outputs: list[Tensor], write: bool = False
) -> None:
    """Give the outputs of an op their tangents; `write`: the first operand will be overwritten."""
    if op.forward != "elementwise" or not TRANSFORMS.set_elementwise(op, args, tensors, outputs[0]):
        set_by_rules(op, args, tensors, outputs, write)


def set_by_rules(
    op: Op, args: tuple[object, ...], tensors: list[Any], outputs: list[Tensor], write: bool = False
) -> None:
    """The same, level by level."""
    from retrograd.transforms.forward_rules import OpCall

    if op.barrier:  # the place for tangents among the options is the output's alone
        from retrograd.ops.registry import OPS

        op, args = OPS["_alias"], args[:1]
    depth = max([x._level for x in tensors if isinstance(x, Tensor)])
    levels = {
        level
        for x in tensors
        if isinstance(x, Tensor) and x._level == depth
        for level in tangents_of(x) or ()
    }
    for level in sorted(levels, key=lambda level: level.number):
        # of all operands: the tangent here must be complete, it hides those of outer operands
        moving = [tangent_of(x, level) if isinstance(x, Tensor) else None for x in tensors]
        call = OpCall(op, args, tensors, outputs, moving, level, write)
        for output, tangent in zip(outputs, call.run(), strict=True):
            if tangent is not None:
                if op.view is None:
                    set_tangent(output, level, tangent)
                else:
                    holder_of(output).put(level, tangent)


def write_tangent(target: Tensor, shadow: Tensor) -> None:
    """After an in-place op: its result's tangents become those of the written tensor."""
    if target._array.dtype not in DIFFERENTIABLE:
        return
    found = tangents_of(shadow) or Tangents()
    for level, tangent in sorted(found.items(), key=lambda item: item[0].number):
        held = (tangents_of(target) or Tangents()).get(level)
        if held is not None:
            held.copy_(tangent)
            continue
        info = target._view
        base = None if info is None else _tangent_base(info)
        if base is None:
            set_tangent(target, level, tangent)
            continue
        holder, array, chain = base
        whole = _zeros_for(array, tangent)
        part = _replayed(whole, chain)
        part.copy_(tangent)
        holder.put(level, whole)
        holder_of(target).put(level, part)


def _tangent_base(info: ViewInfo) -> tuple[Tangents, Array, list[ViewStep]] | None:
    """Where a view's base keeps its tangents, its geometry, and the way from it to the view."""
    _, chain = _base_tangents(info)
    if not chain:
        return None  # the view is a dual tensor itself, or a primal
    link: Link | None = info.last
    while link is not None:
        op, options, _, link = link
        if op.barrier:
            return options[0].tangents, options[0].array, chain
    return holder_of(info.base), info.base._array, chain


def relay_tangents(tensor: Tensor, view_op: Op, options: tuple[object, ...]) -> None:
    """Before `t_()` and its like: show the tangents in the way that the tensor will be shown."""
    found = tangents_of(tensor)
    if found is not None:
        relaid = Tangents()  # the old ones stay where views of the tensor look for them
        for level, tangent in found.items():
            relaid.put(level, view_op.function(tangent, *options))
        meta_of(tensor).tangents = relaid


TRANSFORMS.has_tangents = has_tangents
TRANSFORMS.set_tangents = set_tangents
TRANSFORMS.write_tangent = write_tangent
TRANSFORMS.relay_tangents = relay_tangents
TRANSFORMS.lifted = lifted
