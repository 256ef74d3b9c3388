"""Pieces of source text that the generated functions of ops are put together from.

Names of the generated code begin with an underscore, since an op's parameters are the user's:
`_x0`, `_x1` ... are the operands' arrays, `_dtype` their dtype, `_r` the result, `_t` its Tensor,
`_n` the node; with several results `_r0`, `_t0` and so on.
"""

from __future__ import annotations

from collections.abc import Callable

from retrograd.engine.state import HOT
from retrograd.lifecycle import site
from retrograd.ops.calling.plan import Save
from retrograd.ops.registry import Op

Put = Callable[[str], None]

# ---------------------------------------------------------------------- parameters and arguments


def signature(op: Op) -> str:
    """The op's parameters, with defaults and the aliases that PyTorch gives some of them."""
    parts: list[str] = []
    keyword_only = False
    for p in op.plan.parameters:
        if p.keyword_only and not keyword_only:
            parts.append("*")
            keyword_only = True
        if p.place == op.plan.required_dim:
            parts.append("dim=NOTHING")  # it may come as `axis`
        elif p.required:
            parts.append(p.name)
        else:
            HOT[f"default_{op.name}_{p.place}"] = p.default
            parts.append(f"{p.name}=default_{op.name}_{p.place}")
    extras = [f"{alias}=NOTHING" for alias in op.plan.aliases]
    if op.out:
        extras.append("out=None")
    if extras and not keyword_only:
        parts.append("*")
    return ", ".join(parts + extras)


def missing_dim(name: str) -> TypeError:
    """The error of a call without its dimension."""
    return TypeError(f'{name}() missing 1 required positional arguments: "dim"')


HOT["missing_dim"] = missing_dim


def old_order_line(op: Op, put: Put, in_place: bool) -> None:
    """Hand on a call with the numbers first: it gives more arguments by place than there are."""
    tensors = "".join(f"{name}, " for name in op.plan.tensor_names)
    numbers = "".join(f"{name}, " for name in op.plan.option_names)
    out = "out" if op.out and not in_place else "None"
    put(
        f"    if _more: return in_old_order(OP_{op.name}, ({tensors}*_more), ({numbers}), "
        f"{out}, {in_place})"
    )


def call_arguments(op: Op) -> str:
    """All parameters, to be passed on."""
    return "".join(p.name + ", " for p in op.plan.parameters)


def default_arguments(op: Op) -> str:
    """The same with options at their defaults."""
    parts = []
    for p in op.plan.parameters:
        if p.kind == "option":
            HOT[f"default_{op.name}_{p.place}"] = p.default
            parts.append(f"default_{op.name}_{p.place}, ")
        else:
            parts.append(p.name + ", ")
    return "".join(parts)


def alias_lines(op: Op, put: Put, arguments: str) -> None:
    """What a public function does with aliases and ``out=`` first."""
    for alias, place in op.plan.aliases.items():
        put(f"    if {alias} is not NOTHING: {op.plan.parameters[place].name} = {alias}")
        if place == op.plan.required_dim:
            put(f"    if dim is NOTHING: raise missing_dim({op.label!r})")
    if op.out:
        put(f"    if out is not None: return dispatch_out(OP_{op.name}, ({arguments}), out)")


# ------------------------------------------------------------------------- operands and forward


def operand_lines(op: Op, put: Put, general: str) -> dict[str, str]:
    """Arrays of the operands; returns, for each, the expression that says if it requires grad."""
    plan = op.plan
    first = plan.tensor_names[0]
    put("    try:")
    put(f"        _x0 = {first}._array")
    put("    except AttributeError:")
    put(f"        {general}")
    put("    _dtype = _x0.dtype")
    other = "" if plan.takes_any_dtype else " or (_dtype is not F32 and _dtype is not F64)"
    put(f"    if UNUSUAL or type(_x0) is not ndarray{other}: {general}")
    put(f"    {refresh_line(first, op)}")
    flags = {first: f"{first}._requires_grad"}
    read_names = {save.name for save in plan.saves}
    for index, p in enumerate(plan.tensors[1:], 1):
        tensor = p.name
        put(f"    _kind = type({tensor})")
        put("    if _kind is Tensor or _kind is Parameter:")
        put(f"        _x{index} = {tensor}._array")
        if plan.alike[index]:
            other = f"_x{index}.dtype is not _dtype or type(_x{index}) is not ndarray"
            put(f"        if {other}: {general}")
        else:
            # an index or a mask: not differentiable, so its dtype does not choose the node
            put(f"        _kind = _x{index}.dtype")
            other = "(_kind is not I64 and _kind is not B8 and _kind is not _dtype)"
            put(f"        if {other} or type(_x{index}) is not ndarray: {general}")
        put(f"        {refresh_line(tensor, op)}")
        put(f"        _need{index} = {tensor}._requires_grad")
        read = tensor in read_names
        if read:
            put(f"        _c{index} = {tensor}._cell")
        nothing = f"_need{index} = False" + (f"; _c{index} = None" if read else "")
        if p.may_be_number:
            put("    elif _kind is float or _kind is int:")
            put(f"        _x{index} = {tensor}; {nothing}")
        if p.may_be_none:
            put(f"    elif {tensor} is None:")
            put(f"        _x{index} = None; {nothing}")
        put(f"    else: {general}")
        flags[tensor] = f"_need{index}"
    return flags


