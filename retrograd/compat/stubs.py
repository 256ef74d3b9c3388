"""Writes the type stubs: ``python -m retrograd.compat.stubs``; with ``--count``, what they offer.

Most functions are made from declarations while the package is imported, so nothing that only reads
files knows them. The stubs say what there is: one for each module that collects such functions, and
one for the members that other modules attach to `Tensor` (its base class, for type checkers only).
Modules whose classes and functions stand in their files need none.
"""

from __future__ import annotations

import argparse
import ast
import importlib
import inspect
import math
import sys
import textwrap
import types
from collections.abc import Callable, Iterable
from functools import cache, partial
from pathlib import Path
from typing import Any

from retrograd import return_types
from retrograd.compat.names import public_names
from retrograd.compat.status import api_names
from retrograd.compat.stub_annotations import Imports, Origin, written
from retrograd.compat.stub_rows import row_lines, taken
from retrograd.core import python_function
from retrograd.namespaces.finder import PACKAGES, TABLED, described
from retrograd.namespaces.rows import Made, Rows
from retrograd.ops import kinds
from retrograd.ops.registry import OPS, PUBLIC, RECORDED, Op
from retrograd.tensor import Tensor

PACKAGE = Path(__file__).parent.parent
MODULES = (
    *("", "autograd", "compat", "distributed", "doctor", "fft", "graph", "linalg", "masked"),
    *("nn", "nn.functional", "optim", "profiler", "serialization", "sparse", "special", "testing"),
    *("utils", "utils.benchmark", "utils.data"),
)
# modules with a file for type checkers, which imports what the table of names has for them
MORE = ("autograd.profiler", "jit", "library", "overrides")
ATTACHED = "tensor/attached.pyi"

_HEAD = '''"""{}

Written by ``python -m retrograd.compat.stubs``.
"""
# fmt: off
# ruff: noqa
'''
_WIDTH = 100
_EMPTY = inspect.Parameter.empty
# Python says how operators are called. A number may be NumPy's too, where a tensor is on the left.
_UNARY = ("__neg__", "__pos__", "__abs__", "__invert__")
_BINARY = [
    f"__{prefix}{name}__"
    for name in "add sub mul truediv floordiv mod pow and or xor lshift rshift div".split()
    for prefix in ("", "r", "i")
]
_BINARY += ["__lt__", "__le__", "__gt__", "__ge__"]
_OPERAND = "Tensor | Number | complex | np.generic | np.ndarray[Any, Any]"


def writers() -> dict[str, Callable[[], str]]:
    """What writes the text of every stub, by its path in the package."""
    found: dict[str, Callable[[], str]] = {
        ATTACHED: _attached,
        "return_types.pyi": _return_types,
        "ops/recorded.pyi": _recorded,
    }
    for module in (*MODULES, *TABLED):
        found[stub_path(module)] = partial(_module, module)
    for module in MORE:
        found[f"namespaces/more/{module.replace('.', '_')}.pyi"] = partial(_more, module)
    return found


def stub_path(module: str) -> str:
    """Where in the package the stub of a public module is."""
    parts = module.split(".") if module else []
    if module in PACKAGES or PACKAGE.joinpath(*parts, "__init__.py").exists():
        return "/".join([*parts, "__init__.pyi"])
    return "/".join(parts) + ".pyi"


# ------------------------------------------------------------------------------------- functions


@cache
def _declarations() -> dict[object, Op]:
    """The op behind each function: its own, and the one that works in place."""
    found: dict[object, Op] = {python_function(op.function): op for op in OPS.values()}
    twins = [op for op in OPS.values() if op.inplace_function]
    return found | {python_function(op.inplace_function): op for op in twins}


def signatures(
    name: str, function: Callable[..., object], method: bool
) -> list[tuple[inspect.Signature, str]]:
    """The forms of a function, and the module whose names their annotations use ("" for forms)."""
    op = _declarations().get(python_function(function))
    texts = getattr(function, "__forms__", None)
    if texts is not None:
        return [(form(text), "") for text in texts]
    if op is not None:
        return [(_of_op(op, function, method), op.kernel.__module__)]
    if name in _UNARY:
        return [(form("(self: Tensor) -> Tensor"), "")]
    if name in ("__eq__", "__ne__"):
        return [(form("(self: Tensor, other: Any) -> Tensor"), "")]
    if name in _BINARY:
        return [(form(f"(self: Tensor, other: {_OPERAND}) -> Tensor"), "")]
    return [(inspect.signature(function), _module_of(function))]


def _module_of(function: Callable[..., object]) -> str:
    """The module in which a function is written, whatever it says of itself."""
    name: str = inspect.unwrap(function).__globals__["__name__"]
    return name


