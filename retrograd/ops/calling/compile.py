"""Declarations become flat functions: the hot path of every op is generated once, at registration.

An interpreted declaration costs about 5 microseconds a call, a generated one 1. As `dataclasses`
does, this module writes source text; `lazy` compiles it at the first call and keeps the text for
tracebacks (``source_of(torch.mul)`` from there returns it). `compile_parts` has the pieces that
functions are put together from, `compile_many` those with lists and several results, `node_forms`
the nodes' side.

The generated function handles the common case in line: one dtype (float32 or float64), no rare
mode, tensors or Python floats as operands. Everything else goes to `dispatch`, the general path.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from retrograd import core, dtypes
from retrograd.backend import CPU
from retrograd.backend.device import Kernel, raw_of
from retrograd.backend.quiet import QUIET, enter_quiet, leave_quiet
from retrograd.engine import saved
from retrograd.engine.accumulate import accumulator
from retrograd.engine.fitting import rounded
from retrograd.engine.inference import INFERENCE_CELL
from retrograd.engine.lineage import cut_at, note_cuts
from retrograd.engine.node import FREED, Freed, Node
from retrograd.engine.sparse_array import NoElements
from retrograd.engine.state import HOT, STATE, next_sequence
from retrograd.engine.views import ViewInfo, bump, edge_of, link_view, refresh, refresh_flag
from retrograd.lifecycle import site
from retrograd.ops.calling import compile_many as many
from retrograd.ops.calling import compile_parts as parts
from retrograd.ops.calling.compile_parts import Put
from retrograd.ops.calling.dispatch import dispatch, dispatch_generally, failure, settled
from retrograd.ops.calling.dispatch_inplace import dispatch_inplace, dispatch_out
from retrograd.ops.calling.lazy import build
from retrograd.ops.calling.node_forms import prepare_nodes
from retrograd.ops.calling.old_orders import in_old_order, with_more
from retrograd.ops.calling.plan import SILENT_UFUNCS
from retrograd.ops.calling.recording import pass_on_cut
from retrograd.ops.registry import RAW, RECORDED, Op
from retrograd.tensor import Tensor, VersionCell, wrap


def find_site(frame: Any, files: set[str] = site.LIBRARY_FILES) -> tuple[Any, int]:
    """`(code, lasti)` of the innermost frame of the user, from the frame that called an op."""
    code = frame.f_code
    if code.co_filename not in files:
        HOT["LAST_CODE"] = code
        return code, frame.f_lasti
    while True:
        outer = frame.f_back
        if outer is None:
            return code, frame.f_lasti
        frame = outer
        code = frame.f_code
        if code.co_filename not in files:
            return code, frame.f_lasti


HOT.update(
    Node=Node,
    Tensor=Tensor,
    Parameter=Tensor,  # nn.parameter replaces it by its class
    VersionCell=VersionCell,
    INFERENCE_CELL=INFERENCE_CELL,
    new=object.__new__,
    new_tuple=tuple.__new__,
    ndarray=np.ndarray,
    asarray=np.asarray,
    F32=dtypes.F32,
    F64=dtypes.F64,
    I64=dtypes.I64,
    B8=dtypes.B8,
    xp=CPU.xp,
    raw_of=raw_of,
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
    refresh_flag=refresh_flag,
    link_view=link_view,
    ViewInfo=ViewInfo,
    bump=bump,
    dispatch=dispatch,
    dispatch_generally=dispatch_generally,
    settled=settled,
    cut_at=cut_at,
    note_cuts=note_cuts,
    failure=failure,
    NoElements=NoElements,
    dispatch_inplace=dispatch_inplace,
    dispatch_out=dispatch_out,
    pass_on_cut=pass_on_cut,
    in_old_order=in_old_order,
    getframe=sys._getframe,
    LAST_CODE=None,
    find_site=find_site,
    stale=saved.stale_value,
    freed_failure=saved.freed_failure,
    saved_output=saved.saved_output,
    conjugate_all=saved.conjugate_all,
    may_share_memory=np.may_share_memory,
    WIDER=dtypes.WIDER,
    rounded=rounded,
    wrap=wrap,
)

NOTHING = object()
HOT["NOTHING"] = NOTHING
BOUND: set[str] = set()  # ops whose kernel the core has taken


def compile_op(op: Op) -> None:
    """Give an op its public function, its in-place twin and its node classes."""
    key = op.name
    HOT[f"OP_{key}"] = op
    forward: Any = CPU.kernel(op.name)
    if op.ufunc is not None:
        forward = getattr(CPU.xp if op.ufunc in SILENT_UFUNCS else np, op.ufunc)
    HOT[f"forward_{key}"] = forward
    prepare_nodes(op)
    op.function = build(
        op.name,
        lambda: _function(op, op.name, parts.signature(op), parts.call_arguments(op), public=True),
        f"op {op.name}",
    )
    op.function.__doc__ = op.doc
    op.function.__signature__ = op.signature  # type: ignore[attr-defined]
    op.function = core.caller(op.function, op)
    if op.inplace_name:
        name = op.inplace_name
        op.inplace_function = build(name, lambda: _inplace_function(op), f"op {name}")
        op.inplace_function.__doc__ = f"In-place version of `{op.name}`."
        op.inplace_function = core.caller(op.inplace_function, op, writer=name)


def _rebind(name: str, kernel: Kernel) -> None:
    """Let calls on the CPU run another kernel of an op; raises where that would come too late."""
    op = HOT.get(f"OP_{name}")
    if op is None:
        return  # declared later: `compile_op` finds the override
    if op.ufunc is not None:
        raise NotImplementedError(
            f"the CPU's kernel of {name!r} is the function {op.ufunc!r} of its xp; put a faster "
            "one there, in backend/cpu.py"
        )
    if name in BOUND:
        raise RuntimeError(
            f"{name!r} was called before; an override stands beside its op, before the first call"
        )
    HOT[f"forward_{name}"] = kernel


CPU.rebind = _rebind


def compile_operator(op: Op, name: str) -> Callable[..., Tensor]:
    """A Python operator: positional only, options at their defaults, NotImplemented if foreign."""
    operator = build(
        name,
        lambda: _function(op, name, ", ".join(op.plan.tensor_names), None, public=False),
        f"operator {name} of {op.name}",
    )
    called: Callable[..., Any] = core.caller(operator, op, operator=True)
    return called


def compile_inplace_operator(op: Op, name: str) -> Callable[..., Tensor]:
    """An operator that writes, such as `__iadd__`: NotImplemented if foreign."""
    operator = build(name, lambda: _inplace_function(op, name), f"operator {name} of {op.name}")
    assert op.inplace_name is not None
    called: Callable[..., Any] = core.caller(operator, op, writer=op.inplace_name)
    return called


# ------------------------------------------------------------------------- the forward function


def _function(
    op: Op, name: str, signature: str, arguments: str | None, *, public: bool
) -> list[str]:
    """Source of the op's function, or of an operator if `arguments` is None."""
    operator = arguments is None
    if arguments is None:
        arguments = parts.default_arguments(op)
    old_order = public and op.old_order
    lines = [f"def {name}({with_more(signature) if old_order else signature}):"]
    put = lines.append
    if old_order:
        parts.old_order_line(op, put, False)
    if public:
        parts.alias_lines(op, put, arguments)
    general = f"return dispatch(OP_{op.name}, ({arguments})" + (", True)" if operator else ")")
    form = op.plan.form
    if form == "single":
        single_lines(op, put, general, operator=operator)
    elif form == "list":
        many.list_lines(op, put, general)
    elif form == "pieces":
        many.pieces_lines(op, put, general)
    elif form == "several" and not operator:
        many.several_lines(op, put, general)
    else:
        put(f"    {general}")
    return lines


