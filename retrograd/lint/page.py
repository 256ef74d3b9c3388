"""The rules as one page of the documentation: docs/lint.md."""

from __future__ import annotations

import re

from .declare import FAMILIES, Rule
from .rules import RULES

_INTRODUCTION = """\
# Lint

`retrograd lint PATHS` finds autograd mistakes in programs for PyTorch without running them. What
needs a run, the doctor finds: `retrograd doctor train.py`.

```text
$ retrograd lint train.py
train.py:26:9: RGL101 [*] `running_loss` keeps the graph of every `loss` added to it
    help: add `loss.item()`, or `loss.detach()` to stay on the device
1 finding in 1 file, 1 [*] can be fixed with --fix
```

The graph at this moment, as [`graph.record`](graph/page.md) draws it:

| total keeps the graph of every step |
|---|
| ![total keeps the graph of every step](drawings/memory-1.svg) |

A rule reports only what it can know: a value from another file, an unknown function, a branch that
may or may not be taken make it silent. Rules that are marked as hints are off unless selected.

| | |
| --- | --- |
| `--select`, `--ignore` | codes, their beginnings (`RGL1`), names (`backward-twice`), `ALL` |
| `--fix` | make the safe changes: they keep every number; what is left is listed |
| `--unsafe-fixes` | with `--fix` or `--diff`: also those that change what the program does |
| `--diff` | show the changes and write nothing |
| `--output-format` | `text`, `concise` (one line each), `json`, `sarif`, `github`, `gitlab` |
| `--json`, `--sarif`, `--statistics` | the same as `--output-format`; the findings as counts |
| `--stdin`, `--stdin-filename NAME` | check standard input (as `-` does), as that file |
| `--lsp` | serve an editor |
| `--exit-zero` | status 0 also when something was found |

The status is 0 if nothing was found (or nothing is left after `--fix`), 1 if something was, 2 if a
file could not be checked. Lines and columns count from 1, columns are characters. `# noqa` at the
end of a line silences it, `# noqa: RGL101` one code.

Changing files needs LibCST, which keeps comments and formatting: `pip install 'retrograd[lint]'`.

Settings are in `pyproject.toml`:

```toml
[tool.retrograd.lint]
select = ["RGL1", "RGL2", "RGL3", "RGL4"]
ignore = ["RGL102"]
exclude = ["legacy/*"]
per-file-ignores = { "tests/*" = ["RGL201"] }
```

## In editors

`retrograd lint --lsp` is a language server: it checks a text while it is typed, and offers the fix
of a finding as a quick fix. A client that can start any server can use it.

Neovim 0.11 or newer, in `init.lua`:

```lua
vim.lsp.config("retrograd", {
  cmd = { "retrograd", "lint", "--lsp" },
  filetypes = { "python" },
  root_markers = { "pyproject.toml", ".git" },
})
vim.lsp.enable("retrograd")
```

Emacs, with Eglot; a buffer has one server there, so this takes the place of another one:

```elisp
(with-eval-after-load 'eglot
  (add-to-list 'eglot-server-programs '(python-mode . ("retrograd" "lint" "--lsp"))))
```

VS Code needs an extension that starts servers by a setting (a "generic LSP client"), with the
command `retrograd lint --lsp` for the language `python`. Without one, a task shows the findings
under "Problems", in `.vscode/tasks.json`:

```json
{
  "version": "2.0.0",
  "tasks": [
    {
      "label": "retrograd lint",
      "type": "shell",
      "command": "retrograd lint --output-format concise",
      "problemMatcher": {
        "owner": "retrograd",
        "fileLocation": ["relative", "${workspaceFolder}"],
        "severity": "warning",
        "pattern": {
          "regexp": "^(.+?):(\\\\d+):(\\\\d+): (\\\\w+) (.*)$",
          "file": 1, "line": 2, "column": 3, "code": 4, "message": 5
        }
      }
    }
  ]
}
```

An editor that runs a checker on a buffer gives it the text and its name:
`retrograd lint --output-format concise --stdin --stdin-filename src/train.py`.

## In projects

As a pre-commit hook:

```yaml
repos:
  - repo: local
    hooks:
      - id: retrograd-lint
        name: retrograd lint
        entry: retrograd lint
        language: python
        types: [python]
        additional_dependencies: ["retrograd[lint]"]
```

As a GitHub workflow, with findings beside the lines of a pull request
([lint-workflow.yml](lint-workflow.yml)):

```yaml
name: lint
on: [push, pull_request]
permissions:
  contents: read
jobs:
  retrograd:
    runs-on: ubuntu-latest
    steps:
      - uses: actions/checkout@v4
      - uses: actions/setup-python@v5
        with:
          python-version: "3.12"
      - run: pip install "retrograd[lint]"
      - run: retrograd lint --output-format github .
```

With `--sarif`, and `github/codeql-action/upload-sarif` as the next step, they are kept under "Code
scanning". In GitLab, a job keeps `retrograd lint --output-format gitlab > lint.json` as its
`artifacts: reports: codequality: lint.json`.

This page is written by `python -m retrograd.compat.documentation docs/lint.md` from the rules; the
tests fail when it is out of date. Both examples of every rule are checked there: the first must be
reported, the second must not.
"""

_FIXES = {"none": "", "safe": "safe", "unsafe": "unsafe"}


def lint_page() -> str:
    """The page as text."""
    parts = [_INTRODUCTION]
    for prefix, family in FAMILIES.items():
        rules = [rule for rule in RULES.values() if rule.code.startswith(prefix)]
        parts.append(f"## {family[0].upper()}{family[1:]}\n")
        parts.append("| code | name | | fix |\n| --- | --- | --- | --- |")
        parts += [
            f"| [{r.code}](#{r.code.lower()}) | {r.slug} | {r.summary} | {_FIXES[r.fix]} |"
            for r in rules
        ]
        parts.append("")
        for rule in rules:
            parts += _section(rule)
    return "\n".join(parts).rstrip() + "\n"


def _section(rule: Rule) -> list[str]:
    hint = "" if rule.default else " (a hint: off unless selected)"
    parts = [f"### {rule.code}\n", f"**{rule.slug}**{hint}: {rule.summary}\n"]
    for heading, text in rule.sections.items():
        # `py`, not `python`: the examples are checked where they come from
        parts.append(f"**{heading}**\n")
        parts.append(re.sub("^```python$", "```py", text, flags=re.MULTILINE) + "\n")
    return parts
