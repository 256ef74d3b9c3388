"""Custom Functions of every style, the same in both libraries, for random programs."""

from __future__ import annotations

import functools
from typing import Any


@functools.cache
def functions(library: Any) -> dict[str, Any]:
    """The Functions by name, made for one library."""
    base = library.autograd.Function
    once = library.autograd.function.once_differentiable

    class Product(base):
        """Saves its inputs; the gradient is right to every order."""

        @staticmethod
        def forward(ctx, x, y):
            ctx.save_for_backward(x, y)
            return x * y

        @staticmethod
        def backward(ctx, g):
            x, y = ctx.saved_tensors
            first = g * y if ctx.needs_input_grad[0] else None
            return first, g * x if ctx.needs_input_grad[1] else None

    class SavesOutput(base):
        @staticmethod
        def forward(ctx, x, y):
            out = x.tanh()
            ctx.save_for_backward(out)
            return out

        @staticmethod
        def backward(ctx, g):
            (out,) = ctx.saved_tensors
            return g * (1 - out * out), None

    class Written(base):
        @staticmethod
        def forward(ctx, x, y):
            x.mul_(3)
            ctx.mark_dirty(x)
            return x

        @staticmethod
        def backward(ctx, g):
            return g * 3, None

    class Viewed(base):
        @staticmethod
        def forward(ctx, x, y):
            return x.view_as(x)

        @staticmethod
        def backward(ctx, g):
            return g * 2, None

    class Row(base):
        @staticmethod
        def forward(ctx, x, y):
            ctx.shape = x.shape
            return x[:1]

        @staticmethod
        def backward(ctx, g):
            return g.expand(ctx.shape), None

    class Same(base):
        @staticmethod
        def forward(ctx, x, y):
            return x

        @staticmethod
        def backward(ctx, g):
            return g * 5, None

    class Flagged(base):
        """The second output has no gradient."""

        @staticmethod
        def forward(ctx, x, y):
            positive = x.detach().clone()
            ctx.mark_non_differentiable(positive)
            ctx.save_for_backward(x)
            return x * 2, positive

        @staticmethod
        def backward(ctx, g, unused):
            return g * 2 + unused * 7, None

    class Once(base):
        @staticmethod
        def forward(ctx, x, y):
            ctx.save_for_backward(x)
            return x.sin()

        @staticmethod
        @once
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return g * x.cos(), None

    class Sparing(base):
        """Gets None for gradients that nobody sent."""

        @staticmethod
        def forward(ctx, x, y):
            ctx.set_materialize_grads(False)
            return x * 2, y * 3

        @staticmethod
        def backward(ctx, g, h):
            return None if g is None else g * 2, None if h is None else h * 3

    class Separate(base):
        """setup_context, jvp, and a vmap rule that is generated."""

        generate_vmap_rule = True

        @staticmethod
        def forward(x, y):
            return x * x * y

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.save_for_backward(*inputs)
            ctx.save_for_forward(*inputs)

        @staticmethod
        def backward(ctx, g):
            x, y = ctx.saved_tensors
            return g * 2 * x * y, g * x * x

        @staticmethod
        def jvp(ctx, s, t):
            x, y = ctx.saved_tensors
            out = x * x * y * 0
            if s is not None:
                out = out + 2 * x * y * s
            return out if t is None else out + x * x * t

    class OwnRule(base):
        """A vmap rule of its own."""

        @staticmethod
        def forward(x, y):
            return x.sin() * 2

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.save_for_backward(inputs[0])

        @staticmethod
        def backward(ctx, g):
            return g * ctx.saved_tensors[0].cos() * 2, None

        @staticmethod
        def vmap(info, dims, x, y):
            return OwnRule.apply(x, y), dims[0]

    class Hidden(base):
        """Saves something that is neither input nor output."""

        @staticmethod
        def forward(ctx, x, y):
            middle = x.sin()
            ctx.save_for_backward(middle, None, y)
            return middle * y

        @staticmethod
        def backward(ctx, g):
            middle, _, y = ctx.saved_tensors
            return g * y * middle, (g * middle).sum_to_size(y.shape)

    class Failing(base):
        @staticmethod
        def forward(ctx, x, y):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            raise ValueError("this Function has no gradient")

    class TooMany(base):
        @staticmethod
        def forward(ctx, x, y):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g, g, g

    class WrongShape(base):
        @staticmethod
        def forward(ctx, x, y):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return library.ones(5, dtype=g.dtype), None

    class Inner(base):
        """Calls autograd in forward and in backward."""

        @staticmethod
        def forward(ctx, x, y):
            with library.enable_grad():
                inside = x.detach().requires_grad_()
                out = inside.sin() * 2
            ctx.inside, ctx.out = inside, out
            return out.detach()

        @staticmethod
        def backward(ctx, g):
            (found,) = library.autograd.grad(ctx.out, ctx.inside, g, retain_graph=True)
            return found, None

    found = (
        Product, SavesOutput, Written, Viewed, Row, Same, Flagged, Once, Sparing, Separate,
        OwnRule, Hidden, Failing, TooMany, WrongShape, Inner,
    )  # fmt: skip
    return {function.__name__: function for function in found}


NAMES = (
    "Product", "SavesOutput", "Written", "Viewed", "Row", "Same", "Flagged", "Once", "Sparing",
    "Separate", "OwnRule", "Hidden", "Failing", "TooMany", "WrongShape", "Inner",
)  # fmt: skip
