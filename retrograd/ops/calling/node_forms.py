"""What an op's nodes do: their `run` functions, and the classes they show when looked at.

Each op has up to three kinds of nodes. The plain one; one for half precision, whose rules run in
float32; and one for complex numbers, which conjugates around rules written for real ones. Their
classes, named as PyTorch names them, are made when the first such node is looked at.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from typing import Any

from retrograd import core, dtypes
from retrograd.engine import saved
from retrograd.engine.node import Node
from retrograd.engine.state import HOT
from retrograd.ops.calling.lazy import build
from retrograd.ops.registry import Op
from retrograd.tensor import Tensor


def prepare_nodes(op: Op) -> None:
    """Give an op the `run` function of its plain nodes."""
    run = _run(op, recorded=False, half=False)
    run.op = op
    run.form = None  # made when the first node is looked at
    if core.AVAILABLE:
        run = core._core.Run(op, run)
    op.run = HOT[f"run_{op.name}"] = run


def _run(op: Op, *, recorded: bool, half: bool) -> Any:
    name = "run_recorded" if recorded else "run_raw"
    label = f"{'half ' if half else ''}{name} of {op.name}"

    def lines() -> list[str]:
        head, *rest = run_lines(op, recorded=recorded, half=half)
        if recorded:
            return [head, *rest]
        given = "_g" if op.outputs == 1 else "next((p for p in _g if p is not None), None)"
        elsewhere = "type(_p) is not ndarray" + " and _p.dtype is not C32" * half
        return [
            head,
            f"    _p = {given}",
            f"    if _p is not None and {elsewhere}:",
            f"        _d = run_elsewhere(OP_{op.name}, type(_p), {half})",
            "        if _d is not None: return _d(_n, _g, _need, _freeing)",
            *rest,
        ]

    return build(name, lines, label)


# What stands for something else in the text of a device's `run`; `calling.on_device` makes them.
HOT.update(run_elsewhere=None, C32=dtypes.C32)

_forming = threading.RLock()
_Form = Callable[[Op], type[Node]]


def _made_once(attribute: str) -> Callable[[_Form], _Form]:
    """Make a class under a lock: of `cached_property`, two threads may get one each."""

    def decorate(make: _Form) -> _Form:
        @functools.wraps(make)
        def form(op: Op) -> type[Node]:
            with _forming:
                found: type[Node] | None = op.__dict__.get(attribute)
                if found is None:
                    found = op.__dict__[attribute] = make(op)
                return found

        return form

    return decorate


# Nodes that PyTorch names in full: their classes are written by hand there.
_DISPLAY_NAMES = {name: f"torch::autograd::{name}" for name in ("CopyBackwards", "Identity")}


@_made_once("node_class")
def plain_form(op: Op) -> type[Node]:
    """The class of the op's ordinary nodes."""
    space = {
        **_space(op),
        **saved.saved_properties(op),
        "display_name": _DISPLAY_NAMES.get(op.node_name),
        "run_raw": op.run,
        "run_recorded": _run(op, recorded=True, half=False),
        "release": build("release", lambda: _release_lines(op), f"release of {op.name}"),
    }
    form: type[Node] = type(op.node_name, (Node,), space)
    op.run.form = form
    return form


@_made_once("half_class")
def half_form(op: Op) -> type[Node]:
    """The class of nodes whose values are float16, bfloat16 or complex32."""
    run = _run(op, recorded=False, half=True)
    form: type[Node] = type(op.node_name, (op.node_class,), {**_space(op), "run_raw": run})
    run.form = form
    return form


@_made_once("complex_class")
def complex_form(op: Op) -> type[Node]:
    """The class of nodes with complex values."""
    return _conjugating(op, op.node_class)


@_made_once("complex_half_class")
def complex_half_form(op: Op) -> type[Node]:
    """The class of nodes with values of complex32."""
    return _conjugating(op, op.half_class)


def _conjugating(op: Op, base: Any) -> type[Node]:
    if not op.holomorphic:
        plain: type[Node] = base
        return plain

    def run_raw(self: object, gradient: Tensor, need: object, freeing: object) -> Any:
        parts = base.run_raw(self, saved.conjugate_all(gradient), need, freeing)
        return saved.conjugate_all(parts)

    def run_recorded(self: object, gradient: Tensor, need: object, freeing: object) -> Any:
        parts = base.run_recorded(self, saved.conjugate_all(gradient), need, freeing)
        return saved.conjugate_all(parts)

    space = {**_space(op), "run_raw": run_raw, "run_recorded": run_recorded}
    form: type[Node] = type(op.node_name, (base,), space)
    run_raw.form = form  # type: ignore[attr-defined]
    return form


def _space(op: Op) -> dict[str, Any]:
    space = {"__slots__": (), "op": op, "__module__": "retrograd.autograd"}
    if op.plan.edges is None:  # the rule of a list gives all its gradients
        space["hides_unwanted"] = False
    return space


