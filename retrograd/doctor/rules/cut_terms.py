"""A term of a loss whose history the text takes away, where the sum shows that it has none.

The nodes of a loss tell which of its sums have an operand without history. That is no fault by
itself: a constant, a penalty that is switched off. It is one if the text computes the operand from
values with history, and cuts it off: nothing else ever sends those back.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from retrograd.diagnostics.report import Fix, Place, Span
from retrograd.doctor.model import Diagnosis
from retrograd.doctor.session import Watched
from retrograd.watching import source
from retrograd.watching.graph import in_ranges
from retrograd.watching.records import Call

TIMES = 2
LOOKED_AT = 12  # calls
CUTS = ("item", "detach", "tolist", "numpy")
SCOPES = ("no_grad", "inference_mode")
NUMBERS = ("tensor", "zeros", "ones", "scalar_tensor")


@dataclass(frozen=True)
class Cut:
    """Where a term loses its history, and what it is called there."""

    line: int  # of the statement that computes it
    name: str
    word: str  # ".item()", ".data", "no_grad"
    scope: int = 0  # the line of the `with` or the function that switches gradients off
    maker: int = 0  # the line whose nodes nothing sends back, where the cut value has any


def diagnose(watched: Watched, found: Iterable[Diagnosis]) -> list[Diagnosis]:
    """One diagnosis for each such term; `found` has what is known already."""
    known = {(fix.place.file, fix.place.line) for each in found for fix in each.fixes}
    seen: dict[Place, list[tuple[Call, int]]] = {}
    for call, number in watched.recorder.one_sided:
        stack = [place for _, place in call.log.stack_of(number)]
        if stack:
            seen.setdefault(stack[-1], []).append((call, number))
    told = []
    for place, sums in seen.items():
        calls = [call for call, _ in sums]
        counts = [sum(each is call for each in calls) for call in calls]
        if len({call.index for call in calls}) < TIMES:
            continue
        cuts, numbers = _cut_terms(place)
        if len(cuts) + numbers > max(counts):
            continue  # it is not known which of them the sum is about
        if not all(_is_lost(watched, calls, place, cut) for cut in cuts):
            continue  # `a - a.detach()` gives a loss another value on purpose
        for cut in cuts:
            diagnosis = _diagnosis(watched, place, cut, calls[-1])
            where = diagnosis.fixes[0].place
            if (where.file, where.line) not in known:
                told.append(diagnosis)
    return told


# ------------------------------------------------------------------------------------ the text


def _cut_terms(place: Place) -> tuple[list[Cut], int]:
    """The terms of the sum in a line that have been cut off, and how many are plain numbers."""
    statement = source.statement_at(place.file, place.line)
    value = getattr(statement, "value", None)
    if isinstance(statement, ast.Expr) and isinstance(value, ast.Call):
        value = getattr(value.func, "value", None)  # `(a + b).backward()`
    if not isinstance(value, ast.expr) or statement is None:
        return [], 0
    text = Text(place)
    terms = list(_terms(value, isinstance(statement, ast.AugAssign)))
    cuts = [cut for term in terms if (cut := text.cut(term, statement.lineno, 3)) is not None]
    return cuts, sum(text.is_number(term) for term in terms)


def _terms(value: ast.expr, joined: bool) -> Iterator[ast.expr]:
    if isinstance(value, ast.BinOp) and isinstance(value.op, (ast.Add, ast.Sub)):
        yield from _terms(value.left, True)
        yield from _terms(value.right, True)
    elif isinstance(value, ast.BinOp) and isinstance(value.op, (ast.Mult, ast.Div)):
        sides = [value.left, value.right]
        if any(_is_sum(side) for side in sides):  # `(a + b) / 2`
            for side in sides:
                yield from _terms(side, joined) if _is_sum(side) else ()
        elif joined:
            yield value
    elif isinstance(value, ast.UnaryOp):
        yield from _terms(value.operand, joined)
    elif joined:
        yield value


def _is_sum(node: ast.expr) -> bool:
    return isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Add, ast.Sub))


class Text:
    """The file and the function around a sum."""

    def __init__(self, place: Place) -> None:
        self.file = place.file
        self.tree = source.tree_of(place.file)
        self.scope = source.function_around(place.file, place.line) or self.tree
        self.modules = {
            (name.asname or name.name).split(".")[0]
            for node in ast.walk(self.tree)
            if isinstance(node, (ast.Import, ast.ImportFrom))
            for name in node.names
        }

    def cut(self, term: ast.expr, line: int, depth: int) -> Cut | None:
        """How a term has lost its history, if one of its factors shows it."""
        while isinstance(term, ast.UnaryOp):
            term = term.operand
        if isinstance(term, ast.BinOp) and isinstance(term.op, (ast.Mult, ast.Div)):
            found = [self.cut(side, line, depth) for side in (term.left, term.right)]
            cuts = [each for each in found if each is not None]
            return cuts[0] if len(cuts) == 1 else None
        inner, word = _outer_cut(term)
        if inner is not None:
            return Cut(line, ast.unparse(inner), word, maker=self._maker(inner, line))
        if isinstance(term, (ast.Name, ast.Attribute)) and depth:
            return self._of_variable(term, line, depth - 1)
        if isinstance(term, ast.Call):
            return self._of_call(term, line) or self._of_parts(term, line)
        return self._of_parts(term, line)

    def _maker(self, inner: ast.expr, line: int) -> int:
        if isinstance(inner, (ast.Name, ast.Attribute)):
            made = [node for node in self._setting(inner) if node.lineno <= line]
            return made[-1].lineno if made else line
        return line

    def _setting(self, name: ast.expr) -> list[ast.Assign | ast.AugAssign]:
        """The statements that compute a variable, or an attribute of this name."""
        scope, written = self.scope, ast.unparse(name)
        if isinstance(name, ast.Attribute):
            scope = self.tree
        found = []
        for node in ast.walk(scope):
            if isinstance(node, (ast.Assign, ast.AugAssign)) and not _is_number(node.value):
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                for target in targets:
                    same = ast.unparse(target) == written
                    if isinstance(name, ast.Attribute) and isinstance(target, ast.Attribute):
                        same = target.attr == name.attr
                    if same:
                        found.append(node)
        return sorted(found, key=lambda node: node.lineno)

    def _of_variable(self, name: ast.expr, line: int, depth: int) -> Cut | None:
        made = self._setting(name)
        if len(made) != 1 or (isinstance(name, ast.Name) and made[0].lineno >= line):
            return None
        node, label = made[0], ast.unparse(name)
        cut = self.cut(node.value, node.lineno, depth)
        if cut is None:
            return None
        return Cut(cut.line, label, cut.word, cut.scope, cut.maker)

    def _of_call(self, call: ast.Call, line: int) -> Cut | None:
        """A function of the file that switches gradients off."""
        name = str(getattr(call.func, "attr", getattr(call.func, "id", "")))
        defined = [
            node
            for node in ast.walk(self.tree)
            if isinstance(node, ast.FunctionDef) and node.name == name
        ]
        if len(defined) != 1 or not (call.args or isinstance(call.func, ast.Attribute)):
            return None
        function = defined[0]
        for decorator in function.decorator_list:
            if _last(decorator) in SCOPES:
                return Cut(line, f"{name}()", "no_grad", function.lineno)
        for node in function.body:
            if isinstance(node, ast.With):
                if any(_last(item.context_expr) in SCOPES for item in node.items):
                    return Cut(line, f"{name}()", "no_grad", node.lineno)
        given = [n for n in ast.walk(function) if isinstance(n, ast.Return) and n.value]
        if len(given) != 1 or given[0].value is None or function is self.scope:
            return None
        cut = Text(Place(self.file, given[0].lineno)).cut(given[0].value, given[0].lineno, 1)
        if cut is None:
            return None
        return Cut(cut.line, f"{name}()", cut.word, cut.scope, cut.maker)

    def _of_parts(self, value: ast.expr, line: int) -> Cut | None:
        """`f(mu.data, other.data)`: each tensor in it is cut off."""
        words: list[str] = []
        if not self._all_cut(value, words) or not words:
            return None
        return Cut(line, ast.unparse(value)[:40], words[0])

    def _all_cut(self, node: ast.expr, words: list[str]) -> bool:
        inner, word = _outer_cut(node)
        if inner is not None:
            words.append(word)
            return True
        if isinstance(node, ast.Constant):
            return True
        if isinstance(node, ast.Name):
            return node.id in self.modules or self._is_number(node)
        if isinstance(node, ast.Attribute):
            return self._all_cut(node.value, words)
        if isinstance(node, ast.Call):
            base = node.func.value if isinstance(node.func, ast.Attribute) else None
            given = [*node.args, *(keyword.value for keyword in node.keywords)]
            known = base is None or self._all_cut(base, words)
            return known and all(self._all_cut(each, words) for each in given)
        if isinstance(node, (ast.BinOp, ast.UnaryOp, ast.Tuple, ast.List)):
            parts = [part for part in ast.iter_child_nodes(node) if isinstance(part, ast.expr)]
            return all(self._all_cut(part, words) for part in parts)
        return False

    def is_number(self, term: ast.expr) -> bool:
        """Whether a term is a number, or a variable that is set to numbers only."""
        return _is_number(term) or (isinstance(term, ast.Name) and self._is_number(term))

    def _is_number(self, name: ast.Name) -> bool:
        made = [
            node.value
            for node in ast.walk(self.tree)
            if isinstance(node, ast.Assign)
            for target in node.targets
            if name.id in [n.id for n in ast.walk(target) if isinstance(n, ast.Name)]
        ]
        return bool(made) and all(isinstance(each, ast.Constant) for each in made)


def _outer_cut(node: ast.expr) -> tuple[ast.expr | None, str]:
    """What is cut off as a whole, and by what: `kl` of `kl.item()`."""
    if isinstance(node, ast.Attribute) and node.attr == "data":
        return node.value, ".data"
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        if node.func.attr in CUTS and not node.args:
            return node.func.value, f".{node.func.attr}()"
    if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "float" and node.args:
        if isinstance(node.args[0], ast.Constant):
            return None, ""
        return node.args[0], "float()"
    return None, ""


def _last(node: ast.expr) -> str:
    node = node.func if isinstance(node, ast.Call) else node
    return str(getattr(node, "attr", getattr(node, "id", "")))


def _is_number(node: ast.expr) -> bool:
    """A number, or a tensor that is made of numbers."""
    if isinstance(node, ast.UnaryOp):
        node = node.operand
    if isinstance(node, ast.Call) and _last(node) in NUMBERS:
        return all(isinstance(each, ast.Constant) for each in node.args)
    return isinstance(node, ast.Constant)


# ------------------------------------------------------------------------------------- the run


def _is_lost(watched: Watched, calls: list[Call], place: Place, cut: Cut) -> bool:
    """Whether nothing sends the value back that was cut off, in none of the passes."""
    if not cut.maker:
        return True  # it has no history anywhere
    earlier = 0
    made = False
    for call in watched.recorder.calls[: calls[-1].index + LOOKED_AT]:
        runs = call.log.made_between(earlier, call.start)
        last: dict[int, int] = {}
        for first, behind, _ in runs:
            if behind > first:
                for _, line in call.log.stack_of(first):
                    if line.file == place.file and line.line == cut.maker:
                        last[cut.maker] = behind - 1
        for number in last.values():
            made = True
            if cut.maker != place.line and in_ranges(call.ranges, number):
                return False
        earlier = call.end
    return made


def _diagnosis(watched: Watched, added: Place, cut: Cut, call: Call) -> Diagnosis:
    made = Place(added.file, cut.line, _function(added.file, cut.line))
    scope = cut.scope
    where = Place(added.file, scope, _function(added.file, scope)) if scope else made
    sent = call.log.place_of(call.stack) or added
    how = "with gradients switched off" if scope else f"with {cut.word}"
    return Diagnosis(
        cause="no-grad-scope" if scope else "broken-graph",
        title=f"`{cut.name}` is a term of the loss, but has no history: it trains nothing",
        why=f"Line {cut.line} takes it {how}, and line {added.line} adds it to the loss that line "
        f"{sent.line} sends back. Its value changes the number that is reported; no parameter gets "
        "a gradient for it.",
        error_line=sent,
        created_at=list(dict.fromkeys([made, where, added])),
        fixes=[
            Fix("enable-grad", where, "compute the term with gradients")
            if scope
            else Fix("keep-graph", where, "stay with differentiable tensors here")
        ],
        spans=[
            Span("cut", where),
            Span("added", added),
            Span("sent back", sent, call.log.places_of(call.stack)),
        ],
        tensor=cut.name,
        facts={"partly": True, "cut": cut.word.strip(".()"), "term": True},
    )


def _function(file: str, line: int) -> str:
    around = source.function_around(file, line)
    return "" if around is None else around.name
