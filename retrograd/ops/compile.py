"""Declarations become flat functions: the hot path of every op is generated once, at registration.

An interpreted declaration costs about 5 microseconds a call, a generated one 1. As `dataclasses` does,
this module writes source text; `ops.lazy` compiles it at the first call and keeps the text for
tracebacks (``source_of(torch.mul)`` from there returns it). `ops.node_forms` does the same for the
nodes' side.

The generated function handles the common case in line: one dtype (float32 or float64), no rare
mode, tensors or Python floats as operands. Everything else goes to `dispatch`, the general path.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from retrograd import dtypes
from retrograd.autograd import saved
from retrograd.autograd.node import FREED, Freed, Node, accumulator
from retrograd.autograd.state import HOT, STATE, Cut, next_sequence
from retrograd.autograd.views import ViewStep, bump, edge_of, link_view, refresh
from retrograd.backend import kernels
from retrograd.backend.quiet import QUIET, enter_quiet, leave_quiet
from retrograd.lifecycle import site
from retrograd.ops.dispatch import dispatch, dispatch_inplace, dispatch_out, failure
from retrograd.ops.lazy import build
from retrograd.ops.node_forms import prepare_nodes
from retrograd.ops.registry import RAW, RECORDED, Op
from retrograd.tensor import INFERENCE_CELL, Tensor, VersionCell, wrap

# Ufuncs with a compiled twin for small arrays. They never warn and always return arrays.
_KERNELS: dict[str, Any] = {
    "add": kernels.add,
    "subtract": kernels.subtract,
    "multiply": kernels.multiply,
    "divide": kernels.divide,
    "negative": kernels.negative,
    "maximum": kernels.maximum,
    "minimum": kernels.minimum,
}

HOT.update(
    Node=Node,
    Tensor=Tensor,
    Parameter=Tensor,  # nn.parameter replaces it by its class
    VersionCell=VersionCell,
    INFERENCE_CELL=INFERENCE_CELL,
    new=object.__new__,
    ndarray=np.ndarray,
    asarray=np.asarray,
    F32=dtypes.F32,
    F64=dtypes.F64,
    I64=dtypes.I64,
    B8=dtypes.B8,
    RAW=RAW,
    RECORDED=RECORDED,
    STATE=STATE,
    FREED=FREED,
    Freed=Freed,
    QUIET=QUIET,
    enter_quiet=enter_quiet,
    leave_quiet=leave_quiet,
    next_sequence=next_sequence,
    accumulator=accumulator,
    edge_of=edge_of,
    refresh=refresh,
    link_view=link_view,
    ViewStep=ViewStep,
    bump=bump,
    dispatch=dispatch,
    Cut=Cut,
    failure=failure,
    dispatch_inplace=dispatch_inplace,
    dispatch_out=dispatch_out,
    getframe=sys._getframe,
    LIBRARY_FILES=site.LIBRARY_FILES,
    stale=saved.stale_value,
    freed_failure=saved.freed_failure,
    saved_output=saved.saved_output,
    conjugate_all=saved.conjugate_all,
    may_share_memory=np.may_share_memory,
    HALF_TYPES=dtypes.HALF_TYPES,
    wrap=wrap,
)

NOTHING = object()
HOT["NOTHING"] = NOTHING


def compile_op(op: Op) -> None:
    """Give an op its public function, its in-place twin and its node classes."""
    key = op.name
    HOT[f"OP_{key}"] = op
    HOT[f"forward_{key}"] = _KERNELS.get(op.ufunc or "") or (
        getattr(np, op.ufunc) if op.ufunc else op.raw
    )
    if op.ufunc is not None and not op.option_names:
        op.raw = HOT[f"forward_{key}"]  # rules on arrays take the short way too
    prepare_nodes(op)
    op.function = build(
        op.name,
        lambda: _function(op, op.name, _signature(op), _call_arguments(op), public=True),
        f"op {op.name}",
    )
    op.function.__doc__ = op.doc
    op.function.__signature__ = op.signature  # type: ignore[attr-defined]
    if op.inplace_name:
        name = op.inplace_name
        op.inplace_function = build(name, lambda: _inplace_function(op), f"op {name}")
        op.inplace_function.__doc__ = f"In-place version of `{op.name}`."


def compile_operator(op: Op, name: str) -> Callable[..., Any]:
    """A Python operator: positional only, options at their defaults, NotImplemented if foreign."""
    operator: Callable[..., Any] = build(
        name,
        lambda: _function(op, name, ", ".join(op.tensor_names), None, public=False),
        f"operator {name} of {op.name}",
    )
    return operator


# ------------------------------------------------------------------------------ source helpers


def _signature(op: Op) -> str:
    parts: list[str] = []
    keyword_only = False
    for index, p in enumerate(op.parameters):
        if p.keyword_only and not keyword_only:
            parts.append("*")
            keyword_only = True
        if p.default is p.default and not _is_empty(p.default):
            HOT[f"default_{op.name}_{index}"] = p.default
            parts.append(f"{p.name}=default_{op.name}_{index}")
        else:
            parts.append(p.name)
    extras = []
    names = {p.name for p in op.parameters}
    if "dim" in names and "axis" not in names:
        extras.append("axis=NOTHING")
    if "keepdim" in names and "keepdims" not in names:
        extras.append("keepdims=NOTHING")
    if op.out:
        extras.append("out=None")
    if extras and not keyword_only:
        parts.append("*")
    return ", ".join(parts + extras)


def _is_empty(default: Any) -> bool:
    import inspect

    return default is inspect.Parameter.empty


def _call_arguments(op: Op) -> str:
    return "".join(p.name + ", " for p in op.parameters)


def _default_arguments(op: Op) -> str:
    parts = []
    for index, p in enumerate(op.parameters):
        if p.kind == "option":
            HOT[f"default_{op.name}_{index}"] = p.default
            parts.append(f"default_{op.name}_{index}, ")
        else:
            parts.append(p.name + ", ")
    return "".join(parts)


# ------------------------------------------------------------------------- the forward function


def _function(
    op: Op, name: str, signature: str, arguments: str | None, *, public: bool
) -> list[str]:
    """Source of the op's function, or of an operator if `arguments` is None."""
    operator = arguments is None
    if arguments is None:
        arguments = _default_arguments(op)
    lines = [f"def {name}({signature}):"]
    put = lines.append
    if public:
        names = {p.name for p in op.parameters}
        if "dim" in names and "axis" not in names:
            put("    if axis is not NOTHING: dim = axis")
        if "keepdim" in names and "keepdims" not in names:
            put("    if keepdims is not NOTHING: keepdim = keepdims")
        if op.out:
            put(f"    if out is not None: return dispatch_out(OP_{op.name}, ({arguments}), out)")
    general = f"return dispatch(OP_{op.name}, ({arguments})" + (", True)" if operator else ")")
    first = op.tensor_names[0] if op.tensor_names else None
    if first is None or not _has_fast_path(op):
        put(f"    {general}")
        return lines

    defaults_only = op.ufunc is not None and bool(op.option_names) and not operator
    if defaults_only:
        # the ufunc is the kernel only when every option has its default
        tests = []
        for index, p in enumerate(op.parameters):
            if p.kind == "option":
                tests.append(f"{p.name} is not default_{op.name}_{index}")
        put(f"    if {' or '.join(tests)}: {general}")
    # ---- operands
    put("    try:")
    put(f"        _x0 = {first}._array")
    put("    except AttributeError:")
    put(f"        {general}")
    put("    _dtype = _x0.dtype")
    put(f"    if UNUSUAL or (_dtype is not F32 and _dtype is not F64): {general}")
    put(f"    if {first}._view is not None: refresh({first})")
    flags = {first: f"{first}._requires_grad"}
    for index, (tensor, kind) in enumerate(zip(op.tensor_names, op.tensor_kinds, strict=True)):
        if index == 0:
            continue
        put(f"    _kind = type({tensor})")
        put("    if _kind is Tensor or _kind is Parameter:")
        put(f"        _x{index} = {tensor}._array")
        if op.promote or tensor in op.edge_names:
            put(f"        if _x{index}.dtype is not _dtype: {general}")
        else:
            # an index or a mask: not differentiable, so its dtype does not choose the node
            put(f"        if _x{index}.dtype not in (_dtype, I64, B8): {general}")
        put(f"        if {tensor}._view is not None: refresh({tensor})")
        put(f"        _need{index} = {tensor}._requires_grad")
        read = tensor in op.reads
        if read:
            put(f"        _c{index} = {tensor}._cell")
        nothing = f"_need{index} = False" + (f"; _c{index} = None" if read else "")
        if kind in ("operand", "optional_operand"):
            put("    elif _kind is float or _kind is int:")
            put(f"        _x{index} = {tensor}; {nothing}")
        if kind in ("optional", "optional_operand"):
            put(f"    elif {tensor} is None:")
            put(f"        _x{index} = None; {nothing}")
        put(f"    else: {general}")
        flags[tensor] = f"_need{index}"
    # ---- forward
    if op.ufunc is not None:
        call = ", ".join(f"_x{i}" for i in range(len(op.tensor_names)))
    else:
        call = ", ".join(
            (f"_x{op.tensor_names.index(p.name)}" if p.kind != "option" else p.name)
            if not p.keyword_only
            else f"{p.name}={p.name}"
            for p in op.parameters
        )
        if operator:
            for index, p in enumerate(op.parameters):
                if p.kind == "option":
                    put(f"    {p.name} = default_{op.name}_{index}")
    operands = "".join(f"_x{i}, " for i in range(len(op.tensor_names)))
    explain = f"    except Exception as _error: raise failure(({operands}), _error) from None"
    if op.ufunc in _KERNELS or op.view is not None:
        put(f"    try: _r = forward_{op.name}({call})")
        put(explain)
    else:
        put("    _token = enter_quiet(QUIET)")
        put(f"    try: _r = forward_{op.name}({call})")
        put(explain)
        put("    finally: leave_quiet(_token)")
        put("    if type(_r) is not ndarray: _r = asarray(_r)")
    if op.ufunc is None:
        # a kernel that changes the dtype may need another kind of node
        put(f"    if _r.dtype is not _dtype: {general}")
    put("    _t = new(Tensor); _t._array = _r; _t._output_nr = 0; _t._view = None; _t._meta = None")
    # ---- node
    if op.edge_names:
        wanted = " or ".join(flags[name] for name in op.edge_names)
        put(f"    if ({wanted}) and (not NO_GRAD or STATE.grad_enabled):")
        _node_lines(op, put, flags, operator)
        put("        _t._grad_fn = _n; _t._requires_grad = True; _t._cut = None")
        if not _saves_output(op):
            put("        _t._cell = None")
        put("    else:")
        put("        _t._grad_fn = None; _t._requires_grad = False; _t._cell = None")
        put(f"        _t._cut = STATE.cut if NO_GRAD and ({wanted}) else {_earlier_cut(op)}")
    else:
        put("    _t._grad_fn = None; _t._requires_grad = False; _t._cell = None")
        put(f"    if not ({' or '.join(flags.values())}): _t._cut = {_earlier_cut(op)}")
        put("    elif NO_GRAD and not STATE.grad_enabled: _t._cut = STATE.cut")
        put("    else:")
        _site_lines(put)
        put(f"        _t._cut = Cut('nondifferentiable', {op.label!r}, _c, _i)")
    if op.view is not None:
        options = "".join(f"{n}, " for n in op.option_names)
        step = f"OP_{op.name}, ({options})"
        if op.view == "maybe":
            put(f"    if may_share_memory(_r, _x0): link_view({first}, _t, {step})")
        else:
            put(f"    link_view({first}, _t, {step})")
    put("    return _t")
    return lines


