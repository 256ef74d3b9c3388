"""The catalogue: every code, the messages that belong to it, and what to say about them.

A code is never reused, and a retired one keeps its page. Messages are PyTorch's, to the letter,
because programs and tests match on them; a `Form` recognises one of them and adds what PyTorch does
not say. So code that raises needs the message only:

>>> find("mat1 and mat2 shapes cannot be multiplied (2x3 and 4x5)")[0]
Entry('RG202', 'product-shapes')
"""

from __future__ import annotations

from difflib import SequenceMatcher, get_close_matches

from .codes.checks import CHECKS
from .codes.dtype import DTYPE
from .codes.entry import Entry, Form
from .codes.function import FUNCTION
from .codes.lifecycle import LIFECYCLE
from .codes.numerics import NUMERICS
from .codes.shape import SHAPE
from .codes.transforms import FORWARD, FUNC
from .codes.unsupported import UNSUPPORTED
from .codes.vmap import VMAP

CATALOGUE: dict[str, Entry] = {
    entry.code: entry
    for group in (
        *(LIFECYCLE, SHAPE, DTYPE, FUNCTION, NUMERICS),
        *(VMAP, FUNC, FORWARD, CHECKS, UNSUPPORTED),
    )
    for entry in group
}
"""Every entry by its code, in order."""


def find(message: str) -> tuple[Entry, Form, dict[str, str]] | None:
    """The entry that a message belongs to, the form of it, and the facts it states."""
    for entry in CATALOGUE.values():
        for form in entry.forms:
            facts = form.match(message)
            if facts is not None:
                return entry, form, facts
    return None


def similar(code: str) -> list[str]:
    """Codes whose code or slug looks like `code`.

    >>> similar("RG01")[0]
    'RG101'
    """
    by_slug = {entry.slug: entry.code for entry in CATALOGUE.values()}
    ratios = {other: SequenceMatcher(None, code.upper(), other).ratio() for other in CATALOGUE}
    near = sorted((other for other in CATALOGUE if ratios[other] > 0.6), key=lambda o: -ratios[o])
    del near[4:]
    near += [by_slug[slug] for slug in get_close_matches(code.lower(), by_slug, n=3, cutoff=0.5)]
    near += [by_slug[slug] for slug in by_slug if len(code) > 2 and code.lower() in slug]
    return list(dict.fromkeys(near))
