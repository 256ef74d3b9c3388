"""The stand-in device is known to the library in these tests only."""

import pytest

from retrograd.backend.device import forget, register
from tests.strict.arrays import STRICT


@pytest.fixture(autouse=True)
def strict_device():
    register(STRICT)
    yield
    forget(STRICT)
