"""When one process breaks: the others end in time and name it, its line and what it did."""

import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from retrograd.distributed.transports import gloo
from tests.distributed.faults import FAULTS, wrong

pytestmark = [
    pytest.mark.skipif(not gloo.is_installed(), reason="needs Gloo, by xoscar"),
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="looks into /proc"),
]


AT_A_TIME = 5  # most of each is waiting for an exchange that does not come


def all_wrong(size, rank):
    """What was not as it should be, by the fault."""
    with ThreadPoolExecutor(AT_A_TIME) as several:
        found = several.map(lambda fault: wrong(fault, size, rank), FAULTS)
        return {fault.name: bad for fault, bad in zip(FAULTS, found, strict=True) if bad}


def test_the_others_say_what_happened():
    assert all_wrong(2, 1) == {}


@pytest.mark.slow
def test_the_others_say_what_happened_to_the_first():
    assert all_wrong(3, 0) == {}
