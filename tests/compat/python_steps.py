"""What functions of PyTorch in Python first do with their arguments, read in their source.

Such a function has no parser. What it says to a wrong argument depends on where it first uses it:
an attribute that a value does not have, or the parser of the function that it passes it on to. So
its steps are listed in order: ``input.size`` is an attribute that is read, ``torch.relu(input)`` a
call; an argument that is no parameter of the function (or no longer) is a question mark. What
happens only if a parameter is true, or is given at all, has the condition before it, in braces:
``{training}input.size``, ``{!offsets is}input.dim``. Of another ``if`` and ``else`` is listed what
the ``else`` does. A step that depends on such a condition has a tilde before it: it says what was
meant, not what every call does.

A parameter that becomes something else where it is None has a bar: ``f(align_corners|?)``. A
comparison before a ``raise`` is a step, too (``p < 0.0``): a tensor has no order.
"""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Iterator
from functools import partial
from typing import Any

# where functions are found, as the source has it and as the list of signatures has it
PLACES = {
    "torch._C._nn.": "nn.",
    "torch._C._VariableFunctions.": "C.",
    "torch._VF.": "C.",
    "_VF.": "C.",
    "torch.": "torch.",
    "F.": "nn.functional.",
}


ORDERS = (ast.Lt, ast.LtE, ast.Gt, ast.GtE)

# what some expressions are in every call
KNOWN = {"_Reduction.get_enum(": "1", "torch.backends.cudnn.enabled": "False"}

# What is read wrongly above, because a type decides what is called: conditions may name one here.
BY_HAND = {
    **{
        f"nn.functional.lp_pool{n}d": [
            "input.pow",
            f"{{stride is}}nn.functional.avg_pool{n}d(?, {size}, stride, 0, ceil_mode)",
            f"{{!stride is}}nn.functional.avg_pool{n}d(?, {size}, padding=0, ceil_mode=ceil_mode)",
        ]
        for n, size in ((1, "kernel_size"), (2, "?"), (3, "?"))  # two and three are unpacked first
    },
    "torch.norm": [
        "input.layout",
        "{p str}linalg.vector_norm(input, 2, ?, keepdim, dtype=dtype)",
        "{!p is}linalg.vector_norm(input, 2, ?, keepdim, dtype=dtype)",
        "{p is}{!p str}linalg.vector_norm(input, p, ?, keepdim, dtype=dtype)",
    ],
    "Tensor.split": [
        "{split_size int}C.split(self, split_size, dim)",
        "{!split_size int}{!split_size Tensor}C.split_with_sizes(self, split_size, dim)",
    ],
    "torch.tensordot": [
        "{dims int}a.dim",
        "{dims int}b.dim",
        "{!out is}C.tensordot(a, b, ?, ?)",
        "{out is}C.tensordot(a, b, ?, ?, out=out)",
    ],
    "torch.stft": [
        *("{center}input.dim", "{center}input.size", "{center}input.view"),
        "{center}nn.functional.pad(?, ?, pad_mode)",
        *(
            f"{{{way}}}C.stft(input, n_fft, hop_length, win_length, window, normalized, onesided, "
            "return_complex, align_to_window)"
            for way in ("!center", "n_fft int")
        ),
    ],
}


def steps_of(function: Any) -> list[str]:
    """The steps of a function; empty where there is no source to read."""
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(function))).body[0]
    except (OSError, TypeError, SyntaxError):
        return []
    if not isinstance(tree, ast.FunctionDef):
        return []
    names = [*tree.args.posonlyargs, *tree.args.args, *tree.args.kwonlyargs]
    names += [tree.args.vararg] if tree.args.vararg is not None else []
    reader = _Reader({argument.arg for argument in names}, inspect.unwrap(function).__globals__)
    reader.read_all(tree.body)
    return list(dict.fromkeys(reader.steps))


def _inside(function: Any, words: list[str], options: dict[str, str]) -> list[str]:
    """The steps of a private helper, in the words of its caller."""
    parameters = inspect.signature(function).parameters
    given = {n: repr(p.default) for n, p in parameters.items() if p.default is not p.empty}
    given |= {**dict(zip(parameters, words, strict=False)), **options}
    return [step for step in map(partial(_translated, given), steps_of(function)) if step]


