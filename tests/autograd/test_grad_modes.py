"""Grad modes as contexts, functions and decorators, compared with PyTorch."""

from __future__ import annotations

import asyncio
import threading

import pytest

from tests.autograd.outcomes import assert_same

torch_library = pytest.importorskip("torch")

pytestmark = pytest.mark.torch

SCENARIOS = []


def scenario(function):
    SCENARIOS.append(function)
    return function


def modes(torch):
    """Every way to write a mode, each as a function that makes a new one."""
    return (
        lambda: torch.no_grad(),
        lambda: torch.enable_grad(),
        lambda: torch.set_grad_enabled(False),
        lambda: torch.set_grad_enabled(True),
        lambda: torch.inference_mode(),
        lambda: torch.inference_mode(False),
    )


@scenario
def contexts(torch, log):
    x = torch.ones(2, requires_grad=True)
    for outer in modes(torch):
        for inner in modes(torch):
            with outer():
                log(torch.is_grad_enabled(), torch.is_inference_mode_enabled())
                with inner():
                    log(torch.is_grad_enabled(), (x * 2).requires_grad)
                log(torch.is_grad_enabled(), (x * 2).requires_grad)
            log(torch.is_grad_enabled(), (x * 2).requires_grad)


@scenario
def left_by_an_exception(torch, log):
    for mode in modes(torch):

        def fails(mode=mode):
            with mode():
                raise ValueError("inside")

        log.attempt(fails)
        log(torch.is_grad_enabled(), torch.is_inference_mode_enabled())


@scenario
def factories_ignore_no_grad(torch, log):
    with torch.no_grad():
        log(torch.ones(2, requires_grad=True), torch.nn.Parameter(torch.ones(2)))
        log((torch.ones(2, requires_grad=True) * 2).requires_grad)


@scenario
def one_object_entered_twice(torch, log):
    mode = torch.no_grad()
    with mode:
        pass
    with mode:
        log(torch.is_grad_enabled())
    log(torch.is_grad_enabled())
    with torch.no_grad():
        with mode:
            log(torch.is_grad_enabled())
        log(torch.is_grad_enabled())
    log(torch.is_grad_enabled())


@scenario
def as_a_function(torch, log):
    torch.set_grad_enabled(False)
    log(torch.is_grad_enabled())
    torch.set_grad_enabled(True)
    log(torch.is_grad_enabled())
    with torch.no_grad():
        torch.set_grad_enabled(True)
        log(torch.is_grad_enabled())
    log(torch.is_grad_enabled())
    with torch.set_grad_enabled(False):
        torch.set_grad_enabled(True)
        log(torch.is_grad_enabled())
    log(torch.is_grad_enabled())
    log(repr(torch.set_grad_enabled(True)), str(torch.set_grad_enabled(True)))
    for wrong in (1, "yes", None):
        log.attempt(lambda wrong=wrong: torch.set_grad_enabled(wrong))
    log(torch.is_grad_enabled())


@scenario
def decorated_functions(torch, log):
    x = torch.ones(2, requires_grad=True)
    for mode in modes(torch):

        @mode()
        def double(value, *, factor=2):
            """Doubles."""
            log(torch.is_grad_enabled(), torch.is_inference_mode_enabled())
            return value * factor

        log(torch.is_grad_enabled(), torch.is_inference_mode_enabled())
        log(double(x).requires_grad, double(x, factor=3), double.__name__, double.__doc__)
        log(torch.is_grad_enabled())


@scenario
def decorated_without_parentheses(torch, log):
    for mode in (torch.no_grad, torch.enable_grad, torch.inference_mode):

        @mode
        def show():
            return torch.is_grad_enabled(), torch.is_inference_mode_enabled()

        log(show(), show.__name__)
        with torch.no_grad():
            log(show())
        log(mode(lambda: torch.is_grad_enabled())())


@scenario
def decorated_methods(torch, log):
    class Holder:
        def __init__(self):
            self.modes = []

        @torch.no_grad()
        def method(self, value):
            self.modes.append(torch.is_grad_enabled())
            return value * 2

        @classmethod
        @torch.no_grad()
        def of_class(cls):
            return cls.__name__, torch.is_grad_enabled()

        @staticmethod
        @torch.inference_mode()
        def static():
            return torch.is_inference_mode_enabled()

        @property
        @torch.no_grad()
        def attribute(self):
            return torch.is_grad_enabled()

    holder = Holder()
    log(holder.method(torch.ones(2, requires_grad=True)), holder.modes)
    log(holder.of_class(), holder.static(), holder.attribute)


