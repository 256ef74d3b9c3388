"""Call sites: found behind library frames, resolved to exact text, silent when unsure."""

from __future__ import annotations

import linecache
import os
import subprocess
import sys
from pathlib import Path
from types import CodeType
from typing import Any

import pytest

from retrograd.diagnostics.source import Loop
from retrograd.lifecycle import site as site_module
from retrograd.lifecycle.site import (
    LIBRARY_FILES,
    CallSite,
    mark_library_file,
    user_site,
)
from tests.limits import LIMIT

# A generated op: its file name alone says that it belongs to the library.
LIBRARY = """
def record(*values):
    return user_site()

def outer(*values):
    return record(*values)

class Value:
    def __matmul__(self, other):
        return record(self, other)
    def method(self, *values):
        return record(self)
    def __iadd__(self, other):
        return record(self, other)
"""


@pytest.fixture
def library() -> dict[str, Any]:
    scope: dict[str, Any] = {"user_site": user_site}
    exec(compile(LIBRARY, "<retrograd op test>", "exec"), scope)
    return scope


def run(source: str, library: dict[str, Any], path: Path) -> dict[str, Any]:
    path.write_text(source, "utf-8")
    linecache.checkcache(str(path))
    scope = {**library, "h": library["Value"](), "W": library["Value"]()}
    exec(compile(source, str(path), "exec"), scope)
    return scope


def resolve(found: tuple[CodeType | None, int]) -> CallSite:
    return CallSite(*found)


def test_finds_the_user_behind_the_library(library: dict[str, Any]) -> None:
    found = resolve(library["outer"]())
    assert found.file == __file__
    assert found.text == 'library["outer"]()'
    assert found.function == "test_finds_the_user_behind_the_library"


def test_library_files_are_the_package_without_testing() -> None:
    package = Path(site_module.__file__).parent.parent
    assert str(package / "lifecycle" / "site.py") in LIBRARY_FILES
    assert not any(Path(name).parent.name == "testing" for name in LIBRARY_FILES)


def test_a_marked_file_is_the_library() -> None:
    scope: dict[str, Any] = {"user_site": user_site}
    exec(compile("def f():\n    return user_site()\n", "<marked>", "exec"), scope)
    assert CallSite(*scope["f"]()).file == "<marked>"
    mark_library_file("<marked>")
    assert CallSite(*scope["f"]()).file == __file__


def test_only_library_frames_give_the_outermost() -> None:
    program = (
        "from retrograd.lifecycle import site\n"
        "site.mark_library_file('<string>')\n"
        "assert site.user_site()[0].co_filename == '<string>'\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True, timeout=LIMIT)


def test_sites_can_be_turned_off() -> None:
    program = "from retrograd.lifecycle import site; assert site.user_site() == (None, 0)"
    environment = {**os.environ, "RETROGRAD_SITES": "0"}
    subprocess.run([sys.executable, "-c", program], check=True, env=environment, timeout=LIMIT)


def test_span_names_and_target(library: dict[str, Any], tmp_path: Path) -> None:
    source = "import math\nx = 1\ny = outer(x, math.pi, h @ W, h.T if 0 else x)\nz = h @ W, 1\n"
    scope = run(source, library, tmp_path / "a.py")
    call = resolve(scope["y"])
    assert (call.line, call.column, call.end_line, call.end_column) == (3, 4, 3, 45)
    assert call.text == "outer(x, math.pi, h @ W, h.T if 0 else x)"
    assert call.names() == ("x", "h", "W", "h.T")
    assert call.target() == call.result_name() == "y"
    product = resolve(scope["z"][0])
    assert product.text == "h @ W"
    assert product.names() == ("h", "W")
    assert product.target() == "z"
    assert product.result_name() is None


@pytest.mark.parametrize(
    ("line", "target"),
    [
        ("y = outer()", "y"),
        ("holder.y = outer()", "holder.y"),
        ("y: object = outer()", "y"),
        ("if (y := outer()): pass", "y"),
        ("y, z = outer()", None),
        ("items[0] = outer()", None),
        ("y = other = outer()", None),
        ("y = [outer()][0]", None),
    ],
)
def test_result_name(
    line: str, target: str | None, library: dict[str, Any], tmp_path: Path
) -> None:
    source = "class holder: pass\nitems = [0]\nfound = []\n" + line
    found: list[tuple[CodeType | None, int]] = []

    def outer() -> tuple[CodeType | None, int]:
        found.append(user_site(2))
        return found[-1]

    run(source, {**library, "outer": outer}, tmp_path / "a.py")
    assert resolve(found[0]).result_name() == target


def test_augmented_assignment(library: dict[str, Any], tmp_path: Path) -> None:
    scope = run("h += W\n", library, tmp_path / "a.py")
    found = resolve(scope["h"])
    assert (found.text, found.target(), found.names()) == ("h += W", "h", ("h", "W"))


def test_columns_are_characters(library: dict[str, Any], tmp_path: Path) -> None:
    scope = run('größe = "日本"; y = outer(größe)\n', library, tmp_path / "a.py")
    found = resolve(scope["y"])
    assert found.text == "outer(größe)"
    assert found.column == 18


def test_several_lines(library: dict[str, Any], tmp_path: Path) -> None:
    source = "y = (h\n     .method(\n    1))\n"
    found = resolve(run(source, library, tmp_path / "a.py")["y"])
    assert found.end_line == 3
    assert found.text is None
    assert found.result_name() == "y"
    assert found.names() == ("h",)


def test_loop(library: dict[str, Any], tmp_path: Path) -> None:
    source = (
        "def f():\n"
        "    for i in range(1):\n"
        "        while True:\n"
        "            y = outer()\n"
        "            break\n"
        "        z = outer()\n"
        "    w = outer()\n"
        "    return y, z, w\n"
        "for j in range(1):\n"
        "    found = f()\n"
    )
    inner, outer, none = map(resolve, run(source, library, tmp_path / "a.py")["found"])
    assert inner.loop() == Loop(3, 4, 5)
    assert outer.loop() == Loop(2, 3, 6)
    assert 6 in Loop(2, 3, 6) and 7 not in Loop(2, 3, 6)
    assert none.loop() is None


def test_edited_source_is_not_trusted(library: dict[str, Any], tmp_path: Path) -> None:
    path = tmp_path / "a.py"
    scope = run("def f():\n    return outer()\ny = f()\n", library, path)
    path.write_text("def g():\n    return 1 + 12\n")
    linecache.checkcache(str(path))
    found = resolve(scope["y"])
    assert (found.file, found.line) == (str(path), 2)
    assert found.text is found.source is found.names() is found.loop() is found.target() is None


@pytest.mark.parametrize("code", [None, compile("x = 1", "<nowhere>", "exec")])
@pytest.mark.parametrize("lasti", [-1, 0, 10**6])
def test_unknown_sites_say_nothing(code: CodeType | None, lasti: int) -> None:
    found = CallSite(code, lasti)
    assert found.text is found.source is found.names() is found.target() is found.loop() is None
    assert found.column is found.end_line is found.end_column is found.result_name() is None
    assert repr(found).startswith("CallSite(")


def test_equality_is_the_instruction() -> None:
    code = compile("x = 1", "<nowhere>", "exec")
    assert CallSite(code, 2) == CallSite(code, 2)
    assert CallSite(code, 2) != CallSite(code, 4)
    assert CallSite(None, 0) != CallSite(None, 0)
    assert len({CallSite(code, 2), CallSite(code, 2)}) == 1
