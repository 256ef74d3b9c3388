"""`retrograd lint`: outputs, settings, statuses, stdin, fixes on disk."""

from __future__ import annotations

import io
import json
import re
import stat
import sys
from pathlib import Path

import pytest

from retrograd.cli import main
from retrograd.diagnostics.pages import whole_page
from retrograd.lint import RULES, fixing

BAD = "import torch\nloss.backward\n"
GOOD = "import torch\nloss.backward()\n"
SUM = """\
import torch
total = 0.0
for x in xs:
    loss = model(x).mean()
    loss.backward()
    total += loss
"""
Captured = pytest.CaptureFixture[str]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "pyproject.toml").write_text("[project]\nname = 'x'\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_text(folder: Path, capsys: Captured) -> None:
    Path("train.py").write_text(SUM)
    assert main(["lint", "train.py"]) == 1
    assert capsys.readouterr().out == (
        "train.py:6:5: RGL101 [*] `total` keeps the graph of every `loss` added to it\n"
        "    help: add `loss.item()`, or `loss.detach()` to stay on the device\n"
        "1 finding in 1 file, 1 [*] can be fixed with --fix\n"
    )


def test_nothing_found(folder: Path, capsys: Captured) -> None:
    Path("train.py").write_text(GOOD)
    assert main(["lint"]) == 0
    assert capsys.readouterr().out == "nothing found in 1 file\n"


def test_folders_and_what_is_left_out(folder: Path, capsys: Captured) -> None:
    for name in ("a.py", "sub/b.py", "venv/c.py", ".hidden/d.py", "notes.txt"):
        Path(name).parent.mkdir(exist_ok=True)
        Path(name).write_text(BAD)
    assert main(["lint", ".", "a.py", "--json"]) == 1
    files = [finding["file"] for finding in json.loads(capsys.readouterr().out)["findings"]]
    assert files == ["a.py", str(Path("sub/b.py"))]


def test_syntax_errors_do_not_stop_the_others(folder: Path, capsys: Captured) -> None:
    Path("a.py").write_text("import torch\nx = (\n")
    Path("b.py").write_text(BAD)
    Path("c.py").write_bytes(b"import torch\nx = '\xff'\n")
    Path("d.py").write_bytes(b"import torch\nx = '\0'\n")
    assert main(["lint", "."]) == 2
    text = capsys.readouterr().out
    assert "a.py:2:5: error: syntax error: '(' was never closed\n" in text
    assert "b.py:2:1: RGL205" in text
    assert "c.py: error: cannot be read: " in text
    assert "d.py:1:1: error: syntax error: " in text
    assert "3 files could not be checked" in text


def test_exit_zero(folder: Path) -> None:
    Path("a.py").write_text(BAD)
    assert main(["lint", "a.py", "--exit-zero"]) == 0
    Path("b.py").write_text("(")
    assert main(["lint", ".", "--exit-zero"]) == 2


def test_missing_file_and_bad_options(folder: Path, capsys: Captured) -> None:
    assert main(["lint", "none.py"]) == 2
    assert "there is no none.py" in capsys.readouterr().err
    assert main(["lint", "--select", "RGX"]) == 2
    assert "--select: there is no rule 'RGX'" in capsys.readouterr().err
    assert main(["lint", "--unsafe-fixes"]) == 2
    assert "--fix or --diff" in capsys.readouterr().err
    assert main(["lint", "--config", "none.toml"]) == 2
    assert "none.toml" in capsys.readouterr().err


def test_select_and_ignore(folder: Path, capsys: Captured) -> None:
    Path("a.py").write_text(
        SUM + "loss.backward\nfrom torch import nn\nm = nn.ReLU()\nm.forward(1)\n"
    )

    def codes(*options: str) -> list[str]:
        main(["lint", "a.py", "--json", *options])
        return [finding["code"] for finding in json.loads(capsys.readouterr().out)["findings"]]

    assert codes() == ["RGL101", "RGL205"]
    assert codes("--select", "RGL2") == ["RGL205"]
    assert codes("--select", "backward-not-called, rgl101") == ["RGL101", "RGL205"]
    assert codes("--select", "ALL") == ["RGL101", "RGL205", "RGL501"]
    assert codes("--ignore", "RGL1") == ["RGL205"]


def test_settings(folder: Path, capsys: Captured) -> None:
    for name in ("a.py", "tests/b.py", "old/c.py"):
        Path(name).parent.mkdir(exist_ok=True)
        Path(name).write_text(BAD + "optimizer.step\n")
    settings = """
    [tool.retrograd.lint]
    select = ["RGL205", "RGL405"]
    exclude = ["old"]
    per-file-ignores = { "tests/*" = ["RGL405"] }
    """
    Path("pyproject.toml").write_text(settings)
    assert main(["lint", "--json"]) == 1
    found = [(f["file"], f["code"]) for f in json.loads(capsys.readouterr().out)["findings"]]
    inner = str(Path("tests/b.py"))
    assert found == [("a.py", "RGL205"), ("a.py", "RGL405"), (inner, "RGL205")]
    assert main(["lint", "--ignore", "RGL2,RGL4", "."]) == 0
    capsys.readouterr()
    Path("other.toml").write_text("[tool.retrograd.lint]\nignore = ['ALL']\n")
    assert main(["lint", "--config", "other.toml"]) == 0


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[tool.retrograd.lint]\ncolour = 1\n", "there is no setting 'colour'"),
        ("[tool.retrograd.lint]\nselect = 'RGL1'\n", "select is not a list of strings"),
        ("[tool.retrograd.lint]\nselect = ['X']\n", "there is no rule 'X'"),
        ("[tool.retrograd]\nlint = 3\n", "is not a table"),
        ("[tool", "pyproject.toml: "),
    ],
)
def test_wrong_settings(folder: Path, capsys: Captured, text: str, message: str) -> None:
    Path("pyproject.toml").write_text(text)
    assert main(["lint"]) == 2
    assert message in capsys.readouterr().err


