"""`pytest --autograd-doctor`: tests are watched, and failing ones get a section that explains.

A silent fault in a test that passes is told in the summary. Without the option nothing happens.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

import pytest

PROPERTY = "autograd-doctor"


def pytest_addoption(parser: pytest.Parser) -> None:
    """The option."""
    group = parser.getgroup("retrograd")
    group.addoption(
        "--autograd-doctor",
        action="store_true",
        help="watch the autograd calls of tests and explain mistakes (retrograd doctor)",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Put the plugin in place if it was asked for."""
    if config.getoption("--autograd-doctor"):
        config.pluginmanager.register(_Doctor(), "retrograd-doctor-active")


class _Doctor:
    """What happens around each test."""

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Generator[None, object, object]:
        """Watch the test, then add what was found to its report."""
        from retrograd.doctor.library import watch

        watcher = watch()
        watcher.start(None)
        try:
            result = yield
        except BaseException as error:
            watcher.finish(error)
            raise
        else:
            watcher.finish(None)
        finally:
            report = watcher.report
            if report.diagnoses:
                text = report.text()
                item.add_report_section("call", "autograd doctor", text)
                item.user_properties.append((PROPERTY, text))
        return result

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """The silent faults: of tests that pass, whose sections nobody sees."""
        found = [
            (report.nodeid, text)
            for report in terminalreporter.stats.get("passed", [])
            for name, text in report.user_properties
            if name == PROPERTY and report.when == "call"
        ]
        if not found:
            return
        terminalreporter.section("autograd doctor: silent faults")
        for test, text in found:
            terminalreporter.write_line(test, bold=True)
            terminalreporter.write_line(text)
