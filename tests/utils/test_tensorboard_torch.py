"""SummaryWriter against PyTorch's: the same calls write the same messages and files."""

from __future__ import annotations

import importlib
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("tensorboard")
pytestmark = pytest.mark.torch

import retrograd
import retrograd.utils.tensorboard
from tests.utils.tensorboard_calls import CALLS, FAILING, read_log


def writers(folder: Path) -> list[tuple[Any, Any, Path]]:
    theirs = importlib.import_module("torch.utils.tensorboard").SummaryWriter
    ours = retrograd.utils.tensorboard.SummaryWriter
    return [(torch, theirs, folder / "theirs"), (retrograd, ours, folder / "ours")]


@pytest.mark.parametrize("call", CALLS)
def test_the_same_messages(call: str, tmp_path: Path) -> None:
    logs = []
    for library, kind, folder in writers(tmp_path):
        with kind(folder) as writer:
            eval(f"writer.{call}", {"torch": library, "np": np, "writer": writer})
        logs.append(read_log(folder))
    assert len(logs[0]) > 0
    assert logs[1] == logs[0]


@pytest.mark.parametrize("call", FAILING)
def test_the_same_errors(call: str, tmp_path: Path) -> None:
    errors = []
    for library, kind, folder in writers(tmp_path):
        with kind(folder) as writer, pytest.raises(Exception) as caught:
            eval(f"writer.{call}", {"torch": library, "np": np, "writer": writer})
        text = str(caught.value).replace("'torch.Tensor'", "'retrograd.Tensor'")
        errors.append((type(caught.value), text))
    assert errors[1] == errors[0]


def test_the_same_files_of_embeddings(tmp_path: Path) -> None:
    found = []
    for library, kind, folder in writers(tmp_path):
        with kind(folder) as writer:
            points = library.linspace(0, 1, 10).reshape(5, 2)
            writer.add_embedding(points)
            writer.add_embedding(points, list("abcde"), global_step=2, tag="a/b%")
            pictures = library.linspace(0, 1, 5 * 3 * 4 * 4).reshape(5, 3, 4, 4)
            rows = [[i, "x"] for i in range(5)]
            writer.add_embedding(points, rows, pictures, 3, "p", ["number", "letter"])
        paths = [Path(place) / name for place, _, names in os.walk(folder) for name in names]
        files = [path for path in sorted(paths) if not path.name.startswith("events")]
        found.append({path.relative_to(folder): path.read_bytes() for path in files})
    assert len(found[0]) == 3 + 1 + 2 + 1 and found[1] == found[0]


def test_the_same_attributes(tmp_path: Path) -> None:
    made = [kind(folder, purge_step=3) for _, kind, folder in writers(tmp_path)]
    theirs, ours = made
    assert ours.default_bins == theirs.default_bins
    public = {name for name in dir(theirs) if not name.startswith("_")}
    assert public <= set(dir(ours))
    for writer in made:
        writer.close()
        writer.flush()
        writer.close()
    assert ours.purge_step is theirs.purge_step is None