@scenario
def decorated_recursion(torch, log):
    @torch.no_grad()
    def down(count):
        log(torch.is_grad_enabled())
        if count:
            with torch.enable_grad():
                down(count - 1)
            log(torch.is_grad_enabled())

    down(2)
    log(torch.is_grad_enabled())


@scenario
def decorated_class(torch, log):
    class Plain:
        def __init__(self, value=0):
            self.value = value
            self.mode = torch.is_grad_enabled()

        def method(self):
            return torch.is_grad_enabled()

    for decorate in (torch.no_grad(), torch.no_grad, torch.inference_mode(), torch.enable_grad()):
        made = decorate(Plain)
        found = made(3)
        log(type(made).__name__, type(found).__name__, found.value, found.mode, found.method())


@scenario
def generator(torch, log):
    for mode in modes(torch):

        @mode()
        def numbers():
            """Counts."""
            for number in range(3):
                log("inside", torch.is_grad_enabled())
                yield number
                log("after", torch.is_grad_enabled())

        log(numbers.__name__, numbers.__doc__)
        with torch.no_grad():
            for number in numbers():
                log(number, torch.is_grad_enabled())
        for number in numbers():
            log(number, torch.is_grad_enabled(), torch.is_inference_mode_enabled())
        log(torch.is_grad_enabled())


@scenario
def generator_caller_changes_mode(torch, log):
    @torch.no_grad()
    def numbers():
        for number in range(3):
            log(torch.is_grad_enabled())
            yield number

    running = numbers()
    for _ in running:
        torch.set_grad_enabled(not torch.is_grad_enabled())
        log(torch.is_grad_enabled())
    log(torch.is_grad_enabled())
    torch.set_grad_enabled(True)


@scenario
def generator_changes_mode_itself(torch, log):
    @torch.no_grad()
    def numbers():
        for _ in range(2):
            with torch.enable_grad():
                log(torch.is_grad_enabled())
                yield 1
                log(torch.is_grad_enabled())
            log(torch.is_grad_enabled())
            yield 2

    for _ in numbers():
        log(torch.is_grad_enabled())
    log(torch.is_grad_enabled())


@scenario
def generator_receives(torch, log):
    @torch.no_grad()
    def echo():
        got = None
        while got != "stop":
            got = yield got, torch.is_grad_enabled()
        return "done", torch.is_grad_enabled()

    def outer():
        log((yield from echo()))

    running = outer()
    log(next(running), running.send("a"), running.send(None), torch.is_grad_enabled())
    log.attempt(lambda: running.send("stop"))
    running = echo()
    log.attempt(lambda: running.send("too early"))
    log(torch.is_grad_enabled())


@scenario
def generator_is_thrown_at(torch, log):
    @torch.no_grad()
    def careful():
        while True:
            try:
                yield torch.is_grad_enabled()
            except ValueError as error:
                log("caught", str(error), torch.is_grad_enabled())
                if str(error) == "last":
                    return

    running = careful()
    log(next(running), running.throw(ValueError("one")), torch.is_grad_enabled())
    log.attempt(lambda: running.throw(ValueError("last")))
    running = careful()
    next(running)
    log.attempt(lambda: running.throw(KeyError("not caught")))
    log.attempt(lambda: next(running))
    running = careful()
    log.attempt(lambda: running.throw(ValueError("before the start")))
    log(torch.is_grad_enabled())


@scenario
def generator_is_closed(torch, log):
    @torch.no_grad()
    def closing():
        try:
            yield 1
        finally:
            log("closed", torch.is_grad_enabled())

    running = closing()
    next(running)
    running.close()
    log(torch.is_grad_enabled())
    closing().close()

    @torch.no_grad()
    def refuses():
        try:
            yield 1
        except GeneratorExit:
            log("asked", torch.is_grad_enabled())
            yield 2

    running = refuses()
    next(running)
    log.attempt(running.close)

    @torch.no_grad()
    def raises():
        try:
            yield 1
        except GeneratorExit:
            raise ValueError("at the end") from None

    running = raises()
    next(running)
    log.attempt(running.close)
    log(torch.is_grad_enabled())


@scenario
def generator_fails(torch, log):
    @torch.no_grad()
    def failing():
        yield 1
        raise ValueError("inside")

    log.attempt(lambda: list(failing()))
    log(torch.is_grad_enabled())

    @torch.no_grad()
    def stops():
        yield 1
        raise StopIteration

    log.attempt(lambda: list(stops()))


@scenario
def generators_interleaved(torch, log):
    @torch.no_grad()
    def off():
        while True:
            yield torch.is_grad_enabled()

    @torch.enable_grad()
    def on():
        while True:
            yield torch.is_grad_enabled()

    left, right = off(), on()
    for _ in range(3):
        log(next(left), next(right), torch.is_grad_enabled())
        with torch.no_grad():
            log(next(right), next(left), torch.is_grad_enabled())


