"""Tests of thousands of small cases, one test for each op: all run, and what fails is named.

A test of its own costs more than most such cases, and lives as long as the run.
"""

from __future__ import annotations

import functools
import traceback
from collections.abc import Callable, Iterable
from typing import Any

import pytest


def run_all(cases: Iterable[tuple[str, Callable[[], object]]]) -> None:
    """Run the cases; fail if one fails, with the names and tracebacks of all that do.

    Skipped is only what has no case that is not.
    """
    count, failed, skipped = 0, [], []
    for label, case in cases:
        count += 1
        try:
            case()
        except pytest.skip.Exception as reason:
            skipped.append(f"{label}: {reason}")
        except (Exception, pytest.fail.Exception) as error:
            lines = traceback.format_exception(error.with_traceback(_own(error)))
            failed.append(f"{label}\n{''.join(lines)}")
    if failed:
        found = "\n".join([f"{len(failed)} of {count} fail:", *failed])
        pytest.fail(found, pytrace=False)
    if len(skipped) == count:
        pytest.skip("; ".join(skipped[:3]) or "there are no cases")


def _own(error: BaseException) -> Any:
    """The traceback without the line here that called the case."""
    assert error.__traceback__ is not None
    return error.__traceback__.tb_next


def for_each_op(
    cases: Iterable[tuple[Any, ...]],
) -> Callable[[Callable[..., object]], Callable[[str], None]]:
    """Make `check(name, sample, ...)` one test for each name, over all its samples."""
    by_name: dict[str, list[tuple[Any, ...]]] = {}
    for case in cases:
        by_name.setdefault(case[0], []).append(case)

    def decorate(check: Callable[..., object]) -> Callable[[str], None]:
        @pytest.mark.parametrize("name", by_name)
        def test(name: str) -> None:
            run_all(
                ("-".join(map(str, case)), functools.partial(check, *case))
                for case in by_name[name]
            )

        # not by functools.wraps: pytest would look for the arguments of `check`
        test.__name__, test.__doc__ = check.__name__, check.__doc__
        test.__module__, test.__qualname__ = check.__module__, check.__qualname__
        return test

    return decorate
