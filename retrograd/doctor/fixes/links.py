"""Edits that mend the way from the loss to the parameters: cuts, scopes, leaves."""

from __future__ import annotations

import ast
from collections.abc import Callable

from retrograd.doctor.evidence.statements import updated_by_gradient
from retrograd.doctor.fixes.backward_calls import remove_argument
from retrograd.doctor.fixes.task import Task
from retrograd.doctor.fixes.text import (
    CannotWrite,
    Draft,
    assigned,
    call_statement,
    called,
    dotted,
    header_end,
    receiver,
)

_COPIES = ("tensor", "as_tensor", "Tensor", "FloatTensor", "from_numpy")
_SCOPES = ("no_grad", "inference_mode")


# -------------------------------------------------------------------------------- keep-graph


def keep_graph(task: Task) -> None:
    """Stay in differentiable tensors: take the cut away."""
    _take_cut_away(task, "")


def _take_cut_away(task: Task, after_float: str) -> None:
    draft, statement = task.draft, task.statement
    pair = assigned(statement)
    if pair is not None and dotted(pair[0]) and dotted(_unwrapped(pair[1])) == dotted(pair[0]):
        alone = len(draft.block_of(statement)) == 1 or pair[1] is _unwrapped(pair[1])
        if not alone and not _is_list(draft, dotted(pair[0])):
            draft.replace(*draft.whole_lines(statement), "")  # `loss = torch.tensor(loss)`
            return
    cuts = _cuts(task, statement)
    if len(cuts) != 1:
        raise CannotWrite("not exactly one cut is plain to see in the line")
    cut = cuts[0]
    if _leaves_tensors(draft, cut):
        raise CannotWrite("the numbers leave the tensors anyway")
    if isinstance(cut, ast.Attribute):  # .data
        draft.replace(draft.bounds(cut.value)[1], draft.end(cut), "")
    elif called(cut) in ("detach", "item") and isinstance(cut.func, ast.Attribute):
        draft.replace(draft.bounds(cut.func.value)[1], draft.end(cut), "")
    elif called(cut) == "float":
        draft.rewrite(cut, draft.operand(cut.args[0]) + after_float)
    else:
        _made_anew(task, cut)


def _leaves_tensors(draft: Draft, cut: ast.AST) -> bool:
    return any(_is_call_of(each, "numpy", "tolist") for each in draft.enclosing(cut, ast.Call))


def keep_graph_of_term(task: Task) -> None:
    """A term of a loss is computed of values that are all cut off: none of them is."""
    draft = task.draft
    cuts = [
        node
        for node in draft.walk(task.statement)
        if (isinstance(node, ast.Attribute) and node.attr == "data")
        or (_is_call_of(node, "detach", "item") and isinstance(node, ast.Call) and not node.args)
    ]
    if not task.diagnosis.facts.get("term") or len(cuts) < 2:
        raise CannotWrite("the line computes no term of several such values")
    if any(_leaves_tensors(draft, cut) for cut in cuts):
        raise CannotWrite("the numbers leave the tensors anyway")
    for cut in cuts:
        kept = cut.value if isinstance(cut, ast.Attribute) else receiver(cut)
        draft.replace(draft.bounds(kept)[1], draft.end(cut), "")


def detach_other_uses(task: Task) -> None:
    """A value that is cut off where it is made is cut off for others only: `d(fake.detach())`."""
    draft, statement = task.draft, task.statement
    pair = assigned(statement)
    if pair is None or not isinstance(pair[0], ast.Name):
        raise CannotWrite("the line sets no variable")
    value, name = pair[1], pair[0].id
    if not (_is_call_of(value, "detach") and isinstance(value, ast.Call) and not value.args):
        raise CannotWrite("the line detaches nothing")
    block = draft.block_of(statement)
    using = [
        (following, node)
        for following in block[block.index(statement) + 1 :]
        for node in draft.walk(following)
        if isinstance(node, ast.Name) and node.id == name
    ]
    if any(isinstance(node.ctx, ast.Store) for _, node in using):
        raise CannotWrite("the variable is set again")
    others = [node for following, node in using if following is not using[-1][0]]
    if not others:
        raise CannotWrite("nothing else uses the value")
    draft.replace(draft.bounds(receiver(value))[1], draft.end(value), "")
    for node in others:
        draft.suffix(node, ".detach()")