def single_lines(op: Op, put: Put, general: str, *, operator: bool) -> None:
    """The body of an op with one result."""
    plan = op.plan
    first = plan.tensor_names[0]
    if op.ufunc is not None and plan.options and not operator:
        # the ufunc is the kernel only when every option has its default
        tests = [
            f"{name} is not default_{op.name}_{place}"
            for name, place in zip(plan.option_names, plan.options, strict=True)
        ]
        put(f"    if {' or '.join(tests)}: {general}")
    flags = parts.operand_lines(op, put, general)
    if op.view == "always":
        parts.source_cell_lines(op, put, general)
    # ---- forward
    if op.ufunc is not None:
        call = ", ".join(f"_x{i}" for i in range(len(plan.tensors)))
    else:
        call = parts.kernel_arguments(op)
        if operator:
            for name, place in zip(plan.option_names, plan.options, strict=True):
                put(f"    {name} = default_{op.name}_{place}")
    operands = "".join(f"_x{i}, " for i in range(len(plan.tensors)))
    parts.forward_lines(op, put, call, operands, general)
    if plan.loud:
        put("    if type(_r) is not ndarray: _r = asarray(_r)")
    if op.ufunc is None and plan.edges:
        # a kernel that changes the dtype may need another kind of node
        put(f"    if _r.dtype is not _dtype: {general}")
    view = "" if op.view == "always" else "_t._view = None; "
    put(f"    _t = new(Tensor); _t._array = _r; _t._output_nr = 0; {view}_t._meta = None")
    # ---- node
    if plan.edges:
        wanted = parts.wanted_expression(op, flags)
        put(f"    if ({wanted}) and (not NO_GRAD or STATE.grad_enabled):")
        parts.node_lines(op, put, "_r.shape", "_dtype")
        parts.edge_lines(op, put, flags, general)
        parts.saved_lines(op, put, operator=operator)
        put("        _t._grad_fn = _n; _t._requires_grad = True; _t._cut = None")
        if op.view != "always" and not plan.keeps_output:
            put("        _t._cell = None")
        put("    else:")
        cell = "" if op.view == "always" else "; _t._cell = None"
        put(f"        _t._grad_fn = None; _t._requires_grad = False{cell}")
        put(f"        _t._cut = STATE.cut if NO_GRAD and ({wanted}) else {parts.earlier_cut(op)}")
    else:
        parts.cut_lines(op, put, flags)
        put("    _t._grad_fn = None; _t._requires_grad = False; _t._cell = None; _t._cut = _cut")
    # ---- view
    if op.view == "always":
        parts.view_lines(op, put)
    elif op.view == "maybe":
        options = "".join(f"{n}, " for n in plan.option_names)
        put("    if may_share_memory(_r, _x0): "
            f"link_view({first}, _t, OP_{op.name}, ({options}))")  # fmt: skip
    put("    return _t")


