"""What a failing operation was called with: the tensors of the call, by shape and dtype.

The arguments are read from the frame of the library function that the user called, after the error
happened, so they cost nothing before. Data is never looked at.
"""

from __future__ import annotations

import ast
import dis
import inspect
import os
from collections.abc import Iterator
from dataclasses import dataclass
from sys import _getframe
from types import CodeType, FrameType, ModuleType
from typing import Any

from ..diagnostics.report import Place
from ..diagnostics.source import Syntax, dotted
from .layers import inside, variables
from .site import CallSite, is_library

_LONGEST = 24
# Frames that only hand their arguments on: an operation that is called for the first time.
_PASSING_ON = frozenset(("waiting", "first_call"))
# ... or one that looks first whether autocast is on.
_ASKING_AUTOCAST = ("<retrograd autocast>", f"{os.sep}calling{os.sep}autocasting.py")
_MOST_OPERANDS = 4


@dataclass(frozen=True)
class Operand:
    """One tensor of a call; `name` is how the user's line writes it, if that is short and sure."""

    parameter: str
    name: str | None
    shape: tuple[int, ...]
    dtype: str
    device: str

    def describe(self, with_dtype: bool, with_device: bool = False) -> str:
        """`` `x` is [3, 5]``, or with the parameter's name where the line does not have one."""
        who = self.parameter if self.name is None else f"`{self.name}`"
        kind = f" {self.dtype}" if with_dtype else ""
        return f"{who} is {list(self.shape)}{kind}" + (f" on {self.device}" if with_device else "")


@dataclass(frozen=True)
class FailedCall:
    """The user's line, the tensors of the operation, and the layer that it ran in.

    `inside` names the innermost layer by its path; `of_layer` is set if the operation is one of the
    layer's own, not a line of the user's `forward`.
    """

    site: CallSite
    operands: tuple[Operand, ...]
    inside: str | None
    of_layer: bool

    def label(self, with_dtype: bool) -> str:
        """The operands in one phrase, after the layer that they belong to; empty without any."""
        elsewhere = len({operand.device for operand in self.operands}) > 1
        text = ", ".join(operand.describe(with_dtype, elsewhere) for operand in self.operands)
        return f"{self.inside}: {text}" if text and self.of_layer else text


def failed_call() -> FailedCall:
    """The call of the library that is failing now."""
    frames, user = _library_frames()
    site = CallSite(None, 0) if user is None else CallSite(user.f_code, user.f_lasti)
    layer = inside(_getframe(1))
    of_layer = False
    for frame in reversed(frames):  # from the user's side
        values = _parameters(frame)
        owner = values.get("self")
        if hasattr(owner, "_parameters") and hasattr(owner, "_modules"):
            of_layer = layer is not None
            continue
        found = list(_tensors(frame, values))
        if found:
            named = {}
            if user is not None and frame is frames[-1]:
                names = {parameter for parameter, _ in found}
                named = _written_operands(site, frame.f_code, names, user)
            operands = tuple(
                Operand(
                    parameter,
                    named.get(parameter),
                    tensor.shape,
                    str(tensor.dtype)[6:],
                    str(tensor.device),
                )
                for parameter, tensor in found[:_MOST_OPERANDS]
            )
            return FailedCall(site, operands, layer, of_layer)
    return FailedCall(site, (), layer, of_layer)


def origins(call: FailedCall) -> Iterator[tuple[str, Place]]:
    """Where the user's variables got their values, as far as the function's text says."""
    syntax, line = call.site.syntax, call.site.line
    if syntax is None or line is None:
        return
    for operand in call.operands:
        before = [at for at in syntax.assigned_lines(operand.name or "") if at < line]
        if before and operand.name is not None:
            source = syntax.lines[before[-1] - 1]
            place = Place(str(call.site.file), before[-1], source=source)
            yield f"`{operand.name}`, on {operand.device}, got its value here", place


def _library_frames() -> tuple[list[FrameType], FrameType | None]:
    """The library's frames on top of the user's innermost one, innermost first."""
    frames: list[FrameType] = []
    frame: FrameType | None = _getframe(2)
    while frame is not None and is_library(frame.f_code.co_filename):
        code = frame.f_code
        if code.co_name not in _PASSING_ON and not code.co_filename.endswith(_ASKING_AUTOCAST):
            frames.append(frame)
        frame = frame.f_back
    return frames, frame