def refresh_line(tensor: str, op: Op | None = None) -> str:
    """Bring a view up to date, unless it has a history and nothing was written since."""
    if op is not None and not op.plan.edge_names:
        return f"if {tensor}._view is not None: refresh_flag({tensor})"
    old = f"{tensor}._grad_fn is None or {tensor}._view.at != {tensor}._cell.version"
    return f"if {tensor}._view is not None and ({old}): refresh({tensor})"


def kernel_arguments(op: Op) -> str:
    """The kernel's arguments: arrays in place of tensors, options as they are."""
    return "xp, " + ", ".join(
        (f"_x{op.plan.tensor_places.index(p.place)}" if p.kind != "option" else p.name)
        if not p.keyword_only
        else f"{p.name}={p.name}"
        for p in op.plan.parameters
    )


def forward_lines(op: Op, put: Put, call: str, operands: str, general: str) -> None:
    """Run the kernel into `_r`; loud ones may warn, so they run with warnings off.

    A sparse operand has no elements to give to a kernel: the general path knows what to do.
    """
    explain = f"    except Exception as _error: raise failure(({operands}), _error) from None"
    if op.plan.loud:
        put("    _token = enter_quiet(QUIET)")
    put(f"    try: _r = forward_{op.name}({call})")
    put(f"    except NoElements: {general}")
    put(explain)
    if op.plan.loud:
        put("    finally: leave_quiet(_token)")
    order_lines(op, put, operands)


def order_lines(op: Op, put: Put, operands: str) -> None:
    """Bring `_r` into PyTorch's memory order where that may differ from NumPy's."""
    if op.lies == "rows":
        put("    if not _r.flags.c_contiguous: _r = settled(OP_" + op.name + ", _r, ())")
    elif op.lies is not None:
        tests = []
        for index, parameter in enumerate(op.plan.tensors):
            is_array = f"type(_x{index}) is ndarray and " if parameter.kind != "array" else ""
            tests.append(f"({is_array}not _x{index}.flags.c_contiguous)")
        if len(tests) > 1:  # PyTorch looks at the strides of single elements too
            tests.append("(_r.ndim > 2 and 1 in _r.shape)")
        put(f"    if {' or '.join(tests)}: _r = settled(OP_{op.name}, _r, ({operands}))")


# ------------------------------------------------------------------------------ node and history


def site_lines(put: Put) -> None:
    """The user's line as `_c` and `_i`: `user_site` written out, which saves two calls."""
    if not site.sites_enabled:
        put("        _c = None; _i = 0")
        return
    # a program calls op after op from one function: its code is known from the last time
    put("        _f = getframe(1); _c = _f.f_code")
    put("        if _c is LAST_CODE: _i = _f.f_lasti")
    put("        else: _c, _i = find_site(_f)")


def node_lines(op: Op, put: Put, shape: str, dtype: str) -> None:
    """A new node `_n`, still without edges and saved values."""
    put(f"        _n = Node(); _n.run = run_{op.name}; _n.sequence = next_sequence()")
    put("        _n.extra = None; _n.freed = None; _n.visit = 0")
    put(f"        _n.shape = {shape}; _n.dtype = {dtype}")
    site_lines(put)
    put("        _n.code = _c; _n.lasti = _i")


def edge_lines(op: Op, put: Put, flags: dict[str, str], general: str) -> None:
    """The node's edges.

    A view without history has none, though it requires grad: what is saved then, the general path
    knows.
    """
    names = op.plan.tensor_names
    put(f"        if ({earlier_cut(op)}) is not None: note_cuts(_n, ({', '.join(names)},))")
    edge_names = op.plan.edge_names
    saves = any(save.kind == "input" for save in op.plan.saves)
    if len(edge_names) == 1:  # the node is made because of it
        name = edge_names[0]
        put(f"        _e0 = {name}._grad_fn")
        put("        if _e0 is None:")
        put(f"            _e0 = accumulator({name}) if {name}._view is None else edge_of({name})")
        if saves:
            put(f"            if _e0 is None: {general}")
        put("        _n.edges = (_e0,)")
        put(f"        _n.edge_numbers = ({name}._output_nr,) if {name}._output_nr else None")
        return
    for position, name in enumerate(edge_names):
        put(f"        if {flags[name]}:")
        put(f"            _e{position} = {name}._grad_fn")
        put(f"            if _e{position} is None:")
        put(f"                _e{position} = "
            f"accumulator({name}) if {name}._view is None else edge_of({name})")  # fmt: skip
        if saves:
            put(f"                if _e{position} is None: {general}")
        put(f"        else: _e{position} = None")
    put("        _n.edges = (" + "".join(f"_e{i}, " for i in range(len(edge_names))) + ")")
    numbers = [f"{n}._output_nr if {flags[n]} else 0" for n in edge_names]
    other = " or ".join(f"({flags[n]} and {n}._output_nr)" for n in edge_names)
    put(f"        _n.edge_numbers = ({', '.join(numbers)}) if {other} else None")