def form(text: str) -> inspect.Signature:
    """The signature that a form such as ``(input: Tensor, dim: int = -1) -> Tensor`` says."""
    node = ast.parse(f"def form{text}: ...").body[0]
    assert isinstance(node, ast.FunctionDef)
    given, kinds = node.args, inspect.Parameter
    plain = [*given.posonlyargs, *given.args]
    defaults = [None] * (len(plain) - len(given.defaults)) + given.defaults
    found = [
        _parameter(
            a, kinds.POSITIONAL_ONLY if a in given.posonlyargs else kinds.POSITIONAL_OR_KEYWORD, d
        )
        for a, d in zip(plain, defaults, strict=True)
    ]
    if given.vararg:
        found.append(_parameter(given.vararg, kinds.VAR_POSITIONAL, None))
    for a, d in zip(given.kwonlyargs, given.kw_defaults, strict=True):
        found.append(_parameter(a, kinds.KEYWORD_ONLY, d))
    if given.kwarg:
        found.append(_parameter(given.kwarg, kinds.VAR_KEYWORD, None))
    assert node.returns is not None, text
    return inspect.Signature(found, return_annotation=ast.unparse(node.returns))


def _parameter(
    a: ast.arg, kind: inspect._ParameterKind, default: ast.expr | None
) -> inspect.Parameter:
    annotation = ast.unparse(a.annotation) if a.annotation else _EMPTY
    value = _EMPTY if default is None else ast.literal_eval(default)
    return inspect.Parameter(a.arg, kind, default=value, annotation=annotation)


def _of_op(op: Op, function: Callable[..., object], method: bool) -> inspect.Signature:
    """The signature of an op for its caller: results as they come, and ``out=``."""
    found = op.signature.replace(return_annotation=_result(op))
    if python_function(function) is python_function(op.inplace_function):
        return found.replace(return_annotation="Array")
    if op.out and not method and "out" not in found.parameters:
        kind = inspect.Parameter.KEYWORD_ONLY
        wanted = "Array | None" if op.outputs == 1 else "Arrays | None"
        out = inspect.Parameter("out", kind, default=None, annotation=wanted)
        return found.replace(parameters=[*found.parameters.values(), out])
    return found


def _result(op: Op) -> str:
    if op.outputs == "list":
        return "tuple[Array, ...]"
    if op.outputs == 1:
        return "Array"
    if isinstance(op.returns, type):
        return f"{op.returns.__module__}.{op.returns.__name__}"
    assert isinstance(op.outputs, int)
    return f"tuple[{', '.join(['Array'] * op.outputs)}]"


def function_lines(
    name: str, function: Callable[..., object], imports: Imports, method: bool = False
) -> list[str]:
    """A function as a stub has it: one definition, or an overload for each form."""
    found = signatures(name, function, method)
    lines = []
    if hasattr(function, "__wrapped__") and inspect.isgeneratorfunction(inspect.unwrap(function)):
        lines.append(f"@{imports.name_of(Origin('contextlib', 'contextmanager'))}")
    for signature, module in found:
        if len(found) > 1:
            lines.append(f"@{imports.name_of(Origin('typing', 'overload'))}")
        lines.append(_definition(name, signature, module, imports, method))
    return lines


def _definition(
    name: str, signature: inspect.Signature, module: str, imports: Imports, method: bool
) -> str:
    # where `Array` is that of `ops.kinds`, a tensor is meant
    kernel = vars(sys.modules.get(module, kinds)).get("Array", kinds.Array) is kinds.Array
    kernel = kernel and module.startswith("retrograd.ops")
    parameters = list(signature.parameters.values())
    if method and parameters:
        parameters[0] = parameters[0].replace(name="self", annotation=_EMPTY, default=_EMPTY)
    texts = _parameter_texts(parameters, lambda text: written(text, module, imports, kernel))
    returned = _annotation(signature.return_annotation)
    shown = written(returned, module, imports, kernel)
    if method and name.startswith("__i") and name != "__invert__" and shown == "Tensor":
        shown = imports.name_of(Origin("typing", "Self"))
    line = f"def {name}({', '.join(texts)}) -> {shown}: ..."
    if len(line) <= _WIDTH - 4:
        return line
    return "\n".join([f"def {name}(", *(f"    {text}," for text in texts), f") -> {shown}: ..."])


def _annotation(annotation: object) -> str:
    if annotation is _EMPTY:
        return "Any"
    return annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)


