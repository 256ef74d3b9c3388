"""Codes RG4xx: hooks and custom Functions."""

from __future__ import annotations

from .entry import Entry, Form

FUNCTION: tuple[Entry, ...] = (
    Entry(
        "RG403",
        "gradient-type",
        "a hook returned something that cannot be a gradient",
        (
            Form(
                r"hook '(?P<name>.*)' has changed the (?P<what>size|type) of value",
                "the hook {name} changed the {what} of the gradient",
                "A hook may replace the gradient, but the new one must fit the same tensor.",
                ("to only look at the gradient, return None",),
                "changed",
            ),
            Form(
                r"hook '(?P<name>.*)' has returned an incorrect number of values \(got "
                r"(?P<got>\d+), but expected (?P<want>\d+)\)",
                "the hook {name} returned {got} gradient(s) where there are {want}",
                "A hook on a node returns one entry for each gradient that it got first.",
                ("return None in the places that should stay as they are",),
                "count",
            ),
            Form(
                r"can't replace a None gradient with a non-None value",
                "a hook made up a gradient where there is none",
                "None says that no gradient arrives there; the rest of the pass relies on that.",
                ("return None for these places",),
                "changed",
            ),
            Form(
                r"expected (Variable|tuple), but hook returned '(?P<got>.*)'",
                "a hook returned a {got} where a gradient is needed",
                "A hook on a tensor returns a Tensor or None, a hook on a node a tuple of them.",
                ("to only look at the gradient, return None",),
                "type",
            ),
        ),
        ("changed", "count", "type"),
    ),
)