def _earlier_cut(op: Op) -> str:
    """The first cut behind the operands, for a result that has no history itself."""
    parts = []
    for index, (name, kind) in enumerate(zip(op.tensor_names, op.tensor_kinds, strict=True)):
        if index == 0 or kind == "array":
            parts.append(f"{name}._cut")
        else:  # a number or None is its own array
            parts.append(f"(None if _x{index} is {name} else {name}._cut)")
    return " or ".join(parts)


def _has_fast_path(op: Op) -> bool:
    simple = op.fast and op.outputs == 1 and "list" not in op.tensor_kinds and op.tensor_kinds[0] != "optional"
    return simple and len(op.tensor_names) <= 5 and not op.nondifferentiable


def _saves_output(op: Op) -> bool:
    return any(kind == "output" for kind, _ in op.save_plan)


def _site_lines(put: Callable[[str], None]) -> None:
    """The user's line as `_c` and `_i`: `user_site` written out, which saves two calls."""
    if not site.sites_enabled:
        put("        _c = None; _i = 0")
        return
    put("        _f = getframe(1); _c = _f.f_code")
    put("        while _c.co_filename in LIBRARY_FILES and _f.f_back is not None:")
    put("            _f = _f.f_back; _c = _f.f_code")
    put("        _i = _f.f_lasti")