def test_statistics(folder: Path, capsys: Captured) -> None:
    Path("a.py").write_text(BAD + "optimizer.step\nloss.backward\n")
    assert main(["lint", "--statistics"]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines == [
        f"2  RGL205  {RULES['RGL205'].summary}",
        f"1  RGL405  {RULES['RGL405'].summary}",
    ]


def test_json(folder: Path, capsys: Captured) -> None:
    Path("a.py").write_text(BAD)
    main(["lint", "--json"])
    data = json.loads(capsys.readouterr().out)
    assert data["version"] == 1 and data["files"] == 1 and data["errors"] == []
    assert data["findings"] == [
        {
            "code": "RGL205",
            "slug": "backward-not-called",
            "message": "`loss.backward` is not called",
            "file": "a.py",
            "line": 2,
            "column": 1,
            "end_line": 2,
            "end_column": 14,
            "helps": ["add the parentheses"],
            "fix": {"message": "add parentheses", "safe": False},
        }
    ]


def test_sarif(folder: Path, capsys: Captured) -> None:
    Path("a b.py").write_text(BAD)
    Path("c.py").write_text("import torch\n(")
    assert main(["lint", "--sarif"]) == 2
    data = json.loads(capsys.readouterr().out)
    assert data["version"] == "2.1.0" and data["$schema"].endswith("sarif-schema-2.1.0.json")
    (run,) = data["runs"]
    driver = run["tool"]["driver"]
    assert driver["name"] == "retrograd lint"
    assert [rule["id"] for rule in driver["rules"]] == list(RULES)
    for rule in driver["rules"]:
        assert set(rule) >= {"id", "name", "shortDescription", "help", "defaultConfiguration"}
        assert rule["defaultConfiguration"]["level"] in ("none", "note", "warning", "error")
    (result,) = run["results"]
    assert driver["rules"][result["ruleIndex"]]["id"] == result["ruleId"] == "RGL205"
    assert result["level"] == "warning" and result["message"]["text"]
    place = result["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"] == "a%20b.py"
    assert place["region"] == {"startLine": 2, "startColumn": 1, "endLine": 2, "endColumn": 14}
    (invocation,) = run["invocations"]
    assert invocation["executionSuccessful"] is False
    assert "never closed" in invocation["toolExecutionNotifications"][0]["message"]["text"]


def give(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))


def test_stdin(folder: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch) -> None:
    give(monkeypatch, BAD)
    assert main(["lint", "-"]) == 1
    assert capsys.readouterr().out.startswith("<stdin>:2:1: RGL205 ")
    give(monkeypatch, GOOD)
    assert main(["lint", "-"]) == 0


