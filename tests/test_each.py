"""Tests of many cases in one: every case runs, and each that fails is named with its reason."""

from __future__ import annotations

import pytest

from tests.each import for_each_op, run_all

RUN: list[tuple[str, int]] = []


def of_small_numbers(name: str, number: int) -> None:
    """They are all below three."""
    RUN.append((name, number))
    if number == 9:
        pytest.skip("nine is left out")
    assert number < 3, "too large"


def test_each_failing_case_is_named_and_the_others_run() -> None:
    cases = [("a", 1), ("a", 4), ("b", 2), ("a", 5), ("a", 9)]
    test = for_each_op(cases)(of_small_numbers)
    (mark,) = test.pytestmark  # type: ignore[attr-defined]
    assert mark.args[0] == "name" and list(mark.args[1]) == ["a", "b"]
    assert (test.__name__, test.__doc__) == ("of_small_numbers", of_small_numbers.__doc__)
    RUN.clear()
    with pytest.raises(pytest.fail.Exception) as caught:
        test("a")
    assert RUN == [("a", 1), ("a", 4), ("a", 5), ("a", 9)]
    text = str(caught.value)
    assert text.startswith("2 of 4 fail:\na-4\nTraceback")
    assert "\na-5\nTraceback" in text and "a-1\n" not in text
    assert text.count("AssertionError: too large") == 2
    assert text.count('assert number < 3, "too large"') == 2
    test("b")


def test_what_has_only_skipped_cases_is_skipped() -> None:
    with pytest.raises(pytest.skip.Exception, match="a-9: nine is left out"):
        for_each_op([("a", 9), ("a", 9)])(of_small_numbers)("a")
    for_each_op([("a", 9), ("a", 1)])(of_small_numbers)("a")
    with pytest.raises(pytest.skip.Exception, match="there are no cases"):
        run_all([])


def test_what_ends_a_run_is_no_failure_of_a_case() -> None:
    def interrupted() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_all([("one", interrupted)])
