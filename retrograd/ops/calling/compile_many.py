"""Generated functions of ops with a list of tensors (cat) or several results (max, unbind).

The conditions are those of `calling.compile`: one dtype, float32 or float64, and no rare mode;
everything else goes to `dispatch`, and the nodes are laid out as `dispatch` lays them out.
"""

from __future__ import annotations

from retrograd.engine.state import HOT
from retrograd.ops.calling import compile_parts as parts
from retrograd.ops.calling.compile_parts import Put
from retrograd.ops.registry import Op

# ------------------------------------------------------------------------------ lists of tensors


def list_lines(op: Op, put: Put, general: str) -> None:
    """The body of an op whose only tensor parameter is a list."""
    name = op.plan.tensor_names[0]
    put(f"    _kind = type({name})")
    put(f"    if UNUSUAL or (_kind is not list and _kind is not tuple): {general}")
    put("    _x0 = []; _dtype = None; _wanted = False")
    put(f"    for _x in {name}:")
    put("        _kind = type(_x)")
    put(f"        if _kind is not Tensor and _kind is not Parameter: {general}")
    put("        _a = _x._array")
    put(f"        if type(_a) is not ndarray: {general}")
    put("        if _a.dtype is not _dtype:")
    other = " or (_a.dtype is not F32 and _a.dtype is not F64)"
    other = "" if op.plan.takes_any_dtype else other
    put(f"            if _dtype is not None{other}: {general}")
    put("            _dtype = _a.dtype")
    put(f"        {parts.refresh_line('_x')}")
    put("        if _x._requires_grad: _wanted = True")
    put("        _x0.append(_a)")
    parts.forward_lines(op, put, parts.kernel_arguments(op), "*_x0, ", general)
    put("    if type(_r) is not ndarray: _r = asarray(_r)")
    put(f"    if _r.dtype is not _dtype: {general}")
    put("    _t = new(Tensor); _t._array = _r; _t._output_nr = 0; _t._view = None; _t._meta = None")
    put("    _t._cell = None")
    put("    if _wanted and (not NO_GRAD or STATE.grad_enabled):")
    parts.node_lines(op, put, "_r.shape", "_dtype")
    facts = [save for save in op.plan.saves if save.kind not in ("option", "output")]
    own = [save.kind for save in facts if save.source == 0]
    put("        _edges = []; _numbers = False")
    for kind in own:
        put(f"        _{kind}s = []")
    put(f"        for _x in {name}:")
    put("            if _x._requires_grad:")
    put("                _e = _x._grad_fn")
    put("                if _e is None: "
        "_e = accumulator(_x) if _x._view is None else edge_of(_x)")  # fmt: skip
    put("                elif _x._output_nr: _numbers = True")
    put("            else: _e = None")
    put("            _edges.append(_e)")
    for kind in own:
        put(f"            _{kind}s.append(_x._array.{kind})")
    put("        _n.edges = tuple(_edges); _n.edge_numbers = None")
    put(f"        note_cuts(_n, {name})")
    put("        if _numbers:")
    put("            _n.edge_numbers = tuple([0 if _e is None else _x._output_nr "
        f"for _e, _x in zip(_edges, {name})])")  # fmt: skip
    entries = []
    for save in op.plan.saves:
        if save.kind == "option":
            entries.append(save.name)
        elif save.kind == "output":
            put("        _cell = _t._cell = new(VersionCell)")
            put(f"        {parts.cell_fields('_cell')}")
            entries.append("_r, _cell, 0")
        else:
            entries.append(f"tuple(_{save.kind}s)" if save.source == 0 else f"_r.{save.kind}")
    put("        _n.saved = (" + "".join(entry + ", " for entry in entries) + ")")
    put("        _t._grad_fn = _n; _t._requires_grad = True; _t._cut = None")
    put("        return _t")
    put("    _t._grad_fn = None; _t._requires_grad = False")
    put("    _t._cut = STATE.cut if _wanted else None")
    put("    if not _wanted:")
    put(f"        for _x in {name}:")
    put("            if _x._cut is not None: _t._cut = _x._cut; break")
    put("    return _t")


# ------------------------------------------------------------------------------- several results


