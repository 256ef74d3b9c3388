"""What a type checker says of programs: nothing of right ones, something of each mistake."""

from __future__ import annotations

import importlib
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from retrograd.compat.names import public_names
from retrograd.compat.status import api_names
from tests.limits import LIMIT

pytest.importorskip("mypy")
ROOT = Path(__file__).parents[2]
PROGRAMS = Path(__file__).parent / "typed"
RIGHT, WRONG = PROGRAMS / "right.py", PROGRAMS / "wrong.py"

pytestmark = pytest.mark.slow  # it reads the whole package


# what depends on the program: on a function that it hands over, or on what is in a file
ANYTHING = {
    "": "load sym_fresh_size sym_ite vmap",
    "amp": "custom_bwd custom_fwd",
    "autograd.functional": "hessian jacobian",
    "cuda.amp": "custom_bwd custom_fwd",
    "func": "functional_call grad grad_and_value hessian jacfwd jacrev jvp vjp vmap",
    "nn.parallel": "data_parallel gather scatter",
    "overrides": "handle_torch_function wrap_torch_function",
    "serialization": "default_restore_location load",
    "utils.checkpoint": "checkpoint checkpoint_sequential",
    "utils.data": "default_collate default_convert",
}


def _present() -> list[tuple[str, str]]:
    """The names of PyTorch's modules that this library has, with the module."""
    found = []
    for place in sorted({*public_names(), *api_names()}):
        path = place.replace("torch", "retrograd", 1)
        try:
            module = importlib.import_module(path)
        except ModuleNotFoundError:  # a class
            continue
        names = {*public_names().get(place, ()), *api_names().get(place, ())}
        found += [(path, name) for name in sorted(names) if hasattr(module, name)]
    return found


@pytest.fixture(scope="module")
def said(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[int, str]]:
    """The first error of each line, by file; of `names.py`, the type of the name on each line."""
    folder = tmp_path_factory.mktemp("mypy")
    shown = [
        f"from {p} import {n} as n{i}; reveal_type(n{i})" for i, (p, n) in enumerate(_present())
    ]
    (folder / "names.py").write_text("\n".join(shown), encoding="utf-8")
    found: dict[str, dict[int, str]] = {RIGHT.name: {}, WRONG.name: {}, "names.py": {}}
    options = ["--strict", "--follow-imports=silent", "--config-file=", f"--cache-dir={folder}"]
    run = subprocess.run(
        [sys.executable, "-m", "mypy", *options, str(RIGHT), str(WRONG), str(folder / "names.py")],
        env={**os.environ, "MYPYPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=LIMIT,
    )
    assert run.stderr == ""
    for line in run.stdout.splitlines():
        error = re.match(r".*?(\w+\.py):(\d+): (?:error: |note: Revealed )(.*)", line)
        if error is not None:
            found[error[1]].setdefault(int(error[2]), error[3])
    return found


def test_right_programs_give_no_error(said: dict[str, dict[int, str]]) -> None:
    assert said[RIGHT.name] == {}


def test_every_mistake_is_found_on_its_line_and_nothing_else(
    said: dict[str, dict[int, str]],
) -> None:
    lines = WRONG.read_text(encoding="utf-8").splitlines()
    marked = {number for number, line in enumerate(lines, 1) if line.endswith("# wrong")}
    assert len(marked) > 50
    assert {lines[number - 1] for number in marked - said[WRONG.name].keys()} == set()
    assert {n: text for n, text in said[WRONG.name].items() if n not in marked} == {}


def test_every_public_name_has_a_type(said: dict[str, dict[int, str]]) -> None:
    present = _present()
    types = {present[line - 1]: text for line, text in said["names.py"].items()}
    assert len(present) > 2000
    assert {name: text for name, text in types.items() if not text.startswith("type is")} == {}
    free = {f"{place}.{name}" for (place, name), text in types.items() if text.endswith('Any"')}
    places = {f"retrograd.{place}".rstrip("."): names for place, names in ANYTHING.items()}
    assert free == {f"{place}.{name}" for place, names in places.items() for name in names.split()}