def _unwrapped(value: ast.expr) -> ast.expr:
    """What a value was made anew of: `loss` of `torch.tensor(loss.item(), requires_grad=True)`."""
    while True:
        if isinstance(value, ast.Attribute) and value.attr == "data":
            value = value.value
        elif isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute):
            name = value.func.attr
            if name in ("detach", "item", "requires_grad_", "clone") and len(value.args) < 2:
                value = value.func.value
            elif name in _COPIES and len(value.args) == 1:
                value = value.args[0]
            else:
                return value
        else:
            return value


def keep_graph_of_collection(task: Task) -> None:
    """Numbers are collected and made a tensor again: collect the tensors, and stack them."""
    draft, statement = task.draft, task.statement
    pair, name = assigned(statement), ""
    if pair is not None and isinstance(pair[0], ast.Subscript):
        name = dotted(pair[0].value)
    elif isinstance(statement, ast.Expr) and _is_call_of(statement.value, "append"):
        assert isinstance(statement.value, ast.Call)
        name = dotted(receiver(statement.value))
    made = [
        node
        for node in draft.walk(draft.tree)
        if isinstance(node, ast.Call)
        and called(node) in ("tensor", "as_tensor")
        and len(node.args) == 1
        and not node.keywords
        and draft.written(node.args[0]) in (name, f"list({name})", f"list({name}.values())")
    ]
    if not name or not made:
        raise CannotWrite("nothing is made a tensor again")
    _take_cut_away(task, ".squeeze()")  # float() takes a tensor of one element in any shape
    for node in made:
        draft.rewrite(node, f"{task.torch()}.stack({draft.written(node.args[0])})")


def stack_of_tensors(task: Task) -> None:
    """`torch.tensor(losses)` of what a function is given, or of what is nowhere seen to be a list:
    where it is one, its tensors are stacked.
    """
    draft, statement = task.draft, task.statement
    cuts = _cuts(task, statement)
    if len(cuts) != 1 or not isinstance(cuts[0], ast.Call) or called(cuts[0]) not in _COPIES[:3]:
        raise CannotWrite("the line makes no tensor of a list")
    value = cuts[0].args[0]
    if not isinstance(value, (ast.Name, ast.Attribute, ast.Subscript)):
        raise CannotWrite("the line makes no tensor of a list")
    draft.rewrite(cuts[0], f"{task.torch()}.stack({draft.operand(value)})")


def _is_call_of(node: ast.AST, *names: str) -> bool:
    return isinstance(node, ast.Call) and called(node) in names


def _cuts(task: Task, statement: ast.stmt) -> list[ast.Call | ast.Attribute]:
    """What in a statement leaves the graph, outermost first; inner parts of a cut are its own."""
    draft, found = task.draft, []
    covered: set[ast.AST] = set()
    last = header_end(statement)
    wanted = str(task.diagnosis.facts.get("cut", task.diagnosis.facts.get("operation", "")))
    for node in draft.walk(statement):
        if node in covered or (isinstance(node, ast.expr) and node.lineno > last):
            continue
        cut: ast.Call | ast.Attribute | None = None
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            if called(node) in ("detach", "item") and not node.args:
                cut = node
            elif called(node) in _COPIES and node.args and not _is_plain(node.args[0]):
                cut = node
        elif isinstance(node, ast.Call) and called(node) == "float" and len(node.args) == 1:
            cut = node
        elif isinstance(node, ast.Attribute) and node.attr == "data":
            if isinstance(node.ctx, ast.Load):
                cut = node
        if cut is not None:
            found.append(cut)
            covered.update(ast.walk(cut))
    named = [cut for cut in found if wanted and _name_of(cut) in wanted]
    return named if len(found) > 1 and named else found


def _name_of(cut: ast.Call | ast.Attribute) -> str:
    return cut.attr if isinstance(cut, ast.Attribute) else called(cut)


def _is_plain(node: ast.expr) -> bool:
    """Whether an expression holds numbers only."""
    return not any(isinstance(n, (ast.Name, ast.Attribute, ast.Call)) for n in ast.walk(node))