def _translated(given: dict[str, str], step: str) -> str:
    """One step in other words; the empty text where it is never taken, or nothing is known."""
    *conditions, step = step.replace("{", "").split("}")
    mark, step = "~" if step.startswith("~") else "", step.strip("~")
    guard = ""
    for condition in conditions:
        name, _, kind = condition.strip("!").partition(" ")
        word = given.get(name, "?")
        if word.isidentifier() and word not in ("None", "True", "False"):
            guard += f"{{{condition.replace(name, word)}}}"
        elif word == "?":
            mark = "~"
        else:
            met = word != "None" if kind else bool(ast.literal_eval(word))
            if met is condition.startswith("!"):
                return ""
    place, call, inside = step.partition("(")
    if not call:
        name, point, attribute = step.partition(".")
        word = given.get(name, "?")
        return f"{guard}{mark}{word}{point}{attribute}" if word.isidentifier() else ""
    words = []
    for part in inside.removesuffix(")").split(", "):
        option, equals, word = part.rpartition("=")
        words.append(f"{option}{equals}{given.get(word, word)}")
    return f"{guard}{mark}{place}({', '.join(words)})"


class _Reader:
    def __init__(self, parameters: set[str], scope: dict[str, Any]) -> None:
        self.scope = scope
        self.known = parameters  # names that still have the value of the argument
        self.filled: set[str] = set()  # names that have it unless it was None
        self.steps: list[str] = []
        self.mark = ""  # before steps that not every call takes
        self.guard = ""  # the conditions under which the steps that are read are taken

    def read_all(self, body: list[ast.stmt]) -> None:
        for statement in body:
            self.read(statement)

    def read(self, statement: ast.stmt) -> None:
        if isinstance(statement, ast.If):
            if "torch_function" in ast.unparse(statement.test):
                return
            condition = self.condition(statement.test)
            if condition is not None:
                self.branches(statement, condition)
                return
            self.use(_first(statement.test))
            if _only_raises(statement.body):
                if not self.mark:
                    self.compare(statement.test)
                self.use_rest(statement.test)
            if not _only_raises(statement.orelse):
                self.forget(statement.body)
            outer, by_flag = self.mark, isinstance(statement.test, ast.Name)
            self.mark = outer if by_flag else "~"
            if kind := _of_one_type(statement):  # what is done with the others then
                before = set(self.known)
                self.known.discard(kind)
                self.read_all(statement.body)
                self.known |= {kind} & before
            nested = self.guard and not statement.orelse  # a closer look at what is given
            if nested or _only_raises(statement.orelse):
                self.read_all(statement.body)
            else:
                self.read_all(statement.orelse)
            if by_flag or not any(isinstance(node, ast.Return) for node in ast.walk(statement)):
                self.mark = outer
            return
        if isinstance(
            statement, ast.Return | ast.Expr | ast.Assign | ast.AnnAssign | ast.AugAssign
        ):
            if statement.value is not None:
                self.use(statement.value)
        self.forget([statement])

    def compare(self, test: ast.expr) -> None:
        """Comparisons of parameters with numbers, or with each other, as steps."""
        for part in test.values if isinstance(test, ast.BoolOp) else [test]:
            if isinstance(part, ast.Compare) and isinstance(part.ops[0], ORDERS):
                words = [self.word(value) for value in (part.left, *part.comparators)]
                if len(words) == 2 and "?" not in words:
                    shown = ast.unparse(ast.Compare(ast.Name("x"), part.ops, [ast.Name("y")]))
                    self.steps.append(f"{self.guard}{words[0]}{shown[1:-1]}{words[1]}")

    def use_rest(self, test: ast.expr) -> None:
        """The further parts of a condition that no right call meets: all of them are looked at."""
        if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.Or):
            outer, self.mark = self.mark, "~"
            for part in test.values[1:]:
                self.use(_first(part))
            self.mark = outer

    def condition(self, test: ast.expr) -> str | None:
        """A condition on one parameter alone: that it is true, or that it is given."""
        if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
            inside = self.condition(test.operand)
            return None if inside is None else _opposite(inside)
        if isinstance(test, ast.Name) and test.id in self.known:
            return test.id
        if not (isinstance(test, ast.Compare) and isinstance(test.left, ast.Name)):
            return None
        if ast.unparse(test.comparators[0]) != "None" or test.left.id not in self.known:
            return None
        if isinstance(test.ops[0], ast.IsNot):
            return f"{test.left.id} is"
        return f"!{test.left.id} is" if isinstance(test.ops[0], ast.Is) else None

    def branches(self, statement: ast.If, condition: str) -> None:
        """Both ways of a condition, and what follows one that ends the function."""
        outer, known = self.guard, set(self.known)
        left = set(known)
        for body, guard in ((statement.body, condition), (statement.orelse, _opposite(condition))):
            self.guard, self.known = f"{outer}{{{guard}}}", set(known)
            self.read_all(body)
            left &= self.known
        self.known, self.guard = left, outer
        if condition.endswith(" is"):
            name = condition.strip("!").partition(" ")[0]
            ways = statement.body, statement.orelse
            without, given = ways if condition.startswith("!") else reversed(ways)
            if name in _stored(without) and name not in _stored(given):
                self.filled.add(name)
        if isinstance(statement.body[-1], ast.Return | ast.Raise):
            self.guard += f"{{{_opposite(condition)}}}"

    def forget(self, body: list[ast.stmt]) -> None:
        self.known -= _stored(body)
        self.filled -= _stored(body)

    def use(self, expression: ast.expr) -> None:
        """The steps of an expression, inner ones first, as Python evaluates it."""
        for node in _in_order(expression):
            if isinstance(node, ast.Call):
                self.call(node)
            elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
                if node.value.id in self.known and isinstance(node.ctx, ast.Load):
                    self.steps.append(f"{self.guard}{self.mark}{node.value.id}.{node.attr}")

    def call(self, node: ast.Call) -> None:
        written = ast.unparse(node.func)
        place = next((p for p in PLACES if written.startswith(p)), None)
        name = written.removeprefix(place or "")
        starred = any(isinstance(a, ast.Starred) for a in node.args)
        if starred or any(k.arg is None for k in node.keywords):
            return
        if isinstance(node.func, ast.Attribute) and ast.unparse(node.func.value) in self.known:
            given = [ast.unparse(node.func.value), *map(self.word, node.args)]
            where = "Tensor."
        elif place is not None and "." not in name:
            given = [*map(self.word, node.args)]
            where = PLACES[place]
        elif isinstance(node.func, ast.Name) and written.startswith("_"):
            helper = self.scope.get(written)
            if inspect.isfunction(helper):
                options = {k.arg: self.word(k.value) for k in node.keywords if k.arg is not None}
                for step in _inside(helper, [*map(self.word, node.args)], options):
                    conditions, _, step = step.rpartition("}")
                    conditions += "}" if conditions else ""
                    mark = "" if step.startswith("~") else self.mark
                    self.steps.append(f"{self.guard}{conditions}{mark}{step}")
            return
        elif isinstance(node.func, ast.Name):
            given, where = [*map(self.word, node.args)], "nn.functional."
        else:
            return
        given += [f"{k.arg}={self.word(k.value)}" for k in node.keywords]
        self.steps.append(f"{self.guard}{self.mark}{where}{name}({', '.join(given)})")

    def word(self, value: ast.expr) -> str:
        if isinstance(value, ast.Name) and value.id in self.known:
            return value.id
        if isinstance(value, ast.Name) and value.id in self.filled:
            return f"{value.id}|?"
        if isinstance(value, ast.Constant) and isinstance(value.value, bool | int | float):
            return repr(value.value)
        text = ast.unparse(value)
        return next((word for start, word in KNOWN.items() if text.startswith(start)), "?")