def _parameter_texts(
    parameters: list[inspect.Parameter], annotated: Callable[[str], str]
) -> list[str]:
    texts: list[str] = []
    starred = False
    for parameter in parameters:
        kind = parameter.kind
        if kind is inspect.Parameter.KEYWORD_ONLY and not starred:
            texts.append("*")
        starred = starred or kind in (kind.KEYWORD_ONLY, kind.VAR_POSITIONAL)
        stars = {kind.VAR_POSITIONAL: "*", kind.VAR_KEYWORD: "**"}.get(kind, "")
        text = stars + parameter.name
        if parameter.annotation is not _EMPTY:
            text += f": {annotated(_annotation(parameter.annotation))}"
        if parameter.default is not _EMPTY:
            text += f" = {_default(parameter.default)}"
        texts.append(text)
    only = sum(parameter.kind is parameter.POSITIONAL_ONLY for parameter in parameters)
    return [*texts[:only], *(["/"] if only else []), *texts[only:]]


def _default(value: object) -> str:
    """A default as a stub shows it: plain values as they are."""
    if isinstance(value, float):
        return repr(value) if math.isfinite(value) else "..."
    if isinstance(value, tuple) and not all(isinstance(part, int) for part in value):
        return "..."
    return repr(value) if isinstance(value, bool | int | str | tuple | None) else "..."


# ----------------------------------------------------------------------------------- the members


def _attached() -> str:
    """The class with everything that other modules attach to Tensor."""
    own = _own_members()
    members = {n: m for n, m in sorted(vars(Tensor).items()) if n not in own}
    imports = Imports({name: None for name in members})
    lines = []
    for name, member in members.items():
        lines += _member(name, member, imports)
    head = _HEAD.format(
        "What the modules of retrograd attach to `Tensor`: its base class for type checkers."
    )
    body = textwrap.indent("\n".join(lines), "    ")
    return "\n".join([head, *imports.lines(), "", f"class Attached:\n{body}", ""])


def _own_members() -> set[str]:
    """The members that the class statement of Tensor has itself, and what Python gives a class."""
    tree = ast.parse((PACKAGE / "tensor/__init__.py").read_text(encoding="utf-8"))
    body = next(n for n in tree.body if isinstance(n, ast.ClassDef) and n.name == "Tensor").body
    found = {"__doc__", "__module__", "__slots__", "__dict__", "__weakref__", "__annotations__"}
    found |= {"__qualname__", "__static_attributes__", "__firstlineno__"}
    for node in body:
        if isinstance(node, ast.FunctionDef):
            found.add(node.name)
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            found.add(node.target.id)
        elif isinstance(node, ast.Assign):
            found |= {t.id for t in node.targets if isinstance(t, ast.Name)}
    return found


def _member(name: str, member: object, imports: Imports) -> list[str]:
    if isinstance(member, property):
        return _property(name, member, imports)
    if isinstance(member, staticmethod | classmethod):
        word = type(member).__name__
        lines = function_lines(name, member.__func__, imports)
        decorators = [] if name == "__new__" else [f"@{imports.name_of(Origin('builtins', word))}"]
        return [*decorators, *lines]
    if inspect.isfunction(member):
        lines = function_lines(name, member, imports, method=True)
        if name in ("__eq__", "__ne__"):  # of `object`, they say bool
            lines[-1] += "  # type: ignore[override]"
        return lines
    if isinstance(member, bool | int | float | str):
        return [f"{name}: {imports.name_of(Origin('builtins', type(member).__name__))}"]
    return [f"{name}: {imports.name_of(Origin('typing', 'Any'))}"]


def _property(name: str, member: property, imports: Imports) -> list[str]:
    assert member.fget is not None
    getter = member.fget
    returned = _annotation(inspect.signature(getter).return_annotation)
    shown = written(returned, _module_of(getter), imports)
    word = imports.name_of(Origin("builtins", "property"))
    lines = [f"@{word}", f"def {name}(self) -> {shown}: ..."]
    if member.fset is not None:
        value = list(inspect.signature(member.fset).parameters.values())[1]
        wanted = written(_annotation(value.annotation), _module_of(member.fset), imports)
        lines += [f"@{name}.setter", f"def {name}(self, value: {wanted}) -> None: ..."]
    return lines