def _made_anew(task: Task, cut: ast.Call) -> None:
    """`torch.tensor(t)` becomes t; of a list of tensors, their stack."""
    draft, value = task.draft, cut.args[0]
    if called(cut) == "from_numpy":
        inner: ast.expr = value
        while isinstance(inner, ast.Call) and called(inner) in ("numpy", "detach", "cpu"):
            assert isinstance(inner.func, ast.Attribute)
            inner = inner.func.value
        if inner is value:
            raise CannotWrite("the numbers come from NumPy")
        draft.rewrite(cut, draft.operand(inner))
        return
    if len(cut.args) > 1 or any(
        k.arg not in ("requires_grad", "dtype", "device") for k in cut.keywords
    ):
        raise CannotWrite("the call has further arguments")
    if isinstance(value, (ast.List, ast.Tuple)):
        parts = [_tensor_of(draft, part) for part in value.elts]
        draft.rewrite(cut, f"{task.torch()}.stack([{', '.join(parts)}])")
    elif isinstance(value, ast.ListComp):
        part = _tensor_of(draft, value.elt)
        rest = draft.text[draft.end(value.elt) : draft.end(value)]
        draft.rewrite(cut, f"{task.torch()}.stack([{part}{rest})")
    elif _is_call_of(value, "list", "tuple", "values") or _is_list(draft, dotted(value)):
        given = draft.written(value)
        if _is_call_of(value, "values"):  # a view of a dict is no sequence
            given = f"list({given})"
        draft.rewrite(cut, f"{task.torch()}.stack({given})")
    elif isinstance(value, (ast.Name, ast.Attribute, ast.Subscript, ast.Call, ast.BinOp)):
        draft.rewrite(cut, _tensor_of(draft, value))
    else:
        raise CannotWrite("what the new tensor is made of is not plain to see")


def _tensor_of(draft: Draft, value: ast.expr) -> str:
    """An element as the tensor that it was: `x.item()` and `float(x)` become x."""
    if isinstance(value, ast.Call) and called(value) in ("item", "detach") and not value.args:
        assert isinstance(value.func, ast.Attribute)
        return draft.operand(value.func.value)
    if isinstance(value, ast.Call) and called(value) == "float" and len(value.args) == 1:
        return draft.operand(value.args[0])
    if isinstance(value, ast.Call) and called(value) in ("tolist", "numpy", "argmax"):
        raise CannotWrite("the numbers have left the tensors before")
    if isinstance(value, (ast.Constant, ast.Starred)):
        raise CannotWrite("a part of the list is not a tensor")
    return draft.operand(value)


def _is_list(draft: Draft, name: str) -> bool:
    """Whether the file sets a variable to a list somewhere."""
    for node in ast.walk(draft.tree):
        pair = assigned(node) if isinstance(node, ast.stmt) else None
        if pair is not None and name and dotted(pair[0]) == name:
            if isinstance(pair[1], (ast.List, ast.ListComp)):
                return True
    return False


# ------------------------------------------------------------------------------- enable-grad


def enable_grad(task: Task) -> None:
    """Leave the scope without gradients: the `with`, the decorator, the switch."""
    draft, statement = task.draft, task.statement
    if isinstance(statement, (ast.With, ast.AsyncWith)):
        if not _turn_around(draft, statement):
            _leave_with(draft, statement)
        return
    if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef)):
        remove_decorator(draft, statement, lambda text: any(name in text for name in _SCOPES))
        return
    if _unwrap(draft, statement):
        return
    call = call_statement(statement, "set_grad_enabled")
    if call is None or len(call.args) != 1 or not isinstance(call.args[0], ast.Constant):
        raise CannotWrite("the line opens no scope that can be left")
    if call.args[0].value is not False:
        raise CannotWrite("the switch is not set to False")
    draft.rewrite(call.args[0], "True")


def _turn_around(draft: Draft, statement: ast.With | ast.AsyncWith) -> bool:
    """`with set_grad_enabled(not training)`: the flag means the opposite."""
    for item in statement.items:
        call = item.context_expr
        if _is_call_of(call, "set_grad_enabled") and isinstance(call, ast.Call) and call.args:
            flag = call.args[0]
            if isinstance(flag, ast.UnaryOp) and isinstance(flag.op, ast.Not):
                draft.rewrite(flag, draft.written(flag.operand))
                return True
            if isinstance(flag, ast.Constant) and flag.value is False:
                draft.rewrite(flag, "True")
                return True
    return False