def _stored(body: list[ast.stmt]) -> set[str]:
    """The names that get another value."""
    nodes = [node for statement in body for node in ast.walk(statement)]
    return {n.id for n in nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}


def _opposite(condition: str) -> str:
    return condition.removeprefix("!") if condition.startswith("!") else f"!{condition}"


def _of_one_type(statement: ast.If) -> str | None:
    """The value whose type alone is the condition, where there is no other way."""
    test = statement.test
    if (
        isinstance(test, ast.Call)
        and ast.unparse(test.func) == "isinstance"
        and not statement.orelse
    ):
        return ast.unparse(test.args[0])
    return None


def _only_raises(body: list[ast.stmt]) -> bool:
    """Whether the ``else`` of a condition says that none of its cases was met."""
    while len(body) == 1 and isinstance(body[0], ast.If):
        body = body[0].orelse
    return len(body) == 1 and isinstance(body[0], ast.Raise)


def _first(test: ast.expr) -> ast.expr:
    """The part of a condition that is looked at in each case."""
    return _first(test.values[0]) if isinstance(test, ast.BoolOp) else test


def _in_order(node: ast.AST) -> Iterator[ast.AST]:
    if isinstance(node, ast.IfExp) and isinstance(node.test, ast.Name):  # by a flag
        yield from _in_order(node.orelse)
    if isinstance(node, ast.Lambda | ast.IfExp | ast.ListComp | ast.GeneratorExp | ast.BoolOp):
        return
    for child in ast.iter_child_nodes(node):
        yield from _in_order(child)
    yield node
