"""A CUDA device that is not there: `cuda_device` lets the fake pose as one."""

import pytest

from tests.cuda.fake import posing


@pytest.fixture
def cuda_device():
    with posing() as machine:
        yield machine
