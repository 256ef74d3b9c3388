"""CUDA kernels on the CPU: their text, compiled by the C++ compiler of the host.

Blocks run one after the other. The threads of a block run one after the other too where the kernel
lets them do nothing together; else each is a thread of the system, and what they exchange goes
through barriers. So results can be tested where there is no device, on small arrays.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import re
import subprocess
import tempfile
from pathlib import Path
from typing import NamedTuple

import numpy as np

from retrograd.backend.cuda.launch import text_of

BEGINNING = r"""
#include <cmath>
#include <cstring>
#include <type_traits>
#include <utility>
template <typename T> static T max(T a, T b) { return a < b ? b : a; }
template <typename T> static T min(T a, T b) { return b < a ? b : a; }
struct Place { unsigned x, y, z; };
static thread_local Place threadIdx;
static Place blockIdx, blockDim, gridDim;
#define __device__
#define __global__ static
#define __shared__ static
#define __forceinline__ inline
#define __launch_bounds__(...)
#define __restrict__
#define __fdiv_rn(a, b) ((a) / (b))
#define __fsqrt_rn(a) sqrtf(a)
#define __ldg(a) (*(a))
#define __logf(a) logf(a)
#define __expf(a) expf(a)
#define __tanf(a) tanf(a)
#define __sincosf(a, s, c) sincosf(a, s, c)
#define sincospi(a, s, c) sincos((a) * 3.14159265358979323846, s, c)
static inline float rsqrtf(float a) { return 1.0f / sqrtf(a); }
static inline double rsqrt(double a) { return 1.0 / sqrt(a); }
static inline double __longlong_as_double(long long a) { double b; memcpy(&b, &a, 8); return b; }
static inline long long __double_as_longlong(double a) { long long b; memcpy(&b, &a, 8); return b; }
static inline float __uint_as_float(unsigned a) { float b; memcpy(&b, &a, 4); return b; }
static inline unsigned __float_as_uint(float a) { unsigned b; memcpy(&b, &a, 4); return b; }
static inline int __float_as_int(float a) { int b; memcpy(&b, &a, 4); return b; }
static inline float __int_as_float(int a) { float b; memcpy(&b, &a, 4); return b; }
typedef unsigned short half_t;
static inline float float_of_half(half_t a) { _Float16 b; memcpy(&b, &a, 2); return b; }
static inline half_t half_of_float(float a) {
    _Float16 b = a; half_t c; memcpy(&c, &b, 2); return c;
}