def _recorded() -> str:
    """The table through which the package calls its ops on tensors."""
    public = PUBLIC["torch"]  # what is no single op is a lambda there
    table = {n: f if n in OPS else public.get(n, f) for n, f in vars(RECORDED).items()}
    members = dict(sorted(table.items()))
    imports = Imports({name: None for name in members})
    lines = []
    for name, function in members.items():
        for line in function_lines(name, function, imports):
            static = f"@{imports.name_of(Origin('builtins', 'staticmethod'))}"
            lines += [static, line] if line.startswith("def ") else [line]
    body = textwrap.indent("\n".join(lines), "    ")
    head = _HEAD.format(
        "The ops as rules see them, on tensors; `ops.registry.RECORDED` is this table."
    )
    anything = imports.name_of(Origin("typing", "Any"))
    own = f"    xp: {anything}  # the functions of the arrays, of a table on arrays"
    text = f"class Table:\n{own}\n{body}\n\nRECORDED: Table"
    return "\n".join([head, *imports.lines(), "", text, ""])


def _return_types() -> str:
    """The results with named fields, whose classes are made from a list."""
    imports = Imports({})
    parts = []
    for kind in return_types.all_return_types:
        fields = [
            f"    {n}: {written(text, '', imports)}" for n, text in kind.__annotations__.items()
        ]
        named = imports.name_of(Origin("typing", "NamedTuple"))
        parts.append("\n".join([f"class {kind.__name__}({named}):", *fields]))
    own = [
        *function_lines(
            "pytree_register_structseq", return_types.pytree_register_structseq, imports
        ),
        f"class NamedResult(tuple[{imports.name_of(Origin('typing', 'Any'))}, ...]): ...",
        "all_return_types: list[type]",
    ]
    head = _HEAD.format((return_types.__doc__ or "").splitlines()[0])
    return "\n".join([head, *imports.lines(), "", *own, *parts, ""])


# ----------------------------------------------------------------------------------- the modules


def _module(name: str) -> str:
    """A public module: what it imports, its functions, and its values with their types."""
    place = importlib.import_module(f"retrograd.{name}".rstrip("."))
    exported = {} if name in TABLED else _exported(Path(str(place.__file__)))
    exported = {n: e for n, e in exported.items() if not hasattr(vars(place)[n], "__forms__")}
    rows = _rows(name)
    values = {n: v for n, v in _offered(place).items() if n not in exported}
    values |= {n: getattr(place, n) for n in rows}
    names: dict[str, Origin | None] = dict.fromkeys(values)
    names |= taken(rows) | {alias: origin for alias, (_, origin) in exported.items()}
    imports = Imports(names)
    lines = []
    for own, value in sorted(values.items()):
        lines += row_lines(rows, own, imports) if own in rows else _value(own, value, imports)
    head = _HEAD.format((place.__doc__ or "").splitlines()[0])
    statements = sorted(line for line, _ in exported.values())
    return "\n".join([head, *imports.lines(), *statements, "", *lines, ""])


def _more(name: str) -> str:
    """What the table has for a module that stands in its file."""
    rows = _rows(name)
    imports = Imports(taken(rows))
    lines = [line for own in sorted(rows) for line in row_lines(rows, own, imports)]
    head = _HEAD.format(f"What the table of names has for `torch.{name}`.")
    return "\n".join([head, *imports.lines(), "", f"__all__ = {sorted(rows)}", *lines, ""])


def _rows(name: str) -> Rows:
    """What the table has for a module, without what is made for it."""
    here = described(name)
    rows = here.rows if here else {}
    return {n: r for n, r in rows.items() if not isinstance(r, Made) or r.inside}


def _exported(path: Path) -> dict[str, tuple[str, Origin]]:
    """The imports of a module that are for its users: ``from a import b as b``."""
    found = {}
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.ImportFrom) and node.module:
            for part in node.names:
                if part.asname == part.name:
                    text = f"from {node.module} import {part.name} as {part.name}"
                    found[part.name] = (text, Origin(node.module, part.name))
    return found


def _offered(place: types.ModuleType) -> dict[str, object]:
    """The names that a module has, those too that it imports or makes only when asked."""
    # a submodule that something has imported is no name of the module yet
    found = {n: v for n, v in vars(place).items() if not isinstance(v, types.ModuleType)}
    inside = f"{place.__name__}.".partition(".")[2]
    below = [n.removeprefix(inside) for n in TABLED if n.startswith(inside)]
    listed = ["__version__", *(n for n in below if "." not in n)]
    if "__getattr__" in vars(place):
        listed += api_names().get(_torch_name(place), ())
        listed += public_names().get(_torch_name(place), ())
    for name in [*place.__dir__(), *getattr(place, "__all__", ()), *listed]:
        value = getattr(place, name, _EMPTY)
        if value is not _EMPTY and _belongs(place, name, value):
            found[name] = value
    hidden = ("published", "from_table", "on_first_use", "PUBLIC", "Any", "annotations")
    public = {n: v for n, v in found.items() if n.isidentifier() and not n.startswith("_")}
    public |= {n: found[n] for n in listed if n in found}
    return {n: v for n, v in public.items() if n not in hidden}


