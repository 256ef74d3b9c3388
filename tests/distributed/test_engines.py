"""Engines are loaded when several processes need one, and what is missing is said."""

import pytest

from retrograd import distributed as dist
from retrograd.distributed.transports import gloo, mpi
from tests import forked
from tests.distributed.together import together

needs_gloo = pytest.mark.skipif(not gloo.is_installed(), reason="needs Gloo, by xoscar")
HEAVY = '[name for name in sys.modules if name.split(".")[0] in ("xoscar", "pandas", "mpi4py")]'


def test_one_process_loads_no_engine():
    program = f"""
import sys, retrograd.distributed as dist
dist.init_process_group("gloo", "file:///not/used", rank=0, world_size=1)
dist.barrier()
print({HEAVY})
"""
    assert forked.python(["-c", program]).stdout == "[]\n"


@needs_gloo
def test_several_load_the_compiled_module_alone():
    program = f"dist.init_process_group('gloo')\ndist.barrier()\nprint(*{HEAVY})"
    for found in together(program):
        names = found.split()
        assert names and all(name.startswith(gloo._MODULE) for name in names), names


def test_a_missing_engine_says_what_to_install(monkeypatch):
    monkeypatch.setattr(gloo, "_folder", lambda: None)
    monkeypatch.setattr(gloo, "_MODULE", "not there")
    assert not dist.is_gloo_available()
    with pytest.raises(RuntimeError, match=r'pip install "retrograd\[distributed\]"'):
        gloo.library()
    monkeypatch.setattr(mpi, "is_installed", lambda: False)
    with pytest.raises(RuntimeError, match=r'doesn.t have MPI built in.*"retrograd\[mpi\]"'):
        dist.init_process_group("mpi")
    with pytest.raises(RuntimeError, match="Distributed package doesn't have NCCL built in"):
        dist.init_process_group("nccl")


def test_mpi_is_there_where_its_package_is(monkeypatch):
    for installed in (True, False):
        monkeypatch.setattr(mpi, "is_installed", lambda installed=installed: installed)
        assert dist.is_mpi_available() is installed
