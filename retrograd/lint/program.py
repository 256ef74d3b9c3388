"""A program as the rules see it: its scopes, what its names mean, which of them are modules."""

from __future__ import annotations

import ast
import re
import time
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from .flow import Binding, Builder, Function, Scope, dotted
from .torch_names import CONTAINERS, has_parameters, is_layer, is_loss, is_optimizer

_SAME_OBJECT = frozenset(
    "to cuda cpu float double half bfloat16 train eval share_memory apply requires_grad_".split()
)
"""Methods of a module that give the module back."""

_WRAPPERS = frozenset(
    """
    torch.compile torch.nn.DataParallel torch.nn.parallel.DistributedDataParallel torch.jit.script
    """.split()
)
_CUTS = re.compile(
    r"\.detach|\.data\b|no_grad|\.item\(|inference_mode|set_grad_enabled|\.numpy\(|stop_grad"
)


class TooSlow(Exception):
    """A file took longer than it may."""


@dataclass(eq=False)
class ModuleClass:
    """A class of the program that is an nn.Module."""

    name: str
    node: ast.ClassDef
    methods: dict[str, Scope] = field(default_factory=dict)
    text: str = ""

    @property
    def cuts(self) -> bool:
        """Whether something in it detaches: its results may have no history."""
        return _CUTS.search(self.text) is not None

    @property
    def keeps_state(self) -> bool:
        """Whether a method other than __init__ writes to self."""
        return any(
            binding.name.startswith("self.")
            for name, scope in self.methods.items()
            if name != "__init__"
            for step in scope.steps
            for binding in step.bindings
        ) or bool(re.search(r"\.(append|register_buffer|extend|update)\(|setattr", self.text))


@dataclass(frozen=True)
class Callee:
    """What is called: a module, a loss, a function of torch, a function of this program."""

    kind: str  # module, loss, torch, function, unknown
    path: str = ""  # torch's name
    own: ModuleClass | None = None
    function: Scope | None = None
    trains: bool = False  # it surely has parameters
    seen: bool = True  # what it does is known; False for a module of which only the training is


