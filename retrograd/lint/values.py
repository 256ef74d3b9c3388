"""Which values have a graph, and from what they were computed.

Every answer has three cases: yes, no, and not known. Rules report only what is known.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from .flow import Binding, Scope, Step, dotted
from .program import Callee, Program, is_true, keyword
from .torch_names import (
    CREATING_FUNCTIONS,
    CUTTING_FUNCTIONS,
    CUTTING_METHODS,
    PASSING_METHODS,
    SAVING_METHODS,
)

_DEEPEST = 60
_CONTAINERS = (ast.List, ast.Dict, ast.Set, ast.ListComp, ast.DictComp)
_CUTTING_ATTRIBUTES = frozenset("data shape dtype device ndim grad is_leaf requires_grad".split())
_PASSING_ATTRIBUTES = frozenset("T mT H mH real imag".split())
_NUMBERS = frozenset("float int bool len str range abs round isinstance type id repr".split())


@dataclass(frozen=True)
class Seen:
    """A part of the computation of a value, on a path that is not cut."""

    node: ast.expr
    step: Step
    certain: bool  # nothing between is unknown
    binding: Binding | None = None  # the value that a name had


class Values:
    """Questions about the values of one scope."""

    def __init__(self, program: Program, scope: Scope) -> None:
        self.program = program
        self.scope = scope

    # ---------------------------------------------------------------------- has a graph

    def graph(self, node: ast.expr, step: Step, depth: int = 0) -> bool | None:
        """Whether the value of an expression has a graph (or is a leaf that wants gradients)."""
        if depth > _DEEPEST:
            return None
        depth += 1
        if isinstance(node, ast.Constant | ast.Compare | ast.JoinedStr):
            return False
        if isinstance(node, ast.Name):
            return self._name(node.id, step, depth)
        if isinstance(node, ast.Attribute):
            return self._attribute(node, step, depth)
        if isinstance(node, ast.Subscript | ast.Starred | ast.Await):
            return self.graph(node.value, step, depth)
        if isinstance(node, ast.UnaryOp):
            return self._computed([node.operand], step, depth)
        if isinstance(node, ast.BinOp):
            return self._computed([node.left, node.right], step, depth)
        if isinstance(node, ast.Tuple | ast.List):
            return self._any(node.elts, step, depth)
        if isinstance(node, ast.IfExp):
            one, other = self.graph(node.body, step, depth), self.graph(node.orelse, step, depth)
            return one if one == other else None
        if isinstance(node, ast.Call):
            return self._call(node, step, depth)
        return None

    def _any(self, nodes: list[ast.expr], step: Step, depth: int) -> bool | None:
        answers = [self.graph(node, step, depth) for node in nodes]
        if any(answers):
            return True
        return None if None in answers else False

    def _computed(self, nodes: list[ast.expr], step: Step, depth: int) -> bool | None:
        if step.grad_off or self.scope.grad_off:
            return False
        return self._any(nodes, step, depth)

    def _name(self, name: str, step: Step, depth: int) -> bool | None:
        found = self.scope.reaching(name, step)
        if found is None:
            return self._from_outside(name)
        if self.carried(name, step, found):
            return None
        answers = {self._bound(binding, depth) for binding in found}
        return answers.pop() if len(answers) == 1 else None

    def carried(self, name: str, step: Step, found: list[Binding]) -> bool:
        """Whether a name may have the value that a later line gave it in the pass before."""
        first = found[-1].step.loops
        return any(
            binding.step.index >= step.index
            and any(loop in step.loops and loop not in first for loop in binding.step.loops)
            for binding in self.scope.bindings(name)
        )

    def _bound(self, binding: Binding, depth: int) -> bool | None:
        if binding.value is None or binding.how not in ("assign", "augmented"):
            return None
        answer = self.graph(binding.value, binding.step, depth)
        if isinstance(binding.value, _CONTAINERS):
            return True if answer else None  # more may be put into it later
        if binding.how == "augmented" and not answer:
            before = self._name(binding.name, binding.step, depth)
            return True if before else (None if None in (before, answer) else False)
        if answer is False and self._made_to_require(binding):
            return True
        return answer

    def _made_to_require(self, binding: Binding) -> bool | None:
        """`x = torch.randn(3)` and then `x.requires_grad_()` or `x.requires_grad = True`."""
        name = binding.name
        if any(
            other.name == name + ".requires_grad" for s in self.scope.steps for other in s.bindings
        ):
            return True
        return any(
            isinstance(call.func, ast.Attribute)
            and call.func.attr == "requires_grad_"
            and dotted(call.func.value) == name
            for step in self.scope.steps
            for call in step.calls
        )

    def _from_outside(self, name: str) -> bool | None:
        """A leaf or a number that is bound once, in a scope around this one."""
        if name in self.scope.parameters or self.scope.bindings(name):
            return None
        bindings = self.program.all_bindings(name, self.scope)
        if bindings is None or len(bindings) != 1 or bindings[0].how != "assign":
            return None
        value = bindings[0].value
        home = self.program.home_of(bindings[0])
        if isinstance(value, ast.Constant):
            return False
        if isinstance(value, ast.Call) and is_leaf_that_requires_grad(self.program, value, home):
            return True
        return None

    def _attribute(self, node: ast.Attribute, step: Step, depth: int) -> bool | None:
        if node.attr in _CUTTING_ATTRIBUTES:
            return None if node.attr == "grad" else False
        if node.attr in _PASSING_ATTRIBUTES:
            return self.graph(node.value, step, depth)
        name = dotted(node)
        if name is None:
            return None
        owner = dotted(node.value) or ""
        if node.attr in ("weight", "bias") and self._trained_part(owner):
            return True
        for binding in self.program.all_bindings(name, self.scope) or ():
            value = binding.value
            if not (
                binding.how == "assign"
                and isinstance(value, ast.Call)
                and self.program.qualified(value.func, self.scope) == "torch.nn.Parameter"
            ):
                return None
            return True
        return None

    def _trained_part(self, name: str) -> bool:
        """Whether `net` or `net.layer.inner` is (part of) a module that is trained."""
        found = False
        while name:
            if name in self.program.frozen:
                return False
            found = found or self.program.instance(name, self.scope).trains
            name = name.rpartition(".")[0]
        return found

    def _call(self, node: ast.Call, step: Step, depth: int) -> bool | None:
        arguments = [*node.args, *(k.value for k in node.keywords)]
        if isinstance(node.func, ast.Name) and node.func.id in _NUMBERS:
            return (
                self.graph(node.args[0], step, depth)
                if node.func.id == "abs" and node.args
                else False
            )
        callee = self.program.callee(node, self.scope)
        if callee.kind == "torch":
            if is_leaf_that_requires_grad(self.program, node, self.scope):
                return True
            if keyword(node, "requires_grad") is not None:
                return None
            if callee.path in CUTTING_FUNCTIONS:
                return False
            if not is_operation(callee.path):
                return None
            return self._computed(arguments, step, depth)
        off = step.grad_off or self.scope.grad_off
        if callee.kind == "module":
            if off:
                return False
            if callee.trains and (dotted(node.func) or "") not in self.program.frozen:
                return None if callee.own is not None and callee.own.cuts else True
            return self._any(arguments, step, depth) if callee.own is None else None
        if callee.kind == "loss":
            return self._computed(arguments, step, depth)
        if isinstance(node.func, ast.Attribute) and callee.kind == "unknown":
            method = node.func.attr
            if method in CUTTING_METHODS:
                return False
            if method in PASSING_METHODS:
                return self._computed([node.func.value], step, depth)
        return None

    # ------------------------------------------------------------------- computed from

    def trail(self, node: ast.expr, step: Step) -> Iterator[Seen]:
        """All that a value was computed from in this scope, as far as its graph goes."""
        waiting = [Seen(node, step, True)]
        done: set[tuple[ast.expr, Step]] = set()
        while waiting:
            seen = waiting.pop()
            if (seen.node, seen.step) in done:
                continue
            done.add((seen.node, seen.step))
            if len(done) % 500 == 0:
                self.program.hurry()
            yield seen
            waiting.extend(self._below(seen))

    def _below(self, seen: Seen) -> Iterator[Seen]:
        node, step = seen.node, seen.step
        if isinstance(node, ast.Name):
            found = self.scope.reaching(node.id, step)
            certain = seen.certain and found is not None and len(found) == 1
            if found is not None and self.carried(node.id, step, found):
                certain = False
            if found is None:
                found = [b for b in self.scope.bindings(node.id) if b.step.index < step.index]
            for binding in found:
                if binding.value is None or binding.how == "other":
                    continue
                at = binding.step
                if binding.how == "item":
                    yield Seen(binding.value, at, False, binding)
                    continue
                if (at.grad_off or self.scope.grad_off) and not isinstance(binding.value, ast.Name):
                    continue
                whole = certain and not isinstance(binding.value, _CONTAINERS)
                yield Seen(binding.value, at, whole, binding)
                if binding.how == "augmented":
                    before = ast.copy_location(ast.Name(binding.name, ast.Load()), node)
                    yield Seen(before, at, certain)
            return
        if isinstance(node, ast.Attribute):
            if node.attr not in _CUTTING_ATTRIBUTES:
                yield Seen(node.value, step, seen.certain and node.attr in _PASSING_ATTRIBUTES)
            return
        if isinstance(node, ast.Call):
            yield from self._below_call(seen, node)
            return
        if isinstance(node, ast.Lambda | ast.Compare):
            return
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.expr):
                yield Seen(child, step, seen.certain and not isinstance(node, ast.IfExp))

    def _below_call(self, seen: Seen, node: ast.Call) -> Iterator[Seen]:
        callee = self.program.callee(node, self.scope)
        if callee.path in CUTTING_FUNCTIONS:
            return
        if isinstance(node.func, ast.Name) and node.func.id in _NUMBERS - {"abs"}:
            return
        certain = seen.certain and self.passes(callee)
        if isinstance(node.func, ast.Attribute) and callee.kind == "unknown":
            if node.func.attr in CUTTING_METHODS:
                return
            passing = node.func.attr in PASSING_METHODS
            yield Seen(node.func.value, seen.step, seen.certain and passing)
            certain = seen.certain and passing
        for argument in (*node.args, *(k.value for k in node.keywords)):
            yield Seen(argument, seen.step, certain)

    def passes(self, callee: Callee) -> bool:
        """Whether the result of a call surely has the history of its arguments."""
        if callee.kind == "torch":
            return callee.path not in CUTTING_FUNCTIONS and is_operation(callee.path)
        if callee.kind == "function":
            assert callee.function is not None
            return not self.program.cuts(callee.function) and _only_computes(callee.function)
        if callee.kind == "module":
            return callee.seen and (callee.own is None or not callee.own.cuts)
        return callee.kind == "loss"

    def saves(self, node: ast.expr, step: Step) -> bool:
        """Whether the value's graph surely keeps something that a backward pass frees."""
        for seen in self.trail(node, step):
            keeps = self.keeps(seen)
            if keeps is not None:
                return keeps
        return False

    def keeps(self, seen: Seen) -> bool | None:
        """Whether an operation keeps something for its backward; None: not known of it."""
        part = seen.node
        if not seen.certain:
            return None
        if isinstance(part, ast.Call):
            callee = self.program.callee(part, self.scope)
            last = callee.path.rpartition(".")[2]
            if callee.kind == "loss" or (callee.kind == "module" and callee.trains):
                return True
            if callee.path.startswith("torch.nn.functional.") or last in SAVING_METHODS:
                return self.graph(part, seen.step) is not False
            if isinstance(part.func, ast.Attribute) and part.func.attr in SAVING_METHODS:
                return self.graph(part, seen.step) is not False
        if isinstance(part, ast.BinOp) and isinstance(part.op, ast.MatMult | ast.Pow):
            return self.graph(part, seen.step) is not False
        if isinstance(part, ast.BinOp) and isinstance(part.op, ast.Mult | ast.Div):
            # the other factor is kept, a plain number too
            return self.graph(part, seen.step) or None
        return None


