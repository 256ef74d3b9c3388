"""The healthy programs that are broken: the labelled ones, the examples, those written for it."""

from __future__ import annotations

import ast
import json
import re
import shutil
from dataclasses import dataclass
from pathlib import Path

from tests.doctor.patches import healthy_script
from tests.forked import ROOT

DOCTOR = ROOT / "tests" / "doctor"
MARKER = re.compile(r"# ([a-z-]+): ([a-z-]+)$", re.MULTILINE)
LEFT_OUT = {
    "second_backward",
    "cartpole",
    "side_by_side",
    "test_programs",
}  # shows one, no programs


@dataclass(frozen=True)
class Original:
    """A healthy program: a script, or a folder with the script in it."""

    name: str
    script: Path
    folder: Path | None = None  # copied as a whole

    def written(self, into: Path, file: Path | None = None, text: str = "") -> Path:
        """A copy there, with one file's text replaced; the path of its script."""
        if self.folder is None:
            script = into / self.script.name
            script.write_text(text or self.script.read_text())
            for beside in _imported(self.script):
                shutil.copy(beside, into)
            return script
        shutil.copytree(self.folder, into / self.folder.name, dirs_exist_ok=True)
        if file is not None:
            (into / self.folder.name / file.relative_to(self.folder)).write_text(text)
        return into / self.folder.name / self.script.relative_to(self.folder)

    def files(self) -> list[Path]:
        """The files that may be broken."""
        return [self.script] if self.folder is None else sorted(self.folder.rglob("*.py"))


def _imported(script: Path) -> list[Path]:
    """The modules beside a script that it imports."""
    names = set()
    for node in ast.walk(ast.parse(script.read_bytes())):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names.add(node.module)
    files = (script.with_name(f"{name}.py") for name in names)
    return sorted(file for file in files if file.exists())


def originals() -> list[Original]:
    """All of them, by name."""
    found = []
    for labels in sorted(DOCTOR.glob("*/cases*.json")):
        for case in json.loads(labels.read_text())["cases"]:
            script = healthy_script(labels.parent, case)
            if script is not None:
                found.append(_of(script, f"tests/doctor/{labels.parent.name}/{case['slug']}"))
    for path in sorted((DOCTOR / "silent").glob("*.py")):
        if not MARKER.search(path.read_text()):
            found.append(_of(path))
    for folder in ("examples", "tests/programs", "tests/doctor/mutation/healthy"):
        for path in sorted((ROOT / folder).glob("*.py")):
            if path.stem not in LEFT_OUT:
                found.append(_of(path))
    return sorted(found, key=lambda original: original.name)


def _of(script: Path, name: str = "") -> Original:
    folder = script.parent if script.name == "main.py" else None
    return Original(name or script.relative_to(ROOT).as_posix(), script, folder)