def run_lines(op: Op, *, recorded: bool, half: bool) -> list[str]:
    """Source of a node's `run_raw` or `run_recorded`: unpack, check versions, apply the rules.

    Names of the generated code begin with an underscore, since saved names are the user's.
    """
    plan = op.plan
    name = "run_recorded" if recorded else "run_raw"
    lines = [f"def {name}(_n, _g, _need, _freeing):"]
    put = lines.append
    put("    _s = _n.saved")
    for kind, saved_name, source, place, *_ in plan.saves:
        put(f"    {saved_name} = _s[{place}]")
        if kind == "output":
            version = f"_s[{place + 1}], _s[{place + 2}]"
            put(f"    if {saved_name} is FREED: raise freed_failure(_n)")
            put(f"    if _s[{place + 1}].version != _s[{place + 2}]:")
            put(f"        stale(_n, {saved_name!r}, {saved_name}, {version})")
            if recorded:
                put(f"    {saved_name} = saved_output(_n, _s[{place}], _s[{place + 1}], {source})")
        elif kind == "input":
            check = f"stale(_n, {saved_name!r}, {saved_name}, {saved_name}._cell, _s[{place + 1}])"
            put(f"    _kind = type({saved_name})")
            put("    if _kind is Tensor or _kind is Parameter:")
            put(f"        _c = {saved_name}._cell")
            moved = f"_c.version != _s[{place + 1}] or _c.detached > _n.sequence"
            put(f"        if _c is not None and ({moved}): {check}")
            if not recorded:
                put(f"        {saved_name} = {saved_name}._array")
            put("    elif _kind is Freed: raise freed_failure(_n)")
            put(f"    elif isinstance({saved_name}, Tensor):")
            put(f"        {check}")
            if not recorded:
                put(f"        {saved_name} = {saved_name}._array")
        if half and kind in ("input", "output"):
            put(f"    if getattr({saved_name}, 'dtype', None) in WIDER:")
            put(f"        {saved_name} = {saved_name}.astype(WIDER[{saved_name}.dtype])")
    # what was saved is read, and let go, also where no gradient arrived
    releasing = ["if _freeing is not None:", "    if _n.freed is None: _n.freed = _freeing"]
    if plan.kept:
        releasing.append(f"    _n.saved = {_released(op)}")
    arrived = "_g is None" if op.outputs == 1 else "all([p is None for p in _g])"
    lines += [f"    if {arrived}:", *(f"        {line}" for line in releasing)]
    put("        return (None,) * len(_n.edges)")
    if half:
        if op.outputs == 1:
            put("    if _g.dtype in WIDER: _g = _g.astype(WIDER[_g.dtype])")
        else:
            half_part = "p.astype(WIDER[p.dtype]) if p is not None and p.dtype in WIDER else p"
            put(f"    _g = [{half_part} for p in _g]")
    face = "RECORDED" if recorded else "_m"
    if not recorded:
        single = "type(_g) is ndarray" if plan.outputs == 1 else "ndarray in map(type, _g)"
        put(f"    _m = RAW if {single} else raw_of(_g)")
    if plan.joint is not None:
        HOT[f"rule_{op.name}"] = plan.joint.function
        extra = "".join(f", {x}" for x in plan.names_read(plan.joint))
        put("    _needs = tuple([_e is not None and (_need is None or _e in _need) "
            "for _e in _n.edges])")  # fmt: skip
        put(f"    _result = rule_{op.name}({face}, _g, _needs{extra})")
        put("    _result = tuple([_r if _k else None "
            "for _r, _k in zip(_result, _needs, strict=True)])")  # fmt: skip
    elif plan.edges is None:
        HOT[f"rule_{op.name}_0"] = plan.rules[0].function
        extra = "".join(f", {x}" for x in plan.names_read(plan.rules[0]))
        put(f"    _result = tuple(rule_{op.name}_0({face}, _g{extra}))")
    else:
        parts = []
        several = len(plan.rules) > 1
        if several:
            put("    _e = _n.edges")
        for position, rule in enumerate(plan.rules):
            HOT[f"rule_{op.name}_{position}"] = rule.function
            extra = "".join(f", {x}" for x in plan.names_read(rule))
            call = f"rule_{op.name}_{position}({face}, _g{extra})"
            if several:
                call += (
                    f" if _e[{position}] is not None and "
                    f"(_need is None or _e[{position}] in _need) else None"
                )
            parts.append(call)
        put("    _result = (" + "".join(p + ", " for p in parts) + ")")
    lines += [f"    {line}" for line in releasing]
    put("    return rounded(_n, _result)" if half else "    return _result")
    return lines


def _released(op: Op) -> str:
    """What a freed node holds instead of its saved values: options stay, tensors leave a mark."""
    entries: list[str] = []
    for save in op.plan.saves:
        first, *rest = [f"_s[{save.start + offset}]" for offset in range(save.width)]
        if save.kind == "output":
            first = "FREED"
        elif save.kind == "input":
            first = f"None if {first} is None else FREED"
        entries += [first, *rest]
    return "(" + "".join(entry + ", " for entry in entries) + ")"


def _release_lines(op: Op) -> list[str]:
    return [
        "def release(_n, _call):",
        "    if _n.freed is None: _n.freed = _call",
        "    _s = _n.saved",
        f"    _n.saved = {_released(op)}",
    ]
