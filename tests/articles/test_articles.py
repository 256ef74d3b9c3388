"""The code examples of the articles behave as they do on PyTorch: values, output, exceptions."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from tests.articles.run_example import NAMES, run_example

RECORDED = json.loads((Path(__file__).parent / "recorded.json").read_text())


def assert_same(ours, expected):
    assert ours["ended"] == expected["ended"]
    assert ours["line"] == expected["line"]
    assert ours["printed"] == expected["printed"]
    assert sorted(ours["values"]) == sorted(expected["values"])
    for key, value in expected["values"].items():
        np.testing.assert_allclose(ours["values"][key], value, rtol=1e-5, atol=1e-7, err_msg=key)


@pytest.mark.parametrize("name", NAMES)
def test_as_recorded_from_torch(name):
    assert_same(run_example(name, "retrograd"), RECORDED[name])


@pytest.mark.torch
@pytest.mark.parametrize("name", NAMES)
def test_as_torch_now(name):
    pytest.importorskip("torch")
    assert_same(run_example(name, "retrograd"), run_example(name, "torch"))


def test_nine_examples():
    assert len(NAMES) == 9
