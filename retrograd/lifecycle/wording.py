"""Words for facts: names of variables and operations, labels, and edits of single lines.

A name is given only when the source leaves no doubt; otherwise the text says less.
"""

from __future__ import annotations

import ast
import re

from ..diagnostics.render import display_path
from ..diagnostics.report import Edit, Span
from .evidence import CallFacts, NodeFacts, site_of
from .site import CallSite


def operation(node: NodeFacts) -> str:
    """The operation that made a node: `MulBackward0` -> `mul`, `MyFnBackward` -> `MyFn`."""
    name = node.name().rsplit(":", 1)[-1]
    if name == "CopySlices":
        return "a write through a view"
    custom = name.removesuffix("Backward")
    if custom != name:
        return custom
    forward = re.sub(r"Backward\d+$", "", name)
    # A capital starts a word where it follows a small letter or begins one: LogSoftmax, NLLLoss.
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", forward).lower()


def expression(node: NodeFacts) -> str:
    """The text that made a node, `self.rnn(x, h)`, or its operation where that is long."""
    text = site_of(node).text
    return text if text is not None and len(text) <= 48 else operation(node)


def describe_node(node: NodeFacts) -> str:
    """`tanh, node 3, [2, 4] float32`, and `, in Net.forward` if it was made in a module's."""
    text = f"{operation(node)}, node {node.sequence}"
    if isinstance(node.shape, tuple) and node.dtype is not None:
        text += f", {list(node.shape)} {node.dtype}"
    # The call is over, so its module's path is not known any more; its class is.
    owner, _, function = getattr(node.code, "co_qualname", "").rpartition(".")
    if function == "forward" and not owner.endswith("<locals>"):
        text += f", in {owner.rpartition('.')[2]}.forward"
    return text


def call_name(call: CallFacts) -> str:
    """`backward #2` or `grad #2`: all calls of a process are counted together."""
    return f"{'grad' if call.kind == 'grad' else 'backward'} #{call.ordinal}"


def sentence(text: str) -> str:
    """The text with a capital first letter."""
    return text[:1].upper() + text[1:]


def quoted(name: str | None, otherwise: str) -> str:
    """The name as code, or a description where it is not known."""
    return otherwise if name is None else f"`{name}`"


def receiver(site: CallSite) -> str | None:
    """`loss` for a site `loss.backward()`."""
    syntax = site.syntax
    if syntax is None or not isinstance(syntax.node, ast.Call):
        return None
    function = syntax.node.func
    if isinstance(function, ast.Attribute) and function.attr == "backward":
        return syntax.source(function.value)
    return None


def written(site: CallSite) -> str | None:
    """What an in-place operation writes: `w` for `w.add_(1)`, `w[0]` for `w[0] += 1`."""
    syntax = site.syntax
    if syntax is None:
        return None
    node, statement = syntax.node, syntax.statement
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        return syntax.source(node.func.value)
    if isinstance(statement, ast.AugAssign):
        return syntax.source(statement.target)
    if isinstance(statement, ast.Assign) and node in statement.targets:
        return syntax.source(node)
    return None


def saved_operand(node: NodeFacts, saved_name: str) -> str:
    """What a node keeps: `` `W` `` where the line leaves no doubt, else by the name of its role."""
    if saved_name in ("out", "result"):
        return "its result"
    syntax = site_of(node).syntax
    expression = None if syntax is None else syntax.node
    node.name()  # a node gets its own class, which knows its operation, when it is looked at
    op = getattr(node, "op", None)
    roles = () if op is None else op.plan.tensor_names
    if syntax is not None and isinstance(expression, ast.BinOp) and saved_name in roles[:2]:
        # With a number on one side the roles may be swapped: `2 - h` is an operation on `h`.
        both = isinstance(expression.op, ast.MatMult) or None not in tuple(node.edges)
        operand = syntax.source((expression.left, expression.right)[roles.index(saved_name)])
        if both and len(roles) == 2 and operand in syntax.names():
            return f"`{operand}`"
    return f"its operand `{saved_name}`"


def line_reference(site: CallSite, near: CallSite | None = None) -> str:
    """`line 13`, with the file unless it is that of `near`; empty if unknown."""
    if site.line is None or site.file is None:
        return ""
    if near is not None and near.file == site.file:
        return f"line {site.line}"
    return f"{display_path(site.file)}:{site.line}"


class Story:
    """Collects spans in the order of events; places that are not known are left out."""

    def __init__(self) -> None:
        self.spans: list[Span] = []

    def add(self, site: CallSite, label: str, *, primary: bool = False) -> None:
        """The next event."""
        if site.place is not None:
            order = len(self.spans) + 1
            self.spans.append(Span(label, site.place, primary=primary, order=order))

    def finish(self) -> tuple[Span, ...]:
        """The spans; a story of one event needs no numbers."""
        if len(self.spans) == 1:
            only = self.spans[0]
            return (Span(only.label, only.place, primary=True),)
        return tuple(self.spans)


