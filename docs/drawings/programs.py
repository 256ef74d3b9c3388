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


@drawing
def myths_retain(mark: Mark) -> None:
    x = torch.ones(10, requires_grad=True)
    z = (x * 2).exp().mean()
    z.backward(retain_graph=True)
    mark("the first call keeps the graph")
    z.backward()
    mark("the second decides anew, and frees it")
    with suppress(RuntimeError):
        z.backward()
    mark("the third has nothing to walk")


@drawing
def myths_networks(mark: Mark) -> None:
    first, second = torch.nn.Linear(10, 5), torch.nn.Linear(5, 2)
    one = first(torch.ones(1, 10)).mean()
    two = second(torch.ones(1, 5)).mean()
    one.backward()
    mark("two networks, two graphs: the second is whole")
    two.backward()


@drawing
def myths_step(mark: Mark) -> None:
    model = torch.nn.Sequential(torch.nn.Linear(2, 4), torch.nn.Linear(4, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    loss = (model(torch.ones(3, 2)) ** 2).mean()
    loss.backward(retain_graph=True)
    optimizer.step()
    with suppress(RuntimeError):
        loss.backward()
    mark("the graph was kept, but step() wrote a weight that it had saved")


@drawing
def replay(mark: Mark) -> None:
    model = torch.nn.Sequential(torch.nn.Linear(10, 5), torch.nn.Tanh(), torch.nn.Linear(5, 1))
    loss = torch.nn.functional.mse_loss(model(torch.randn(8, 10)), torch.randn(8, 1))
    loss.backward()
    mark("what an ordinary step makes, and frees again; a step from a plan makes no node")


@drawing
def view(mark: Mark) -> None:
    weight = torch.full((3, 3), 0.5, requires_grad=True)
    h = torch.tanh(torch.ones(2, 3) @ weight)
    first, second = (h * h).sum(), h.exp().sum()
    first.backward(retain_graph=True)
    second.backward()
    mark("the second call freed the trunk; what only the first loss needs is kept")


@drawing
def states(mark: Mark) -> None:
    model = torch.nn.Linear(3, 4)
    trunk = model(torch.ones(2, 3)).tanh()
    one, two = trunk.exp().sum(), trunk.sin().sum()
    mark("created")
    one.backward()
    mark("one is freed, two is partly freed: a backward on it will fail")
    del two


@drawing
def show(mark: Mark) -> None:
    weight = torch.randn(16, 16, requires_grad=True)
    loss = (torch.randn(32, 16) @ weight).tanh().square().mean()
    mark("one block of such a graph, as the page draws it")
    del loss


@drawing
def ledger(mark: Mark) -> None:
    w = torch.ones(64, 64, requires_grad=True)
    h = torch.ones(8, 64) @ w
    h = h.exp()
    small = h.mean(1).tanh()
    loss = small.sum()
    mark("a node is taller the more bytes it keeps; an input's memory is not counted")
    del loss


@drawing
def holders(mark: Mark) -> None:
    weight = torch.ones(3, requires_grad=True)
    history = []
    for _ in range(3):
        loss = (weight**2).sum()
        history.append(loss)
        loss.backward()
    del loss
    mark("history holds three graphs, although all of them are freed")
    history.clear()
    mark("history.clear() lets them go")


@drawing
def growth(mark: Mark) -> None:
    weight = torch.ones(3, requires_grad=True)
    total = torch.zeros(())
    for number in range(3):
        loss = (weight * weight).sum()
        loss.backward()
        total = total + loss
        mark(f"after step {number}")


@drawing
def why_no_grad(mark: Mark) -> None:
    encoder, decoder = torch.nn.Linear(4, 8), torch.nn.Linear(8, 1)
    code = torch.relu(encoder(torch.ones(2, 4)))
    loss = decoder(code.detach()).square().mean()
    mark("the encoder's graph is there, and no edge leads from the loss into it")
    loss.backward()


def _three_states(w: torch.Tensor) -> list[torch.Tensor]:
    states = [torch.ones(3)]
    for _ in range(3):
        states.append((states[-1] * w).tanh())
    return states


@drawing
def unchain(mark: Mark) -> None:
    w = torch.full((3,), 0.5, requires_grad=True)
    loss = _three_states(w)[-1].sum()
    mark("three steps behind the loss")
    loss.backward()


@drawing
def unchain_cut(mark: Mark) -> None:
    w = torch.full((3,), 0.5, requires_grad=True)
    states = _three_states(w)
    loss = states[-1].sum()
    graph.unchain(states[-1], at=states[1])
    mark("after unchain: the first step's state is an end")
    loss.backward()


@drawing
def strict(mark: Mark) -> None:
    w = torch.ones(3, requires_grad=True)
    scale = torch.ones(3)
    loss = (w * scale).sum()
    scale *= 0.5
    with suppress(RuntimeError):
        loss.backward()
    mark("without strict(): scale is written, and backward fails later, at mul")


@drawing
def retention(mark: Mark) -> None:
    x = torch.ones(64, 64, requires_grad=True)
    loss = x.exp().tanh().sin().exp().tanh().sin().sum()
    mark("created")
    loss.backward(retain_graph="recompute")
    mark("recompute lets values go; the graph can still be walked")
    loss.backward()


@drawing
def offload(mark: Mark) -> None:
    x = torch.ones(64, 64, requires_grad=True)
    with graph.offload(to="disk", over=1024):
        loss = x.exp().sin().mean(0).tanh().sum()
    mark("large values wait in files: their nodes hold no memory")
    loss.backward()
    mark("backward reads them back and frees")


@drawing
def budget(mark: Mark) -> None:
    x = torch.ones(64, 64, requires_grad=True)
    with graph.budget("40KB"):
        loss = x.exp().sin().tanh().exp().sum()
    mark("under a budget some values go, and are computed or read again")
    loss.backward()
    mark("after backward()")


def main(folder: Path) -> None:
    """Write a page for each program."""
    for name, program in PROGRAMS.items():
        with graph.record(engine="retrograd", title=name) as record:
            program(record.mark)
        write_page(record.data, folder / f"{name}.html")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
