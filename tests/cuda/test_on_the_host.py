"""What runs kernels on the CPU finds the mistakes that threads make at barriers."""

from __future__ import annotations

import shutil

import numpy as np
import pytest

from tests.cuda.on_the_host import HostFunction, Trapped

pytestmark = pytest.mark.skipif(shutil.which("g++") is None, reason="there is no C++ compiler")

# each thread writes its number, and reads what another wrote
EXCHANGE = """
extern "C" __global__ void exchange(long long *out, long long from) {
    __shared__ long long held[1024];
    FIRST
    held[threadIdx.x] = threadIdx.x + 1000 * blockIdx.x;
    SECOND
    out[threadIdx.x + blockIdx.x * blockDim.x] = held[(threadIdx.x + from) % blockDim.x];
    THIRD
}
"""


def exchanged(first, second, third, threads=96, step=1):
    text = EXCHANGE.replace("FIRST", first).replace("SECOND", second).replace("THIRD", third)
    out = np.full(2 * threads, -1)
    HostFunction(text, "exchange")(2, threads, (out.ctypes.data, step))
    return out.reshape(2, threads)


def wanted(threads, step):
    return (np.arange(threads) + step) % threads + np.array([[0], [1000]])


@pytest.mark.parametrize("step", [1, -1, 40])
@pytest.mark.parametrize("threads", [33, 96, 1024])
def test_threads_exchange_through_a_barrier(threads, step):
    found = exchanged("", "__syncthreads();", "", threads, step % threads)
    np.testing.assert_array_equal(found, wanted(threads, step))


@pytest.mark.parametrize("before", ["", "__syncthreads();"], ids=["forwards", "backwards"])
@pytest.mark.parametrize("step", [1, 95])
def test_a_missing_barrier_is_seen(before, step):
    """The others have not written yet, or they have, as the order of the turns is."""
    found = exchanged("held[threadIdx.x] = -1; __syncthreads();" + before, "", "", step=step)
    assert (found != wanted(96, step)).any()
    assert (found == -1).any()


def test_a_warp_waits_for_itself_alone():
    found = exchanged("", "__syncwarp();", "", threads=32)
    np.testing.assert_array_equal(found, wanted(32, 1))
    found = exchanged("held[threadIdx.x] = -1; __syncthreads();", "__syncwarp();", "", threads=64)
    assert (found == -1).sum() == 2  # the last of a warp, which reads of the other


def test_threads_that_wait_for_ever_are_an_error():
    with pytest.raises(AssertionError, match="threads of a block wait at a barrier"):
        exchanged("", "if (threadIdx.x != 3) __syncthreads();", "")


def test_a_kernel_that_traps():
    with pytest.raises(Trapped):
        exchanged("", "__syncthreads(); if (threadIdx.x == 40) __trap();", "")