# --- edits ----------------------------------------------------------------------------------------


def append_to_name(site: CallSite, name: str | None, suffix: str) -> Edit | None:
    """The line with `suffix` after each use of the variable in the site: `h` -> `h.detach()`."""
    syntax = site.syntax
    if syntax is None or name is None or site.source is None or site.line is None:
        return None
    found = syntax.occurrences(name)
    if not found or any(line != site.line or end != site.line for line, _, end, _ in found):
        return None
    pieces = {(column, column): suffix for _, _, _, column in found}
    return Edit.replacing(str(site.file), site.line, site.source, pieces)


def add_argument(site: CallSite, argument: str) -> Edit | None:
    """The line with one more argument in the call: `f(x)` -> `f(x, argument)`."""
    syntax = site.syntax
    if syntax is None or not isinstance(syntax.node, ast.Call):
        return None
    call = syntax.node
    name = argument.split("=")[0]
    if any(keyword.arg == name for keyword in call.keywords):
        return None
    line, column = syntax.position(call)[2:]
    source = syntax.lines[line - 1]
    before = source[: column - 1].rstrip()
    if not source[:column].endswith(")") or not before or before.endswith(","):
        return None
    text = argument if before.endswith("(") else f", {argument}"
    return Edit.replacing(str(site.file), line, source, {(column - 1, column - 1): text})


def append_to_receiver(site: CallSite, suffix: str) -> Edit | None:
    """The line with `suffix` after what backward() is called on: `y.backward()`."""
    syntax = site.syntax
    if syntax is None or receiver(site) is None or not isinstance(syntax.node, ast.Call):
        return None
    function = syntax.node.func
    assert isinstance(function, ast.Attribute)
    line, column = syntax.position(function.value)[2:]
    source = syntax.lines[line - 1]
    return Edit.replacing(str(site.file), line, source, {(column, column): suffix})


def remove_suffix(site: CallSite, suffix: str) -> Edit | None:
    """The line without `suffix` at the end of the site's text."""
    if site.text is None or site.source is None or site.line is None or site.end_column is None:
        return None
    if not site.text.endswith(suffix):
        return None
    start = site.end_column - len(suffix)
    pieces = {(start, site.end_column): ""}
    return Edit.replacing(str(site.file), site.line, site.source, pieces)


def line_after(site: CallSite, text: str) -> Edit | None:
    """A new line after the statement at the site, indented like it."""
    syntax = site.syntax
    if syntax is None or site.source is None or syntax.statement is None:
        return None
    line, _, end_line, _ = syntax.position(syntax.statement)
    first = syntax.lines[line - 1]
    indent = first[: len(first) - len(first.lstrip())]
    return Edit(str(site.file), end_line + 1, None, indent + text)


def out_of_place(site: CallSite) -> Edit | None:
    """`h.add_(1)` -> `h = h.add(1)` and `h += 1` -> `h = h + 1`, where that is the whole line."""
    syntax = site.syntax
    statement = None if syntax is None else syntax.statement
    if syntax is None or statement is None or site.source is None or site.line is None:
        return None
    line, start, end_line, end = syntax.position(statement)
    if line != end_line:
        return None
    text = _out_of_place(syntax.source, statement)
    if text is None:
        return None
    return Edit.replacing(str(site.file), line, syntax.lines[line - 1], {(start, end): text})


_OPERATORS: dict[type[ast.operator], str] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.Pow: "**",
}


def _out_of_place(source: object, statement: ast.stmt) -> str | None:
    assert callable(source)
    if isinstance(statement, ast.AugAssign) and isinstance(statement.target, ast.Name):
        sign = _OPERATORS.get(type(statement.op))
        value = source(statement.value)
        if isinstance(statement.value, ast.BinOp | ast.IfExp | ast.BoolOp | ast.Compare):
            value = f"({value})"
        name = statement.target.id
        return None if sign is None or value is None else f"{name} = {name} {sign} {value}"
    if not isinstance(statement, ast.Expr) or not isinstance(statement.value, ast.Call):
        return None
    function = statement.value.func
    if not isinstance(function, ast.Attribute) or not isinstance(function.value, ast.Name):
        return None
    name, method = function.value.id, function.attr
    text = source(statement.value)
    if not method.endswith("_") or method.endswith("__") or text is None:
        return None
    if method in ("zero_", "fill_", "copy_", "normal_", "uniform_", "random_", "data_"):
        return None  # no twin that returns a new tensor
    return f"{name} = {name}.{method[:-1]}{text[len(f'{name}.{method}') :]}"
