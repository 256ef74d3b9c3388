"""Expressions of a step: each is really evaluated, and what it reads from outside is noted."""

from __future__ import annotations

import ast
import operator
from collections.abc import Iterator
from typing import Any

from retrograd.replay.reading.attributes import Attributes
from retrograd.replay.reading.frames import Frame
from retrograd.replay.reading.guards import Access, is_plain
from retrograd.replay.reading.surroundings import CONTAINERS
from retrograd.tensor import Tensor

BINARY: dict[type[ast.operator], Any] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
    ast.MatMult: operator.matmul,
    ast.LShift: operator.lshift,
    ast.RShift: operator.rshift,
    ast.BitAnd: operator.and_,
    ast.BitOr: operator.or_,
    ast.BitXor: operator.xor,
}
INPLACE: dict[type[ast.operator], Any] = {
    kind: getattr(operator, f"i{function.__name__.strip('_')}") for kind, function in BINARY.items()
}
UNARY: dict[type[ast.unaryop], Any] = {
    ast.UAdd: operator.pos,
    ast.USub: operator.neg,
    ast.Invert: operator.invert,
}
COMPARE: dict[type[ast.cmpop], Any] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Is: operator.is_,
    ast.IsNot: operator.is_not,
    ast.In: lambda item, holder: item in holder,
    ast.NotIn: lambda item, holder: item not in holder,
}
_CONVERSIONS: dict[int, Any] = {ord("s"): str, ord("r"): repr, ord("a"): ascii}
_JOINING = frozenset(  # look at no item of a container
    kinds[kind] for kinds in (BINARY, INPLACE) for kind in (ast.Add, ast.Mult, ast.BitOr)
)