def _node_lines(op: Op, put: Callable[[str], None], flags: dict[str, str], operator: bool) -> None:
    put(f"        _n = Node(); _n.run = run_{op.name}; _n.sequence = next_sequence()")
    put("        _n.extra = None; _n.freed = None; _n.visit = 0")
    put("        _n.shape = _r.shape; _n.dtype = _dtype")
    _site_lines(put)
    put("        _n.code = _c; _n.lasti = _i")
    for position, name in enumerate(op.edge_names):
        put(f"        if {flags[name]}:")
        put(f"            _e{position} = {name}._grad_fn")
        put(f"            if _e{position} is None:")
        put(f"                _e{position} = "
            f"accumulator({name}) if {name}._view is None else edge_of({name})")  # fmt: skip
        put(f"        else: _e{position} = None")
    put("        _n.edges = (" + "".join(f"_e{i}, " for i in range(len(op.edge_names))) + ")")
    numbers = [f"{n}._output_nr if {flags[n]} else 0" for n in op.edge_names]
    if len(numbers) == 1:
        put(f"        _n.edge_numbers = ({op.edge_names[0]}._output_nr,) if "
            f"{op.edge_names[0]}._output_nr else None")  # fmt: skip
    else:
        other = " or ".join(f"({flags[n]} and {n}._output_nr)" for n in op.edge_names)
        put(f"        _n.edge_numbers = ({', '.join(numbers)}) if {other} else None")
    entries: list[str] = []
    for kind, name in op.save_plan:
        if kind == "output":
            put("        _cell = _t._cell = new(VersionCell)")
            put("        _cell.version = 0; _cell.detached = 0; _cell.writer = None; _cell.code = None")
            entries.append("_r, _cell, 0")
        elif kind == "input":
            users = op.reads[name]
            index = op.tensor_names.index(name)
            always = len(users) == len(op.edge_names)
            condition = " or ".join(f"_e{i} is not None" for i in users)
            value = name if always else f"({name} if {condition} else None)"
            if index == 0:
                put(f"        _c0 = {name}._cell")
            version = f"0 if _c{index} is None else _c{index}.version"
            others = [i for i, edge in enumerate(op.edge_names) if edge != name]
            if not set(others) <= set(users):
                # not saved for sure: reading the version of an inference tensor would raise
                version = f"0 if _c{index} is None or not ({condition}) else _c{index}.version"
            entries.append(f"{value}, {version}")
        elif kind == "option":
            entries.append(name)
            if operator and op.ufunc is not None:
                index = [p.name for p in op.parameters].index(name)
                entries[-1] = f"default_{op.name}_{index}"
        else:
            stem = name.rpartition("_")[0]
            if stem == "out":
                entries.append(f"_r.{kind}")
            else:
                index = op.tensor_names.index(stem)
                plain = f"_x{index}.{kind}"
                if op.tensor_kinds[index] != "array":
                    plain = f"(_x{index}.{kind} if type(_x{index}) is ndarray else None)"
                entries.append(plain)
    put("        _n.saved = (" + "".join(e + ", " for e in entries) + ")")