def _only_computes(function: Scope) -> bool:
    """Whether a function has one result, which is computed from its arguments."""
    returns = [s.node for s in function.steps if isinstance(s.node, ast.Return)]
    return len(returns) == 1 and not getattr(function.node, "decorator_list", [])


def is_operation(path: str) -> bool:
    """Whether a name of torch is an operation on tensors, not a class or a tool."""
    head, _, last = path.rpartition(".")
    if head not in ("torch", "torch.nn.functional", "torch.linalg", "torch.special", "torch.fft"):
        return False
    tools = (
        "no_grad",
        "enable_grad",
        "compile",
        "save",
        "load",
        "inference_mode",
        "set_grad_enabled",
    )
    return last[:1].islower() and last not in tools and not last.startswith(("set_", "get_", "is_"))


def is_leaf_that_requires_grad(program: Program, call: ast.Call, scope: Scope) -> bool:
    """Whether a call makes one: `torch.zeros(3, requires_grad=True)`, `nn.Parameter(...)`."""
    path = program.qualified(call.func, scope)
    if path == "torch.nn.Parameter":
        wants = keyword(call, "requires_grad")
        return (wants is None or is_true(wants)) and len(call.args) < 2
    if path in CREATING_FUNCTIONS:
        return is_true(keyword(call, "requires_grad"))
    if isinstance(call.func, ast.Attribute) and call.func.attr == "requires_grad_":
        made = call.func.value
        wanted = (not call.args and not call.keywords) or (
            len(call.args) == 1 and is_true(call.args[0])
        )
        return (
            wanted
            and isinstance(made, ast.Call)
            and program.qualified(made.func, scope) in CREATING_FUNCTIONS
        )
    return False
