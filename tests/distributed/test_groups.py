"""Groups: who belongs to them, what is none, and how they end."""

import pytest

from retrograd import distributed as dist
from retrograd.distributed.transports import gloo
from tests.distributed.both import assert_alike
from tests.distributed.together import together

several = pytest.mark.skipif(not gloo.is_installed(), reason="needs Gloo, by xoscar")


@pytest.fixture
def alone():
    dist.init_process_group("gloo", "file:///nowhere", rank=0, world_size=1)
    yield
    dist.destroy_process_group()


def test_what_is_no_group_is_refused(alone):
    from retrograd import ones

    for wrong in (3, "x", [0]):
        with pytest.raises(ValueError, match="is not initialized in the world group map"):
            dist.barrier(group=wrong)
        with pytest.raises(ValueError, match="is not initialized in the world group map"):
            dist.all_reduce(ones(1), group=wrong)


@several
def test_a_group_that_only_its_own_processes_make():
    program = """
dist.init_process_group("gloo")
if rank:
    for _ in range(2):
        own = dist.new_group([1, 2], use_local_synchronization=True)
        t = torch.ones(1)
        dist.all_reduce(t, group=own)
        assert t.item() == 2
every = dist.new_group([0, 1, 2])
t = torch.ones(1)
dist.all_reduce(t, group=every)
print(t.item(), dist.get_pg_count())
dist.destroy_process_group()
"""
    assert together(program, 3) == ["3.0 2"] * 3


@several
def test_a_group_that_has_ended_is_refused_at_once():
    program = """
dist.init_process_group("gloo")
some = dist.new_group([0, 1])
dist.barrier(some)
dist.barrier()
dist.destroy_process_group(some)
for call in (lambda: dist.all_reduce(torch.ones(1), group=some), lambda: dist.barrier(some),
             lambda: dist.get_world_size(some), lambda: dist.send(torch.ones(1), 1 - rank, some)):
    try:
        call()
    except ValueError as error:
        assert "is not initialized in the world group map" in str(error)
    else:
        raise AssertionError("taken")
dist.barrier()
dist.destroy_process_group()
print("well")
"""
    assert together(program) == ["well"] * 2


ALIKE = """
def attempt(function):
    try:
        tell("ok", str(function()))
    except Exception as error:
        tell(type(error).__name__, str(error).split("\\n")[0])
@case
def made():
    some = dist.new_group([0])
    tell(some == dist.GroupMember.NON_GROUP_MEMBER, dist.get_rank(some), dist.get_world_size(some))
    for ranks in ([0, 7], [0, 0], [0, 1, 1], [0, 1, 2, 3, 4]):
        attempt(lambda: dist.new_group(ranks))
    turned = dist.new_group([1, 0], sort_ranks=False)
    tell(dist.get_process_group_ranks(turned), turned.rank())
    own = dist.new_group([rank], use_local_synchronization=True, group_desc="mine")
    tell(own.size(), own.group_desc)
    mine, every = dist.new_subgroups(1)
    tell(len(every), dist.get_process_group_ranks(mine))
    for size in (3, 0):
        attempt(lambda: dist.new_subgroups(size))
    mine, every = dist.new_subgroups_by_enumeration([[0], [1]])
    tell(dist.get_process_group_ranks(mine), dist.get_pg_count())
    attempt(lambda: dist.new_subgroups_by_enumeration([[0], [0, 1]]))
    attempt(lambda: dist.new_group([0], timeout=3))
@case
def wrong_arguments():
    t = torch.ones(2)
    attempt(lambda: dist.barrier(group=3))
    attempt(lambda: dist.all_to_all([t], [t, t]))
    attempt(lambda: dist.P2POp(dist.all_reduce, t, 0))
    attempt(lambda: dist.monitored_barrier(timeout=3))
    attempt(lambda: dist.broadcast(t))
    attempt(lambda: dist.broadcast(t, 0, group_src=0))
    attempt(lambda: dist.gather(t, [t, t], dst=1 - rank))
@case
def messages():
    if rank == 0:
        dist.group.WORLD.send([torch.ones(2)], 1, 8).wait()
    else:
        work = dist.group.WORLD.recv_anysource([torch.zeros(2)], 8)
        work.wait()
        tell(work._source_rank())
"""


@several
@pytest.mark.torch
def test_groups_are_pytorchs():
    pytest.importorskip("torch")
    assert_alike(ALIKE, 2)