def test_fix_of_stdin(folder: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("libcst")
    give(monkeypatch, SUM)
    assert main(["lint", "--fix", "-"]) == 0
    captured = capsys.readouterr()
    assert captured.out == SUM.replace("+= loss", "+= loss.item()")
    assert captured.err == "fixed 1, left 0\n"


def test_stdin_by_option(folder: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("pyproject.toml").write_text(
        "[tool.retrograd.lint]\nexclude = ['old']\nper-file-ignores = { 'tests/*' = ['RGL205'] }\n"
    )
    Path("other.py").write_text(BAD)  # is not read
    for options, name, status in (
        (["--stdin"], "<stdin>", 1),
        (["--stdin", "--stdin-filename", "src/a.py"], "src/a.py", 1),
        (["-", "--stdin-filename", "src/a.py"], "src/a.py", 1),
        (["--stdin-filename", "tests/a.py"], "", 0),
        (["--stdin-filename", "old/a.py"], "", 0),
    ):
        give(monkeypatch, BAD)
        assert main(["lint", "--output-format", "concise", *options]) == status
        expected = f"{name}:2:1: RGL205 `loss.backward` is not called\n" if name else ""
        assert capsys.readouterr().out == expected


def test_fix_of_stdin_that_is_excluded(
    folder: Path, capfdbinary: pytest.CaptureFixture[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("libcst")
    Path("pyproject.toml").write_text("[tool.retrograd.lint]\nexclude = ['old']\n")
    give(monkeypatch, SUM)
    assert main(["lint", "--fix", "--stdin-filename", "old/a.py"]) == 0
    assert capfdbinary.readouterr().out == SUM.encode()


def test_what_a_fix_leaves_is_listed(folder: Path, capsys: Captured) -> None:
    pytest.importorskip("libcst")
    Path("a.py").write_text(SUM + "loss.backward\n")
    assert main(["lint", "--fix", "a.py"]) == 1
    assert capsys.readouterr().out == (
        "a.py:7:1: RGL205 `loss.backward` is not called\n"
        "    help: add the parentheses\n"
        "fixed 1, left 1 in 1 file, 1 with --fix --unsafe-fixes\n"
    )
    assert main(["lint", "--fix", "a.py"]) == 1
    assert capsys.readouterr().out.endswith(
        "\nfixed 0, left 1 in 1 file, 1 with --fix --unsafe-fixes\n"
    )
    assert main(["lint", "--fix", "--unsafe-fixes", "a.py"]) == 0
    assert capsys.readouterr().out == "fixed 1, left 0\n"
    assert main(["lint", "--fix", "a.py"]) == 0
    assert capsys.readouterr().out == "nothing found in 1 file\n"


def test_formats(folder: Path, capsys: Captured) -> None:
    Path("a,b.py").write_text(BAD)
    Path("c.py").write_text("import torch\n(")

    def shown(form: str) -> str:
        assert main(["lint", "--output-format", form]) == 2
        return capsys.readouterr().out

    assert shown("concise") == (
        "a,b.py:2:1: RGL205 `loss.backward` is not called\n"
        "c.py:2:1: error syntax error: '(' was never closed\n"
    )
    assert shown("github") == (
        "::warning file=a%2Cb.py,line=2,col=1,endLine=2,endColumn=14,title=RGL205::"
        "`loss.backward` is not called%0Ahelp: add the parentheses\n"
        "::error file=c.py,line=2,col=1::syntax error: '(' was never closed\n"
    )
    issue, error = json.loads(shown("gitlab"))
    assert issue["check_name"] == "RGL205" and issue["severity"] == "minor"
    assert issue["location"] == {"path": "a,b.py", "lines": {"begin": 2}}
    assert error["severity"] == "major" and "never closed" in error["description"]
    assert issue["fingerprint"] != error["fingerprint"]
    for form in ("json", "sarif"):
        text = shown(form)
        assert main(["lint", f"--{form}"]) == 2
        assert capsys.readouterr().out == text


def test_an_issue_stays_itself_when_lines_are_added(folder: Path, capsys: Captured) -> None:
    def prints() -> list[str]:
        main(["lint", "--output-format", "gitlab"])
        return [issue["fingerprint"] for issue in json.loads(capsys.readouterr().out)]

    Path("a.py").write_text(BAD + "loss.backward\n")
    before = prints()
    Path("a.py").write_text("# a line\n" + BAD + "loss.backward\n")
    assert prints() == before and len(set(before)) == 2


def test_fix_on_disk(folder: Path, capsys: Captured) -> None:
    pytest.importorskip("libcst")
    path = Path("a.py")
    path.write_bytes(
        b"# -*- coding: latin-1 -*-\r\n# \xe4\r\n" + SUM.replace("\n", "\r\n").encode()
    )
    path.chmod(0o640)
    Path("link.py").symlink_to(path)
    Path("b.py").write_text(BAD)
    assert main(["lint", "--fix", "link.py", "b.py"]) == 1
    assert "fixed 1, left 1 in 1 file, 1 with --fix --unsafe-fixes\n" in capsys.readouterr().out
    data = path.read_bytes()
    assert data.startswith(b"# -*- coding: latin-1 -*-\r\n# \xe4\r\n")
    assert data.endswith(b"    total += loss.item()\r\n")
    assert stat.S_IMODE(path.stat().st_mode) == 0o640 and Path("link.py").is_symlink()
    assert Path("b.py").read_text() == BAD
    assert sorted(p.name for p in folder.iterdir()) == ["a.py", "b.py", "link.py", "pyproject.toml"]
    assert main(["lint", "--fix", "--unsafe-fixes", "b.py"]) == 0
    assert Path("b.py").read_text() == GOOD


def test_diff_writes_nothing(folder: Path, capsys: Captured) -> None:
    pytest.importorskip("libcst")
    Path("a.py").write_text(SUM)
    assert main(["lint", "--diff", "a.py"]) == 1
    captured = capsys.readouterr()
    assert captured.out.startswith("--- a.py\n+++ a.py\n@@ ")
    assert "\n-    total += loss\n+    total += loss.item()\n" in captured.out
    assert Path("a.py").read_text() == SUM
    Path("a.py").write_text(GOOD)
    assert main(["lint", "--diff", "a.py"]) == 0
    assert capsys.readouterr().out == ""


def test_without_libcst(folder: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fixing, "available", lambda: False)
    Path("a.py").write_text(BAD)
    for options in (["--fix"], ["--diff"]):
        assert main(["lint", "a.py", *options]) == 2
        error = capsys.readouterr().err
        assert error == (
            "retrograd lint: error: changing programs needs LibCST: pip install 'retrograd[lint]'\n"
        )
    assert main(["lint", "a.py"]) == 1


def test_explain(capsys: Captured, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    assert main(["explain", "rgl101"]) == 0
    assert capsys.readouterr().out == whole_page("RGL101")
    assert main(["explain", "backward-twice"]) == 0
    assert capsys.readouterr().out.startswith("# RGL201: backward-twice\n")
    assert main(["explain", "RGL501", "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert data["slug"] == "forward-called" and "model.forward" in data["examples"]["reported"]
    assert main(["explain"]) == 0
    text = capsys.readouterr().out
    assert all(code in text for code in RULES)
    assert main(["explain", "RGL999"]) == 2
    assert "RGL" in capsys.readouterr().err.partition("did you mean:")[2]


def test_hook_for_pre_commit() -> None:
    text = (Path(__file__).resolve().parents[2] / ".pre-commit-hooks.yaml").read_text()
    assert "entry: retrograd lint\n" in text and "id: retrograd-lint\n" in text


def test_workflow_of_the_page(folder: Path) -> None:
    docs = Path(__file__).resolve().parents[2] / "docs"
    workflow = (docs / "lint-workflow.yml").read_text()
    assert f"```yaml\n{workflow}```\n" in (docs / "lint.md").read_text()
    (line,) = [line for line in workflow.splitlines() if "run: retrograd " in line]
    options = line.partition("run: retrograd ")[2].split()
    assert main(options) == 0
    Path("a.py").write_text(BAD)
    assert main(options) == 1


def test_problem_matcher_of_the_page(folder: Path, capsys: Captured) -> None:
    page = (Path(__file__).resolve().parents[2] / "docs/lint.md").read_text()
    (block,) = re.findall(r"```json\n(.+?)```", page, re.DOTALL)
    (task,) = json.loads(block)["tasks"]
    Path("a.py").write_text(BAD)
    main(task["command"].split()[1:])
    found = re.match(task["problemMatcher"]["pattern"]["regexp"], capsys.readouterr().out.rstrip())
    assert found is not None
    assert found.groups() == ("a.py", "2", "1", "RGL205", "`loss.backward` is not called")