class Expressions(Attributes):
    """What evaluates an expression of a frame."""

    def value(self, node: ast.expr, frame: Frame) -> Any:
        """The value of an expression."""
        frame.node = node
        found: Any = getattr(self, f"_{type(node).__name__}")(node, frame)
        return found

    # ------------------------------------------------------------------ names and displays

    def _Constant(self, node: ast.Constant, frame: Frame) -> Any:
        return node.value

    def _Name(self, node: ast.Name, frame: Frame) -> Any:
        return self.name(node.id, frame)

    def name(self, name: str, frame: Frame) -> Any:
        """The value of a name: local, of a function around, of a cell, global or built in."""
        around: Frame | None = frame
        while around is not None:
            if name in around.names:
                return around.local(name)
            cells = around.cells
            if name in cells:
                return self._cell(cells[name], name, frame)
            around = around.parent
        space = frame.globals
        if name in space:
            return self.outside.found(space, Access.KEY, name, space[name], name)
        self.outside.absent(space, name, name)
        builtins = frame.builtins
        if name not in builtins:
            raise NameError(f"name {name!r} is not defined")
        return builtins[name]

    def _cell(self, cell: Any, name: str, frame: Frame) -> Any:
        try:
            value = cell.cell_contents
        except ValueError:
            raise NameError(f"cannot access free variable {name!r}") from None
        return self.outside.found(cell, Access.CELL, None, value, name)

    def _JoinedStr(self, node: ast.JoinedStr, frame: Frame) -> str:
        return "".join(self.value(part, frame) for part in node.values)

    def _FormattedValue(self, node: ast.FormattedValue, frame: Frame) -> str:
        value = self._as_plain(self.value(node.value, frame), frame, "a text is made of it")
        spec = "" if node.format_spec is None else self.value(node.format_spec, frame)
        if node.conversion != -1:
            value = _CONVERSIONS[node.conversion](value)
        return format(value, spec)

    def _elements(self, nodes: list[ast.expr], frame: Frame) -> Iterator[Any]:
        for node in nodes:
            if isinstance(node, ast.Starred):
                yield from self.iterate(self.value(node.value, frame), frame)
            else:
                yield self.value(node, frame)

    def _Tuple(self, node: ast.Tuple, frame: Frame) -> tuple[Any, ...]:
        return tuple(self._elements(node.elts, frame))

    def _List(self, node: ast.List, frame: Frame) -> list[Any]:
        return list(self._elements(node.elts, frame))

    def _Set(self, node: ast.Set, frame: Frame) -> set[Any]:
        return {self._hashed(item, frame) for item in self._elements(node.elts, frame)}

    def _Dict(self, node: ast.Dict, frame: Frame) -> dict[Any, Any]:
        found: dict[Any, Any] = {}
        for key, item in zip(node.keys, node.values, strict=True):
            if key is None:
                more = self.value(item, frame)
                self.outside.contents(more)
                found.update(more)
            else:
                name = self.value(key, frame)
                found[self._hashed(name, frame)] = self.value(item, frame)
        return found

    def _hashed(self, key: Any, frame: Frame) -> Any:
        """A key of a dictionary, or an element of a set; a tensor is known by its identity."""
        return key if isinstance(key, Tensor) else self._as_plain(key, frame, "it is a key")

    def _Slice(self, node: ast.Slice, frame: Frame) -> slice:
        parts = (node.lower, node.upper, node.step)
        return slice(*(None if part is None else self.value(part, frame) for part in parts))

    # ------------------------------------------------------------------ operators

    def _BinOp(self, node: ast.BinOp, frame: Frame) -> Any:
        left = self.value(node.left, frame)
        return self.operate(
            BINARY[type(node.op)], (left, self.value(node.right, frame)), frame, node
        )

    def _UnaryOp(self, node: ast.UnaryOp, frame: Frame) -> Any:
        value = self.value(node.operand, frame)
        if isinstance(node.op, ast.Not):
            return not self.truth(value, frame)
        return self.operate(UNARY[type(node.op)], (value,), frame, node)

    def _Compare(self, node: ast.Compare, frame: Frame) -> Any:
        left = self.value(node.left, frame)
        result: Any = True
        for kind, right_node in zip(node.ops, node.comparators, strict=True):
            right = self.value(right_node, frame)
            if isinstance(kind, ast.Is | ast.IsNot):
                self._identity(left, right, frame)
                result = COMPARE[type(kind)](left, right)
            else:
                result = self.operate(COMPARE[type(kind)], (left, right), frame, node)
            if right_node is not node.comparators[-1] and not self.truth(result, frame):
                return result
            left = right
        return result

    def _identity(self, left: Any, right: Any, frame: Frame) -> None:
        """`is` with an argument, which is another object at each call; of tensors memory tells."""
        for one, other in ((left, right), (right, left)):
            known = None if isinstance(one, Tensor) else self.outside.source(one)
            if known is not None and self.outside.guards.registers[known[0]] is None:
                if not is_plain(other):
                    self.refuse(f"{known[1]} is compared by its identity", frame)

    def operate(self, function: Any, operands: tuple[Any, ...], frame: Frame, node: ast.AST) -> Any:
        """An operator: an op of the recording where a tensor is in it, else plain Python."""
        frame.node = node
        if any(isinstance(operand, Tensor) for operand in operands):
            held = [o for o in operands if isinstance(o, CONTAINERS)]
            if held and function in (COMPARE[ast.In], COMPARE[ast.NotIn]):
                self.refuse("`in` compares tensors by their elements", frame)
            return self.leaf(function, operands, {}, frame)
        for operand in operands:
            if not self._is_simple(operand):
                found = self._by_method(function, operands, frame)
                if found is not NotImplemented:
                    return found
                self.refuse(f"an operator of {type(operand).__name__} is not known", frame)
                break
            if isinstance(operand, CONTAINERS) and function in _JOINING:
                self.outside.contents(operand)
            else:
                self._as_plain(operand, frame, "it is computed with")
        return function(*operands)

    def _by_method(self, function: Any, operands: tuple[Any, ...], frame: Frame) -> Any:
        """An operator that is `in` of a container of the library's; NotImplemented if not."""
        if function in (COMPARE[ast.In], COMPARE[ast.NotIn]):
            method = getattr(type(operands[1]), "__contains__", None)
            if method is not None:
                found = self.call(method, (operands[1], operands[0]), {}, frame)
                return found == (function is COMPARE[ast.In])
        return NotImplemented

    def _is_simple(self, value: Any) -> bool:
        """Whether operators of a value are Python's own; what is in a container counts too."""
        if is_plain(value) or self.is_constant(value):
            return True
        if type(value) in CONTAINERS:
            return all(map(self._is_simple, value.values() if type(value) is dict else value))
        return isinstance(value, Tensor)

    def _as_plain(self, value: Any, frame: Frame, use: str) -> Any:
        """A value that Python computes with: contents guarded, nothing read from a tensor."""
        if isinstance(value, CONTAINERS):
            self.outside.contents(value)
            for item in value.values() if isinstance(value, dict) else value:
                self._as_plain(item, frame, use)
        elif isinstance(value, Tensor):
            self.refuse(f"elements of a tensor are read: {use}", frame)
        elif id(value) in self.numbers:
            self.refuse(f"a number from a tensor decides more than the result: {use}", frame)
        return value

    def truth(self, value: Any, frame: Frame) -> bool:
        """Whether a value is true, where the program branches."""
        if isinstance(value, Tensor):
            self.refuse("a branch on the elements of a tensor; use torch.where", frame)
        elif id(value) in self.numbers:
            self.refuse("a branch on a number from a tensor; use torch.where", frame)
        elif isinstance(value, CONTAINERS):
            self.outside.contents(value)
        elif not is_plain(value):
            for name in ("__bool__", "__len__"):
                if (method := getattr(type(value), name, None)) is not None:
                    return bool(self.call(method, (value,), {}, frame))
        return bool(value)

    def _BoolOp(self, node: ast.BoolOp, frame: Frame) -> Any:
        stop = isinstance(node.op, ast.Or)
        for part in node.values[:-1]:
            value = self.value(part, frame)
            if self.truth(value, frame) is stop:
                return value
        return self.value(node.values[-1], frame)

    def _IfExp(self, node: ast.IfExp, frame: Frame) -> Any:
        chosen = self.truth(self.value(node.test, frame), frame)
        return self.value(node.body if chosen else node.orelse, frame)

    # ------------------------------------------------------------------ the rest

    def _Attribute(self, node: ast.Attribute, frame: Frame) -> Any:
        holder = self.value(node.value, frame)
        frame.node = node
        return self.attribute(holder, frame.definition.mangled(node.attr), frame)

    def _Subscript(self, node: ast.Subscript, frame: Frame) -> Any:
        holder = self.value(node.value, frame)
        key = self.value(node.slice, frame)
        frame.node = node
        return self.item(holder, key, frame)

    def _Call(self, node: ast.Call, frame: Frame) -> Any:
        function = self.value(node.func, frame)
        args = tuple(self._elements(node.args, frame))
        kwargs: dict[str, Any] = {}
        for keyword in node.keywords:
            value = self.value(keyword.value, frame)
            if keyword.arg is not None:
                kwargs[keyword.arg] = value
                continue
            self.outside.contents(value)
            if twice := kwargs.keys() & value.keys():
                raise TypeError(f"got multiple values for keyword argument {twice.pop()!r}")
            kwargs.update(value)
        frame.node = node
        return self.call(function, args, kwargs, frame)

    def _NamedExpr(self, node: ast.NamedExpr, frame: Frame) -> Any:
        value = self.value(node.value, frame)
        inner = frame
        while inner.comprehension and inner.parent is not None:
            inner = inner.parent
        self.store(node.target, value, inner)
        return value

    def _Starred(self, node: ast.Starred, frame: Frame) -> Any:
        raise SyntaxError("can't use starred expression here")

    def _Lambda(self, node: ast.Lambda, frame: Frame) -> Any:
        return self.make_function(node, "<lambda>", frame)

    # ------------------------------------------------------------------ comprehensions

    def _ListComp(self, node: ast.ListComp, frame: Frame) -> list[Any]:
        return list(self._produced(node.elt, node, frame))

    def _SetComp(self, node: ast.SetComp, frame: Frame) -> set[Any]:
        return {self._hashed(item, frame) for item in self._produced(node.elt, node, frame)}

    def _GeneratorExp(self, node: ast.GeneratorExp, frame: Frame) -> Iterator[Any]:
        return self._produced(node.elt, node, frame)

    def _DictComp(self, node: ast.DictComp, frame: Frame) -> dict[Any, Any]:
        pair = ast.copy_location(ast.Tuple([node.key, node.value], ast.Load()), node.key)
        pairs = self._produced(pair, node, frame)
        return {self._hashed(key, frame): value for key, value in pairs}

    def _produced(self, element: ast.expr, node: Any, frame: Frame) -> Iterator[Any]:
        """What a comprehension gives; its first iterable is evaluated now, as Python does."""
        first = self.value(node.generators[0].iter, frame)
        names = {
            n.id for g in node.generators for n in ast.walk(g.target) if isinstance(n, ast.Name)
        }
        inner = Frame(frame.definition, frame.globals, frame, names=frozenset(names))
        inner.comprehension = True
        return self._turns(element, node.generators, inner, first)

    def _turns(self, element: ast.expr, clauses: Any, frame: Frame, over: Any) -> Iterator[Any]:
        clause, *more = clauses
        for item in self.iterate(over, frame):
            self.store(clause.target, item, frame)
            if all(self.truth(self.value(test, frame), frame) for test in clause.ifs):
                if more:
                    inner = self.value(more[0].iter, frame)
                    yield from self._turns(element, more, frame, inner)
                else:
                    yield self.value(element, frame)