def _parameters(frame: FrameType) -> dict[str, object]:
    """The parameters of the frame's function with their values, if it is a function."""
    code = frame.f_code
    if not code.co_flags & inspect.CO_OPTIMIZED or code.co_name.startswith("<"):
        return {}
    count = code.co_argcount + code.co_kwonlyargcount
    names = code.co_varnames[: count + bool(code.co_flags & inspect.CO_VARARGS)]
    held = variables(frame)
    return {name: held[name] for name in names if name in held}


def _tensors(frame: FrameType, values: dict[str, object]) -> Iterator[tuple[str, Any]]:
    """Parameters that hold Tensors and still have their first value."""
    from retrograd.tensor import Tensor

    rebound = {
        step.argval
        for step in dis.get_instructions(frame.f_code)
        if step.opname.startswith("STORE_FAST")
    }
    for name, value in values.items():
        if name in rebound:
            continue
        if isinstance(value, Tensor):
            yield name, value
        elif isinstance(value, tuple | list):
            for index, item in enumerate(value[:_MOST_OPERANDS]):
                if isinstance(item, Tensor):
                    yield f"{name}[{index}]", item


def _written_operands(
    site: CallSite, code: CodeType, tensors: set[str], user: FrameType
) -> dict[str, str]:
    """How the user's line writes the parameters of the function that it calls."""
    syntax = site.syntax
    if syntax is None:
        return {}
    node = syntax.node
    given: list[ast.expr] = []
    keywords: dict[str, ast.expr] = {}
    if isinstance(node, ast.BinOp):
        both = tensors == set(code.co_varnames[:2])
        if not code.co_name.startswith("__") and not both:
            return {}  # with a number on one side, the sides may be swapped
        reflected = code.co_name.startswith("__r") and code.co_name != "__rshift__"
        given = [node.right, node.left] if reflected else [node.left, node.right]
    elif isinstance(node, ast.UnaryOp):
        given = [node.operand]
    elif isinstance(node, ast.AugAssign):
        given = [node.target, node.value]
    elif isinstance(node, ast.Subscript):
        given = [node.value]
    elif isinstance(node, ast.Call):
        if isinstance(node.func, ast.Attribute):
            is_function = _is_namespace(node.func.value, syntax, user)
            if is_function is None:
                return {}
            given = [] if is_function else [node.func.value]
        for argument in node.args:
            if isinstance(argument, ast.Starred):
                return {}
            given.append(argument)
        keywords = {item.arg: item.value for item in node.keywords if item.arg is not None}
    count = code.co_argcount
    written = dict(zip(code.co_varnames[:count], given, strict=False)) | keywords
    if code.co_flags & inspect.CO_VARARGS:
        collected = code.co_varnames[count + code.co_kwonlyargcount]
        written |= {f"{collected}[{place}]": item for place, item in enumerate(given[count:])}
    for parameter, expression in list(written.items()):
        if isinstance(expression, ast.Tuple | ast.List):
            if not any(isinstance(item, ast.Starred) for item in expression.elts):
                items = enumerate(expression.elts)
                written |= {f"{parameter}[{index}]": item for index, item in items}
    texts = {parameter: syntax.source(expression) for parameter, expression in written.items()}
    return {parameter: text for parameter, text in texts.items() if text and len(text) <= _LONGEST}


def _is_namespace(owner: ast.expr, syntax: Syntax, user: FrameType) -> bool | None:
    """Whether `owner.f(x)` calls a function of a module or a class, not a method of a value."""
    parts = (dotted(owner) or "").split(".")
    code = user.f_code
    if code.co_flags & inspect.CO_OPTIMIZED:
        if parts[0] in (*code.co_varnames, *code.co_cellvars, *code.co_freevars):
            # A variable of the function: most likely a value, unless modules are imported so.
            return None if parts[0] in syntax.imported else False
    found = user.f_globals.get(parts[0])
    for part in parts[1:]:
        # Looking into a module runs no code of the user's; looking into an object may.
        found = vars(found).get(part) if isinstance(found, ModuleType) else None
    return isinstance(found, ModuleType | type)
