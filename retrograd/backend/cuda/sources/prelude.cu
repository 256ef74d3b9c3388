// What every source starts with: types of half precision, packs for wide loads, sums over a block.
// No header is included: NVRTC compiles this wherever it is installed.

typedef long long index_t;

#define NOT_A_NUMBER __longlong_as_double(0x7ff8000000000000LL)
#define INFINITE __longlong_as_double(0x7ff0000000000000LL)

// ------------------------------------------------------------------ half precision, as it is stored

struct float16 {
    unsigned short bits;
};
struct bfloat16 {
    unsigned short bits;
};

template <typename T> struct Wider {
    typedef T type;
};
template <> struct Wider<float16> {
    typedef float type;
};
template <> struct Wider<bfloat16> {
    typedef float type;
};

template <typename T> __device__ __forceinline__ T widened(T value) { return value; }
__device__ __forceinline__ float widened(float16 value) {
    float found;
    asm("cvt.f32.f16 %0, %1;" : "=f"(found) : "h"(value.bits));
    return found;
}
__device__ __forceinline__ float widened(bfloat16 value) {
    return __uint_as_float((unsigned)value.bits << 16);
}

template <typename T> struct Stored {
    template <typename V> static __device__ __forceinline__ T from(V value) { return (T)value; }
};
template <> struct Stored<bool> {
    template <typename V> static __device__ __forceinline__ bool from(V value) { return value != 0; }
};
template <> struct Stored<float16> {
    static __device__ __forceinline__ float16 from(float value) {
        float16 found;
        asm("cvt.rn.f16.f32 %0, %1;" : "=h"(found.bits) : "f"(value));
        return found;
    }
};
template <> struct Stored<bfloat16> {
    static __device__ __forceinline__ bfloat16 from(float value) {
        bfloat16 found;
        if (value != value) {
            found.bits = 0x7fc0;
            return found;
        }
        unsigned bits = __float_as_uint(value);
        found.bits = (unsigned short)((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
        return found;
    }
};

// ---------------------------------------------------------------------------------------- wide loads

template <typename T, int N> struct alignas(sizeof(T) * N) Pack {
    T at[N];
};

// ------------------------------------------------------------------------------ sums within a block

#define EVERY 0xffffffffu

struct Add {
    template <typename T> static __device__ __forceinline__ T of(T a, T b) { return a + b; }
};
struct Largest { // a NaN wins
    template <typename T> static __device__ __forceinline__ T of(T a, T b) {
        return (a > b || a != a) ? a : b;
    }
};
struct Smallest {
    template <typename T> static __device__ __forceinline__ T of(T a, T b) {
        return (a < b || a != a) ? a : b;
    }
};

template <typename Do, typename T> __device__ __forceinline__ T over_warp(T value) {
#pragma unroll
    for (int step = 16; step; step >>= 1)
        value = Do::of(value, __shfl_xor_sync(EVERY, value, step));
    return value;
}

// The same value in every thread; `room` has 32 elements; the block is a multiple of 32 threads.
template <typename Do, typename T> __device__ __forceinline__ T over_block(T value, T *room, T nothing) {
    int warp = threadIdx.x >> 5, lane = threadIdx.x & 31, warps = blockDim.x >> 5;
    value = over_warp<Do>(value);
    if (warps == 1)
        return value;
    __syncthreads();
    if (lane == 0)
        room[warp] = value;
    __syncthreads();
    value = lane < warps ? room[lane] : nothing;
    return over_warp<Do>(value);
}
