"""Call sites: where in the user's program something happened.

A site is kept as `(code, lasti)`, the code object and the instruction in it. That costs a short
walk over frames when recorded, keeps no frame (hence no tensor) alive, and is turned into file,
line, column and source text only when something is printed.

>>> code, instruction = user_site()
>>> CallSite(code, instruction).line is not None
True
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from itertools import islice
from sys import _getframe
from types import CodeType
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # at run time only where a site is printed: both need `ast` and `dataclasses`
    from ..diagnostics.report import Place
    from ..diagnostics.source import Loop, Syntax

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def _package_files(folder: str) -> Iterator[str]:
    if os.path.isdir(folder):
        for parent, folders, files in os.walk(folder):
            if "__pycache__" in folders:  # as many files again
                folders.remove("__pycache__")
            if parent == folder and "testing" in folders:
                # What lives in `testing` calls the library as a user would.
                folders.remove("testing")
            yield from (os.path.join(parent, name) for name in files if name.endswith(".py"))
        return
    # Not a folder: a zip file or a bundled application, which only the import system can list.
    import pkgutil

    yield os.path.join(folder, "__init__.py")
    for module in pkgutil.iter_modules([folder]):
        inner = os.path.join(folder, module.name)
        if module.name == "testing" and folder == _PACKAGE:
            continue
        if module.ispkg:
            yield from _package_files(inner)
        else:
            yield f"{inner}.py"


LIBRARY_FILES: set[str] = set(_package_files(_PACKAGE))
"""`co_filename` of every piece of code that belongs to the library, not to the user."""

# A `with` statement of the library goes through here; one of the user's has the user's frame above.
LIBRARY_FILES.add(contextmanager.__code__.co_filename)

# File names already known not to be the library's; see `user_site`.
_USER_FILES: set[str] = set()


def mark_library_file(name: str) -> None:
    """Declare that code compiled under this file name is the library's own.

    >>> mark_library_file("<retrograd op mul>")
    """
    LIBRARY_FILES.add(name)
    _USER_FILES.discard(name)


def is_library(name: str) -> bool:
    """Whether code of this file name belongs to the library; generated code has a prefix."""
    return name in LIBRARY_FILES or name.startswith("<retrograd")


def _user_site(depth: int = 1) -> tuple[CodeType | None, int]:
    """`(code, lasti)` of the innermost frame outside the library, seen from `depth` frames up.

    The outermost frame is returned when all of them are the library's. Each skipped frame costs
    as much as the rest together, so a caller that knows how far the user is passes the distance:
    1 is the function that calls `user_site`, 2 the one that called that.
    """
    frame = _getframe(depth)
    while True:
        code = frame.f_code
        name = code.co_filename
        if name in _USER_FILES:
            return code, frame.f_lasti
        if name not in LIBRARY_FILES:
            # Seen for the first time. Generated code names itself with this prefix.
            (LIBRARY_FILES if name.startswith("<retrograd") else _USER_FILES).add(name)
            continue
        outer = frame.f_back
        if outer is None:
            return code, frame.f_lasti
        frame = outer


def _no_site(depth: int = 1) -> tuple[CodeType | None, int]:
    """No site: recording was turned off with RETROGRAD_SITES=0."""
    return None, 0


sites_enabled: bool = os.environ.get("RETROGRAD_SITES", "1") != "0"
"""Whether call sites are recorded (`RETROGRAD_SITES=0` turns them off)."""

user_site = _user_site if sites_enabled else _no_site


def user_level() -> int:
    """The `stacklevel` for a warning that should point at the user's line."""
    level, frame = 1, _getframe(1)
    while frame.f_back is not None and is_library(frame.f_code.co_filename):
        level, frame = level + 1, frame.f_back
    return level