def several_lines(op: Op, put: Put, general: str) -> None:
    """The body of an op with a fixed number of results, some of which may carry no gradient."""
    assert isinstance(op.outputs, int)
    flags = parts.operand_lines(op, put, general)
    operands = "".join(f"_x{i}, " for i in range(len(op.plan.tensors)))
    parts.forward_lines(op, put, parts.kernel_arguments(op), operands, general)
    numbers = range(op.outputs)
    carriers = [k for k in numbers if k not in op.nondifferentiable]
    results = ", ".join(f"_r{k}" for k in numbers)
    put(f"    {results} = _r")
    for k in numbers:
        put(f"    if type(_r{k}) is not ndarray: _r{k} = asarray(_r{k})")
    for k in carriers:
        put(f"    if _r{k}.dtype is not _dtype: {general}")
    for k in numbers:
        put(f"    _t{k} = new(Tensor); _t{k}._array = _r{k}; _t{k}._output_nr = 0; "
            f"_t{k}._view = None; _t{k}._meta = None; _t{k}._cell = None")  # fmt: skip
    if op.plan.edges:
        wanted = parts.wanted_expression(op, flags)
        put(f"    if ({wanted}) and (not NO_GRAD or STATE.grad_enabled):")
        shapes = ", ".join(f"_r{k}.shape" for k in numbers)
        dtypes = ", ".join(f"_r{k}.dtype" for k in numbers)
        parts.node_lines(op, put, f"[{shapes}]", f"[{dtypes}]")
        parts.edge_lines(op, put, flags, general)
        parts.saved_lines(op, put, operator=False)
        if len(carriers) < len(numbers):  # one for all: the leaves behind it are looked for once
            put(f"        _cut = cut_at('nondifferentiable', {op.label!r}, _c, _i, _n)")
        for k in numbers:
            if k in carriers:
                number = f"; _t{k}._output_nr = {k}" if k else ""
                put(f"        _t{k}._grad_fn = _n; _t{k}._requires_grad = True; "
                    f"_t{k}._cut = None{number}")  # fmt: skip
            else:
                put(f"        _t{k}._grad_fn = None; _t{k}._requires_grad = False; "
                    f"_t{k}._cut = _cut")  # fmt: skip
        put("    else:")
        put(f"        _cut = STATE.cut if NO_GRAD and ({wanted}) else {parts.earlier_cut(op)}")
        indent = "        "
    else:
        parts.cut_lines(op, put, flags)
        indent = "    "
    for k in numbers:
        put(f"{indent}_t{k}._grad_fn = None; _t{k}._requires_grad = False; _t{k}._cut = _cut")
    tensors = ", ".join(f"_t{k}" for k in numbers)
    returns = op.returns
    if returns is None:
        put(f"    return {tensors}")
    elif isinstance(returns, type) and issubclass(returns, tuple):
        HOT[f"returns_{op.name}"] = returns
        put(f"    return new_tuple(returns_{op.name}, ({tensors}))")
    else:
        HOT[f"returns_{op.name}"] = returns
        put(f"    return returns_{op.name}({tensors})")


# -------------------------------------------------------------------------------- several views


def pieces_lines(op: Op, put: Put, general: str) -> None:
    """The body of an op that cuts one tensor into views; such views cannot be written."""
    first = op.plan.tensor_names[0]
    flags = parts.operand_lines(op, put, general)
    parts.source_cell_lines(op, put, general)
    parts.forward_lines(op, put, parts.kernel_arguments(op), "_x0, ", general)
    put("    _results = _r")
    put(f"    if {flags[first]} and (not NO_GRAD or STATE.grad_enabled):")
    put("        _shapes = []")
    put("        for _r in _results: _shapes.append(_r.shape)")
    parts.node_lines(op, put, "_shapes", "[_dtype] * len(_shapes)")
    parts.edge_lines(op, put, flags, general)
    entries = [s.name if s.kind == "option" else f"_x0.{s.kind}" for s in op.plan.saves]
    put("        _n.saved = (" + "".join(entry + ", " for entry in entries) + ")")
    put("        _flag = True; _cut = None; _creation = 'multi'")
    put("    else:")
    put(f"        _n = None; _cut = STATE.cut if NO_GRAD and {flags[first]} else {first}._cut")
    put("        _creation = 'no_grad' if NO_GRAD and not STATE.grad_enabled else 'multi'")
    put("        _flag = False")
    options = "".join(f"{n}, " for n in op.plan.option_names)
    put(f"    _u = {first}._view; _version = _cell.version; _options = ({options})")
    put(f"    if _u is None: _base = {first}; _before = None")
    put("    else: _base = _u.base; _before = _u.last")
    put("    if _base._requires_grad: _flag = True")
    put("    _outputs = []; _number = 0")
    put("    for _r in _results:")
    put(f"        if _r.dtype is not _dtype: {general}")
    put("        _t = new(Tensor); _t._array = _r; _t._meta = None; _t._grad_fn = _n")
    put("        _t._output_nr = 0 if _n is None else _number")
    put("        _t._requires_grad = _flag; _t._cut = _cut; _t._cell = _cell")
    put("        _v = _t._view = ViewInfo(); _v.at = _version; _v.own = False; _v.base = _base")
    put(f"        _v.last = (OP_{op.name}, _options, _number, _before); _v.creation = _creation")
    put("        _outputs.append(_t); _number += 1")
    put("    return tuple(_outputs)")
