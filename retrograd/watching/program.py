"""A program as Python itself would start it: `__main__`, its arguments, its path."""

from __future__ import annotations

import builtins
import importlib.util
import os
import runpy
import sys
import types
from dataclasses import dataclass
from types import CodeType
from typing import Any

from retrograd.watching.source import bytes_of


class NoSuchProgram(Exception):
    """A module that cannot be found; the message is Python's own."""


@dataclass(frozen=True)
class Program:
    """`script` is a file, or a folder or archive with a `__main__`; or `module` names a module."""

    script: str | None
    module: str | None
    arguments: tuple[str, ...] = ()


@dataclass(frozen=True)
class Prepared:
    """A program that is ready to run: its code and the namespace of its `__main__`."""

    code: CodeType
    namespace: dict[str, Any]


def prepare(program: Program) -> Prepared:
    """Set `__main__`, `sys.argv` and `sys.path[0]` as Python does, and compile the program.

    A SyntaxError comes out as it is; the caller shows it like any error of the program.
    """
    runpy_: Any = runpy
    if program.module is not None:
        _put_in_path(os.getcwd())
        sys.argv = ["-m", *program.arguments]
        try:
            _, spec, code = runpy_._get_module_details(program.module, runpy_._Error)
        except runpy_._Error as error:
            raise NoSuchProgram(str(error)) from None
        sys.argv[0] = code.co_filename
        return _main(code, code.co_filename, spec)
    assert program.script is not None
    script = os.path.abspath(program.script)
    sys.argv = [program.script, *program.arguments]
    if os.path.isdir(script) or _is_archive(script):
        sys.path.insert(0, program.script)
        try:
            _, spec, code = runpy_._get_main_module_details()
        except runpy_._Error as error:
            raise NoSuchProgram(str(error)) from None
        return _main(code, code.co_filename, spec)
    _put_in_path(os.path.dirname(os.path.realpath(script)))
    prepared = _main(None, script, None)
    code = compile(bytes_of(script), script, "exec", dont_inherit=True)
    return Prepared(code, prepared.namespace)


def has_torch() -> bool:
    """Whether PyTorch is installed for this Python."""
    try:
        return importlib.util.find_spec("torch") is not None
    except (ImportError, ValueError):
        return False


def _is_archive(script: str) -> bool:
    import zipfile

    return not script.endswith((".py", ".pyw")) and zipfile.is_zipfile(script)


def _put_in_path(folder: str) -> None:
    if not sys.flags.safe_path:
        sys.path.insert(0, folder)


def _main(code: Any, file: str, spec: Any) -> Prepared:
    module = types.ModuleType("__main__")
    # Without a spec, processes that multiprocessing starts read the file; with one, the module.
    module.__dict__.update(
        __file__=file,
        __builtins__=builtins,
        __annotations__={},
        __cached__=getattr(spec, "cached", None),
        __loader__=getattr(spec, "loader", None) or _loader(file),
        __package__=None if spec is None else spec.parent,
        __spec__=spec,
    )
    sys.modules["__main__"] = module
    return Prepared(code, module.__dict__)


def _loader(file: str) -> Any:
    from importlib.machinery import SourceFileLoader

    return SourceFileLoader("__main__", file)
