"""Prints PyTorch's public names: ``python tests/compat/collect_names.py > .../api_names.txt``.

What counts as public: a module's ``__all__``; without one, what ``dir`` shows and what is its own
(no private names, no modules of other packages, nothing from `typing`). `torch` itself lists some
names only in ``dir``, so there both count. The names are those of a fresh interpreter: what tests
import along the way would add to them.
"""

from __future__ import annotations

import importlib
import pkgutil
import sys
import types
from typing import Any

MODULES = """
torch torch.Tensor torch.linalg torch.fft torch.special torch.signal.windows torch.random
torch.functional torch.nn torch.nn.Module torch.nn.functional torch.nn.init torch.nn.utils
torch.nn.utils.rnn torch.nn.utils.parametrize torch.nn.utils.parametrizations torch.nn.utils.prune
torch.nn.parameter torch.nn.attention torch.nn.parallel torch.optim torch.optim.Optimizer
torch.optim.lr_scheduler torch.optim.swa_utils torch.utils torch.utils.data torch.utils.dlpack
torch.utils.hooks torch.distributions torch.amp torch.sparse torch.cuda torch.cuda.amp torch.cpu
torch.accelerator torch.backends torch.backends.cpu torch.backends.cuda torch.backends.cudnn
torch.backends.mkl torch.backends.mkldnn torch.backends.mps torch.backends.openmp torch.testing
torch.quasirandom torch.types torch.overrides torch.multiprocessing torch.version torch.storage
torch.serialization torch.return_types torch.hub torch.masked torch.nested
""".split()
# packages whose modules programs name by path: torch.nn.modules.linear
PACKAGES = ("torch.nn", "torch.optim", "torch.distributions", "torch.utils.data")
LEFT_OUT = {"intrinsic", "qat", "quantized", "quantizable", "datapipes", "gen_pyi"}


def names_of(module: str) -> list[str]:
    """The public names of a module or class, sorted."""
    place = find(module)
    shown = set(dir(place))
    if hasattr(place, "m") and isinstance(place.m, types.ModuleType):
        # a module whose switches are properties: they are on its class, the rest is inside
        shown = {*dir(place.m), *vars(type(place))} - {"m"}
    found = {name for name in shown if not name.startswith("_") and own(place, name)}
    listed = getattr(place, "__all__", None)
    if listed is not None:
        found = set(listed) | (found if module == "torch" else set())
    return sorted(found)


def find(path: str) -> Any:
    """A module, or a class in one."""
    try:
        return importlib.import_module(path)
    except ModuleNotFoundError:
        outer, _, name = path.rpartition(".")
        return getattr(importlib.import_module(outer), name)


def own(place: Any, name: str) -> bool:
    """Whether a name that `dir` shows belongs to PyTorch and is more than an import of its own."""
    if isinstance(place, type):
        return True
    value = getattr(place, name)
    if isinstance(value, types.ModuleType):
        inside = value.__name__.startswith(f"{place.__name__}.")
        return inside and value.__name__.rpartition(".")[2] == name
    home = getattr(value, "__module__", None) or ""
    elsewhere = ("typing", "collections", "contextlib", "functools", "dataclasses")
    inner = ("ContextProp", "GenericModule", "PropModule", "TYPE_CHECKING")
    return name not in inner and not home.startswith(elsewhere)


def modules_of(package: str) -> list[str]:
    """The public modules inside a package, by path."""
    place = importlib.import_module(package)
    found = [info.name for info in pkgutil.walk_packages(place.__path__, f"{package}.")]
    return [
        path
        for path in found
        if not any(part[0] == "_" or part in LEFT_OUT for part in path.split("."))
    ]


def main() -> None:
    """Print the list."""
    # the names of `torch` come first: the other modules are imported afterwards
    sections = {module: names_of(module) for module in MODULES}
    modules = sorted({path for package in PACKAGES for path in modules_of(package)})
    print("# PyTorch 2.13's public names by module, and its modules that programs name by path.")
    print("# Printed by tests/compat/collect_names.py, which says what counts as public.")
    for module, names in {**sections, "modules": modules}.items():
        print(f"\n[{module}]")
        print("\n".join(names))


if __name__ == "__main__":
    sys.exit(main())
