"""`with no_grad():` in C and in Python: the same modes, counts and cuts; errors too."""

import gc
import sys
import threading
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import retrograd as torch
from retrograd import core
from retrograd.engine.state import HOT, STATE
from tests.core.facts import in_python

pytestmark = pytest.mark.skipif(not core.AVAILABLE, reason="the compiled core is missing")

CONTEXTS = {
    "no_grad": torch.no_grad,
    "enable_grad": torch.enable_grad,
    "off": lambda: torch.set_grad_enabled(False),
    "on": lambda: torch.set_grad_enabled(True),
    "inference": torch.inference_mode,
    "not inference": lambda: torch.inference_mode(False),
}


def modes() -> Any:
    cut = STATE.cut
    shown = None if cut is None else (cut.kind, cut.operation, cut.code.co_name, cut.lasti)
    counts = (HOT["NO_GRAD"], HOT["UNUSUAL"])
    return STATE.grad_enabled, STATE.inference, shown, counts, torch.is_grad_enabled()


def nested(names: list[str], raising: bool, seen: list[Any]) -> None:
    if not names:
        if raising:
            raise ZeroDivisionError
        return
    with CONTEXTS[names[0]]() as given:
        seen.append((given, modes()))
        nested(names[1:], raising, seen)
    seen.append(modes())


def run(names: list[str], raising: bool) -> list[Any]:
    seen: list[Any] = [modes()]
    try:
        nested(names, raising, seen)
    except ZeroDivisionError:
        seen.append("raised")
    seen.append(modes())
    return seen


@settings(max_examples=100, deadline=None)
@given(st.lists(st.sampled_from(sorted(CONTEXTS)), max_size=4), st.booleans())
def test_nested_contexts(names: list[str], raising: bool) -> None:
    assert run(names, raising) == in_python(lambda: run(names, raising))


def test_in_another_thread() -> None:
    seen: list[Any] = []

    def work() -> None:
        seen.extend(run(["no_grad", "enable_grad", "no_grad"], False))

    with torch.no_grad():
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
        assert not torch.is_grad_enabled()
    assert seen[0][0] is True and seen[1][1][0] is False and seen[-1][0] is True
    assert HOT["NO_GRAD"] == 0


def test_how_it_is_made() -> None:
    class Named(torch.no_grad):
        name = "b"

    class Mixed(torch.no_grad, dict):  # type: ignore[misc, type-arg]
        pass

    def made() -> Any:
        errors = []
        for wrong in (lambda: torch.no_grad(1, 2), lambda: torch.no_grad(mode=1)):
            try:
                wrong()
            except TypeError as error:
                errors.append(str(error))
        with Named() as entered, Mixed():
            inside = torch.is_grad_enabled()
        return Named().name, Mixed(), entered, inside, errors, torch.no_grad(abs)(-2)

    assert made() == in_python(made)


def test_entering_twice_and_leaving_without_entering() -> None:
    def program() -> Any:
        context = torch.no_grad()
        seen = []
        try:
            context.__exit__(None, None, None)
        except AttributeError as error:
            seen.append(str(error))
        with context:
            with context:
                seen.append(modes())
            seen.append(modes())
        seen.append(modes())
        torch.set_grad_enabled(True)
        return seen

    assert program() == in_python(program)
    assert HOT["NO_GRAD"] == 0


def test_nothing_leaks() -> None:
    def work() -> None:
        with torch.no_grad(), torch.enable_grad(), torch.no_grad():
            pass

    for _ in range(50):
        work()
    gc.collect()
    watched = (torch.no_grad, STATE.__dict__, STATE.cut, work.__code__)
    before = [sys.getrefcount(thing) for thing in watched], len(gc.get_objects())
    for _ in range(500):
        work()
    gc.collect()
    after = [sys.getrefcount(thing) for thing in watched], len(gc.get_objects())
    assert after[0][0] == before[0][0] and after[0][3] == before[0][3]
    assert after[1] - before[1] < 20  # other tests may leave less behind, never more
