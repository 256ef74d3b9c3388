"""Edited texts laid over files: the program runs as if they were written, and nothing is."""

from __future__ import annotations

import linecache
import os
import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from types import CodeType, ModuleType

from retrograd.doctor.fixes.text import decoded
from retrograd.watching import source


def lay_over(texts: dict[str, bytes]) -> None:
    """From now on, imports, the doctor's rules and tracebacks see these texts for these files."""
    source.overlaid.update({os.path.realpath(file): data for file, data in texts.items()})
    source.forget()
    for file, data in texts.items():
        text, _ = decoded(data)
        # without a time an entry is never compared with the file
        linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    sys.meta_path.insert(0, _Finder())


class _Finder(MetaPathFinder):
    """Finds modules as Python does, and gives those whose file is overlaid another loader."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """None for all others: the finders that follow are asked."""
        spec = PathFinder.find_spec(fullname, path, target)
        if spec is None or spec.origin is None or not spec.has_location:
            return None
        if os.path.realpath(spec.origin) not in source.overlaid:
            return None
        spec.loader = _Loader(fullname, spec.origin)
        return spec


class _Loader(SourceFileLoader):
    """Compiles the overlaid text; compiled files of the real one are not read."""

    def get_data(self, path: str) -> bytes:
        """The text, of which `inspect` asks too."""
        return source.bytes_of(path)

    def get_code(self, fullname: str) -> CodeType:
        """Always compiled anew."""
        file = self.get_filename(fullname)
        return self.source_to_code(self.get_data(file), file)
