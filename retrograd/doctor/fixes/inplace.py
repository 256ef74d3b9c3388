"""Edits of in-place operations: their out-of-place forms, or a copy before them."""

from __future__ import annotations

import ast

from retrograd.doctor.fixes.backward_calls import remove_argument
from retrograd.doctor.fixes.task import Task
from retrograd.doctor.fixes.text import (
    CannotWrite,
    Draft,
    assigned,
    called,
    dotted,
    first_line,
    names_bound,
    receiver,
)

OUT_OF_PLACE = frozenset(
    """
    abs acos acosh add addbmm addcdiv addcmul addmm addmv addr asin asinh atan atanh baddbmm ceil
    clamp clamp_max clamp_min clip copysign cos cosh cumprod cumsum div divide dropout elu erf erfc
    exp exp2 expm1 fix floor floor_divide fmod frac hardtanh hypot index_add index_copy index_fill
    index_put index_reduce leaky_relu lerp log log10 log1p log2 logit masked_fill masked_scatter mul
    multiply nan_to_num neg negative pow reciprocal relu remainder renorm round rsqrt scatter
    scatter_add scatter_reduce selu sigmoid sign sin sinc sinh sqrt square sub subtract tan tanh
    threshold tril triu true_divide trunc xlogy
    """.split()
)
"""Operations whose in-place form, with an underscore, computes the same into the tensor."""

_SIGNS: dict[type[ast.operator], str] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.FloorDiv: "//",
    ast.Mod: "%",
    ast.Pow: "**",
    ast.MatMult: "@",
    ast.BitAnd: "&",
    ast.BitOr: "|",
    ast.BitXor: "^",
}


def clone_before_inplace(task: Task) -> None:
    """Write into a new tensor, and leave the one that backward needs alone."""
    draft, statement = task.draft, task.statement
    if hasattr(statement, "body"):
        raise CannotWrite("the line is the head of a block")
    _must_be_replaceable(task)
    if isinstance(statement, ast.AugAssign):
        _augmented(draft, statement)
        return
    target = assigned(statement)
    if target is not None and isinstance(target[0], ast.Subscript):
        _item_written(draft, statement, target[0], target[1])
        return
    for node in draft.walk(statement):
        if isinstance(node, ast.Call) and _in_place_form(node):
            _call(draft, statement, node)
            return
    raise CannotWrite("the line shows no in-place operation")


def copy_before_write(task: Task) -> None:
    """A copy of the whole tensor before an item of it is written."""
    _must_be_replaceable(task)
    target = assigned(task.statement)
    if target is None or not isinstance(target[0], ast.Subscript):
        raise CannotWrite("no item is written")
    if _is_collection(task.draft, target[0].value):
        raise CannotWrite("what is changed is an item of a collection")
    _copy_before(task.draft, task.statement, target[0].value)


def _must_be_replaceable(task: Task) -> None:
    if task.diagnosis.cause == "leaf-inplace" and "." in task.variable:
        raise CannotWrite("a parameter of a module cannot be replaced by a tensor")


def _augmented(draft: Draft, statement: ast.AugAssign) -> None:
    """`x += y` becomes `x = x + y`."""
    target, sign = statement.target, _SIGNS.get(type(statement.op))
    if isinstance(target, ast.Subscript):
        if _is_collection(draft, target.value):
            raise CannotWrite("what is changed is an item of a collection")
        _copy_before(draft, statement, target.value)
        return
    if sign is None:
        raise CannotWrite("the operation has no other form")
    _is_used_later(draft, statement, target)
    name, value = draft.written(target), statement.value
    plain = isinstance(value, (ast.Name, ast.Attribute, ast.Subscript, ast.Call, ast.Constant))
    start, end = draft.start(value), draft.end(value)
    between = draft.text[draft.end(target) : start]
    if between.strip() != f"{sign}=":
        # the value stands in parentheses of its own
        draft.replace(draft.end(target), draft.end(target), f" = {name}")
        position = draft.text.index("=", draft.end(target))
        draft.replace(position, position + 1, "")
        return
    draft.replace(draft.end(target), start, f" = {name} {sign} " + ("" if plain else "("))
    if not plain:
        draft.replace(end, end, ")")


