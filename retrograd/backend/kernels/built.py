"""Whether a compiled part was built from the C sources that lie beside it.

A checkout brings new Python files and new C sources, but the compiled parts stay as they are until
somebody builds them. So each keeps what it was built from, as the names and sizes of the files say
it: all of them are read in a third of a millisecond. Where no sources lie beside it, as in a wheel,
both came together.

setup.py runs this file too, so it imports nothing of the package.
"""

from __future__ import annotations

import os
import warnings
import zlib
from types import ModuleType

KERNELS = os.path.dirname(__file__)


def sources_of(folder: str, kernels: str = KERNELS) -> str:
    """What stands for a part's sources and the headers that all parts share; "" without any."""
    found = [
        (entry.name, entry.stat().st_size)
        for place, endings in ((folder, (".c", ".h")), (kernels, (".h",)))
        for entry in os.scandir(place)
        if entry.name.endswith(endings)
    ]
    if not any(name.endswith(".c") for name, _ in found):
        return ""
    return f"sources {zlib.crc32(repr(sorted(found)).encode()):08x}"


def check_sources(part: ModuleType, inside: str = "") -> None:
    """Refuses, as an import that fails, a part that was built from other sources; and warns.

    inside  the folder of its sources, in that of the part
    """
    sources = sources_of(os.path.join(os.path.dirname(part.__file__ or ""), inside))
    if sources in ("", getattr(part, "SOURCES", None)):
        return
    top = os.path.dirname(os.path.dirname(os.path.dirname(KERNELS)))
    text = (
        f"{part.__file__} was built from other C sources than those that are there now: "
        f"build it anew with `python setup.py build_ext --inplace` in {top}"
    )
    warnings.warn(
        f"{text}. Until then Python does its work, more slowly.", RuntimeWarning, stacklevel=3
    )
    raise ImportError(text)
