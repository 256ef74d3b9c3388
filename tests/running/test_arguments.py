"""What follows the program on the command line of run, doctor and view is the program's own."""

import argparse

import pytest

from retrograd.commands import doctor, run, view
from retrograd.commands.program import CommandParser

PROGRAM_ARGUMENTS = [
    ["--n", "3"],
    ["--json", "mine.json"],
    ["--j=1", "--vers", "-h"],
    ["-m", "x", "--", "--help"],
    ["--", "-o", "--engine=none"],
    ["--max-seconds", "-1", "-"],
]


def parsed(*words: str) -> argparse.Namespace:
    parser = CommandParser(prog="retrograd")
    parser.add_argument("--version", action="version", version="1")
    commands = parser.add_subparsers()
    for command in (run, doctor, view):
        command.add(commands)
    return parser.parse_args(words)


OWN = [
    ("run", []),
    ("doctor", ["--json", "o.json", "--no-verify", "--max-seconds=3"]),
    ("view", ["--json", "o.json", "--compare", "0", "5", "-o", "p.html"]),
]


@pytest.mark.parametrize("given", PROGRAM_ARGUMENTS, ids=" ".join)
@pytest.mark.parametrize(("command", "own"), OWN, ids=lambda part: str(part)[:6])
def test_a_script_and_a_module(command: str, own: list[str], given: list[str]) -> None:
    found = parsed(command, *own, "train.py", *given)
    assert (found.program, found.module) == (["train.py", *given], None)
    assert getattr(found, "json", "o.json") == "o.json"
    found = parsed(command, *own, "-m", "package.train", *given)
    assert (found.program, found.module) == ([], ["package.train", *given])


def test_other_ways_to_name_it() -> None:
    assert parsed("run", "-mpackage", "-x").module == ["package", "-x"]
    assert parsed("run", "--", "--odd.py", "-x").program == ["--odd.py", "-x"]
    assert parsed("run", "-", "-x").program == ["-", "-x"]
    assert parsed("doctor").program == [] and parsed("doctor", "-m").module == []


@pytest.mark.parametrize("option", ["--js", "--no-ver", "--max", "--no-such"])
def test_own_options_are_written_out(option: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        parsed("doctor", option, "x", "train.py")
    assert option in capsys.readouterr().err
