"""Codes RG4xx: custom Functions and hooks."""

from __future__ import annotations

from .entry import Entry, Form

FUNCTION: tuple[Entry, ...] = (
    Entry(
        "RG401",
        "gradient-count",
        "backward of a custom Function returned the wrong number of gradients",
        (
            Form(
                r"function (?P<name>\w+) returned an incorrect number of gradients \(expected "
                r"(?P<want>\d+), got (?P<got>\d+)\)",
                "{name} returned {got} gradient(s) for {want} input(s)",
                "backward() returns one value for each argument of forward() after ctx.",
                ("return None for arguments that are not tensors or need no gradient",),
            ),
        ),
    ),
    Entry(
        "RG402",
        "gradient-shape",
        "backward of a custom Function returned a gradient of the wrong shape",
        (
            Form(
                r"Function (?P<name>\w+) returned an invalid gradient at index (?P<index>\d+) "
                r"- got (?P<got>\[.*?\]) but expected shape compatible with (?P<want>\[.*?\])",
                "{name} returned a gradient of shape {got} for input {index}, which has {want}",
                "The gradient of an input has the input's shape; only sizes that broadcasting "
                "added are summed up for you.",
            ),
        ),
    ),
    Entry(
        "RG403",
        "gradient-type",
        "a hook or the backward of a custom Function returned something unusable",
        (
            Form(
                r"expected Variable or None \(got (?P<got>.+)\)",
                "backward returned a {got} where a Tensor or None is needed",
            ),
            Form(
                r"function (?P<name>\w+) returned a gradient different than None at position "
                r"(?P<index>\d+), but the corresponding forward input was not a Variable",
                "{name} returned a gradient for argument {index}, which is not a tensor",
                None,
                ("return None for this argument",),
            ),
            Form(
                r"hook '(?P<name>.*)' has changed the (?P<what>size|type|dtype) of value",
                "the hook {name} changed the {what} of the gradient",
                "A hook may replace the gradient, but the new one must fit the same tensor.",
                (),
                "hook",
            ),
            Form(
                r"expected Variable, but hook returned '(?P<got>.*)'",
                "a hook returned a {got} where a Tensor or None is needed",
                None,
                (),
                "hook",
            ),
        ),
        ("hook",),
    ),
    Entry(
        "RG404",
        "function-incomplete",
        "a custom Function lacks forward or backward",
        (
            Form(
                r"You must implement either the backward or vjp method",
                "this custom Function has no backward",
                None,
                ("add @staticmethod def backward(ctx, *grad_outputs)",),
                "backward",
            ),
            Form(
                r"You must implement the forward function",
                "this custom Function has no forward",
                None,
                ("add @staticmethod def forward(ctx, ...)",),
                "forward",
            ),
            Form(
                r"Legacy autograd function with non-static forward method is deprecated",
                "a custom Function was called like an object",
                None,
                ("call MyFunction.apply(...), and make forward and backward static methods",),
                "legacy",
            ),
        ),
        ("backward", "forward", "legacy"),
    ),
    Entry(
        "RG405",
        "mark-dirty",
        "mark_dirty() was used on something that forward() did not return",
        (
            Form(
                r"Some elements marked as dirty during the forward method were not returned",
                "an input marked as changed in place was not returned by forward()",
                None,
                ("return every tensor given to ctx.mark_dirty()",),
            ),
        ),
    ),
    Entry(
        "RG406",
        "save-for-backward",
        "save_for_backward() takes tensors only",
        (
            Form(
                r"save_for_backward can only save variables, but argument (?P<index>\d+) "
                r"is of type (?P<got>.+)",
                "argument {index} of save_for_backward() is a {got}",
                None,
                ("keep other values as attributes: ctx.scale = scale",),
            ),
        ),
    ),
    Entry(
        "RG407",
        "once-differentiable",
        "a function that has only a first derivative was differentiated twice",
        (
            Form(
                r"trying to differentiate twice a function that was marked with @once",
                "a function marked @once_differentiable was differentiated twice",
                "Its backward is not made of recorded operations, so it has no derivative itself.",
                ("write backward with tensor operations and drop @once_differentiable",),
            ),
        ),
    ),
)
