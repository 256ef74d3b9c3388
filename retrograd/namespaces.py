"""What a module of the library answers when it is asked for a name that it does not have."""

from __future__ import annotations

from collections.abc import Iterable


def missing(module: str, name: str, known: Iterable[str]) -> AttributeError:
    """An error that names what is missing and what comes near.

    >>> missing("retrograd", "zeroes", ["zeros", "ones"]).args[0]
    "module 'retrograd' has no attribute 'zeroes'. Did you mean: 'zeros'?"
    """
    text = f"module '{module}' has no attribute '{name}'"
    if name.startswith("_"):
        return AttributeError(text)
    from difflib import get_close_matches

    near = get_close_matches(name, [n for n in known if not n.startswith("_")], 3, 0.75)
    if near:
        quoted = ", ".join(repr(n) for n in near)
        return AttributeError(f"{text}. Did you mean: {quoted}?")
    return AttributeError(f"{text}: it is not there yet, or it is not a public name of PyTorch")
