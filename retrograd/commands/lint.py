"""`retrograd lint PATHS`: autograd mistakes that can be seen without running the program."""

from __future__ import annotations

import argparse
import difflib
import sys
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from retrograd.diagnostics.layout import HelpFormatter
from retrograd.diagnostics.render import has_colour

if TYPE_CHECKING:
    from retrograd.lint.check import Report
    from retrograd.lint.declare import Finding, Rule
    from retrograd.lint.settings import Settings

EXAMPLE = """\
examples:
  retrograd lint train.py src
  retrograd lint --fix src
  retrograd lint --unsafe-fixes --diff train.py
  retrograd lint --select RGL1,backward-twice --sarif src > lint.sarif
  retrograd lint --output-format concise --stdin --stdin-filename src/train.py < train.py

A line is left out with `# noqa` or `# noqa: RGL101`. Settings are read from [tool.retrograd.lint]
in pyproject.toml: select, ignore, exclude, per-file-ignores.

The status is 0 if nothing was found, 1 if something was, 2 if something could not be checked.
"""

FORMATS = ("text", "concise", "json", "sarif", "github", "gitlab")
MANY = 20
"""From so many files on, a terminal shows how far it is."""
PASSES = 5
"""A change can make another one possible; so often the file is read again."""


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Describe the command."""
    parser = commands.add_parser(
        "lint",
        help="autograd mistakes that can be seen without running the program",
        description="Find autograd mistakes in programs for PyTorch. They are read, not run.",
        epilog=EXAMPLE,
        formatter_class=HelpFormatter,
    )
    parser.add_argument(
        "paths", nargs="*", metavar="PATH", help="a file, a folder, or - for stdin (default: .)"
    )
    parser.add_argument("--select", metavar="CODES", help="run these rules only: RGL1,RGL201, ALL")
    parser.add_argument("--ignore", metavar="CODES", help="leave these rules out")
    parser.add_argument("--config", type=Path, metavar="FILE", help="a pyproject.toml to use")
    parser.add_argument("--fix", action="store_true", help="change the files: safe fixes")
    parser.add_argument(
        "--unsafe-fixes", action="store_true", help="also fixes that change what a program does"
    )
    parser.add_argument("--diff", action="store_true", help="show the changes, write nothing")
    parser.add_argument("--stdin", action="store_true", help="check what is on stdin, as - does")
    parser.add_argument(
        "--stdin-filename", metavar="NAME", help="the file that stdin is the text of"
    )
    parser.add_argument(
        "--lsp", action="store_true", help="serve an editor: the language server protocol on stdio"
    )
    form = parser.add_mutually_exclusive_group()
    form.add_argument(
        "--output-format", choices=FORMATS, metavar="FORMAT", help=f"one of {', '.join(FORMATS)}"
    )
    for name in ("json", "sarif"):
        form.add_argument(
            f"--{name}",
            action="store_const",
            const=name,
            dest="output_format",
            help=f"--output-format {name}",
        )
    form.add_argument("--statistics", action="store_true", help="print how often each rule applies")
    parser.add_argument("--exit-zero", action="store_true", help="status 0 also with findings")
    parser.set_defaults(run=lint)


@dataclass
class Run:
    """What a run has found and done so far."""

    settings: Settings
    stdin: str  # the name of what is on stdin; "" if it is not read
    fix: bool
    unsafe: bool
    reports: list[Report] = field(default_factory=list)
    fixed: list[Finding] = field(default_factory=list)
    diffs: list[str] = field(default_factory=list)


def lint(options: argparse.Namespace) -> int:
    """Check the files, change them if asked to, and print what was found."""
    from retrograd.lint import fixing
    from retrograd.lint.settings import BadSettings, Settings, find_settings, read_settings

    try:
        if options.config is not None:
            found = read_settings(options.config)
        else:
            found = find_settings(Path())
        settings = (found or Settings()).with_options(options.select, options.ignore)
    except BadSettings as error:
        return _refuse(str(error))
    change = options.fix or options.diff
    if options.unsafe_fixes and not change:
        return _refuse("--unsafe-fixes goes with --fix or --diff")
    if change and not fixing.available():
        return _refuse(f"changing programs needs LibCST: {fixing.INSTALL}")
    if options.lsp:
        return _serve(settings)
    stdin = options.stdin or options.stdin_filename is not None or "-" in (options.paths or ())
    given = options.paths or (() if stdin else (".",))
    paths = [Path(path) for path in given if path != "-"]
    for path in paths:
        if not path.exists():
            return _refuse(f"there is no {path}")
    name = (options.stdin_filename or "<stdin>") if stdin else ""
    run = Run(settings, name, change, options.unsafe_fixes)
    if run.stdin:
        _check_stdin(run, options)
    _check_files(run, paths, write=options.fix and not options.diff)
    _print(run, options)
    if any(report.error for report in run.reports):
        return 2
    found_any = any(report.findings for report in run.reports) or (options.diff and run.fixed)
    return 1 if found_any and not options.exit_zero else 0


def _serve(settings: Settings) -> int:
    from retrograd.lint.check import selected
    from retrograd.lint.server import Server

    def rules_of(path: str) -> list[Rule]:
        return (
            [] if settings.excludes(path) else selected(settings.select, settings.ignored_in(path))
        )

    return Server(sys.stdin.buffer, sys.stdout.buffer, rules_of).serve()


def _refuse(message: str) -> int:
    print(f"retrograd lint: error: {message}", file=sys.stderr)
    return 2


def _check_files(run: Run, paths: list[Path], write: bool) -> None:
    from retrograd.lint.files import decoded, python_files, write_whole

    for path in _shown(list(python_files(paths))):
        name = str(path)
        if run.settings.excludes(name) and path not in paths:
            continue
        try:
            text, encoding = decoded(path.read_bytes())
        except (OSError, SyntaxError, UnicodeDecodeError, LookupError) as error:
            reason = error.strerror if isinstance(error, OSError) else str(error)
            run.reports.append(_unreadable(name, f"cannot be read: {reason}"))
            continue
        changed = _check(run, text, name)
        if write and changed != text:
            try:
                write_whole(path, changed, encoding)
            except OSError as error:
                run.reports.append(_unreadable(name, f"cannot be written: {error.strerror}"))


def _check_stdin(run: Run, options: argparse.Namespace) -> None:
    from retrograd.lint.files import decoded

    if options.stdin_filename is not None and run.settings.excludes(run.stdin):
        excluded = sys.stdin.buffer.read()
        if options.fix and not options.diff:
            sys.stdout.buffer.write(excluded)
        return
    try:
        text, _ = decoded(sys.stdin.buffer.read())
    except (SyntaxError, UnicodeDecodeError, LookupError) as error:
        run.reports.append(_unreadable(run.stdin, f"cannot be read: {error}"))
        return
    changed = _check(run, text, run.stdin)
    if options.fix and not options.diff:
        sys.stdout.write(changed)


def _unreadable(name: str, reason: str) -> Report:
    from retrograd.lint.check import Report

    return Report(name, error=reason)


def _check(run: Run, text: str, name: str) -> str:
    """Check one program; its text, changed if that is asked for."""
    from retrograd.lint import fixing
    from retrograd.lint.check import lint_text, selected

    rules = selected(run.settings.select, run.settings.ignored_in(name))
    report = lint_text(text, name, rules)
    changed = text
    done: list[Finding] = []
    for _ in range(PASSES if run.fix else 0):
        try:
            result = fixing.apply_fixes(changed, report.findings, run.unsafe)
        except fixing.CannotFix as error:
            report.error = f"not changed: {error}"
            break
        if not result.done:
            break
        changed = result.text
        done += result.done
        report = lint_text(changed, name, rules)
    run.reports.append(report)
    run.fixed += done
    if changed != text:
        lines = (text.splitlines(keepends=True), changed.splitlines(keepends=True))
        difference = difflib.unified_diff(*lines, fromfile=name, tofile=name)
        run.diffs.append("".join(_ended(line) for line in difference))
    return changed


def _ended(line: str) -> str:
    return line if line.endswith("\n") else line + "\n\\ No newline at end of file\n"


def _shown(files: list[Path]) -> Iterable[Path]:
    """The files, with a progress line on a terminal when there are many."""
    if len(files) < MANY or not sys.stderr.isatty():
        return files
    from retrograd.progress_bar import progress

    return progress(files, description="lint", file=sys.stderr)


def _print(run: Run, options: argparse.Namespace) -> None:
    from retrograd.lint import formats, output

    form = options.output_format or "text"
    # stdout has the changed program, or the diff, which other tools read
    shows_diff = options.diff and form not in ("json", "sarif", "gitlab")
    elsewhere = shows_diff or (options.fix and run.stdin)
    stream = sys.stderr if elsewhere else sys.stdout
    if shows_diff:
        print("".join(run.diffs), end="")
    if options.statistics:
        print(output.statistics_text(run.reports), end="", file=stream)
    elif form != "text":
        print(formats.printed(form, run.reports, run.fixed), end="", file=stream)
    else:
        fixed = len(run.fixed) if options.fix and not options.diff else None
        print(output.as_text(run.reports, has_colour(stream)), end="", file=stream)
        print(output.summary(run.reports, fixed), end="", file=stream)