# ------------------------------------------------------------------------------ in-place twins


def _inplace_function(op: Op, operator: str = "") -> list[str]:
    """Source of the op's in-place twin, or of an operator of that name that is one."""
    assert op.inplace_name is not None
    name = op.inplace_name
    signature = parts.signature(op)
    for extra in (", out=None", ", axis=NOTHING", ", keepdims=NOTHING"):
        signature = signature.replace(extra, "")
    signature = signature.replace("dim=NOTHING", "dim")
    signature = signature.removesuffix(", *")
    old_order = op.old_order and not operator
    lines = [f"def {operator or name}({with_more(signature) if old_order else signature}):"]
    put = lines.append
    if old_order:
        parts.old_order_line(op, put, True)
    general = f"return dispatch_inplace(OP_{op.name}, ({parts.call_arguments(op)})"
    general += ", True)" if operator else ")"
    kinds = [p.kind for p in op.plan.tensors]
    if op.fast and op.ufunc is not None and kinds == ["operand", "operand"]:
        first, second = op.plan.tensor_names
        HOT[f"ufunc_{op.name}"] = getattr(np, op.ufunc)
        tests = "".join(
            f" and {name} is default_{op.name}_{place}"
            for name, place in zip(op.plan.option_names, op.plan.options, strict=True)
        )
        # writes without history: same dtype and shape, nothing that requires a gradient
        put(f"    if not UNUSUAL and isinstance({first}, Tensor){tests}:")
        put(f"        _kind = type({second}); _x0 = {first}._array; _dtype = _x0.dtype")
        put("        if type(_x0) is ndarray and (_dtype is F32 or _dtype is F64):")
        put(f"            if _kind is float: _x1 = {second}; _wanted = False")
        put("            elif _kind is Tensor or _kind is Parameter:")
        put(f"                _x1 = {second}._array; _wanted = {second}._requires_grad")
        put(f"                if _x1.dtype is not _dtype or _x1.shape != _x0.shape: {general}")
        put(f"                if type(_x1) is not ndarray: {general}")
        put(f"                if {second}._cell is not None and {second} is not {first}: {general}")
        put(f"            else: {general}")
        put(f"            if {first}._view is None and _x0.flags.writeable and (")
        put("                NO_GRAD and not STATE.grad_enabled or not ("
            f"{first}._requires_grad or _wanted)) "
            f"and {first}._cell is not INFERENCE_CELL:")  # fmt: skip
        put("                _token = enter_quiet(QUIET)")
        put(f"                try: ufunc_{op.name}(_x0, _x1, _x0)")
        put("                finally: leave_quiet(_token)")
        put(f"                bump({first}, {name!r})")
        put(f"                if not {first}._requires_grad: "
            f"pass_on_cut(OP_{op.name}, [{first}, {second}], [{first}], False)")  # fmt: skip
        put(f"                return {first}")
    put(f"    {general}")
    return lines