def keep_own_history(task: Task) -> None:
    """`h, c = h.detach(), c.detach()` in the middle of a sequence: the line goes."""
    draft, statement = task.draft, task.statement
    if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
        raise CannotWrite("the line sets nothing")
    target, value = statement.targets[0], statement.value
    if not isinstance(target, ast.Tuple) or not isinstance(value, ast.Tuple):
        raise CannotWrite("the line sets one value")
    names = [ast.unparse(each) for each in target.elts]
    kept = [ast.unparse(_unwrapped(each)) for each in value.elts]
    if names != kept or len(draft.block_of(statement)) == 1:
        raise CannotWrite("the line computes something")
    if not all(_is_cut_off(each) for each in value.elts):
        raise CannotWrite("the line takes no history away")
    draft.remove(statement)


def _is_cut_off(value: ast.expr) -> bool:
    return any(
        _is_call_of(node, "detach", "item", *_COPIES) or getattr(node, "attr", "") == "data"
        for node in ast.walk(value)
    )


def _unwrap(draft: Draft, statement: ast.stmt) -> bool:
    """`model.forward = torch.no_grad()(model.forward)`: the function without the mode around it."""
    pair = assigned(statement)
    if pair is None or not isinstance(pair[1], ast.Call) or len(pair[1].args) != 1:
        return False
    call, inner = pair[1], pair[1].args[0]
    mode = call.func.func if isinstance(call.func, ast.Call) else call.func
    if call.keywords or dotted(mode).rpartition(".")[2] not in _SCOPES:
        return False
    if ast.unparse(pair[0]) == ast.unparse(inner):
        draft.remove(statement)
    else:
        draft.rewrite(call, draft.written(inner))
    return True


def _closes_gradients(item: ast.withitem) -> bool:
    call = item.context_expr
    if not isinstance(call, ast.Call) or item.optional_vars is not None:
        return False
    if called(call) in _SCOPES:
        return not call.args
    if called(call) == "set_grad_enabled" and len(call.args) == 1:
        return isinstance(call.args[0], ast.Constant) and call.args[0].value is False
    return False


def _leave_with(draft: Draft, statement: ast.With | ast.AsyncWith) -> None:
    found = [item for item in statement.items if _closes_gradients(item)]
    if len(found) != 1:
        raise CannotWrite("the with statement is not about gradients alone")
    if len(statement.items) > 1:
        raise CannotWrite("the with statement opens several things")
    body = statement.body
    if body[0].lineno == statement.lineno:
        raise CannotWrite("the block stands in the line of its head")
    start, end = draft.whole_lines(statement)
    inner = draft.reindented(body, draft.indentation(body[0]), draft.indentation(statement))
    # comments between the head and the first statement of the block go with it
    between = "".join(draft.lines[header_end(statement) : body[0].lineno - 1])
    if between.strip():
        raise CannotWrite("comments stand between the head and its block")
    draft.replace(start, end, inner)


def remove_decorator(
    draft: Draft, function: ast.FunctionDef | ast.AsyncFunctionDef, wanted: Callable[[str], bool]
) -> None:
    """Take away the one decorator that a test recognises."""
    found = [node for node in function.decorator_list if wanted(draft.written(node))]
    if len(found) != 1:
        raise CannotWrite("not exactly one decorator is meant")
    first, last = found[0].lineno, found[0].end_lineno or found[0].lineno
    draft.replace(draft.starts[first - 1], draft.starts[last], "")


def no_grad(task: Task) -> None:
    """Compute under no_grad: the statement, or the function whose `def` line is named."""
    statement = task.statement
    context = f"{task.torch()}.no_grad()"
    if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef)):
        start = statement.lineno - 1
        draft = task.draft
        draft.whole_lines(statement)
        space = draft.lines[start][: len(draft.lines[start]) - len(draft.lines[start].lstrip())]
        at = draft.starts[start]
        draft.replace(at, at, f"{space}@{context}{draft.newline(statement)}")
        return
    if isinstance(statement, ast.Return) or hasattr(statement, "body"):
        raise CannotWrite("the statement cannot stand in a block of its own")
    task.draft.wrap(statement, f"with {context}:")


