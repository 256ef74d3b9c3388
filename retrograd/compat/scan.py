"""The names of PyTorch that a program uses, found by reading it: nothing is imported or run.

>>> found = scan('''
... import torch.nn.functional as F
... from torch import nn
... layer = nn.Linear(2, 3)
... print(F.relu(layer.weight).frobnicate())
... ''', "model.py")
>>> [(use.name, use.line) for use in found.uses if use.name != "torch.nn"]
[('torch.nn.functional', 2), ('torch.nn.Linear', 4), ('torch.nn.functional.relu', 5)]
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from types import ModuleType

from retrograd.compat.names import public_names
from retrograd.compat.status import api_names, resolve

COMPILED_ON_PYTORCH = frozenset(
    """
    apex bitsandbytes deepspeed detectron2 fairscale flash_attn lightning pytorch_lightning
    torch_cluster torch_geometric torch_scatter torch_sparse torch_xla torchaudio torchtext
    torchvision triton xformers
    """.split()
)
"""Packages that bring compiled code for PyTorch or reach into its internals."""

NOT_READ = frozenset({"__pycache__", "build", "dist", "node_modules", "site-packages", "venv"})
"""Folders in which there are no programs of the user's."""


@dataclass(frozen=True)
class Use:
    """One place where a name is used. `certain` is False for a member of something unknown."""

    name: str
    file: str
    line: int
    certain: bool = True


@dataclass
class Scan:
    """What was found in one program or several."""

    uses: list[Use] = field(default_factory=list)
    packages: list[Use] = field(default_factory=list)  # imports of COMPILED_ON_PYTORCH
    stars: list[Use] = field(default_factory=list)  # from torch... import *
    unreadable: list[tuple[str, str]] = field(default_factory=list)  # file, reason
    files: int = 0


class _Scope:
    """Names bound by imports in a module, class or function."""

    def __init__(self, outer: _Scope | None) -> None:
        self.outer = outer
        self.imported: dict[str, str] = {}
        self.rebound: set[str] = set()

    def path_of(self, name: str) -> str | None:
        scope: _Scope | None = self
        while scope is not None:
            if name in scope.imported:
                return scope.imported[name]
            if name in scope.rebound:
                return None
            scope = scope.outer
        return None