def _is_collection(draft: Draft, owner: ast.expr) -> bool:
    """Whether a variable is a list or a dict by what the file assigns to it."""
    name = dotted(owner).rpartition(".")[2]
    for node in ast.walk(draft.tree):
        pair = assigned(node) if isinstance(node, ast.stmt) else None
        if pair is not None and name and dotted(pair[0]).rpartition(".")[2] == name:
            if isinstance(pair[1], (ast.List, ast.Dict, ast.ListComp, ast.DictComp)):
                return True
            if isinstance(pair[1], ast.Call) and called(pair[1]) in ("list", "dict", "deque"):
                return True
    return False


def _item_written(
    draft: Draft, statement: ast.stmt, target: ast.Subscript, value: ast.expr
) -> None:
    """`x[i] = y`: read a copy if y is made of other items of x, else write into one."""
    name = dotted(target.value)
    if _is_collection(draft, target.value):
        raise CannotWrite("what is changed is an item of a collection")
    made: ast.AST = value
    if isinstance(value, ast.Name):
        earlier = draft.block_of(statement)
        for other in earlier[: earlier.index(statement)]:
            made = other if value.id in names_bound(other) else made
    reads = [
        node
        for node in draft.walk(made)
        if isinstance(node, ast.Subscript)
        and isinstance(node.ctx, ast.Load)
        and name
        and dotted(node.value) == name
    ]
    if reads:
        for node in reads:
            draft.suffix(node, ".clone()")
        return
    _copy_before(draft, statement, target.value)


def _copy_before(draft: Draft, statement: ast.stmt, owner: ast.expr) -> None:
    name = dotted(owner)
    if not name:
        raise CannotWrite("what is changed has no name")
    _is_used_later(draft, statement, owner)
    draft.insert_before(statement, f"{name} = {name}.clone()")


def _is_used_later(draft: Draft, statement: ast.stmt, target: ast.expr) -> None:
    """Refuse where a caller sees the change through its own variable, and nothing here reads it."""
    if not isinstance(target, ast.Name):
        if isinstance(target, ast.Attribute):
            return
        raise CannotWrite("what is changed is not a variable")
    scope = draft.scope_of(statement)
    in_loop = any(draft.enclosing(statement, ast.For, ast.While))
    if any(target.id in names_bound(f.target) for f in draft.enclosing(statement, ast.For)):  # type: ignore[attr-defined]
        raise CannotWrite(f"{target.id} is a part of what the loop goes over")
    for node in ast.walk(scope):
        if isinstance(node, (ast.Global, ast.Nonlocal)) and target.id in node.names:
            return
        if isinstance(node, ast.Name) and node.id == target.id and isinstance(node.ctx, ast.Load):
            if in_loop or node.lineno > (statement.end_lineno or 0):
                if draft.scope_of(node) is scope:
                    return
    raise CannotWrite(f"{target.id} is changed for a caller that sees it by another name")


def _in_place_form(call: ast.Call) -> bool:
    name = called(call)
    if any(k.arg == "inplace" and _is_true(k.value) for k in call.keywords):
        return True
    if not isinstance(call.func, ast.Attribute) or name.startswith("_"):
        return False
    return name.endswith("_") and not name.endswith("__") and name != "requires_grad_"


