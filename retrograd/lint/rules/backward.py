"""RGL2xx: graphs that are walked after they were freed, or not at all."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..declare import Edit, Fix, Found, rule
from ..flow import Binding, Loop, Scope, Step, dotted
from ..program import Program, keyword, mentions, names_in
from ..training import Backward, backwards, expression_statement, optimizer_calls
from ..values import Seen, Values


@rule("RGL201", "backward-twice", "one loss is sent back twice, and the first time frees its graph")
def backward_twice(program: Program) -> Iterator[Found]:
    """
    ## What it does

    Finds a second `backward()` (or `torch.autograd.grad`) on the same loss, with no new forward
    pass between the two and no `retain_graph=True` on the first.

    ## Why is this bad

    The first pass frees the values that the second one needs: "Trying to backward through the
    graph a second time".

    ## Example

    ```python
    import torch
    from torch import nn

    model = nn.Linear(3, 1)
    loss = model(torch.randn(8, 3)).pow(2).mean()
    loss.backward()
    loss.backward()
    ```

    ## Use instead

    ```python
    import torch
    from torch import nn

    model = nn.Linear(3, 1)
    for _ in range(2):
        loss = model(torch.randn(8, 3)).pow(2).mean()
        loss.backward()
    ```

    ## Fix safety

    There is no fix: the second call may be one too many, or a forward pass may be missing.
    """
    for scope in program.scopes:
        found = backwards(program, scope)
        values = Values(program, scope)
        for place, second in enumerate(found):
            for first in found[:place]:
                if first.keeps or first.name is None or first.name != second.name:
                    continue
                if first.call is second.call or first.step.guarded or second.step.guarded:
                    continue
                if not first.step.precedes(second.step) or second.step.arms != first.step.arms:
                    continue
                if _bound_between(scope, first.name, first.step, second.step):
                    continue
                if not values.saves(first.value, first.step):
                    continue
                how = "sent back" if first.kind == "backward" else "walked"
                yield Found(
                    second.call,
                    f"`{first.name}` was {how} in line {first.call.lineno}, which freed its graph",
                    (
                        "compute it again before the second call, or leave one of the two out",
                        "if both are needed on one graph: `retain_graph=True` on the first",
                    ),
                )
                break


def _bound_between(scope: Scope, name: str, first: Step, last: Step) -> bool:
    return any(first.index <= b.step.index < last.index for b in scope.bindings(name))


@rule("RGL202", "forward-outside-loop", "a loop sends back what was computed before it")
def forward_outside_loop(program: Program) -> Iterator[Found]:
    """
    ## What it does

    Finds a loop that calls `backward()` in every pass on something whose forward pass, or part of
    it, ran once before the loop.

    ## Why is this bad

    The first pass frees the graph, the second pass stops with "Trying to backward through the
    graph a second time". And if the parameters are updated in the loop, the old result does not
    belong to them any more.

    ## Example

    ```python
    import torch
    from torch import nn

    model = nn.Linear(3, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    prediction = model(torch.randn(8, 3))
    for _ in range(4):
        optimizer.zero_grad()
        loss = prediction.pow(2).mean()
        loss.backward()
        optimizer.step()
    ```

    ## Use instead

    ```python
    import torch
    from torch import nn

    model = nn.Linear(3, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    x = torch.randn(8, 3)
    for _ in range(4):
        optimizer.zero_grad()
        loss = model(x).pow(2).mean()
        loss.backward()
        optimizer.step()
    ```

    ## Fix safety

    There is no fix: moving a line into a loop is the author's to do.
    """
    for scope in program.scopes:
        values = Values(program, scope)
        for backward in backwards(program, scope):
            step = backward.step
            if backward.keeps or step.guarded or not step.loops or backward.kind == "function":
                continue
            loop = step.loops[-1]
            if not step.always_in(loop) or _may_stop_after_one(scope, loop):
                continue
            old = _from_before(program, scope, values, backward, loop)
            if old is not None:
                yield Found(
                    backward.call,
                    f"`{old.name}` was computed once, in line {old.step.node.lineno}, before the "
                    "loop; the first pass frees its graph",
                    (f"compute `{old.name}` in the loop", "or use it there as `.detach()`ed data"),
                )


def _may_stop_after_one(scope: Scope, loop: Loop) -> bool:
    """Whether the loop is left without a condition, or goes over one element only."""
    if isinstance(loop, ast.For):
        given = loop.iter
        if isinstance(given, ast.List | ast.Tuple) and len(given.elts) < 2:
            return True
        if isinstance(given, ast.Call) and dotted(given.func) == "range" and len(given.args) == 1:
            count = given.args[0]
            if isinstance(count, ast.Constant) and count.value in (0, 1):
                return True
    return any(
        isinstance(step.node, ast.Break | ast.Return | ast.Raise) and step.always_in(loop)
        for step in scope.steps
    )


def _from_before(
    program: Program, scope: Scope, values: Values, backward: Backward, loop: Loop
) -> Binding | None:
    for seen in values.trail(backward.value, backward.step):
        binding = seen.binding
        if binding is None or not seen.certain or binding.how not in ("assign", "part"):
            continue
        if loop in binding.step.loops or any(loop in b.step.loops for b in scope.bindings(binding.name)):
            continue
        if binding.step.loops and binding.step.loops != backward.step.loops[:-1][: len(binding.step.loops)]:
            continue
        if not isinstance(seen.node, ast.Call | ast.BinOp | ast.UnaryOp):
            continue
        surely = values.graph(seen.node, seen.step)
        if surely is None and backward.name == binding.name:
            surely = True  # it is sent back, so it is meant to have one
        if surely and values.saves(seen.node, seen.step):
            return binding
    return None


@rule(
    "RGL203",
    "state-carried-through-loop",
    "a state goes from one pass of the loop to the next with its graph",
    fix="unsafe",
)
def state_carried(program: Program) -> Iterator[Found]:
    """
    ## What it does

    Finds `out, state = rnn(x, state)` in a loop that calls `backward()` in every pass, where
    nothing cuts the state off from the pass before.

    ## Why is this bad

    The state of the first pass holds its graph, which the first `backward()` frees. The second
    pass walks into it: "Trying to backward through the graph a second time". `retain_graph=True`
    would make every step slower than the one before.

    ## Example

    ```python
    import torch
    from torch import nn

    rnn = nn.GRU(4, 8)
    optimizer = torch.optim.SGD(rnn.parameters(), lr=0.1)
    state = torch.zeros(1, 2, 8)
    for _ in range(4):
        optimizer.zero_grad()
        out, state = rnn(torch.randn(5, 2, 4), state)
        loss = out.pow(2).mean()
        loss.backward()
        optimizer.step()
    ```

    ## Use instead

    ```python
    import torch
    from torch import nn

    rnn = nn.GRU(4, 8)
    optimizer = torch.optim.SGD(rnn.parameters(), lr=0.1)
    state = torch.zeros(1, 2, 8)
    for _ in range(4):
        optimizer.zero_grad()
        out, state = rnn(torch.randn(5, 2, 4), state.detach())
        loss = out.pow(2).mean()
        loss.backward()
        optimizer.step()
    ```

    ## Fix safety

    Unsafe: where `backward()` is to reach over several passes, another cure is right. For a state
    of several tensors (an LSTM's) there is no fix.
    """
    for scope in program.scopes:
        values = Values(program, scope)
        for backward in backwards(program, scope):
            step = backward.step
            if backward.keeps or step.guarded or not step.loops:
                continue
            loop = step.loops[-1]
            if not step.always_in(loop) or _may_stop_after_one(scope, loop):
                continue
            for seen in values.trail(backward.value, step):
                if not seen.certain or not isinstance(seen.node, ast.Call):
                    continue
                state = _carried(program, scope, values, seen, loop)
                if state is None:
                    continue
                name = dotted(state)
                recurrent = program.callee(seen.node, scope).path.rpartition(".")[2]
                fix = Fix(f"use {name}.detach()", (Edit("method", state, "detach"),))
                yield Found(
                    seen.node,
                    f"`{name}` brings the graph of the pass before, which `backward()` has freed",
                    (f"detach it between the passes: `{name} = {name}.detach()`",),
                    None if recurrent.startswith("LSTM") else fix,
                )


def _carried(
    program: Program, scope: Scope, values: Values, seen: Seen, loop: Loop
) -> ast.expr | None:
    """The argument of a recurrent call that is its own result of the pass before."""
    step, call = seen.step, seen.node
    assert isinstance(call, ast.Call)
    if loop not in step.loops or step.grad_off or scope.grad_off:
        return None
    callee = program.callee(call, scope)
    if callee.kind != "module" or not callee.trains or not values.passes(callee):
        return None
    if (dotted(call.func) or "") in program.frozen:
        return None
    results = {binding.name for binding in step.bindings}
    for argument in (*call.args, *(k.value for k in call.keywords)):
        name = dotted(argument)
        if name is None or name not in results or "." in name:
            continue
        inside = [b for b in scope.bindings(name) if loop in b.step.loops]
        before = [b for b in scope.bindings(name) if loop not in b.step.loops]
        if len(inside) != 1 or not before or not _touched_only_there(scope, name, step, loop):
            continue
        return argument
    return None


def _touched_only_there(scope: Scope, name: str, at: Step, loop: Loop) -> bool:
    """Whether nothing else in the loop can detach a value: no method, no function gets it."""
    for step in scope.steps:
        if loop not in step.loops or step is at:
            continue
        for part in step.parts:
            if any(isinstance(n, ast.Name) and n.id == name for n in ast.walk(part)):
                if any(mentions(call, name) for call in step.calls):
                    return False
    return not any(name in names_in(inner.node) for inner in scope.inner)


@rule("RGL204", "closure-without-forward", "an LBFGS closure sends back what was computed outside it")
def closure_without_forward(program: Program) -> Iterator[Found]:
    """
    ## What it does

    Finds a closure given to `LBFGS.step` whose loss was computed, in whole or in part, outside the
    closure.

    ## Why is this bad

    LBFGS calls the closure many times in one step, to see the loss at new parameters. A prediction
    from outside is always the old one, and its graph is freed in the first call.

    ## Example

    ```python
    import torch
    from torch import nn

    model = nn.Linear(3, 1)
    optimizer = torch.optim.LBFGS(model.parameters())
    prediction = model(torch.randn(8, 3))


    def closure():
        optimizer.zero_grad()
        loss = prediction.pow(2).mean()
        loss.backward()
        return loss


    optimizer.step(closure)
    ```

    ## Use instead

    ```python
    import torch
    from torch import nn

    model = nn.Linear(3, 1)
    optimizer = torch.optim.LBFGS(model.parameters())
    x = torch.randn(8, 3)


    def closure():
        optimizer.zero_grad()
        loss = model(x).pow(2).mean()
        loss.backward()
        return loss


    optimizer.step(closure)
    ```

    ## Fix safety

    There is no fix: moving the forward pass into the closure is the author's to do.
    """
    for scope in program.scopes:
        for closure in scope.inner:
            assert not isinstance(closure.node, ast.Module)
            if not _given_to_lbfgs(program, scope, closure.node.name):
                continue
            inner = Values(program, closure)
            for backward in backwards(program, closure):
                if backward.keeps or backward.step.guarded:
                    continue
                old = _from_outside(program, scope, closure, inner, backward)
                if old is not None:
                    yield Found(
                        backward.call,
                        f"`{old.name}` was computed outside the closure, in line "
                        f"{old.step.node.lineno}; LBFGS calls the closure many times",
                        (f"compute `{old.name}` in the closure",),
                    )


def _given_to_lbfgs(program: Program, scope: Scope, name: str) -> bool:
    for call in optimizer_calls(program, scope):
        if call.kind == "step" and call.closure == name:
            made = program.optimizer(call.name, scope)
            if made is not None and (dotted(made.func) or "").endswith("LBFGS"):
                most = keyword(made, "max_iter")
                return not (isinstance(most, ast.Constant) and most.value == 1)
    return False


def _from_outside(
    program: Program, scope: Scope, closure: Scope, inner: Values, backward: Backward
) -> Binding | None:
    outer = Values(program, scope)
    for seen in inner.trail(backward.value, backward.step):
        if not seen.certain or not isinstance(seen.node, ast.Name):
            continue
        name = seen.node.id
        if name in closure.bound or name in closure.parameters or name in closure.shared:
            continue
        bindings = scope.bindings(name)
        if len(bindings) != 1 or bindings[0].how not in ("assign", "part"):
            continue
        binding = bindings[0]
        if binding.value is not None and outer.graph(binding.value, binding.step):
            if outer.saves(binding.value, binding.step):
                return binding
    return None


@rule("RGL205", "backward-not-called", "backward is named, not called", fix="unsafe")
def backward_not_called(program: Program) -> Iterator[Found]:
    """
    ## What it does

    Finds the statement `loss.backward` without parentheses.

    ## Why is this bad

    It does nothing: no gradient is computed, and the optimizer steps with what is there, or not at
    all.

    ## Example

    ```python
    import torch
    from torch import nn

    model = nn.Linear(3, 1)
    loss = model(torch.randn(8, 3)).pow(2).mean()
    loss.backward
    ```

    ## Use instead

    ```python
    import torch
    from torch import nn

    model = nn.Linear(3, 1)
    loss = model(torch.randn(8, 3)).pow(2).mean()
    loss.backward()
    ```

    ## Fix safety

    Unsafe: the parentheses are added, and the program does more than before.
    """
    for scope in program.scopes:
        for step in scope.steps:
            node = expression_statement(step)
            if isinstance(node, ast.Attribute) and node.attr == "backward":
                yield Found(
                    node,
                    f"`{dotted(node) or 'backward'}` is not called",
                    ("add the parentheses",),
                    Fix("add parentheses", (Edit("call", node),)),
                )


@rule(
    "RGL206",
    "result-sent-back-twice",
    "two losses of one forward pass are sent back one after the other",
    fix="unsafe",
)
def result_sent_back_twice(program: Program) -> Iterator[Found]:
    """
    ## What it does

    Finds a result of a network that is part of two losses, where the first `backward()` frees the
    part that the second one needs. In a GAN this is the generator's picture that the
    discriminator's step did not detach.

    ## Why is this bad

    The second call stops with "Trying to backward through the graph a second time". In a GAN the
    first one also computes gradients of the generator that nobody wants.

    ## Example

    ```python
    import torch
    from torch import nn

    generator, discriminator = nn.Linear(2, 3), nn.Linear(3, 1)
    fake = generator(torch.randn(8, 2))
    loss_discriminator = discriminator(fake).pow(2).mean()
    loss_discriminator.backward()
    loss_generator = (discriminator(fake) - 1).pow(2).mean()
    loss_generator.backward()
    ```

    ## Use instead

    ```python
    import torch
    from torch import nn

    generator, discriminator = nn.Linear(2, 3), nn.Linear(3, 1)
    fake = generator(torch.randn(8, 2))
    loss_discriminator = discriminator(fake.detach()).pow(2).mean()
    loss_discriminator.backward()
    loss_generator = (discriminator(fake) - 1).pow(2).mean()
    loss_generator.backward()
    ```

    ## Fix safety

    Unsafe: `.detach()` is added in the first loss where that loss trains another network. Where
    both losses train one network there is no fix: add them up and call `backward()` once.
    """
    for scope in program.scopes:
        values = Values(program, scope)
        found = [b for b in backwards(program, scope) if b.kind == "backward"]
        for first, second in zip(found, found[1:], strict=False):
            if first.keeps or first.name == second.name or first.step.guarded or second.step.guarded:
                continue
            if first.step.arms != second.step.arms or first.step.loops != second.step.loops:
                continue
            shared = _shared(program, scope, values, first, second)
            if shared is None:
                continue
            binding, used = shared
            edit = None
            stepped = _optimizer_after(program, scope, first, second)
            maker = dotted(binding.value.func) if isinstance(binding.value, ast.Call) else None
            if stepped is not None and maker is not None and used is not None:
                made = program.optimizer(stepped, scope)
                trained = program.trained_by(made) if made is not None else []
                if trained and maker not in trained:
                    text = f"use {binding.name}.detach() in the first loss"
                    edit = Fix(text, (Edit("method", used, "detach"),))
            yield Found(
                second.call,
                f"`{binding.name}` is part of this loss and of the one that line "
                f"{first.call.lineno} sent back, which freed its graph",
                (
                    f"if the first loss is not to train what made `{binding.name}`: "
                    f"`{binding.name}.detach()` there",
                    "or add the losses up and call `backward()` once",
                ),
                edit,
            )


def _shared(
    program: Program, scope: Scope, values: Values, first: Backward, second: Backward
) -> tuple[Binding, ast.expr | None] | None:
    """The result of a module that both losses come from, and where the first one used it."""
    one: dict[Binding, ast.expr | None] = {}
    uses: dict[tuple[str, Step], ast.expr] = {}
    for seen in values.trail(first.value, first.step):
        if isinstance(seen.node, ast.Name) and seen.certain:
            uses.setdefault((seen.node.id, seen.step), seen.node)
        if seen.binding is not None and seen.certain:
            used = [node for (name, _), node in uses.items() if name == seen.binding.name]
            one[seen.binding] = used[0] if len(used) == 1 else None
    for seen in values.trail(second.value, second.step):
        binding = seen.binding
        if binding is None or not seen.certain or binding not in one:
            continue
        if binding.step.index > first.step.index or not isinstance(seen.node, ast.Call):
            continue
        if binding.step.loops != first.step.loops:
            continue
        callee = program.callee(seen.node, scope)
        if callee.kind == "module" and values.graph(seen.node, seen.step):
            return binding, one[binding]
    return None


def _optimizer_after(
    program: Program, scope: Scope, first: Backward, second: Backward
) -> str | None:
    for call in optimizer_calls(program, scope):
        if call.kind == "step" and first.step.index < call.step.index < second.step.index:
            return call.name
    return None


@rule(
    "RGL207",
    "step-before-other-backward",
    "an optimizer changes parameters that a later backward still needs",
)
def step_before_other_backward(program: Program) -> Iterator[Found]:
    """
    ## What it does

    Finds `optimizer.step()` between the forward pass of a loss and its `backward()`, where the
    loss was computed with the parameters that the step changes.

    ## Why is this bad

    The step writes into the weights that the backward pass has saved: "one of the variables needed
    for gradient computation has been modified by an inplace operation".

    ## Example

    ```python
    import torch
    from torch import nn

    generator = nn.Linear(2, 3)
    discriminator = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 1))
    optimizer_d = torch.optim.SGD(discriminator.parameters(), lr=0.1)
    optimizer_g = torch.optim.SGD(generator.parameters(), lr=0.1)
    score = discriminator(generator(torch.randn(8, 2)))
    loss_d = score.pow(2).mean()
    loss_g = (score - 1).pow(2).mean()
    loss_d.backward(retain_graph=True)
    optimizer_d.step()
    loss_g.backward()
    optimizer_g.step()
    ```

    ## Use instead

    ```python
    import torch
    from torch import nn

    generator = nn.Linear(2, 3)
    discriminator = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 1))
    optimizer_d = torch.optim.SGD(discriminator.parameters(), lr=0.1)
    optimizer_g = torch.optim.SGD(generator.parameters(), lr=0.1)
    fake = generator(torch.randn(8, 2))
    loss_d = discriminator(fake.detach()).pow(2).mean()
    loss_d.backward()
    optimizer_d.step()
    loss_g = (discriminator(fake) - 1).pow(2).mean()
    loss_g.backward()
    optimizer_g.step()
    ```

    ## Fix safety

    There is no fix: the forward pass may be done again after the step, or the step after both
    backward passes.
    """
    for scope in program.scopes:
        values = Values(program, scope)
        found = [b for b in backwards(program, scope) if b.kind == "backward"]
        steps = [c for c in optimizer_calls(program, scope) if c.kind == "step"]
        for backward in found:
            for call in steps:
                if not call.step.precedes(backward.step) or call.step.arms != backward.step.arms:
                    continue
                if call.step.loops != backward.step.loops or backward.step.guarded:
                    continue
                if not any(b is not backward and b.step.precedes(call.step) for b in found):
                    continue
                made = program.optimizer(call.name, scope)
                trained = program.trained_by(made) if made is not None else []
                used = _module_before(program, scope, values, backward, call.step, trained)
                if used is not None:
                    yield Found(
                        backward.call,
                        f"line {call.call.lineno} changes the parameters of `{used}`, which this "
                        "backward pass still needs as they were",
                        (
                            f"call `{call.name}.step()` after this `backward()`",
                            "or compute the loss after the step",
                        ),
                    )
                    break


def _module_before(
    program: Program,
    scope: Scope,
    values: Values,
    backward: Backward,
    at: Step,
    trained: list[str],
) -> str | None:
    """The stepped module through which the loss was computed before the step, on a graph's input."""
    for seen in values.trail(backward.value, backward.step):
        if not isinstance(seen.node, ast.Call) or not seen.certain or seen.step.index > at.index:
            continue
        if seen.step.loops != at.loops:
            continue
        name = dotted(seen.node.func)
        callee = program.callee(seen.node, scope)
        if callee.kind == "function" and callee.function is not None:
            inner = [
                dotted(call.func) or ""
                for step in callee.function.steps
                for call in step.calls
                if dotted(call.func) in trained and "." not in (dotted(call.func) or "")
            ]
            given = [values.graph(argument, seen.step) for argument in seen.node.args]
            if inner and any(given) and _each_result_uses(callee.function, inner[0]):
                return inner[0]
        elif name in trained and callee.kind == "module" and callee.trains:
            if any(values.graph(argument, seen.step) for argument in seen.node.args):
                return name
    return None


def _each_result_uses(function: Scope, module: str) -> bool:
    """Whether every result of a function was computed with what a module gave."""
    tainted = {module}
    for step in function.steps:
        for binding in step.bindings:
            if binding.value is not None and names_in(binding.value) & tainted:
                tainted.add(binding.name)
    for step in function.steps:
        if isinstance(step.node, ast.Return) and step.node.value is not None:
            value = step.node.value
            parts = value.elts if isinstance(value, ast.Tuple) else [value]
            if not all(names_in(part) & tainted for part in parts):
                return False
    return True


RULES = (
    backward_twice,
    forward_outside_loop,
    state_carried,
    closure_without_forward,
    backward_not_called,
    result_sent_back_twice,
    step_before_other_backward,
)
