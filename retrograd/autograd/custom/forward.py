"""Forward mode of custom Functions: the user's `jvp`, and the rules for what it returns.

A tangent follows its tensor: that of a tensor changed in place changes in place too, and that of a
view is a view. `jvp` has to keep to that, since the tangents it returns are taken as they are.
"""

from __future__ import annotations

from typing import Any

from retrograd import dtypes
from retrograd.autograd.custom.outputs import Outputs
from retrograd.autograd.function import FunctionCtx
from retrograd.engine.function_node import FunctionNode
from retrograd.engine.state import Modes
from retrograd.engine.views import Link
from retrograd.notices import runtime_error
from retrograd.ops.making.creation import zeros_like
from retrograd.tensor import Tensor, wrap
from retrograd.transforms import forward
from retrograd.transforms.forward import DualLevel


def paused() -> Modes:
    """Ops of this thread pass no tangents on: those inside `forward` are not the Function's."""
    return Modes(passes_tangents=False)


def set_function_tangents(calls: Outputs, outputs: tuple[Any, ...]) -> None:
    """Give the outputs of a Function the tangents that its `jvp` computes."""
    if not forward.has_tangents(calls.tensors):
        return
    held = [forward.tangents_of(tensor) for tensor in calls.tensors]
    levels = {level for tangents in held if tangents for level in tangents}
    for level in sorted(levels, key=lambda level: level.number):
        moving = [None if tangents is None else tangents.get(level) for tangents in held]
        _LevelCall(calls, outputs, moving, level, alone=len(levels) == 1).run()


class _LevelCall:
    """The call of `jvp` for one dual level."""

    def __init__(
        self,
        calls: Outputs,
        outputs: tuple[Any, ...],
        tangents: list[Tensor | None],
        level: DualLevel,
        *,
        alone: bool,
    ) -> None:
        self.calls = calls
        self.node: FunctionNode = calls.node
        self.outputs = outputs
        self.tangents = tangents
        self.versions = [None if tangent is None else tangent._version for tangent in tangents]
        self.level = level
        self.alone = alone  # no other level's tangents have to be passed on inside jvp

    def run(self) -> None:
        results = self._jvp()
        if len(results) != len(self.outputs):
            raise runtime_error(
                "Function's jvp returned an invalid number of forward gradients (expected "
                f"{len(self.outputs)} but got {len(results)})",
                code="RG409",
            )
        for number, result in enumerate(results):
            if result is not None and not isinstance(result, Tensor):
                raise runtime_error(
                    f"expected Variable or None (got {type(result).__name__}) for grad output "
                    f"{number}.",
                    code="RG403",
                )
        for number, result in enumerate(results):
            if not self._settle(number, result):
                return

    def _jvp(self) -> tuple[Any, ...]:
        given = iter(zip(self.calls.tensors, self.tangents, strict=True))
        arguments = [
            self._tangent(*next(given)) if is_tensor else None
            for is_tensor in self.node.tensor_arguments
        ]
        ctx = self.node.shown()
        if self.alone:
            with paused():
                found = ctx.apply_jvp(*arguments)
        else:
            found = self._inside_other_levels(ctx, arguments)
        return found if isinstance(found, tuple) else (found,)

    def _inside_other_levels(self, ctx: FunctionCtx, arguments: list[Any]) -> Any:
        """Call `jvp` so that its ops pass on the tangents of the levels outside of this one."""
        kept = self.node.saved_for_forward
        if kept is not None:
            self.node.saved_for_forward = tuple([self._stripped(value) for value in kept])
        try:
            found = ctx.apply_jvp(*arguments)
        finally:
            self.node.saved_for_forward = kept
        if isinstance(found, tuple):
            return tuple([self._stripped(value) for value in found])
        return self._stripped(found)

    def _stripped(self, value: object) -> Any:
        return forward.without_level(value, self.level) if isinstance(value, Tensor) else value

    def _tangent(self, tensor: Tensor, tangent: Tensor | None) -> Tensor | None:
        if tangent is not None or not self.node.materialize_grads:
            return tangent
        if tensor._array.dtype not in dtypes.DIFFERENTIABLE:
            return None
        with paused():
            return zeros_like(tensor)

    # ------------------------------------------------------------------ one output

    def _settle(self, number: int, tangent: Tensor | None) -> bool:
        """Set the tangent of one output; False if those after it get none."""
        given, output = self.calls.returned[number], self.outputs[number]
        if not isinstance(given, Tensor):
            return True  # whatever jvp says of it
        differentiable = (
            id(given) not in self.calls.undifferentiable
            and given._array.dtype in dtypes.DIFFERENTIABLE
        )
        if not differentiable:
            if tangent is not None:
                raise runtime_error(
                    f"Function's jvp returned a gradient at position {number}, but  the "
                    "corresponding forward output is not a differentiable Tensor.You should "
                    "return None at that position instead.",
                    code="RG409",
                )
            return True
        if self.calls.is_dirty(given):
            self._settle_written(given, output, tangent)
            return True
        place = self._viewed_argument(output)
        if place is not None and tangent is not None:
            moved = self.tangents[place]
            if moved is None:
                _write(output, self.level, tangent)
                return False
            _check_view(tangent, moved)
        if tangent is not None:
            if output._view is None:
                forward.set_tangent(output, self.level, tangent)
            else:
                forward.holder_of(output).put(self.level, tangent)
        return True

    def _settle_written(self, given: Tensor, output: Tensor, tangent: Tensor | None) -> None:
        place = self.calls.place_of(given)
        if place is None:
            raise runtime_error(
                "Only input Tensors should be given to ctx.mark_dirty(). If a Tensor is not an "
                "input, there is no need to pass it to mark_dirty().",
                code="RG405",
            )
        before = self.tangents[place]
        if before is None:
            if tangent is not None:
                _write(output, self.level, tangent)
            return
        if tangent is None or tangent._version == self.versions[place]:
            raise runtime_error(
                "An inplace custom Function is not modifying the forward mode gradients "
                "inplace. If the forward is modifying an input inplace, then the jvp function "
                "must modify the corresponding gradient inplace.",
                code="RG409",
            )
        if tangent is not before:
            raise runtime_error(
                "An inplace custom Function is not returning the forward mode gradients as-is. "
                "If the forward is modifying an input inplace, then the jvp function must "
                "modify the gradient inplace and return it as-is.",
                code="RG409",
            )

    def _viewed_argument(self, output: Tensor) -> int | None:
        """The argument that shares elements with an output that is a view."""
        base = _base_of(output)
        if base is None:
            return None
        for place, tensor in enumerate(self.calls.tensors):
            if _root_of(tensor) is base:
                return place
        return None


