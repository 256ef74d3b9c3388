"""The table of names: modules without a file, made from rows when a program asks for them."""

from __future__ import annotations

import importlib
import importlib.util
import os
import pickle
import subprocess
import sys
from pathlib import Path

import pytest

import retrograd
from retrograd.namespaces import finder, rows
from retrograd.namespaces.finder import INDEX, MORE, listed
from retrograd.namespaces.rows import Alias, Answer, Refusal, Setting
from tests.limits import LIMIT

PACKAGE = Path(retrograd.__file__).parent
MADE = [name for names in INDEX.values() for name in names.split()]
WITH_FILE = [name for names in MORE.values() for name in names.split()]


def module(name):
    return importlib.import_module(f"retrograd.{name}")


def test_the_index_is_what_the_tables_describe():
    """If this fails: a row of `namespaces/table/` and `INDEX` in the finder differ."""
    assert set(listed()) == {f"torch.{name}" for name in rows.TABLE}
    for topic, names in INDEX.items():
        table = importlib.import_module(f"retrograd.namespaces.table.{topic}")
        text = Path(table.__file__).read_text(encoding="utf-8")
        assert all(name.rpartition(".")[2] in text for name in names.split())
    described = {name for name, found in rows.TABLE.items() if found.doc}
    assert described == set(MADE)
    assert len(MADE) == len(set(MADE))


def test_a_module_of_the_table_has_no_file_and_the_others_have():
    for name in MADE:
        path = PACKAGE / name.replace(".", "/")
        assert not path.with_suffix(".py").exists() and not (path / "__init__.py").exists(), name
    for name in WITH_FILE:
        path = PACKAGE / name.replace(".", "/")
        assert path.with_suffix(".py").exists() or (path / "__init__.py").exists(), name


@pytest.mark.parametrize("name", [*MADE, *WITH_FILE])
def test_every_row_can_be_asked_for(name):
    found = module(name)
    for public, row in listed()[f"torch.{name}"].rows.items():
        value = getattr(found, public)
        if isinstance(row, Answer | Refusal):
            assert pickle.loads(pickle.dumps(value)) is value
            assert value.__doc__
        if isinstance(row, Setting):
            assert value == row.make(found, public) or name in ("backends.cudnn", "backends.cuda")
        if isinstance(row, Alias):
            where = importlib.import_module(row.place)
            assert value is getattr(where, row.name) or not row.kept


@pytest.mark.parametrize("name", MADE)
def test_a_module_of_the_table_is_a_module(name):
    found = module(name)
    assert found.__name__ == f"retrograd.{name}"
    assert found.__doc__
    assert set(found.__all__) <= set(dir(found))
    assert importlib.util.find_spec(found.__name__) is not None
    place: dict[str, object] = {}
    exec(f"from {found.__name__} import *", place)
    assert set(found.__all__) <= set(place)
    with pytest.raises(AttributeError, match="frobnicate"):
        _ = found.frobnicate
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module(f"{found.__name__}.frobnicate")


def test_inner_modules_are_found_from_the_outer_one():
    program = """
import retrograd as torch
torch.backends.cudnn.benchmark = True
assert torch.backends.cudnn.benchmark is True
assert torch.ao.quantization and torch.nn.modules.linear.Linear is torch.nn.Linear
assert torch.distributed.fsdp.fully_sharded_data_parallel and torch.utils.data._utils.collate
assert torch.optim._functional.adam and torch.autograd.variable.Variable
import retrograd.cuda.amp.grad_scaler as inner
assert torch.cuda.amp.grad_scaler is inner
"""
    subprocess.run([sys.executable, "-c", program], check=True, env=os.environ, timeout=LIMIT)


def test_a_folder_without_code_does_not_hide_a_module(tmp_path):
    """Type stubs lie in folders of the modules' names: Python takes these for packages."""
    program = f"""
import retrograd
retrograd.__path__.append({str(tmp_path)!r})
import retrograd.backends
assert retrograd.backends.fp32_precision == "none"
"""
    (tmp_path / "backends").mkdir()
    subprocess.run([sys.executable, "-c", program], check=True, env=os.environ, timeout=LIMIT)


def test_settings_are_remembered_and_changed_together():
    mkldnn = module("backends.mkldnn")
    assert mkldnn.set_flags(False) == (True, False, None, "none")
    try:
        assert mkldnn.enabled is False
        with mkldnn.flags(enabled=True, deterministic=True):
            assert (mkldnn.enabled, mkldnn.deterministic) == (True, True)
        assert (mkldnn.enabled, mkldnn.deterministic) == (False, False)
        with pytest.raises(TypeError, match="speed"):
            mkldnn.set_flags(speed=1)
    finally:
        mkldnn.enabled = True


def test_patched_settings_come_back():
    config = module("_dynamo.config")
    with config.patch("cache_size_limit", 3), config.patch({"verbose": True}, unheard_of=1):
        assert (config.cache_size_limit, config.verbose, config.unheard_of) == (3, True, 1)
    assert (config.cache_size_limit, config.verbose) == (8, False)
    assert not hasattr(config, "unheard_of")


def test_the_finder_is_there_once():
    finder.install()
    assert [type(found).__name__ for found in sys.meta_path].count("NamesFinder") == 1
