"""Codes RG4xx: hooks and custom Functions."""

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
                "{name} returned {got} gradient(s) for {want} argument(s)",
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
        "a hook or the backward of a custom Function returned something that is no gradient",
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
            Form(
                r"expected Variable or None \(got (?P<got>.+)\)",
                "a custom Function returned a {got} where a Tensor or None is needed",
                "backward() and jvp() return a Tensor or None for each place; a list of them "
                "counts as one value, a tuple as several.",
                ("return tensors, several of them as a tuple",),
                "function",
            ),
            Form(
                r"function (?P<name>\w+) returned a gradient different than None at position "
                r"(?P<index>\d+), but the corresponding forward input was not a Variable",
                "{name} returned a gradient for argument {index}, which is not a tensor",
                "Only tensors have gradients.",
                ("return None for this argument",),
                "function",
            ),
            Form(
                r"Expected isFloatingType\(grad",
                "a custom Function mixed real and complex gradients",
                "A real input has a real gradient, a complex input a complex or floating one.",
                ("return gradient.real for a real input",),
                "function",
            ),
        ),
        ("changed", "count", "type", "function"),
    ),
    Entry(
        "RG404",
        "function-incomplete",
        "a custom Function lacks a method, or has one too many",
        (
            Form(
                r"You must implement either the backward or vjp method",
                "this custom Function has no backward",
                "Without it nobody knows how a change of its arguments changes its result.",
                ("add @staticmethod def backward(ctx, *gradients)",),
                "backward",
            ),
            Form(
                r"Implementing both 'backward' and 'vjp' for a custom Function is not allowed",
                "this custom Function has backward and vjp",
                "They are two names of one method.",
                ("keep one of them",),
                "backward",
            ),
            Form(
                r"You must implement the forward function",
                "this custom Function has no forward",
                "forward() computes the result.",
                ("add @staticmethod def forward(ctx, ...)",),
                "forward",
            ),
            Form(
                r"You must implement the jvp function",
                "this custom Function has no jvp",
                "Forward mode carries tangents along with the values, and backward() cannot.",
                ("add @staticmethod def jvp(ctx, *tangents)",),
                "jvp",
            ),
            Form(
                r"To use autograd\.Function with vmap",
                "this custom Function does not say how it works on a batch",
                "vmap does not look into forward().",
                (
                    "set generate_vmap_rule = True if its methods are made of tensor operations",
                    "or add @staticmethod def vmap(info, in_dims, *args)",
                ),
                "vmap",
            ),
            Form(
                r"Legacy autograd function with non-static forward method is deprecated",
                "a custom Function was called like an object",
                "A Function has no state of its own: each call keeps what it needs on its ctx.",
                ("call MyFunction.apply(...), and make forward and backward static methods",),
                "legacy",
            ),
        ),
        ("backward", "forward", "jvp", "vmap", "legacy"),
    ),
    Entry(
        "RG405",
        "mark-dirty",
        "mark_dirty() was used on something else than a changed input that is returned",
        (
            Form(
                r"Some elements marked as dirty during the forward method were not returned",
                "an input marked as changed in place was not returned by forward()",
                "It gets a new history, which belongs to an output.",
                ("return every tensor given to ctx.mark_dirty()",),
                "not-returned",
            ),
            Form(
                r"ctx\.mark_dirty\(\) received a tensor that was not an input",
                "mark_dirty() got a tensor that was made inside forward()",
                "Only a write to an input has to be known outside.",
                ("leave out ctx.mark_dirty() for this tensor",),
                "not-an-input",
            ),
            Form(
                r"If your Function modifies inplace an input that is a view",
                "a custom Function changed a view in place and returned more than one value",
                "The write becomes part of the history of the view's base, which has room for "
                "one gradient.",
                ("give it x.clone() in place of the view", "or return the changed input alone"),
                "several-outputs",
            ),
        ),
        ("not-returned", "not-an-input", "several-outputs"),
    ),
    Entry(
        "RG406",
        "ctx-arguments",
        "a method of ctx takes tensors only",
        (
            Form(
                r"save_for_backward can only save variables, but argument (?P<index>\d+) "
                r"is of type (?P<got>.+)",
                "argument {index} of save_for_backward() is a {got}",
                "It watches tensors for later changes and lets go of them after the backward "
                "pass; other values need neither.",
                ("keep other values as attributes: ctx.scale = scale",),
                "save",
            ),
            Form(
                r"save_for_forward expects all arguments to be tensors",
                "save_for_forward() got something that is not a tensor",
                "Other values than tensors need no care.",
                ("keep other values as attributes: ctx.scale = scale",),
                "save",
            ),
            Form(
                r"mark_dirty can only accept variables, but argument (?P<index>\d+) is of type "
                r"(?P<got>.+)",
                "argument {index} of mark_dirty() is a {got}",
                "Only tensors can be changed in place in a way that matters here.",
                ("pass the tensors one by one: ctx.mark_dirty(x, y)",),
                "mark",
            ),
            Form(
                r"mark_non_differentiable only accepts variable arguments, but got (?P<got>.+)",
                "mark_non_differentiable() got a {got}",
                "Other outputs than tensors have no gradient anyway.",
                ("pass the tensors one by one: ctx.mark_non_differentiable(x, y)",),
                "mark",
            ),
            Form(
                r"An input that has been returned as-is as output is being saved",
                "an input that forward() returned as it was is saved by setup_context()",
                "What comes out is a view of the input; which of the two should be saved is not "
                "clear when ctx is filled afterwards.",
                ("return x.view_as(x), and save that",),
                "returned",
            ),
        ),
        ("save", "mark", "returned"),
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
    Entry(
        "RG408",
        "saved-tensors-read-twice",
        "the saved tensors of a custom Function were read twice, and go by the first reading",
        (
            Form(
                r"saved_tensors can only be accessed once",
                "ctx.saved_tensors was read a second time",
                "The class has clear_saved_tensors_on_access = True: the tensors are let go of "
                "when they are read.",
                ("read ctx.saved_tensors once, into variables",),
            ),
        ),
    ),
    Entry(
        "RG409",
        "jvp-result",
        "jvp of a custom Function returned tangents that do not go with its outputs",
        (
            Form(
                r"Function's jvp returned an invalid number of forward gradients \(expected "
                r"(?P<want>\d+) but got (?P<got>\d+)\)",
                "jvp returned {got} tangent(s) for {want} output(s)",
                "jvp() returns one value for each output of forward().",
                ("return None for outputs that are not tensors",),
                "count",
            ),
            Form(
                r"Function's jvp returned a gradient at position (?P<index>\d+)",
                "jvp returned a tangent for output {index}, which has none",
                "The output is not a tensor, or was marked as not differentiable.",
                ("return None for this output",),
                "not-differentiable",
            ),
            Form(
                r"An inplace custom Function is not (modifying|returning)",
                "forward changed an input in place, and jvp did not do so with its tangent",
                "The tangent of a tensor changes with it, in the same memory.",
                ("change the tangent that jvp got in place, and return it",),
                "in-place",
            ),
            Form(
                r"A custom Function('s forward)? is returning a view",
                "forward returned a view of its input, and jvp did not do so with its tangent",
                "A view's tangent is a view of its base's tangent, so that a write to one is "
                "seen in the other.",
                ("take the same view of the tangent that jvp got",),
                "view",
            ),
        ),
        ("count", "not-differentiable", "in-place", "view"),
    ),
)
