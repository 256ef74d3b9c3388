"""What a backward call is about, as its line says it."""

from __future__ import annotations

import ast
import linecache
from functools import lru_cache
from types import CodeType, FrameType

MOST_TEXT = 40  # characters


def said_at(frame: FrameType) -> str:
    """The expression before `.backward()`, or the first argument of `grad`; "" if not certain."""
    return _said(frame.f_code, frame.f_lasti)


@lru_cache(maxsize=1024)
def _said(code: CodeType, instruction: int) -> str:
    """Of the instruction that a frame is at: Python knows its columns."""
    positions = list(code.co_positions())
    if not 0 <= instruction // 2 < len(positions):
        return ""
    first, last, start, end = positions[instruction // 2]
    if first is None or last is None or start is None or end is None:
        return ""
    lines = [line.encode() for line in linecache.getlines(code.co_filename)[first - 1 : last]]
    if len(lines) != last - first + 1:
        return ""
    lines[-1] = lines[-1][:end]
    lines[0] = lines[0][start:]
    try:
        found = ast.parse(b"".join(lines).decode().strip(), mode="eval").body
    except (SyntaxError, ValueError):
        return ""
    if not isinstance(found, ast.Call) or not isinstance(found.func, ast.Attribute):
        return ""
    about: ast.expr | None = found.args[0] if found.args else None
    if found.func.attr == "backward" and not ast.unparse(found.func.value).endswith("autograd"):
        about = found.func.value
    text = "" if about is None else ast.unparse(about)
    return text if len(text) <= MOST_TEXT else text[: MOST_TEXT - 1] + "…"