def _is_true(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is True


def _call(draft: Draft, statement: ast.stmt, call: ast.Call) -> None:
    assert isinstance(call.func, (ast.Attribute, ast.Name))
    if isinstance(statement, ast.Expr) and statement.value is call and _chain(draft, statement):
        return
    name, keyword = called(call), None
    for given in call.keywords:
        if given.arg == "inplace":
            keyword = given
    is_function = keyword is not None or dotted(receiver(call)) in (
        *("F", "torch", "nn.functional", "torch.nn.functional", "functional", "th"),
    )
    changed = call.args[0] if is_function and call.args else receiver(call)
    alone = isinstance(statement, ast.Expr) and statement.value is call
    if keyword is None and name.removesuffix("_") not in OUT_OF_PLACE:
        _copy_before(draft, statement, changed)
        return
    if alone:
        target = dotted(changed)
        if not target:
            if not isinstance(changed, ast.Subscript):
                raise CannotWrite("what is changed has no name")
            _copy_before(draft, statement, changed.value)
            return
        _is_used_later(draft, statement, changed)
        draft.replace(draft.start(call), draft.start(call), f"{target} = ")
    elif isinstance(changed, ast.Name) and _read_after(draft, statement, changed.id):
        pair = assigned(statement)
        if pair is None or dotted(pair[0]) != changed.id:
            _copy_before(draft, statement, changed)
            return
    if keyword is not None:
        remove_argument(draft, call, keyword)
    else:
        end = draft.end(call.func)
        draft.replace(end - 1, end, "")


def _chain(draft: Draft, statement: ast.Expr) -> bool:
    """`x.mul_(a).add_(b)` as a statement: `x = x.mul(a).add(b)`."""
    calls: list[ast.Call] = []
    node = statement.value
    while isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        if called(node).removesuffix("_") not in OUT_OF_PLACE or not called(node).endswith("_"):
            return False
        calls.append(node)
        node = node.func.value
    if len(calls) < 2 or not dotted(node):
        return False
    _is_used_later(draft, statement, node)
    draft.replace(draft.start(statement), draft.start(statement), f"{dotted(node)} = ")
    for call in calls:
        end = draft.end(call.func)
        draft.replace(end - 1, end, "")
    return True


def _read_after(draft: Draft, statement: ast.stmt, name: str) -> bool:
    """Whether the variable is read again after the statement, before it is set anew."""
    if isinstance(statement, ast.Return):
        return False
    return any(
        isinstance(node, ast.Name)
        and node.id == name
        and isinstance(node.ctx, ast.Load)
        and node.lineno > (statement.end_lineno or 0)
        for node in ast.walk(draft.scope_of(statement))
    )


def clone(task: Task) -> None:
    """Hand on a copy of what is read or written in place, else of the value that the line makes."""
    draft, statement = task.draft, task.statement
    items = [
        node
        for node in draft.walk(statement)
        if isinstance(node, ast.Subscript)
        and isinstance(node.ctx, ast.Load)
        and task.stands_for_value(node.value)
    ]
    if items:
        for node in items:
            draft.suffix(node, ".clone()")
        return
    try:
        clone_before_inplace(task)
        return
    except CannotWrite:
        pass
    pair = assigned(statement)
    if pair is not None and isinstance(pair[0], (ast.Name, ast.Attribute)):
        if task.diagnosis.cause == "no-grad-scope":
            draft.suffix(_only_argument(pair[1]), ".clone()")  # made in inference mode
        else:
            draft.suffix(pair[1], ".clone()")
        return
    if isinstance(statement, ast.Return) and statement.value is not None:
        if not isinstance(statement.value, (ast.Tuple, ast.Dict, ast.List)):
            draft.suffix(statement.value, ".clone()")
            return
    raise CannotWrite(f"line {first_line(statement)} makes no single tensor")


def _only_argument(value: ast.expr) -> ast.expr:
    """The one variable that a call is given."""
    if isinstance(value, ast.Call) and len(value.args) == 1 and not value.keywords:
        if isinstance(value.args[0], (ast.Name, ast.Attribute)):
            return value.args[0]
    raise CannotWrite("it is not known which tensor was made in inference mode")
