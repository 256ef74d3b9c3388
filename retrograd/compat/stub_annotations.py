"""The annotations of a declaration as text that a type stub may hold, with the imports it needs.

An annotation names what its own file imports or defines. In a stub the same name may mean something
else (``torch.int`` is a dtype, ``Tensor.float`` a method), and an alias of a file is unknown. So
every name is followed to where it is defined: aliases are written out, the rest is imported.
"""

from __future__ import annotations

import ast
import builtins
import importlib
from functools import cache
from pathlib import Path
from typing import NamedTuple

# what annotations of kernels mean for the caller, who has tensors where the kernel has arrays
KERNEL_WORDS = {
    "Array": "Tensor",
    "Operand": "Tensor | Number | complex",
    "Arrays": "Sequence[Tensor]",
}

# the names that a form may use; see `retrograd.signatures`
_VOCABULARY = {
    "Tensor": ("retrograd.tensor", "Tensor"),
    "Size": ("retrograd.tensor.size", "Size"),
    "device": ("retrograd.tensor.size", "device"),
    "layout": ("retrograd.tensor.size", "layout"),
    "memory_format": ("retrograd.tensor.size", "memory_format"),
    "dtype": ("retrograd.dtypes", "dtype"),
    "Generator": ("retrograd.random", "Generator"),
    "Device": ("retrograd.tensor.size", "Device"),
    "Number": ("retrograd.types", "Number"),
    "F": ("retrograd.signatures", "F"),
    "GradientEdge": ("retrograd.engine.edges", "GradientEdge"),
    "return_types": ("retrograd", "return_types"),
    "Any": ("typing", "Any"),
    "Literal": ("typing", "Literal"),
    "Self": ("typing", "Self"),
    "TypeVar": ("typing", "TypeVar"),
    "Callable": ("collections.abc", "Callable"),
    "Iterable": ("collections.abc", "Iterable"),
    "Iterator": ("collections.abc", "Iterator"),
    "Mapping": ("collections.abc", "Mapping"),
    "Sequence": ("collections.abc", "Sequence"),
    "np": ("numpy", ""),
}


class Origin(NamedTuple):
    """Where something is defined: a module and a name in it; no name is the module itself."""

    module: str
    name: str


class Alias(NamedTuple):
    """A name for a type, and the module in which its text is to be read."""

    text: str
    module: str


class Imports:
    """What one stub imports, under names that nothing in it has already."""

    def __init__(self, taken: dict[str, Origin | None]) -> None:
        self.taken = taken  # the stub's own names, and where those that it imports come from
        self.found: dict[str, Origin] = {}

    def name_of(self, origin: Origin) -> str:
        """The name for something here, imported if it must be."""
        module, name = origin
        local = name or module.rpartition(".")[2]
        if self.taken.get(local) == origin:
            return local
        if local in self.taken:
            local = f"_{local}"
        if module != "builtins" or local != name:
            self.found[local] = origin
        return local

    def lines(self) -> list[str]:
        """The import statements."""
        whole = {f"import {m} as {local}" for local, (m, name) in self.found.items() if not name}
        parts = [(m, name, local) for local, (m, name) in self.found.items() if name]
        return [
            *sorted(whole),
            *(
                f"from {module} import {name}" + (f" as {local}" if local != name else "")
                for module, name, local in sorted(parts)
            ),
        ]


def written(annotation: str, module: str, imports: Imports, kernel: bool = False) -> str:
    """An annotation of a declaration in `module` as the stub writes it."""
    tree = ast.parse(annotation, mode="eval").body
    return ast.unparse(_Names(module, imports, kernel).visit(tree))


class _Names(ast.NodeTransformer):
    """Every name of an annotation replaced by one that means the same in the stub."""

    def __init__(self, module: str, imports: Imports, kernel: bool) -> None:
        self.module = module
        self.imports = imports
        self.kernel = kernel

    def visit_Constant(self, node: ast.Constant) -> ast.expr:
        if isinstance(node.value, str) and not self._literal:
            return self._again(node.value, self.module)
        return node

    _literal = False

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        node.value = self.visit(node.value)
        outer = self._literal
        self._literal = ast.unparse(node.value).endswith("Literal")
        node.slice = self.visit(node.slice)
        self._literal = outer
        return node

    def visit_Name(self, node: ast.Name) -> ast.expr:
        if self.kernel and node.id in KERNEL_WORDS:
            return self._again(KERNEL_WORDS[node.id], "")
        found = meaning(node.id, self.module)
        if isinstance(found, Alias):
            return self._again(found.text, found.module)
        return ast.Name(self.imports.name_of(found))

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        if ast.unparse(node.value) == "retrograd.return_types":
            module = self.imports.name_of(Origin("retrograd", "return_types"))
            return ast.Attribute(ast.Name(module), node.attr)
        if isinstance(node.value, ast.Name):
            found = meaning(node.value.id, self.module)
            if isinstance(found, Origin):
                place = ".".join(filter(None, found))
                if place in ("retrograd.dtypes", "retrograd.tensor.size"):
                    return ast.Name(self.imports.name_of(Origin(place, node.attr)))
        node.value = self.visit(node.value)
        return node

    def _again(self, text: str, module: str) -> ast.expr:
        inner = _Names(module, self.imports, self.kernel and bool(module))
        made: ast.expr = inner.visit(ast.parse(text, mode="eval").body)
        return made


def meaning(name: str, module: str) -> Origin | Alias:
    """What a name in a module is; without a module, what it is in a form."""
    if module:
        found = _names_of(module).get(name)
        if found is not None:
            return _defined(found) if isinstance(found, Origin) else found
    elif name in _VOCABULARY:
        return Origin(*_VOCABULARY[name])
    if hasattr(builtins, name):
        return Origin("builtins", name)
    raise LookupError(f"{module or 'a form'}: the annotation names {name!r}, which is unknown")


@cache
def _names_of(module: str) -> dict[str, Origin | Alias]:
    """What the names of a module are: imported things, aliases of types, its own definitions."""
    path = importlib.import_module(module).__file__
    assert path is not None
    tree = ast.parse(Path(path).read_text(encoding="utf-8"))
    found: dict[str, Origin | Alias] = {}
    for node in _statements(tree.body):
        if isinstance(node, ast.ImportFrom) and node.module:
            for part in node.names:
                found[part.asname or part.name] = Origin(node.module, part.name)
        elif isinstance(node, ast.Import):
            for part in node.names:
                found[part.asname or part.name] = Origin(part.name, "")
        elif isinstance(node, ast.ClassDef):
            found[node.name] = Origin(module, node.name)
        elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            own = node.targets[0].id
            written_out = isinstance(node.value, ast.BinOp | ast.Subscript | ast.Name)
            if written_out and own not in _VOCABULARY:
                found[own] = Alias(ast.unparse(node.value), module)
            else:
                found[own] = Origin(module, own)
    return found


def _defined(origin: Origin) -> Origin | Alias:
    """The definition behind an import within this package, so that one thing has one name."""
    if not origin.module.startswith("retrograd.") or not origin.name:
        return origin
    found = _names_of(origin.module).get(origin.name, origin)
    return found if found == origin or isinstance(found, Alias) else _defined(found)


def _statements(body: list[ast.stmt]) -> list[ast.stmt]:
    """The statements of a module, those under ``if TYPE_CHECKING`` too."""
    found = []
    for node in body:
        found += _statements(node.body) if isinstance(node, ast.If) else [node]
    return found
