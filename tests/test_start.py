"""What `import retrograd` leaves for later: it is there all the same when a program asks."""

from __future__ import annotations

import importlib
import importlib.util
import os
import subprocess
import sys

import pytest

import retrograd
from tests.limits import LIMIT

PACKAGES = ["compat", "nn", "optim", "testing", "utils", "utils.data"]
# Rooms that a program of tensors alone does not need.
LATER = """
compat.status cuda diagnostics doctor func namespaces.rows nn.container optim serialization utils
""".split()


def run(program: str) -> str:
    found = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        check=True,
        env=os.environ,
        timeout=LIMIT,
    )
    return found.stdout


@pytest.mark.parametrize("name", PACKAGES)
def test_names_are_where_a_package_says(name):
    package = importlib.import_module(f"retrograd.{name}")
    for public in package.__all__:
        assert public in dir(package)
        assert getattr(package, public) is not None


@pytest.mark.parametrize("name", PACKAGES)
def test_no_name_is_a_module_too(name):
    """Importing the module would put it in the place of what the package promises."""
    package = importlib.import_module(f"retrograd.{name}")
    for public in package.__all__:
        found = getattr(package, public)
        if getattr(found, "__name__", None) != f"retrograd.{name}.{public}":
            assert importlib.util.find_spec(f"retrograd.{name}.{public}") is None


def test_every_name_of_the_top_is_listed_and_found():
    for name in dir(retrograd):
        getattr(retrograd, name)


def test_a_small_program_does_not_load_what_it_does_not_use():
    program = """
import sys, retrograd as torch
x = torch.tensor([1.0, 2.0], requires_grad=True)
(x * x).sum().backward()
print(*(name.removeprefix("retrograd.") for name in sys.modules))
"""
    loaded = run(program).split()
    assert not set(LATER) & set(loaded)
    assert "numpy.random" not in loaded