def saved_lines(op: Op, put: Put, *, operator: bool) -> None:
    """The node's saved values, laid out as `recording.make_node` lays them out."""
    entries: list[str] = []
    single = op.outputs == 1
    for save in op.plan.saves:
        if save.kind == "output":
            number = "" if single else save.source
            put(f"        _cell{number} = _t{number}._cell = new(VersionCell)")
            put(f"        {cell_fields(f'_cell{number}')}")
            entries.append(f"_r{number}, _cell{number}, 0")
        elif save.kind == "input":
            entries.append(_input_entry(op, put, save))
        elif save.kind == "option":
            entries.append(save.name)
            if operator and op.ufunc is not None:
                entries[-1] = f"default_{op.name}_{save.source}"
        else:
            entries.append(_fact(op, save))
    put("        _n.saved = (" + "".join(e + ", " for e in entries) + ")")


def _input_entry(op: Op, put: Put, save: Save) -> str:
    """A saved input and its version; None where no rule that runs will read it."""
    edges = op.plan.edges
    assert edges is not None
    name, index, users = save.name, save.source, save.readers
    condition = " or ".join(f"_e{i} is not None" for i in users)
    value = name if len(users) == len(edges) else f"({name} if {condition} else None)"
    if index == 0:
        put(f"        _c0 = {name}._cell")
    version = f"0 if _c{index} is None else _c{index}.version"
    if not {i for i, edge in enumerate(edges) if edge != index} <= set(users):
        # not saved for sure: reading the version of an inference tensor would raise
        version = f"0 if _c{index} is None or not ({condition}) else _c{index}.version"
    return f"{value}, {version}"


def _fact(op: Op, save: Save) -> str:
    """The shape, dtype or strides of an operand or of the (first) result."""
    fact, index = save.kind, save.source
    if index < 0:
        return f"_r.{fact}" if op.outputs == 1 else f"_r0.{fact}"
    if op.plan.tensors[index].kind == "array":
        return f"_x{index}.{fact}"
    return f"(_x{index}.{fact} if type(_x{index}) is ndarray else None)"


def cell_fields(cell: str) -> str:
    """The fields of a new version cell: its `__init__` written out."""
    return f"{cell}.version = 0; {cell}.detached = 0; {cell}.writer = None; {cell}.code = None"


def wanted_expression(op: Op, flags: dict[str, str]) -> str:
    """Whether an operand with a rule requires grad."""
    return " or ".join(flags[name] for name in op.plan.edge_names)


def earlier_cut(op: Op) -> str:
    """The first cut behind the operands, for a result that has no history itself."""
    parts = []
    for index, p in enumerate(op.plan.tensors):
        if index == 0 or p.kind == "array":
            parts.append(f"{p.name}._cut")
        else:  # a number or None is its own array
            parts.append(f"(None if _x{index} is {p.name} else {p.name}._cut)")
    return " or ".join(parts)


def cut_lines(op: Op, put: Put, flags: dict[str, str]) -> None:
    """For an op without rules: where it cuts the paths to its results, as `_cut`."""
    put(f"    if not ({' or '.join(flags.values())}): _cut = {earlier_cut(op)}")
    put("    elif NO_GRAD and not STATE.grad_enabled: _cut = STATE.cut")
    put("    else:")
    site_lines(put)
    sources = ", ".join(op.plan.tensor_names)
    put(f"        _cut = cut_at('nondifferentiable', {op.label!r}, _c, _i, {sources})")


# ------------------------------------------------------------------------------------------ views


def source_cell_lines(op: Op, put: Put, general: str) -> None:
    """The version cell that a view will share, as `_cell`."""
    first = op.plan.tensor_names[0]
    put(f"    _cell = {first}._cell")
    put("    if _cell is None:")
    put(f"        _cell = {first}._cell = new(VersionCell)")
    put(f"        {cell_fields('_cell')}")
    put(f"    elif _cell is INFERENCE_CELL: {general}")


def view_lines(op: Op, put: Put) -> None:
    """Make `_t` a view of the first operand: `views.link_view` written out."""
    first = op.plan.tensor_names[0]
    link = f"(OP_{op.name}, ({''.join(f'{n}, ' for n in op.plan.option_names)}), None"
    put("    _t._cell = _cell; _v = _t._view = ViewInfo(); _v.at = _cell.version; _v.own = False")
    put(f"    _u = {first}._view")
    put("    if _u is None:")
    put(f"        _v.base = {first}; _v.last = {link}, None); _v.creation = None")
    put("    else:")
    put(f"        _v.base = _u.base; _v.last = {link}, _u.last); _v.creation = _u.creation")
    put("    if NO_GRAD and not STATE.grad_enabled: _v.creation = 'no_grad'")
    put("    if _v.base._requires_grad: _t._requires_grad = True")
