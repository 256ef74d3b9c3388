"""A compiled part that was built from other C sources than those beside it is not used."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from retrograd import core
from retrograd.backend import kernels
from retrograd.backend.kernels.built import check_sources, sources_of
from tests.limits import LIMIT

FOLDER = Path(kernels.__file__).parent


def part_of(folder: Path, sources: str | None) -> ModuleType:
    part = ModuleType("part")
    part.__file__ = str(folder / "part.so")
    if sources is not None:
        part.SOURCES = sources  # type: ignore[attr-defined]
    return part


@pytest.mark.skipif(not core.AVAILABLE, reason="the compiled core is missing")
def test_the_parts_in_use_are_of_these_sources() -> None:
    assert core._core.SOURCES == sources_of(str(Path(core.__file__).parent))
    assert core._core.SOURCES.startswith("sources ")


@pytest.mark.parametrize("built", ["sources 00000000", None])  # None: before parts kept it
def test_another_build_is_refused_with_the_command_that_helps(built: str | None) -> None:
    with (
        pytest.warns(RuntimeWarning, match=r"python setup\.py build_ext --inplace"),
        pytest.raises(ImportError, match="built from other C sources"),
    ):
        check_sources(part_of(FOLDER, built))


def test_without_sources_both_came_together(tmp_path: Path) -> None:
    (tmp_path / "kept.h").write_text("/* a wheel has the headers */")
    check_sources(part_of(tmp_path, "sources 00000000"))


def test_a_changed_a_new_and_a_missing_file_show(tmp_path: Path) -> None:
    first, second = tmp_path / "first.c", tmp_path / "second.c"
    first.write_text("int one;")
    seen = {sources_of(str(tmp_path))}
    second.write_text("int two;")
    seen.add(sources_of(str(tmp_path)))
    second.write_text("int three;")
    seen.add(sources_of(str(tmp_path)))
    first.unlink()
    seen.add(sources_of(str(tmp_path)))
    assert len(seen) == 4
    assert sources_of(str(tmp_path)) == sources_of(str(tmp_path))


@pytest.mark.skipif(not core.AVAILABLE, reason="the compiled core is missing")
def test_an_old_build_beside_new_files() -> None:
    """The library says what to do, and works."""
    program = """
import zlib
zlib.crc32 = lambda data: 0  # the sources look as no part was built from
import retrograd as torch
from retrograd import core
from retrograd.backend import cpu_rows, kernels
x = torch.tensor([1.0, 2.0], requires_grad=True)
(x * x).sum().backward()
print(x.grad.tolist(), core.AVAILABLE, kernels.AVAILABLE, cpu_rows.rows)
print(core.status())
"""
    run = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=LIMIT
    )
    assert run.stdout.startswith("[2.0, 4.0] False False None\n")
    assert "python setup.py build_ext --inplace" in run.stdout
    assert run.stderr.count("RuntimeWarning") == 4