class _Reader(ast.NodeVisitor):
    def __init__(self, file: str, found: Scan) -> None:
        self.file = file
        self.found = found
        self.scope = _Scope(None)
        self.uses_torch = False
        self.members: list[Use] = []

    # ------------------------------------------------------------------------- imports

    def visit_Import(self, node: ast.Import) -> None:
        for alias in node.names:
            head = alias.name.partition(".")[0]
            self._note_package(head, node.lineno)
            if head != "torch":
                self.scope.rebound.add(alias.asname or head)
                continue
            self.uses_torch = True
            if alias.name != "torch":
                self._use(alias.name, node.lineno)
            self.scope.imported[alias.asname or "torch"] = alias.name if alias.asname else "torch"

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        module = node.module or ""
        head = module.partition(".")[0]
        if node.level == 0:
            self._note_package(head, node.lineno)
        if node.level or head != "torch":
            self.scope.rebound |= {alias.asname or alias.name for alias in node.names}
            return
        self.uses_torch = True
        for alias in node.names:
            if alias.name == "*":
                self.found.stars.append(Use(module, self.file, node.lineno))
                continue
            path = f"{module}.{alias.name}"
            self._use(path, node.lineno)
            self.scope.imported[alias.asname or alias.name] = path

    def _note_package(self, head: str, line: int) -> None:
        if head in COMPILED_ON_PYTORCH:
            self.found.packages.append(Use(head, self.file, line))

    # ------------------------------------------------------------------------- scopes

    def _in_scope(self, node: ast.AST, bound: list[str]) -> None:
        self.scope = _Scope(self.scope)
        self.scope.rebound |= set(bound)
        self.generic_visit(node)
        outer = self.scope.outer
        assert outer is not None
        self.scope = outer

    def visit_FunctionDef(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        self._in_scope(node, _arguments(node.args))

    visit_AsyncFunctionDef = visit_FunctionDef

    def visit_Lambda(self, node: ast.Lambda) -> None:
        self._in_scope(node, _arguments(node.args))

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        self._in_scope(node, [])

    def visit_Name(self, node: ast.Name) -> None:
        if isinstance(node.ctx, (ast.Store, ast.Del)):
            # from here on it is something else: better to miss a use than to invent one
            self.scope.imported.pop(node.id, None)
            self.scope.rebound.add(node.id)

    # -------------------------------------------------------------------------- uses

    def visit_Attribute(self, node: ast.Attribute) -> None:
        parts = [node.attr]
        inner: ast.expr = node.value
        while isinstance(inner, ast.Attribute):
            parts.append(inner.attr)
            inner = inner.value
        path = self.scope.path_of(inner.id) if isinstance(inner, ast.Name) else None
        if path is None:
            self.members.append(Use(node.attr, self.file, node.lineno, certain=False))
            self.visit(node.value)
        else:
            self._use(".".join([path, *reversed(parts)]), node.lineno)

    def _use(self, path: str, line: int) -> None:
        self.found.uses.append(Use(_public_part(path), self.file, line))


def _arguments(arguments: ast.arguments) -> list[str]:
    every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    every += [extra for extra in (arguments.vararg, arguments.kwarg) if extra is not None]
    return [argument.arg for argument in every]


@cache
def _public_part(path: str) -> str:
    """A name without what is asked of its value: torch.float32 of torch.float32.itemsize.

    >>> _public_part("torch.float32.itemsize"), _public_part("torch.nn.Linear.forward")
    ('torch.float32', 'torch.nn.Linear')
    """
    parts = path.split(".")
    for count in range(2, len(parts)):
        prefix = ".".join(parts[:count])
        try:
            value = resolve(prefix)
        except (ImportError, AttributeError):
            return path  # unknown: say it as it was written
        if not isinstance(value, ModuleType):
            return prefix
    return path


_PYTHONS_OWN = frozenset(
    name for kind in (str, bytes, list, dict, set, int, float, Path, type) for name in dir(kind)
)


def scan(source: str, file: str, into: Scan | None = None) -> Scan:
    """The names of PyTorch in a program's text."""
    found = Scan() if into is None else into
    found.files += 1
    try:
        tree = ast.parse(source, file)
    except (SyntaxError, ValueError) as error:
        line = getattr(error, "lineno", None)
        place = "" if line is None else f" in line {line}"
        found.unreadable.append((file, f"not Python{place}: {getattr(error, 'msg', error)}"))
        return found
    reader = _Reader(file, found)
    reader.visit(tree)
    if reader.uses_torch:
        # A member of a value whose type is unknown: a tensor's, if tensors have one of this name.
        members = {*api_names()["torch.Tensor"], *public_names().get("torch.Tensor", ())}
        for use in reader.members:
            if use.name in members and use.name not in _PYTHONS_OWN:
                found.uses.append(Use(f"torch.Tensor.{use.name}", use.file, use.line, False))
    return found


def scan_paths(paths: list[Path]) -> Scan:
    """The names of PyTorch in files, and in the Python files of folders."""
    found = Scan()
    for path in paths:
        for file in _python_files(path):
            try:
                source = file.read_bytes().decode("utf-8-sig")
            except (OSError, UnicodeDecodeError) as error:
                found.files += 1
                found.unreadable.append((str(file), str(error)))
                continue
            scan(source, str(file), found)
    return found


def _python_files(path: Path) -> Iterator[Path]:
    if not path.is_dir():
        yield path
        return
    for inner in sorted(path.iterdir()):
        if inner.is_dir():
            hidden = inner.name.startswith(".") or (inner / "pyvenv.cfg").exists()
            if not hidden and inner.name not in NOT_READ:
                yield from _python_files(inner)
        elif inner.suffix == ".py":
            yield inner
