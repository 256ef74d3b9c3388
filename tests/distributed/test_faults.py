"""When one process breaks: the others end in time and name it, its line and what it did."""

import sys

import pytest

from retrograd.distributed.transports import gloo
from tests.distributed.faults import FAULTS, wrong

pytestmark = [
    pytest.mark.skipif(not gloo.is_installed(), reason="needs Gloo, by xoscar"),
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="looks into /proc"),
]


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name.replace(" ", "_"))
def test_the_others_say_what_happened(fault):
    assert wrong(fault, 2, 1) == []


@pytest.mark.slow
@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name.replace(" ", "_"))
def test_the_others_say_what_happened_to_the_first(fault):
    assert wrong(fault, 3, 0) == []