@scenario
def generator_method(torch, log):
    class Holder:
        @torch.inference_mode()
        def items(self, count):
            for _ in range(count):
                yield torch.ones(1).is_inference()

    log(list(Holder().items(2)), torch.is_inference_mode_enabled())


@scenario
def coroutines(torch, log):
    @torch.no_grad()
    async def answer():
        return torch.is_grad_enabled()

    @torch.no_grad()
    async def several():
        yield torch.is_grad_enabled()
        yield torch.is_grad_enabled()

    async def collect():
        return await answer(), [value async for value in several()]

    log(asyncio.run(collect()), torch.is_grad_enabled())


@scenario
def threads(torch, log):
    found = []
    with torch.no_grad():
        thread = threading.Thread(target=lambda: found.append(torch.is_grad_enabled()))
        thread.start()
        thread.join()
    with torch.inference_mode():
        thread = threading.Thread(target=lambda: found.append(torch.is_inference_mode_enabled()))
        thread.start()
        thread.join()
    log(found)


@scenario
def own_context_manager(torch, log):
    class both_off(torch.autograd.grad_mode._DecoratorContextManager):
        def __enter__(self):
            self.prev = torch.is_grad_enabled()
            torch.set_grad_enabled(False)

        def __exit__(self, *exception):
            torch.set_grad_enabled(self.prev)

    @both_off()
    def show():
        return torch.is_grad_enabled()

    log(show(), torch.is_grad_enabled())
    with both_off():
        log(torch.is_grad_enabled())


@scenario
def multithreading_switch(torch, log):
    ask = torch.autograd.is_multithreading_enabled
    log(ask())
    with torch.autograd.set_multithreading_enabled(False):
        log(ask())
        x = torch.ones(2, requires_grad=True)
        (x * x).sum().backward()
        log(x.grad)
    log(ask())
    torch.autograd.set_multithreading_enabled(False)
    log(ask())
    torch.autograd.set_multithreading_enabled(True)
    log(ask())


@scenario
def view_tracking(torch, log):
    def history(tensor):
        node, found = tensor.grad_fn, []
        while node is not None:
            found.append(type(node).__name__)
            node = node.next_functions[0][0] if node.next_functions else None
        return found

    for mode in (False, True):
        with torch.autograd._force_original_view_tracking(mode):
            log(torch.autograd.is_view_replay_enabled())
            x = torch.ones(2, 3, requires_grad=True)
            base = x.clone()
            view = base.view(-1)[1:]
            base.mul_(2)
            log(history(view))
            view.mul_(3)
            log(history(view), history(base))
            (view * view).sum().backward()
            log(x.grad)
            with torch.no_grad():
                log(history(base.t()))
            base.add_(1)
            with torch.no_grad():
                log(history(view))
        log(torch.autograd.is_view_replay_enabled())

    @torch.autograd._force_original_view_tracking(True)
    def inside():
        return torch.autograd.is_view_replay_enabled()

    log(inside(), torch.autograd.is_view_replay_enabled())


@scenario
def preserved_versions(torch, log):
    x, y = torch.ones(2, requires_grad=True), torch.ones(2)
    a = x.clone()
    out = (a * a).sum()
    with torch.autograd._unsafe_preserve_version_counter(a):
        with torch.no_grad():
            a.mul_(3)
        log(a._version)
    log(a._version)
    out.backward()
    log(x.grad)
    with torch.autograd._unsafe_preserve_version_counter((y, a)):
        y.add_(1)
    log(y._version)
    log.attempt(lambda: torch.autograd._unsafe_preserve_version_counter([y]))
    with torch.inference_mode():
        made = torch.ones(2)
    log.attempt(lambda: torch.autograd._unsafe_preserve_version_counter(made))


@scenario
def gradient_layout(torch, log):
    for enable in (True, False):
        with torch.autograd.enforce_grad_layout_policy(enable):
            x = torch.ones(3, 2).t().requires_grad_()
            (x * torch.ones(2, 3)).sum().backward()
            log(x.grad.stride(), x.grad)


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda s: s.__name__)
def test_as_in_pytorch(scenario):
    assert_same(scenario, torch_library)
    assert torch_library.is_grad_enabled()


def test_module_names():
    """`torch.autograd.grad_mode` is a module with PyTorch's names."""
    import retrograd

    ours, theirs = retrograd.engine.grad_mode, torch_library.autograd.grad_mode
    assert sorted(ours.__all__) == sorted(theirs.__all__)
    for name in theirs.__all__:
        assert getattr(retrograd.autograd, name) is getattr(ours, name)
