"""`pytest --autograd-doctor`: tests are watched, and failing ones get a section that explains.

A silent fault in a test that passes is told in the summary. The fixes are tried: the test runs
again in a process of its own. Without the option nothing happens.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Generator
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from retrograd.doctor.fixes.again import Again

PROPERTY = "autograd-doctor"
VERIFY = "--autograd-doctor-verify"
MOST_SECONDS = 120.0  # for the trials of all tests of a process


def pytest_addoption(parser: pytest.Parser) -> None:
    """The option."""
    group = parser.getgroup("retrograd")
    group.addoption(
        "--autograd-doctor",
        action="store_true",
        help="watch the autograd calls of tests and explain mistakes (retrograd doctor)",
    )
    group.addoption(
        VERIFY,
        action=argparse.BooleanOptionalAction,
        default=None,
        help="try the proposed fixes: the test runs again in a process of its own. By default for "
        f"{MOST_SECONDS:.0f} s in all, and where the test changes nothing outside",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Put the plugin in place if it was asked for."""
    if config.getoption("--autograd-doctor"):
        wanted: bool | None = config.getoption(VERIFY)
        config.pluginmanager.register(_Doctor(wanted), "retrograd-doctor-active")


class _Doctor:
    """What happens around each test."""

    def __init__(self, verify: bool | None) -> None:
        self._verify = verify
        self._seconds = 0.0  # that went into reports and trials

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Generator[None, object, object]:
        """Watch the test, then add what was found to its report."""
        from retrograd.doctor.library import watch

        watcher = watch(verify=self._verify)
        watcher.again = lambda block: self._again(item, block)
        watcher.start(None)
        try:
            result = yield
        except BaseException as error:
            self._finish(watcher, error)
            raise
        else:
            self._finish(watcher, None)
        finally:
            report = watcher.report
            if report.diagnoses:
                text = report.text()
                item.add_report_section("call", "autograd doctor", text)
                item.user_properties.append((PROPERTY, text))
        return result

    def _finish(self, watcher: Any, error: BaseException | None) -> None:
        started = time.monotonic()
        watcher.finish(error)
        self._seconds += time.monotonic() - started

    def _again(self, item: pytest.Item, block: int) -> Again:
        """How this test runs by itself."""
        from retrograd.doctor.fixes.again import Again

        if self._verify is None and self._seconds > MOST_SECONDS:
            return Again(block, against=f"the tests before took {self._seconds:.0f} s of trials")
        # it is the first one that is watched there
        return Again(1, module="pytest", arguments=_arguments(item), option=VERIFY)

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


def _arguments(item: pytest.Item) -> list[str]:
    """The options of this run, with one test in place of what they choose."""
    config = item.config
    given = [os.fspath(word) for word in config.invocation_params.args]
    worker = getattr(config, "workerinput", None)
    if worker is not None:
        given = worker["mainargv"][1:]
    found = given[::-1]
    for chosen in map(os.fspath, config.args):
        if chosen in found:  # the last one: an option may have the same word
            found.remove(chosen)
    found.reverse()
    if config.pluginmanager.hasplugin("xdist"):
        found += ["-n", "0"]
    if config.pluginmanager.hasplugin("_cov"):
        found.append("--no-cov")
    if not any(plugin is sys.modules[__name__] for plugin, _ in _installed(config)):
        found += ["-p", __name__]
    # the edited text is what Python imports; pytest would read and rewrite the file itself
    found += ["--assert=plain", "--rootdir", os.fspath(config.rootpath)]
    test = item.nodeid.partition("::")[2]
    return [*found, f"{item.path}::{test}"]


def _installed(config: pytest.Config) -> list[tuple[Any, Any]]:
    """The plugins that installed packages bring."""
    return config.pluginmanager.list_plugin_distinfo()
