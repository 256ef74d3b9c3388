"""A docstring as Markdown: examples become code blocks, aligned arguments become lists."""

from __future__ import annotations

import inspect
import re

_ARGUMENT = re.compile(
    r"^(\*{0,2}[A-Za-z_][\w.*]*(?:, ?\*{0,2}[A-Za-z_]\w*)*(?:=\S*)?) {2,}(\S.*)$"
)


def as_markdown(docstring: str) -> str:
    """The text of a docstring as Markdown.

    >>> as_markdown("Adds <two> to `a_b`.")
    'Adds &lt;two> to `a_b`.\\n'
    >>> as_markdown("left   the first\\n       number\\nright  the second")
    '- `left`: the first number\\n- `right`: the second\\n'
    """
    blocks = [
        _block(block) for block in re.split(r"\n{2,}", inspect.cleandoc(docstring)) if block.strip()
    ]
    return _joined(blocks)


def _block(block: str) -> str:
    """One paragraph, by what it looks like."""
    lines = block.split("\n")
    if lines[0].startswith(">>> "):
        return "```pycon\n" + block.replace("<BLANKLINE>", "") + "\n```"
    if all(not line or line.startswith("    ") for line in lines):
        return block  # code, for Markdown too
    for number, line in enumerate(lines):
        if line.startswith(">>> "):
            return _block("\n".join(lines[:number])) + "\n\n" + _block("\n".join(lines[number:]))
    if _ARGUMENT.match(lines[0]):
        return _arguments(lines)
    return _prose(block)


def _arguments(lines: list[str]) -> str:
    """Names and what they mean, aligned in columns: a list."""
    items: list[str] = []
    for line in lines:
        found = _ARGUMENT.match(line)
        if found is not None:
            items.append(f"- `{found[1]}`: {found[2].strip()}")
        elif items:
            items[-1] += " " + line.strip()
    return "\n".join(_prose(item) for item in items)


def _joined(blocks: list[str]) -> str:
    """Paragraphs with blank lines between; an example that goes on after one stays one block."""
    text = "\n\n".join(blocks)
    return text.replace("\n```\n\n```pycon\n", "\n\n") + ("\n" if text else "")


def _prose(text: str) -> str:
    """Text in which only backquotes mean something, as in the docstrings themselves."""
    pieces = re.split(r"(``.+?``|`.+?`)", text, flags=re.DOTALL)
    return "".join(piece if piece.startswith("`") else _escaped(piece) for piece in pieces)


def _escaped(text: str) -> str:
    text = text.replace("&", "&amp;").replace("<", "&lt;")
    text = re.sub(r"(?<=\S)([*_])|([*_])(?=\S)", lambda found: "\\" + found[0], text)
    return re.sub(r"\[(?=[^]]*\]\()", r"\\[", text)
