"""The programs behind the drawings of the documentation, each with the moments that are drawn.

`make drawings` runs them under `graph.record`, opens the pages that this gives in Chromium, and
keeps the picture of each marked moment as `docs/drawings/NAME-1.svg`, `NAME-2.svg`, ...
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import retrograd as torch
from retrograd import graph
from retrograd.graph.page import write_page

Mark = Callable[[str], None]
PROGRAMS: dict[str, Callable[[Mark], None]] = {}


def drawing(program: Callable[[Mark], None]) -> Callable[[Mark], None]:
    """Declare a program that is drawn, under its own name."""
    PROGRAMS[program.__name__] = program
    return program


@drawing
def graph_life(mark: Mark) -> None:
    x = torch.ones(3, requires_grad=True)
    h = x.exp()
    loss = (h * x).sum()
    mark("created")
    loss.backward(retain_graph=True)
    mark("retained")
    loss.backward()
    mark("freed")


@drawing
def graph_life_detached(mark: Mark) -> None:
    x = torch.ones(3, requires_grad=True)
    h = x.exp()
    loss = (h.detach() * x).sum()
    mark("detached: no gradient goes back through h")
    del loss


@drawing
def second_backward(mark: Mark) -> None:
    w = torch.ones(3, requires_grad=True)
    loss = (w.exp() * w).sum()
    mark("the loss is computed")
    loss.backward()
    mark("after loss.backward()")
    with suppress(RuntimeError):
        loss.backward()
    mark("the second call fails")


@drawing
def carried_state(mark: Mark) -> None:
    w = torch.ones(3, 3, requires_grad=True)
    h = torch.zeros(1, 3)
    h = torch.tanh(h @ w + 1)
    h.sum().backward()
    mark("step 1 went backward")
    h = torch.tanh(h @ w + 1)
    mark("step 2 is built on it")


@drawing
def carried_state_detached(mark: Mark) -> None:
    w = torch.ones(3, 3, requires_grad=True)
    h = torch.zeros(1, 3)
    h = torch.tanh(h @ w + 1)
    h.sum().backward()
    h = torch.tanh(h.detach() @ w + 1)
    mark("with detach(), step 2 stands alone")


@drawing
def two_losses(mark: Mark) -> None:
    x = torch.ones(3, requires_grad=True)
    trunk = x.exp()
    one, two = trunk.tanh().sum(), trunk.sin().sum()
    mark("two losses, one trunk")
    one.backward()
    mark("after one.backward()")
    with suppress(RuntimeError):
        two.backward()
    mark("two.backward() fails at the trunk")


@drawing
def gan(mark: Mark) -> None:
    generator, discriminator = torch.nn.Linear(2, 2), torch.nn.Linear(2, 1)
    fake = generator(torch.ones(4, 2))
    discriminator(fake.detach()).mean().backward()
    mark("the discriminator's step ends at detach()")
    discriminator(fake).mean().backward()
    mark("the generator's goes through both")


@drawing
def outside_the_loop(mark: Mark) -> None:
    w = torch.ones(3, requires_grad=True)
    scale = w.exp()
    (scale * 2).sum().backward()
    mark("pass 1 frees what was computed once")
    again = (scale * 3).sum()
    mark("pass 2 needs it")
    with suppress(RuntimeError):
        again.backward()


@drawing
def closures(mark: Mark) -> None:
    w = torch.ones(3, requires_grad=True)
    (w.exp().sum()).backward()
    mark("first call of the closure")
    (w.exp().sum()).backward()
    mark("the second builds a graph of its own")


@drawing
def gradient_accumulation(mark: Mark) -> None:
    w = torch.ones(3, requires_grad=True)
    (w.exp().sum() / 2).backward()
    (w.sin().sum() / 2).backward()
    mark("each piece of the batch frees its graph; .grad adds up")


@drawing
def zero_grad(mark: Mark) -> None:
    w = torch.ones(3, requires_grad=True)
    loss = w.exp().sum()
    loss.backward()
    mark("after backward()")
    w.grad = None
    mark("after zero_grad(): the graph is as it was")


@drawing
def in_place(mark: Mark) -> None:
    x = torch.ones(3, requires_grad=True)
    h = x.exp()
    loss = (h * 2).sum()
    with torch.no_grad():
        h.add_(1)
    with suppress(RuntimeError):
        loss.backward()
    mark("exp had saved h, h was written: backward stops there")


@drawing
def retain_graph(mark: Mark) -> None:
    x = torch.ones(3, requires_grad=True)
    loss = (x.exp() * x).sum()
    loss.backward(retain_graph=True)
    mark("kept by retain_graph=True")
    loss.backward()
    mark("freed by the call without it")


@drawing
def retain_graph_named(mark: Mark) -> None:
    x = torch.ones(3, requires_grad=True)
    trunk = x.exp()
    head = trunk.tanh().cos().sum()
    head.backward(retain_graph=[trunk])
    mark("retain_graph names the trunk: only the head is freed")


@drawing
def higher_order(mark: Mark) -> None:
    x = torch.ones(3, requires_grad=True)
    y = x.exp().sum()
    mark("y")
    (slope,) = torch.autograd.grad(y, x, create_graph=True)
    penalty = (slope * slope).sum()
    mark("the gradient has a graph too")
    penalty.backward()
    mark("after penalty.backward()")


@drawing
def memory(mark: Mark) -> None:
    w = torch.ones(3, requires_grad=True)
    total = torch.zeros(())
    for _ in range(3):
        loss = w.exp().sum()
        total = total + loss
    mark("total keeps the graph of every step")


@drawing
def custom_functions(mark: Mark) -> None:
    class Square(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):  # type: ignore[no-untyped-def]
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx, gradient):  # type: ignore[no-untyped-def]
            (x,) = ctx.saved_tensors
            return 2 * x * gradient

    x = torch.ones(3, requires_grad=True)
    loss = Square.apply(x.exp()).sum()
    mark("save_for_backward holds its input")
    loss.backward()
    mark("freed as any other node")


@drawing
def checkpointing(mark: Mark) -> None:
    def block(x: torch.Tensor) -> torch.Tensor:
        return x.exp().sin().tanh()

    x = torch.ones(3, requires_grad=True)
    plain = block(x).sum()
    mark("without: every value is kept")
    plain.backward()
    from retrograd.utils.checkpoint import checkpoint

    kept = checkpoint(block, x, use_reentrant=False).sum()
    mark("with checkpoint: none of them is")
    kept.backward()


@drawing
def no_graph(mark: Mark) -> None:
    x = torch.ones(3, requires_grad=True)
    h = x.exp()
    loss = (h.detach() * 2).sum()
    mark("the way from loss to x ends at detach()")
    del loss


def main(folder: Path) -> None:
    """Write a page for each program."""
    for name, program in PROGRAMS.items():
        with graph.record(engine="retrograd", title=name) as record:
            program(record.mark)
        write_page(record.data, folder / f"{name}.html")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
