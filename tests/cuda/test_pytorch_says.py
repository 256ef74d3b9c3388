"""What PyTorch says about tensors on a CUDA device, recorded on one, is what is said here."""

from __future__ import annotations

import warnings
from pathlib import Path

import pytest

import retrograd as torch

LINES = (Path(__file__).parent / "pytorch_says.txt").read_text("utf-8").splitlines()


def said(expression):
    """The value of an expression or its error, in one line."""
    names = {
        "torch": torch,
        "c": torch.ones(2, 3, device="cuda"),
        "h": torch.ones(2, 3),
        "i": torch.tensor([0, 1]),
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return "-> " + " ".join(repr(eval(expression, names)).split())
        except Exception as error:
            return f"!! {type(error).__name__}: {' | '.join(str(error).splitlines())}"


@pytest.mark.parametrize("line", LINES)
def test_the_same_is_said(cuda_device, line):
    mark = " !! " if " !! " in line else " -> "
    expression, _, wanted = line.rpartition(mark) if mark == " -> " else line.partition(mark)
    assert said(expression) == mark.strip() + " " + wanted