def _write(output: Tensor, level: DualLevel, tangent: Tensor) -> None:
    """Give a tensor its first tangent as an in-place op does: a view writes its base's."""
    shadow = wrap(output._array)
    forward.set_tangent(shadow, level, tangent)
    forward.write_tangent(output, shadow)


def _check_view(tangent: Tensor, moved: Tensor) -> None:
    """The tangent of a view of an argument must be a view of that argument's tangent."""
    base = _base_of(tangent)
    if base is None:
        raise runtime_error(
            "A custom Function's forward is returning a view (or an input as-is) but the jvp "
            "is not returning a view.",
            code="RG409",
        )
    if base is _root_of(moved):
        return
    what = "view of the given grad input"
    if _base_of(moved) is not None:
        what = "view of the same base as the given grad input"
    raise runtime_error(
        f"A custom Function is returning a view but the jvp is not returning a {what}.",
        code="RG409",
    )


def _base_of(tensor: Tensor) -> Any:
    """What a tensor is a view of as far as tangents go; None if it is none."""
    home, is_view = _home_of(tensor)
    return home if is_view else None


def _root_of(tensor: Tensor) -> Any:
    """What holds the elements of a tensor: itself, or what it is a view of."""
    return _home_of(tensor)[0]


def _home_of(tensor: Tensor) -> tuple[Any, bool]:
    """Where the elements and tangents of a tensor are, and whether it is a view of that.

    A dual tensor is a view of its primal, but has tangents of its own: it is its own home, which
    the `Origin` in the chain of views stands for.
    """
    info = tensor._view
    if info is None:
        return tensor, False
    steps = 0
    link: Link | None = info.last
    while link is not None:
        op, options, _, link = link
        if op.barrier:
            return options[0], steps > 0
        steps += 1
    return info.base, True