def _belongs(place: types.ModuleType, name: str, value: object) -> bool:
    """Whether a module is one of those that another offers by itself, imported or not."""
    if not isinstance(value, types.ModuleType):
        return True
    if f"{place.__name__}.{name}".partition(".")[2] in TABLED:
        return True
    return any(name in getattr(place, told, ()) for told in ("_MODULES", "_OFFERED", "__all__"))


def _torch_name(place: types.ModuleType) -> str:
    return "torch" + place.__name__.removeprefix("retrograd")


def _stands_in_its_file(function: Callable[..., object]) -> bool:
    """Whether a type checker can read a function where it is written."""
    function = python_function(function)
    if function.__module__ in {f"retrograd.{module}".rstrip(".") for module in MODULES}:
        return False
    public = (python_function(other) for table in PUBLIC.values() for other in table.values())
    if hasattr(function, "__forms__") or any(other is function for other in public):
        return False
    found = vars(importlib.import_module(function.__module__)).get(function.__name__)
    return python_function(found) is function


def _imported(name: str, value: Any, imports: Imports) -> list[str]:
    """A function or class from its own module; under another name it is an alias."""
    value = python_function(value)
    if name == value.__name__:
        return [f"from {value.__module__} import {name} as {name}"]
    return [f"{name} = {imports.name_of(Origin(value.__module__, value.__name__))}"]


def _value(name: str, value: object, imports: Imports) -> list[str]:
    if inspect.isfunction(value):
        if _stands_in_its_file(value):
            return _imported(name, value, imports)
        return function_lines(name, value, imports)
    if isinstance(value, types.ModuleType):
        outer, _, last = value.__name__.rpartition(".")
        return [f"from {outer} import {last} as {name}"]
    if isinstance(value, type) and value.__module__.startswith("retrograd"):
        return _imported(name, value, imports)
    if isinstance(value, type):  # FloatTensor, FloatStorage and the like, which are made
        made = Origin("retrograd.tensor", "Tensor")
        if name.endswith("Storage"):
            made = Origin("retrograd.ops.making.memory", "TypedStorage")
        return [f"class {name}({imports.name_of(made)}): ..."]
    if value is None:
        return [f"{name}: None"]
    kind = type(value)
    return [f"{name}: {imports.name_of(Origin(kind.__module__, kind.__name__))}"]


# -------------------------------------------------------------------------------------- commands


def _completed(path: str) -> list[str]:
    """What an editor completes: the public names that a stub defines or passes on."""
    names: list[str] = []
    for node in ast.parse((PACKAGE / path).read_text(encoding="utf-8")).body:
        body = node.body if path == ATTACHED and isinstance(node, ast.ClassDef) else [node]
        for part in body:
            if isinstance(part, ast.FunctionDef | ast.ClassDef):
                names.append(part.name)
            elif isinstance(part, ast.AnnAssign | ast.Assign):
                names.append(ast.unparse(part).split(":")[0].split(" ")[0])
            elif isinstance(part, ast.ImportFrom):
                names += [alias.name for alias in part.names if alias.asname == alias.name]
    return sorted({name for name in names if not name.startswith("_")})


def _print_counts() -> None:
    """How many names an editor completes, beside those of PyTorch that this library lists."""
    for module in MODULES:
        path = f"torch.{module}".rstrip(".")
        known = {*api_names().get(path, ()), *public_names().get(path, ())}
        print(
            f"{path + '.':22} {len(_completed(stub_path(module))):5} names, PyTorch {len(known):5}"
        )
    own = {n for n in _own_members() if not n.startswith("_")}
    known = {*api_names().get("torch.Tensor", ()), *public_names().get("torch.Tensor", ())}
    found = len({*_completed(ATTACHED), *own} - {"Attached"})
    print(f"{'x. (a Tensor)':22} {found:5} names, PyTorch {len(known):5}")


def main(arguments: Iterable[str] | None = None) -> None:
    """Write the stubs, or print what they offer."""
    parser = argparse.ArgumentParser(prog="retrograd.compat.stubs", description=__doc__)
    parser.add_argument("--count", action="store_true", help="print how many names they offer")
    if parser.parse_args(None if arguments is None else list(arguments)).count:
        _print_counts()
        return
    texts = {path: write() for path, write in writers().items()}
    for path, text in texts.items():
        new = (PACKAGE / path).with_suffix(".new")
        new.parent.mkdir(parents=True, exist_ok=True)
        new.write_text(text, encoding="utf-8")
        new.replace(PACKAGE / path)


if __name__ == "__main__":
    main()
