"""The call site that the compiled core finds is the one that Python finds."""

import sys
from collections.abc import Callable
from typing import Any

import pytest

import retrograd as torch
from retrograd import core
from retrograd.lifecycle import site

pytestmark = pytest.mark.skipif(not core.AVAILABLE, reason="the compiled core is missing")

Site = tuple[Any, int]
SITES: list[Callable[[], Site]] = [core._core.user_site, site._user_site] if core.AVAILABLE else []


def here(find: Callable[[], Site]) -> Site:
    return find()


def library_function(name: str) -> Callable[[Callable[[], Site]], Site]:
    """A function whose code has the given file name."""
    scope: dict[str, Any] = {}
    exec(compile("def through(find):\n    return find()", name, "exec"), scope)
    found: Callable[[Callable[[], Site]], Site] = scope["through"]
    return found


def test_the_function_that_asks() -> None:
    ours, python = here(SITES[0]), here(SITES[1])
    assert ours[0] is here.__code__
    # of two calls in one place; a call of Python code may count the instruction's cache
    assert site.CallSite(*ours) == site.CallSite(*python)
    assert hash(site.CallSite(*ours)) == hash(site.CallSite(*python))


def test_frames_of_the_library_are_skipped() -> None:
    site.mark_library_file("<retrograd test of the core>")
    through = library_function("<retrograd test of the core>")
    found = []
    for find in SITES:
        found.append(through(find))
    assert found[0] == found[1]
    assert found[0][0] is sys._getframe().f_code


def test_generated_code_needs_no_mark() -> None:
    through = library_function("<retrograd made without a mark>")
    assert through(SITES[0])[0] is sys._getframe().f_code


def test_a_file_that_becomes_the_librarys_later() -> None:
    through = library_function("<a plugin, for the core>")
    assert through(SITES[0])[0] is not sys._getframe().f_code
    site.mark_library_file("<a plugin, for the core>")
    assert through(SITES[0])[0] is sys._getframe().f_code


def test_through_generators_and_callbacks() -> None:
    def generate(find: Callable[[], Site]) -> Any:
        yield find()

    for find in SITES:
        assert next(generate(find))[0] is generate.__code__
        assert max([1, 2], key=lambda _: find()[1]) in (1, 2)
    assert sorted([3], key=lambda _: SITES[0]()[1]) == [3]


def test_setup_says_what_is_missing() -> None:
    from retrograd.ops.compiled.install import library_objects

    objects = library_objects()
    del objects["Node"]
    try:
        with pytest.raises(KeyError, match="the core was not given Node"):
            core._core.setup(objects)
        with pytest.raises(TypeError, match="object has no slot _array"):
            core._core.setup({**library_objects(), "Tensor": object})
    finally:
        core._core.setup(library_objects())
    x = torch.ones(2, requires_grad=True)
    (x * x).sum().backward()
    assert x.grad is not None and x.grad.tolist() == [2.0, 2.0]