def step_in_place(task: Task) -> None:
    """`w = w - rate * w.grad` becomes `w -= rate * w.grad` under no_grad, and clears `w.grad`."""
    draft, statement = task.draft, task.statement
    block = draft.block_of(statement)
    first = last = block.index(statement)
    while first and updated_by_gradient(block[first - 1]):
        first -= 1
    while last + 1 < len(block) and updated_by_gradient(block[last + 1]):
        last += 1
    steps = block[first : last + 1]
    names = [updated_by_gradient(step) for step in steps]
    if not all(names):
        raise CannotWrite("the line makes no step along a gradient")
    space, newline = draft.indentation(steps[0]), draft.newline(steps[0])
    lines = [f"with {task.torch()}.no_grad():"]
    for name, step in zip(names, steps, strict=True):
        assert isinstance(step, ast.Assign)
        assert isinstance(step.value, ast.BinOp)
        sign = "-=" if isinstance(step.value.op, ast.Sub) else "+="
        lines.append(f"{draft.unit(step)}{name} {sign} {draft.written(step.value.right)}")
    lines += [f"{name}.grad = None" for name in names if not _is_cleared(draft, name)]
    start, end = draft.whole_lines(steps[0])[0], draft.whole_lines(steps[-1])[1]
    draft.replace(start, end, "".join(space + line + newline for line in lines))


def _is_cleared(draft: Draft, name: str) -> bool:
    """Whether the program clears a gradient itself."""
    for node in ast.walk(draft.tree):
        pair = assigned(node) if isinstance(node, ast.stmt) else None
        if pair is not None and dotted(pair[0]) == f"{name}.grad":
            return True
        if isinstance(node, ast.Call) and called(node) == "zero_":
            assert isinstance(node.func, ast.Attribute)
            if dotted(node.func.value) == f"{name}.grad":
                return True
    return False


# ------------------------------------------------------------------------------------ leaves


def make_leaf(task: Task) -> None:
    """What is assigned becomes a leaf, or a parameter where it was made from one."""
    pair = assigned(task.statement)
    if pair is None or not isinstance(pair[0], (ast.Name, ast.Attribute)):
        raise CannotWrite("the line assigns no single tensor")
    draft, value = task.draft, pair[1]
    parameters = [
        node
        for node in draft.walk(value)
        if isinstance(node, ast.Call) and called(node) == "Parameter" and node is not value
    ]
    if parameters and isinstance(pair[0], ast.Attribute):
        wrapper = draft.written(parameters[0].func)
        draft.rewrite(value, f"{wrapper}({draft.operand(value)}.detach())")
    else:
        draft.suffix(value, ".detach().requires_grad_()")


def retain_grad(task: Task) -> None:
    """Ask the tensor to keep its gradient, right after it is made."""
    draft, statement = task.draft, task.statement
    pair = assigned(statement)
    if pair is not None and dotted(pair[0]) and ".grad" not in draft.written(pair[1]):
        draft.insert_after(statement, f"{dotted(pair[0])}.retain_grad()")
        return
    owners = {
        dotted(node.value)
        for node in draft.walk(statement)
        if isinstance(node, ast.Attribute) and node.attr == "grad"
    }
    owners.discard("")
    if len(owners) != 1:
        raise CannotWrite("it is not known which tensor is meant")
    name = owners.pop()
    scope = draft.scope_of(statement)
    made = [
        node
        for node in ast.walk(scope)
        if isinstance(node, ast.stmt)
        and (found := assigned(node)) is not None
        and dotted(found[0]) == name
        and node.lineno < statement.lineno
    ]
    if len(made) != 1:
        raise CannotWrite(f"{name} is not made in one line before")
    draft.insert_after(made[0], f"{name}.retain_grad()")


def drop_requires_grad(task: Task) -> None:
    """The tensor is data, not a parameter."""
    draft, statement = task.draft, task.statement
    pair = assigned(statement)
    if pair is not None and dotted(pair[0]).endswith(".requires_grad"):
        if isinstance(pair[1], ast.Constant) and pair[1].value is True:
            draft.remove(statement)
            return
    for node in draft.walk(statement):
        if isinstance(node, ast.Call):
            for keyword in node.keywords:
                if keyword.arg == "requires_grad" and isinstance(keyword.value, ast.Constant):
                    remove_argument(draft, node, keyword)
                    return
            if called(node) == "requires_grad_" and isinstance(node.func, ast.Attribute):
                if isinstance(statement, ast.Expr) and statement.value is node:
                    draft.remove(statement)
                else:
                    draft.replace(draft.bounds(node.func.value)[1], draft.end(node), "")
                return
    raise CannotWrite("the line does not ask for gradients")
