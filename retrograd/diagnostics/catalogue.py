"""The catalogue: every cause and every code, the messages that belong to it, and what to say.

A cause is what a program did (`codes/causes.toml`); the doctor, the errors and lint know it by one
name. A code is how an error or a lint rule shows it.

A code is never reused, and a retired one keeps its page. Messages are PyTorch's, to the letter,
because programs and tests match on them; a `Form` recognises one of them and adds what PyTorch does
not say. So code that raises needs the message only. The texts are in `codes/`: a table for each
code, and one below it for each form.

>>> find("mat1 and mat2 shapes cannot be multiplied (2x3 and 4x5)")[0]
Entry('RG202', 'product-shapes')
"""

from __future__ import annotations

import tomllib
from difflib import SequenceMatcher, get_close_matches
from functools import cache
from importlib.resources import files
from typing import Any

from .entry import Cause, Entry, Form

GROUPS = (
    *("lifecycle", "shape", "dtype", "function", "numerics"),
    *("vmap", "transforms", "checks", "unsupported"),
)


@cache
def catalogue() -> dict[str, Entry]:
    """Every entry by its code, in order; read when the first report is made."""
    folder = files(__package__).joinpath("codes")
    groups = (tomllib.loads(folder.joinpath(f"{name}.toml").read_text("utf-8")) for name in GROUPS)
    return {code: _entry(code, **fields) for group in groups for code, fields in group.items()}


def _entry(code: str, forms: list[dict[str, Any]], **fields: Any) -> Entry:
    """An entry from its table; lists become tuples, so that it cannot change."""
    made = [Form(**form | {"helps": tuple(form.get("helps", ()))}) for form in forms]
    return Entry(code, forms=tuple(made), **fields | {"reasons": tuple(fields.get("reasons", ()))})


@cache
def causes() -> dict[str, Cause]:
    """Every cause by its name.

    >>> causes()["stale-state-carried"].rules
    ('RGL203',)
    """
    text = files(__package__).joinpath("codes", "causes.toml").read_text("utf-8")
    return {
        slug: Cause(slug, of["summary"], tuple(of.get("codes", ())), tuple(of.get("rules", ())))
        for slug, of in tomllib.loads(text).items()
    }


def causes_of(code: str) -> list[Cause]:
    """The causes that a code of an error or of a lint rule shows."""
    return [cause for cause in causes().values() if code in (*cause.codes, *cause.rules)]


def find(message: str) -> tuple[Entry, Form, dict[str, str]] | None:
    """The entry that a message belongs to, the form of it, and the facts it states."""
    for entry in catalogue().values():
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
    by_slug = {entry.slug: entry.code for entry in catalogue().values()}
    ratios = {other: SequenceMatcher(None, code.upper(), other).ratio() for other in catalogue()}
    near = sorted((other for other in catalogue() if ratios[other] > 0.6), key=lambda o: -ratios[o])
    del near[4:]
    near += [by_slug[slug] for slug in get_close_matches(code.lower(), by_slug, n=3, cutoff=0.5)]
    near += [by_slug[slug] for slug in by_slug if len(code) > 2 and code.lower() in slug]
    return list(dict.fromkeys(near))
