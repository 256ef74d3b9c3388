"""These tests run on a real device where there is one, and else on the fake that poses as one."""

from __future__ import annotations

import pytest

from retrograd.backend.cuda import cuda_backend


@pytest.fixture(autouse=True)
def device():
    if cuda_backend() is not None:
        yield
        return
    fake = pytest.importorskip("tests.cuda.fake")
    with fake.posing():
        yield


def pytest_collection_modifyitems(items):
    for item in items:
        if "tests/cuda/device" in item.path.as_posix():
            item.add_marker(pytest.mark.cuda)
