"""`import torch` means retrograd: the import finder of a program under `retrograd run`.

The command puts the folder `shim/` in front of Python's path. The first `import torch` finds the
package there, which calls `install()`: from then on every `torch...` import is answered here, by
the module of retrograd with that name, the same object and not a second copy. A PyTorch that is
installed beside it is never looked at: a module that retrograd lacks is an ImportError.

Because the path is an environment variable, the processes that a program starts (data loading
workers, `multiprocessing`, `subprocess` with this Python) see retrograd too.
"""

from __future__ import annotations

import functools
import importlib
import importlib.util
import os
import sys
from collections.abc import Callable, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

_Finder = Callable[[str, str | None], ModuleSpec | None]

SHIM = Path(__file__).parent / "shim"
"""The folder for Python's path: it holds a `torch` that calls `install`."""

# Modules of retrograd that PyTorch has not: `import torch.lifecycle` fails as it does there. A
# program may look for a module to learn what it can use.
OWN = frozenset(
    """
    __main__ above accelerators assertions backend cli commands compat connections core diagnostics
    doctor dtypes engine foreach graph interchange lifecycle lint marks model_summary
    namespaces notices parallel progress_bar reduced_dtypes removed replay running samples settings
    signatures symbolic tensor tensors transforms watching
    """.split()
)

# Packages that are compiled for PyTorch: with retrograd they cannot work, installed or not. A
# folder of the program's own with such a name, in plain Python, is a module like any other.
COMPILED = frozenset(["torchaudio", "torchtext"])


class _Alias(Loader):
    """Gives the import system a module that is there already."""

    def __init__(self, module: ModuleType) -> None:
        self._module = module
        self._spec = module.__spec__

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return self._module

    def exec_module(self, module: ModuleType) -> None:
        # The import system has written its spec into the module, and it stays retrograd's module.
        module.__spec__ = self._spec

    def get_code(self, fullname: str) -> CodeType | None:
        """The code of the module, to run it as a program: ``-m torch.utils.collect_env``."""
        loader: Any = None if self._spec is None else self._spec.loader
        code: CodeType | None = loader.get_code(self._module.__name__)
        return code


class TorchFinder(MetaPathFinder):
    """Finds retrograd's modules under PyTorch's names."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: Any = None
    ) -> ModuleSpec | None:
        """The spec of `torch...`; None for names that are not PyTorch's."""
        head, _, rest = fullname.partition(".")
        if head == "functorch":
            rest = f"func.{rest}" if rest else "func"
        elif head in COMPILED and _is_import() and not _in_plain_python(head):
            raise ModuleNotFoundError(
                f"No module named {fullname!r} ({head} is compiled for PyTorch, and torch is "
                "retrograd here)",
                name=fullname,
            )
        elif head != "torch":
            return None
        if rest.partition(".")[0] in OWN:
            raise _no_module(fullname)
        module = _counterpart(f"retrograd.{rest}" if rest else "retrograd", fullname)
        _name_loaded()
        # With this name among the loaded modules the import system would take the module's own
        # spec instead of this one, and run the module a second time.
        sys.modules.pop(fullname, None)
        return ModuleSpec(
            fullname, _Alias(module), is_package=getattr(module, "__path__", None) is not None
        )


def _is_import() -> bool:
    """Whether a finder was asked by an import; programs also ask whether a package is there."""
    return sys._getframe(3).f_code.co_name == "_find_and_load_unlocked"


def _hiding(find_spec: _Finder) -> _Finder:
    """`importlib.util.find_spec` that does not see the packages which cannot work."""

    def find(name: str, package: str | None = None) -> ModuleSpec | None:
        head = name.partition(".")[0]
        hidden = head in COMPILED and not _in_plain_python(head)
        return None if hidden else find_spec(name, package)

    return find


@functools.cache
def _in_plain_python(package: str) -> bool:
    """Whether the path has this package, without a compiled library in its folder."""
    spec = PathFinder.find_spec(package)
    if spec is None:
        return False
    return not any(
        file.suffix in (".so", ".pyd", ".dylib", ".dll")
        for folder in spec.submodule_search_locations or []
        for file in Path(folder).rglob("*")
    )


def _counterpart(name: str, asked: str) -> ModuleType:
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is None or not name.startswith(error.name):
            raise  # the module is there, and something that it needs is not
        raise _no_module(asked) from None


def _name_loaded() -> None:
    """Give every loaded module of retrograd its PyTorch name too.

    An import that loads a module also writes it into its package. Where the package has a function
    of that name (`torch.autograd.gradcheck`) the function would be lost; a module that is loaded
    already is only looked up.
    """
    for name, module in list(sys.modules.items()):
        package, _, rest = name.partition(".")
        if package == "retrograd" and rest and rest.partition(".")[0] not in OWN:
            sys.modules.setdefault(f"torch.{rest}", module)


def _no_module(name: str) -> ModuleNotFoundError:
    return ModuleNotFoundError(
        f"No module named {name!r} (torch is retrograd here, which has no such module)", name=name
    )


def install() -> ModuleType:
    """Answer every import of torch in this process with retrograd."""
    import retrograd
    from retrograd.torch_version import TORCH_VERSION

    if not any(isinstance(finder, TorchFinder) for finder in sys.meta_path):
        sys.meta_path.insert(0, TorchFinder())
        importlib.util.find_spec = _hiding(importlib.util.find_spec)  # type: ignore[assignment]
    # Programs ask for PyTorch's version, to choose between its ways of doing things.
    retrograd.__version__ = TORCH_VERSION
    vars(retrograd)["torch"] = retrograd  # PyTorch's has itself inside, by accident
    # `print(type(x))` is in many programs: PyTorch's line is <class 'torch.Tensor'>.
    retrograd.Tensor.__module__ = "torch"
    # Libraries that replace PyTorch's functions check whom they have before them (Pyro).
    retrograd.__name__ = "torch"
    sys.modules["torch"] = retrograd
    _name_loaded()
    return retrograd


def path_with_shim(path: str) -> str:
    """A value for PYTHONPATH with which a new Python finds retrograd, as torch too."""
    folders = [os.fspath(SHIM), *path.split(os.pathsep)]
    package = SHIM.parent.parent.parent
    if package.name not in ("site-packages", "dist-packages"):
        # A checkout: it may be in the path only as the folder in which this process was started.
        folders.append(os.fspath(package))
    return os.pathsep.join(dict.fromkeys(folder for folder in folders if folder))


def pass_on() -> None:
    """Let the processes that this one starts see retrograd as torch too."""
    path = path_with_shim(os.environ.get("PYTHONPATH", ""))
    os.environ["PYTHONPATH"] = path
    # multiprocessing hands this list to a process that it spawns
    sys.path[1:1] = [folder for folder in path.split(os.pathsep) if folder not in sys.path]