# ------------------------------------------------------------------------------ in-place twins


def _inplace_function(op: Op) -> list[str]:
    assert op.inplace_name is not None
    name = op.inplace_name
    signature = _signature(op)
    for extra in (", out=None", ", axis=NOTHING", ", keepdims=NOTHING"):
        signature = signature.replace(extra, "")
    signature = signature.removesuffix(", *")
    lines = [f"def {name}({signature}):"]
    put = lines.append
    general = f"return dispatch_inplace(OP_{op.name}, ({_call_arguments(op)}))"
    if op.fast and op.ufunc is not None and op.tensor_kinds == ["operand", "operand"]:
        first, second = op.tensor_names
        HOT[f"ufunc_{op.name}"] = getattr(np, op.ufunc)
        tests = "".join(
            f" and {p.name} is default_{op.name}_{index}"
            for index, p in enumerate(op.parameters)
            if p.kind == "option"
        )
        # writes without history: same dtype and shape, nothing that requires a gradient
        put(f"    if not UNUSUAL and isinstance({first}, Tensor){tests}:")
        put(f"        _kind = type({second}); _x0 = {first}._array; _dtype = _x0.dtype")
        put("        if _dtype is F32 or _dtype is F64:")
        put(f"            if _kind is float: _x1 = {second}; _wanted = False")
        put("            elif _kind is Tensor or _kind is Parameter:")
        put(f"                _x1 = {second}._array; _wanted = {second}._requires_grad")
        put(f"                if _x1.dtype is not _dtype or _x1.shape != _x0.shape: {general}")
        put(f"                if {second}._cell is not None and {second} is not {first}: {general}")
        put(f"            else: {general}")
        put(f"            if {first}._view is None and _x0.flags.writeable and (")
        put("                NO_GRAD and not STATE.grad_enabled or not ("
            f"{first}._requires_grad or _wanted)) and {first}._cell is not INFERENCE_CELL:")  # fmt: skip
        put("                _token = enter_quiet(QUIET)")
        put(f"                try: ufunc_{op.name}(_x0, _x1, _x0)")
        put("                finally: leave_quiet(_token)")
        put(f"                bump({first}, {name!r})")
        put(f"                return {first}")
    put(f"    {general}")
    return lines