class CallSite:
    """A recorded `(code, lasti)`, resolved on demand. Every answer is None when not sure.

    Nothing here raises: a site is read while another error is being explained.
    """

    def __init__(self, code: CodeType | None, lasti: int) -> None:
        self.code = code
        self.lasti = lasti

    def __repr__(self) -> str:
        where = self.place
        return "CallSite(unknown)" if where is None else f"CallSite({where.file}:{where.line})"

    def __eq__(self, other: object) -> bool:
        """Same instruction of the same code; an unknown site equals nothing."""
        if not isinstance(other, CallSite) or self.code is None:
            return False
        return self.code is other.code and self._instruction == other._instruction

    def __hash__(self) -> int:
        return hash((id(self.code), self._instruction))

    def __bool__(self) -> bool:
        return self.code is not None

    @cached_property
    def place(self) -> Place | None:
        """The resolved position, without columns and text where the source is not at hand."""
        try:
            return self._resolve()
        except Exception:
            return None

    @property
    def file(self) -> str | None:
        """The file name as the code object has it."""
        return None if self.place is None else self.place.file

    @property
    def line(self) -> int | None:
        """The line, counted from 1."""
        return None if self.place is None else self.place.line

    @property
    def column(self) -> int | None:
        """The first column in characters, counted from 0."""
        return None if self.place is None else self.place.column

    @property
    def end_line(self) -> int | None:
        """The last line."""
        return None if self.place is None else self.place.end_line

    @property
    def end_column(self) -> int | None:
        """The column after the last character."""
        return None if self.place is None else self.place.end_column

    @property
    def function(self) -> str | None:
        """The name of the function, `<module>` at the top level."""
        return None if self.code is None else self.code.co_qualname

    @property
    def source(self) -> str | None:
        """The whole first line."""
        return None if self.place is None else self.place.source

    @property
    def text(self) -> str | None:
        """The exact text, if it lies on one line."""
        return None if self.place is None else self.place.text

    @cached_property
    def syntax(self) -> Syntax | None:
        """The syntax around the site; None unless the source agrees with the code that ran."""
        try:
            positions = self._positions()
            if self.code is None or positions is None:
                return None
            line, end_line, column, end_column = positions
            if line is None or end_line is None or column is None or end_column is None:
                return None
            from ..diagnostics.source import find_syntax

            syntax = find_syntax(self.code.co_filename, (line, column, end_line, end_column))
            if syntax is None or not syntax.belongs_to(self.code.co_name, self.code.co_firstlineno):
                return None
            return syntax
        except Exception:
            return None

    def names(self) -> tuple[str, ...] | None:
        """Variables read within the span: `("x", "h", "W")` for `rg.tanh(x + h @ W)`."""
        return None if self.syntax is None else self.syntax.names()

    def target(self) -> str | None:
        """The variable that the statement around the site assigns to, if it is a simple one."""
        return None if self.syntax is None else self.syntax.target()

    def result_name(self) -> str | None:
        """The variable that holds the site's own value, None if the site is part of a formula."""
        return None if self.syntax is None else self.syntax.result_name()

    def loop(self) -> Loop | None:
        """The innermost loop of the same function whose body holds the site."""
        return None if self.syntax is None else self.syntax.loop()

    @cached_property
    def _instruction(self) -> int:
        """Where the instruction begins: `lasti` is in its cache if what it calls is in Python."""
        if self.code is None or self.lasti < 0:
            return self.lasti
        units = self.code.co_code
        start = self.lasti
        while start > 0 and units[start] == 0:  # CACHE
            start -= 2
        return start

    def _positions(self) -> tuple[int | None, int | None, int | None, int | None] | None:
        if self.code is None or self.lasti < 0:
            return None
        return next(islice(self.code.co_positions(), self.lasti // 2, None), None)

    def _resolve(self) -> Place | None:
        positions = self._positions()
        if self.code is None or positions is None:
            return None
        line, end_line, column, end_column = positions
        if line is None:
            return None
        from ..diagnostics.report import Place
        from ..diagnostics.source import character_column

        file, function = self.code.co_filename, self.code.co_qualname
        syntax = self.syntax
        if syntax is None or end_line is None or column is None or end_column is None:
            return Place(file, line, function)
        return Place(
            file,
            line,
            function,
            character_column(syntax.lines[line - 1], column),
            end_line,
            character_column(syntax.lines[end_line - 1], end_column),
            syntax.lines[line - 1],
        )
