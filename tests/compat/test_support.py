"""The table of autograd's public names: PyTorch's own list, and a page that is up to date."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import pytest

from retrograd.compat import public_names, support
from retrograd.compat.table import table

PAGE = Path(__file__).resolve().parents[2] / "docs" / "autograd.md"
CLASSES = {
    "torch.autograd.Function",
    "torch.autograd.function.BackwardCFunction",
    "torch.autograd.graph.Node",
    "torch.Tensor",
}
ABOUT_AUTOGRAD = ("grad", "hook", "leaf", "detach", "backward", "output_nr")


def test_page_is_what_the_code_says():
    """If this fails: python -m retrograd.compat.table docs/autograd.md."""
    assert PAGE.read_text(encoding="utf-8") == table()


@pytest.mark.parametrize("module", public_names())
def test_no_name_is_simply_absent(module):
    """Every name is there; one that cannot work says so when it is used."""
    absent = [
        name for name in public_names()[module] if support(module, name).note == "not there yet"
    ]
    assert not absent


@pytest.mark.torch
@pytest.mark.parametrize("module", public_names())
def test_names_are_those_of_pytorch(module):
    torch = pytest.importorskip("torch")
    if module in CLASSES:
        owner, _, name = module.rpartition(".")
        importlib.import_module(owner)
        kind = getattr(sys.modules[owner], name)
        members = [n for n in dir(kind) if not n.startswith("_")]
        if kind is torch.autograd.Function:  # those of ctx, which it inherits, are listed there
            own = [c for c in kind.__mro__ if c.__module__ == "torch.autograd.function"]
            members = [n for n in members if any(n in vars(c) for c in own)]
        elif kind is torch.Tensor:
            members = [n for n in members if any(word in n for word in ABOUT_AUTOGRAD)]
            members += ["data", "is_inference"]
        expected = sorted(members)
    else:
        importlib.import_module(module)
        expected = sorted(sys.modules[module].__all__)
    assert public_names()[module] == expected