static int trapped;
static inline void __trap() { trapped = 1; }
static inline void __threadfence() {}
static inline void __threadfence_system() {}
#if TOGETHER
#include <barrier>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>
typedef std::barrier<> Barrier;
static std::unique_ptr<Barrier> whole;
static std::vector<std::unique_ptr<Barrier>> warps;
static long long slots[1024];
static std::mutex lock;
static inline void __syncthreads() { whole->arrive_and_wait(); }
static inline void __syncwarp() { warps[threadIdx.x / 32]->arrive_and_wait(); }
template <typename T> static T exchanged(T value, unsigned from) {
    memcpy(&slots[threadIdx.x], &value, sizeof(T));
    __syncwarp();
    memcpy(&value, &slots[(threadIdx.x & ~31u) | (from & 31u)], sizeof(T));
    __syncwarp();
    return value;
}
template <typename T> static T __shfl_xor_sync(unsigned, T value, int step) {
    return exchanged(value, threadIdx.x ^ step);
}
template <typename T> static T __shfl_sync(unsigned, T value, int lane) {
    return exchanged(value, lane);
}
template <typename T, typename V> static T atomicAdd(T *place, V value) {
    std::lock_guard<std::mutex> hold(lock);
    T before = *place;
    *place = before + value;
    return before;
}
template <typename T> static T atomicCAS(T *place, T expected, T value) {
    std::lock_guard<std::mutex> hold(lock);
    T before = *place;
    if (before == expected)
        *place = value;
    return before;
}
#else
static inline void __syncthreads() {}
template <typename T> static T __shfl_xor_sync(unsigned, T value, int step) { return value; }
template <typename T, typename V> static T atomicAdd(T *place, V value) {
    T before = *place;
    *place = before + value;
    return before;
}
#endif
"""
ENDING = r"""
template <typename... P, size_t... I>
static void call(void (*kernel)(P...), void **given, std::index_sequence<I...>) {
    kernel(*(std::remove_const_t<P> *)given[I]...);
}
template <typename... P> static int count_of(void (*)(P...)) { return sizeof...(P); }
template <typename... P> static void all(void (*kernel)(P...), unsigned blocks,
                                         unsigned threads, void **given) {
    gridDim.x = blocks;
    blockDim.x = threads;
    for (unsigned block = 0; block < blocks; block++) {
        blockIdx.x = block;
        auto one = [&](unsigned thread) {
            threadIdx.x = thread;
            call(kernel, given, std::index_sequence_for<P...>());
        };
#if !TOGETHER
        for (unsigned thread = 0; thread < threads; thread++)
            one(thread);
#else
        whole = std::make_unique<Barrier>(threads);
        warps.clear();
        for (unsigned warp = 0; warp < threads; warp += 32)
            warps.push_back(std::make_unique<Barrier>(std::min(32u, threads - warp)));
        std::vector<std::thread> running;
        for (unsigned thread = 0; thread < threads; thread++)
            running.emplace_back(one, thread);
        for (auto &thread : running)
            thread.join();
#endif
    }
}
extern "C" int arguments() { return count_of(KERNEL_NAME); }
extern "C" int launched(unsigned blocks, unsigned threads, void **given) {
    trapped = 0;
    all(KERNEL_NAME, blocks, threads, given);
    return trapped;
}
"""
COMPILE = ["g++", "-O1", "-w", "-ffp-contract=off", "-std=c++20", "-shared", "-fPIC", "-pthread"]
FOLDER = Path(tempfile.gettempdir()) / f"retrograd-kernels-{os.getuid()}"


class Trapped(Exception):
    """A kernel stopped the program, as an assertion on the device does."""


def host_text(source: str, name: str) -> str:
    """A source with what is NVIDIA's own replaced, and the function that runs one kernel."""
    own = source.removeprefix(text_of())
    together = any(word in own for word in ("__shared__", "over_warp", "_sync("))
    source = re.sub(r'asm\("cvt.f32.f16.*?\);\n', "found = float_of_half(value.bits);\n", source)
    source = re.sub(r'asm\("cvt.rn.f16.f32.*?\);\n', "found.bits = half_of_float(value);\n", source)
    source = source.replace('extern "C" __global__', "__global__")
    beginning = f"#define TOGETHER {int(together)}\n{BEGINNING}"
    return beginning + source + ENDING.replace("KERNEL_NAME", name)


class HostFunction:
    """A kernel that runs on the CPU."""

    def __init__(self, source: str, name: str) -> None:
        text = host_text(source, name)
        digest = hashlib.sha256(text.encode()).hexdigest()[:20]
        FOLDER.mkdir(exist_ok=True)
        library = FOLDER / f"{digest}.so"
        if not library.exists():
            code = FOLDER / f"{digest}.{os.getpid()}.cpp"
            code.write_text(text)
            made = FOLDER / f"{digest}.{os.getpid()}.so"
            subprocess.run([*COMPILE, code, "-o", made], check=True, timeout=120)
            made.rename(library)
        self.library = ctypes.CDLL(str(library))

    def __call__(self, blocks, threads, arguments) -> None:
        assert len(arguments) == self.library.arguments(), (arguments, self.library.arguments())
        held = [
            ctypes.create_string_buffer(value, len(value))
            if isinstance(value, bytes)
            else (ctypes.c_double if isinstance(value, float) else ctypes.c_longlong)(value)
            for value in arguments
        ]
        given = (ctypes.c_void_p * len(held))(*[ctypes.addressof(value) for value in held])
        if self.library.launched(blocks, threads, given):
            raise Trapped


class Address(NamedTuple):
    """What CuPy's arrays have in place of a pointer."""

    ptr: int


class HostArray:
    """An array as the overrides use it: shape, strides, dtype, address, and how it is made."""

    def __init__(self, shape, dtype) -> None:
        self._take(np.full(shape, 77, dtype))

    def _take(self, held) -> None:
        self.held = held
        self.shape, self.strides, self.dtype = held.shape, held.strides, held.dtype
        self.ndim = held.ndim
        self._c_contiguous = held.flags.c_contiguous
        self.data = Address(held.ctypes.data)

    size = property(lambda self: self.held.size)

    @classmethod
    def of(cls, held):
        array = cls.__new__(cls)
        array._take(held)
        return array

    def transpose(self, axes):
        return self.of(self.held.transpose(axes))

    def reshape(self, *shape):
        return self.of(self.held.reshape(*shape))

    def astype(self, dtype):
        return self.of(self.held.astype(dtype))

    def view(self):
        return self.of(self.held.view())

    def copy(self):
        return self.of(self.held.copy())
