"""The table of all public names: what it says is true, and the page says what it says."""

from __future__ import annotations

import subprocess
import sys
from fnmatch import fnmatchcase
from pathlib import Path

import pytest

import retrograd
from retrograd.compat import Status, status_of
from retrograd.compat.status import absent_groups, api_names, group_of, listed_differences, resolve
from retrograd.compat.table import api_page
from tests.limits import LIMIT

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "api.md"
LIST = ROOT / "retrograd" / "compat" / "api_names.txt"
NAMES = [
    name if module == "modules" else f"{module}.{name}"
    for module, names in api_names().items()
    for name in names
]
# errors that are PyTorch's own where there is no device; they do not repeat the name
WITHOUT_DEVICE = (
    "Torch not compiled with",
    "Tried to instantiate dummy base class",
    "Cannot access accelerator device",
    "PyTorch is not linked with support",
    "pin_memory",
)


def with_status(status):
    return [name for name in NAMES if status_of(name).status == status]


def test_page_is_what_the_code_says():
    """If this fails: python -m retrograd.compat.table docs/api.md."""
    assert PAGE.read_text(encoding="utf-8") == api_page()


def test_every_name_has_a_status_and_a_reason():
    silent = [n for n in NAMES if status_of(n).status != "works" and not status_of(n).note]
    forgotten = [n for n in NAMES if status_of(n).note.startswith("not there")]
    assert (silent, forgotten) == ([], [])


@pytest.mark.parametrize("status", ["works", "differs", "refuses"])
def test_what_is_there_can_be_found(status):
    found = with_status(status)
    assert found
    for name in found:
        resolve(name)


def test_patterns_are_needed():
    """Each pattern of absent and of different names is about some name of PyTorch's."""
    absent = {n for n in NAMES if status_of(n).status == "absent"}
    absent |= {"torch.utils.data.datapipes"}
    unused = [
        pattern
        for group in absent_groups()
        for pattern in group.patterns
        if not any(fnmatchcase(name, pattern) for name in absent)
    ]
    different = with_status("differs")
    unused += [
        pattern
        for pattern in listed_differences()
        if not any(fnmatchcase(name, pattern) for name in different)
    ]
    assert unused == []


def test_each_absent_name_is_in_one_group():
    twice = [
        name
        for name in with_status("absent")
        if sum(any(fnmatchcase(name, p) for p in g.patterns) for g in absent_groups()) > 1
    ]
    assert twice == []


def refusal(name):
    """What happens when a name that refuses is used, or None."""
    value = resolve(name)
    try:
        if isinstance(value, retrograd.dtype):
            retrograd.zeros(1, dtype=value)
        elif name.startswith("torch.Tensor."):
            value(retrograd.ones(1))
        else:
            value()
    except Exception as error:
        return error
    return None


@pytest.mark.parametrize("name", with_status("refuses"))
def test_refusal_names_itself(name):
    error = refusal(name)
    assert error is not None
    text = str(error)
    if text.startswith(WITHOUT_DEVICE):
        assert isinstance(error, (AssertionError, RuntimeError))
        return
    short = name.rpartition(".")[2]
    assert isinstance(error, (NotImplementedError, RuntimeError)), repr(error)
    assert short in text, text


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("sym_constrain_range", "sizes are plain integers"),
        ("quantize_per_tensor", "quantized"),
        ("int_repr", "quantized"),
        ("DispatchKey", "Python functions"),
        ("frobnicate", "not a public name of PyTorch"),
        ("zeroes", "Did you mean: 'zeros'"),
    ],
)
def test_missing_name_says_what_it_is(name, words):
    with pytest.raises(AttributeError) as caught:
        getattr(retrograd, name)
    assert f"'{name}'" in str(caught.value)
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("torch.nn.Linear", "works"),
        ("torch", "works"),
        ("torch.nn.functional.relu", "works"),
        ("torch.nn.modules.linear.Linear", "works"),
        ("torch.Tensor.add_", "works"),
        ("torch.nn.Module.forward", "works"),
        ("torch.float32", "works"),
        ("torch.lobpcg", "differs"),
        ("torch.float8_e4m3fn", "refuses"),
        ("torch.hub.load", "refuses"),
        ("torch.cuda.synchronize", "refuses"),
        ("torch.quantize_per_tensor", "absent"),
        ("torch.frobnicate", "absent"),
        ("torch.namespaces", "absent"),
        ("torch.nn.Linear.frobnicate", "absent"),
    ],
)
def test_status_of(path, expected):
    found = status_of(path)
    assert isinstance(found, Status)
    assert found.status == expected


def test_status_of_other_names():
    with pytest.raises(ValueError, match=r"numpy\.zeros"):
        status_of("numpy.zeros")


def test_group_of_what_is_inside_an_absent_module():
    assert group_of("torch.ScriptObject.save").title == "TorchScript"
    assert group_of("torch.zeros") is None


@pytest.mark.torch
def test_names_are_those_of_pytorch():
    """If this fails: python tests/compat/collect_names.py > retrograd/compat/api_names.txt."""
    pytest.importorskip("torch")
    script = Path(__file__).with_name("collect_names.py")
    run = subprocess.run(
        [sys.executable, str(script)],
        capture_output=True,
        text=True,
        check=True,
        cwd=script.parent,
        timeout=LIMIT,
    )
    assert run.stdout == LIST.read_text(encoding="utf-8")