class Program:
    """One file, read."""

    def __init__(self, text: str, path: str, tree: ast.Module, seconds: float = 10.0) -> None:
        self.text = text
        self.path = path
        self.tree = tree
        self._kept: dict[str, dict[object, Any]] = {}
        self._trained: dict[Scope, set[str]] = {}
        self._own_trains: dict[str, bool] = {}
        self._instances: dict[tuple[str, Scope], Callee] = {}
        self._deadline = time.monotonic() + seconds
        builder = Builder(tree)
        self.scopes = builder.scopes
        self.module = builder.scopes[0]
        self.of_function = builder.of_function
        self._classes = builder.classes
        self.class_methods: dict[ast.ClassDef, list[Scope]] = {}
        for scope in self.scopes:
            if scope.owner is not None:
                self.class_methods.setdefault(scope.owner, []).append(scope)

    def kept(self, key: str) -> dict[Any, Any]:
        """A place where answers about this program are kept, by topic."""
        return self._kept.setdefault(key, {})

    def hurry(self) -> None:
        """Stop with TooSlow when the file's time is over."""
        if time.monotonic() > self._deadline:
            raise TooSlow

    @cached_property
    def lines(self) -> list[str]:
        """The lines of the text, as Python's parser counts them."""
        return re.split(r"\r\n|\n|\r", self.text)

    @cached_property
    def switches_grad_mode(self) -> bool:
        """Whether gradients are turned on and off other than by `with` and decorators."""
        return (
            re.search(r"__enter__|enter_context|^\s*[\w.]*set_grad_enabled", self.text, re.M)
            is not None
        )

    @cached_property
    def uses_torch(self) -> bool:
        """Whether the program imports torch anywhere."""
        return any(
            path == "torch" or path.startswith("torch.")
            for scope in self.scopes
            for path in scope.imported.values()
        )

    # ------------------------------------------------------------------------- names

    def qualified(self, node: ast.AST | None, scope: Scope) -> str:
        """The full name through imports, such as `torch.nn.Linear`; empty if it is not one."""
        name = dotted(node)
        if name is None:
            return ""
        head, dot, rest = name.partition(".")
        at: Scope | None = scope
        while at is not None:
            if head in at.imported:
                return at.imported[head] + dot + rest
            if head in at.bound:
                return ""
            at = at.outer
        return ""

    def scope_of(self, name: str, scope: Scope) -> Scope | None:
        """The scope in which a plain name is bound, seen from a scope."""
        at: Scope | None = scope
        while at is not None:
            if name in at.bound or name in at.imported:
                return at
            at = at.outer
        return None

    def all_bindings(self, name: str, scope: Scope) -> list[Binding] | None:
        """Every binding of a name or of `self.name`; None for arguments and unknown names."""
        head, _, rest = name.partition(".")
        if head == "self" and rest and scope.owner is not None:
            methods = self.class_methods.get(scope.owner, [])
            return [b for method in methods for b in method.bindings(name)] or None
        home = self.scope_of(head, scope)
        if home is None or head in home.parameters or head in home.imported:
            return None
        found = [b for s in self.scopes if s is home or head in s.shared for b in s.bindings(name)]
        return found or None

    # ----------------------------------------------------------------------- modules

    @cached_property
    def module_classes(self) -> dict[str, ModuleClass]:
        """The program's own nn.Module classes by name."""
        found: dict[str, ModuleClass] = {}
        for node, scope in self._classes:
            for base in node.bases:
                path = self.qualified(base, scope)
                if path == "torch.nn.Module" or is_layer(path) or dotted(base) in found:
                    made = ModuleClass(node.name, node)
                    for method in self.class_methods.get(node, []):
                        assert not isinstance(method.node, ast.Module)
                        made.methods[method.node.name] = method
                    made.text = ast.get_source_segment(self.text, node) or ""
                    found[node.name] = made
        return found

    @cached_property
    def functions(self) -> dict[str, Scope]:
        """The program's own functions of the module level, by name."""
        return {
            scope.node.name: scope
            for scope in self.scopes
            if isinstance(scope.node, Function)
            and scope.owner is None
            and scope.outer is self.module
        }

    def cuts(self, scope: Scope) -> bool:
        """Whether something in a function detaches or turns gradients off."""
        text = ast.get_source_segment(self.text, scope.node) or ""
        return scope.grad_off or _CUTS.search(text) is not None

    def callee(self, call: ast.Call, scope: Scope) -> Callee:
        """What a call calls."""
        path = self.qualified(call.func, scope)
        if path.startswith("torch."):
            return Callee("torch", path)
        if isinstance(call.func, ast.Call):  # nn.MSELoss()(a, b)
            return self.built(call.func, scope)
        name = dotted(call.func)
        if name is None:
            return Callee("unknown")
        found = self.instance(name, scope)
        if found.kind != "unknown":
            return found
        home = self.scope_of(name, scope) if "." not in name else None
        if home is self.module and name in self.functions and len(home.bindings(name)) == 1:
            return Callee("function", function=self.functions[name])
        return Callee("unknown")

    def instance(self, name: str, scope: Scope) -> Callee:
        """What kind of module a name stands for, if all that it is bound to says so."""
        key = (name, scope)
        if key not in self._instances:
            self._instances[key] = Callee("unknown")  # while it is looked for
            found = self._find_instance(name, scope)
            if found.kind == "unknown" and name in self.trained_names(scope):
                found = Callee("module", trains=True, seen=False)
            self._instances[key] = found
        return self._instances[key]

    def trained_names(self, scope: Scope) -> set[str]:
        """The names `m` whose `m.parameters()` an optimizer gets, in or around a scope."""
        if scope not in self._trained:
            found: set[str] = set()
            for step in scope.steps:
                for call in step.calls:
                    if is_optimizer(self.qualified(call.func, scope)):
                        found.update(self.trained_by(call))
            if scope.outer is not None:
                hidden = scope.bound | set(scope.parameters)
                found |= {n for n in self.trained_names(scope.outer) if n not in hidden}
            self._trained[scope] = found
        return self._trained[scope]

    def _find_instance(self, name: str, scope: Scope) -> Callee:
        bindings = self.all_bindings(name, scope)
        if bindings is None:
            return Callee("unknown")
        result = Callee("unknown")
        for binding in bindings:
            if binding.how != "assign" or binding.value is None:
                return Callee("unknown")
            value = unwrapped(binding.value)
            if isinstance(value, ast.Name | ast.Attribute) and dotted(value) == name:
                continue  # model = model.to(device)
            if not isinstance(value, ast.Call):
                return Callee("unknown")
            if self.qualified(value.func, scope) in _WRAPPERS and value.args:
                if dotted(value.args[0]) == name:
                    continue
            found = self.built(value, scope)
            if found.kind == "unknown" or result.kind not in ("unknown", found.kind):
                return Callee("unknown")
            result = found
        return result

    def built(self, value: ast.Call, scope: Scope) -> Callee:
        """What a call of a class makes: a module, a loss, something unknown."""
        path = self.qualified(value.func, scope)
        if is_loss(path):
            return Callee("loss", path)
        if is_layer(path):
            return Callee("module", path, trains=self.makes_parameters(value, scope))
        own = self.module_classes.get(dotted(value.func) or "")
        if own is None:
            return Callee("unknown")
        return Callee("module", "", own, trains=self.own_trains(own))

    def makes_parameters(self, value: ast.AST, scope: Scope) -> bool:
        """Whether an expression builds a module, or several, with something to train."""
        for call in ast.walk(value):
            if isinstance(call, ast.Call):
                path = self.qualified(call.func, scope)
                if path == "torch.nn.Parameter":
                    return True
                if has_parameters(path) and path.rpartition(".")[2] not in CONTAINERS:
                    return True
                own = self.module_classes.get(dotted(call.func) or "")
                if own is not None and self.own_trains(own):
                    return True
        return False

    def own_trains(self, own: ModuleClass) -> bool:
        """Whether a class of the program builds parameters in its __init__."""
        if own.name not in self._own_trains:
            self._own_trains[own.name] = False  # while it is looked for
            made = own.methods.get("__init__")
            self._own_trains[own.name] = made is not None and self.makes_parameters(made.node, made)
        return self._own_trains[own.name]

    @cached_property
    def frozen(self) -> frozenset[str]:
        """Names of what somewhere gets `requires_grad = False`: nothing is said about them."""
        found = set(re.findall(r"([\w.]+)\.requires_grad_\(\s*(?:requires_grad=)?False", self.text))
        for match in re.finditer(r"for\s+(?:\w+,\s*)?(\w+)\s+in\s+([\w.]+)\.\w+\(", self.text):
            after = self.text[match.end() : match.end() + 200]
            if re.search(rf"\b{match[1]}\.requires_grad\s*=|\b{match[1]}\.requires_grad_", after):
                found.add(match[2])
        return frozenset(found)

    # --------------------------------------------------------------------- optimizers

    def optimizer(self, name: str, scope: Scope) -> ast.Call | None:
        """The call that made an optimizer of torch.optim, if it is the only one under the name."""
        bindings = self.all_bindings(name, scope)
        if bindings is None or len(bindings) != 1 or not isinstance(bindings[0].value, ast.Call):
            return None
        made = bindings[0].value
        home = self.home_of(bindings[0])
        return made if is_optimizer(self.qualified(made.func, home)) else None

    def home_of(self, binding: Binding) -> Scope:
        """The scope of a binding."""
        for scope in self.scopes:
            if binding in scope.by_name.get(binding.name, ()):
                return scope
        raise AssertionError(binding)

    def trained_by(self, made: ast.Call) -> list[str]:
        """Names `m` of the `m.parameters()` that an optimizer was given; empty if others too."""
        if not made.args:
            return []
        given = made.args[0]
        parts = given.elts if isinstance(given, ast.List | ast.Tuple) else [given]
        names = []
        for part in parts:
            while isinstance(part, ast.Starred):
                part = part.value
            if isinstance(part, ast.Call) and isinstance(part.func, ast.Attribute):
                name = dotted(part.func.value)
                if part.func.attr == "parameters" and name is not None:
                    names.append(name)
                    continue
            return []
        return names

    def looks_like_optimizer(self, name: str, scope: Scope) -> bool:
        """By its constructor, or by the name if that is not seen."""
        bindings = self.all_bindings(name, scope)
        for binding in bindings or ():
            if isinstance(binding.value, ast.Call):
                path = self.qualified(binding.value.func, self.home_of(binding))
                if is_optimizer(path):
                    return True
                if "lr_scheduler" in path:
                    return False
        last = name.rpartition(".")[2].lower()
        if "sched" in last or "lr_" in last:
            return False
        return (
            re.search(r"(^|_)(opt|optim|optimi[sz]er)s?\d*($|_)|optimi[sz]er|optim", last)
            is not None
        )


def unwrapped(value: ast.expr) -> ast.expr:
    """A module without the `.to(device)` and the like behind it."""
    while (
        isinstance(value, ast.Call)
        and isinstance(value.func, ast.Attribute)
        and value.func.attr in _SAME_OBJECT
    ):
        value = value.func.value
    return value


def keyword(call: ast.Call, name: str) -> ast.expr | None:
    """The value of a keyword argument."""
    return next((k.value for k in call.keywords if k.arg == name), None)


def is_true(node: ast.expr | None) -> bool:
    """Whether it is the constant True."""
    return isinstance(node, ast.Constant) and node.value is True


def names_in(node: ast.AST) -> set[str]:
    """The plain names in an expression."""
    return {part.id for part in ast.walk(node) if isinstance(part, ast.Name)}


def mentions(node: ast.AST, name: str) -> bool:
    """Whether a name or dotted name is used in an expression."""
    return any(
        isinstance(part, ast.Name | ast.Attribute) and dotted(part) == name
        for part in ast.walk(node)
    )
