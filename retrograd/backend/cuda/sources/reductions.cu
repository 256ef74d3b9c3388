// Reductions of strided arrays: `DO` over elements of type `REAL`, computed in `WIDE`, kept as `KEPT`.
//
// The result's elements are numbered in their order; at most three dimensions are kept and three are
// reduced, from the innermost outwards: sizes of the inner two, steps of all three. Where few elements
// are wanted of many, blocks share the work: each of the `shares` writes its part as `WIDE`, and a
// second launch reduces the parts.

#ifndef REAL
#define REAL float
#define WIDE float
#define KEPT float
#define DO Add
#define NOTHING 0
#endif

#define PLACES                                                                                     \
    const index_t kept_a, const index_t kept_b, const index_t kept_step_a, const index_t kept_step_b, \
        const index_t kept_step_c, const index_t reduced_a, const index_t reduced_b,               \
        const index_t step_a, const index_t step_b, const index_t step_c

__device__ __forceinline__ index_t place_of(index_t number, index_t a, index_t b, index_t step_a,
                                            index_t step_b, index_t step_c) {
    if (number < a)
        return number * step_a;
    index_t rest = number / a, first = number - rest * a;
    if (rest < b)
        return first * step_a + rest * step_b;
    index_t last = rest / b;
    return first * step_a + (rest - last * b) * step_b + last * step_c;
}

__device__ __forceinline__ WIDE read(const REAL *in, index_t place) { return (WIDE)widened(in[place]); }

__device__ __forceinline__ void keep(void *out, index_t output, index_t outputs, index_t shares,
                                     index_t share, WIDE value, double scale) {
    if (shares > 1)
        ((WIDE *)out)[share * outputs + output] = value;
    else
        ((KEPT *)out)[output] = Stored<KEPT>::from(scale == 1.0 ? value : (WIDE)(value * (WIDE)scale));
}

// What one group of threads finds for one output: the group's threads are next to each other in memory.
__device__ __forceinline__ WIDE gathered(const REAL *in, index_t start, index_t stop, int turn,
                                         index_t reduced_a, index_t reduced_b, index_t step_a,
                                         index_t step_b, index_t step_c) {
    WIDE parts[4] = {(WIDE)NOTHING, (WIDE)NOTHING, (WIDE)NOTHING, (WIDE)NOTHING};
    index_t r = start;
    if (stop <= reduced_a) { // one dimension: no place has to be worked out
        const index_t step = turn * step_a;
        index_t place = start * step_a;
        for (; r + 3 * turn < stop; r += 4 * turn, place += 4 * step) {
            WIDE found[4];
#pragma unroll
            for (int k = 0; k < 4; k++)
                found[k] = read(in, place + k * step);
#pragma unroll
            for (int k = 0; k < 4; k++)
                parts[k] = DO::of(parts[k], found[k]);
        }
        for (; r < stop; r += turn, place += step)
            parts[0] = DO::of(parts[0], read(in, place));
        return DO::of(DO::of(parts[0], parts[1]), DO::of(parts[2], parts[3]));
    }
    for (; r + 3 * turn < stop; r += 4 * turn) {
#pragma unroll
        for (int k = 0; k < 4; k++)
            parts[k] = DO::of(parts[k], read(in, place_of(r + k * turn, reduced_a, reduced_b, step_a,
                                                          step_b, step_c)));
    }
    for (; r < stop; r += turn)
        parts[0] = DO::of(parts[0], read(in, place_of(r, reduced_a, reduced_b, step_a, step_b, step_c)));
    return DO::of(DO::of(parts[0], parts[1]), DO::of(parts[2], parts[3]));
}

// The same of elements that lie side by side, by wide loads of a block's threads.
__device__ __forceinline__ WIDE side_by_side(const REAL *in, index_t start, index_t stop) {
    enum { WIDTH = 16 / sizeof(REAL) };
    typedef Pack<REAL, WIDTH> Group;
    WIDE parts[4] = {(WIDE)NOTHING, (WIDE)NOTHING, (WIDE)NOTHING, (WIDE)NOTHING};
    const index_t groups = stop > start ? (stop - start) / WIDTH : 0;
    const Group *from = reinterpret_cast<const Group *>(in + start);
    index_t g = threadIdx.x;
    for (; g + blockDim.x < groups; g += 2 * blockDim.x) {
        const Group one = from[g], other = from[g + blockDim.x];
#pragma unroll
        for (int w = 0; w < WIDTH; w++) {
            parts[w & 1] = DO::of(parts[w & 1], (WIDE)widened(one.at[w]));
            parts[2 + (w & 1)] = DO::of(parts[2 + (w & 1)], (WIDE)widened(other.at[w]));
        }
    }
    for (; g < groups; g += blockDim.x) {
        const Group one = from[g];
#pragma unroll
        for (int w = 0; w < WIDTH; w++)
            parts[w & 3] = DO::of(parts[w & 3], (WIDE)widened(one.at[w]));
    }
    for (index_t r = start + groups * WIDTH + threadIdx.x; r < stop; r += blockDim.x)
        parts[0] = DO::of(parts[0], read(in, r));
    return DO::of(DO::of(parts[0], parts[1]), DO::of(parts[2], parts[3]));
}

// The innermost dimension is reduced: a warp for each output.
extern "C" __global__ void __launch_bounds__(256)
along_by_warp(const REAL *__restrict__ in, void *__restrict__ out, const index_t outputs,
              const index_t count, const index_t shares, const double scale, PLACES) {
    const int lane = threadIdx.x & 31;
    const index_t turn = (index_t)gridDim.x * (blockDim.x >> 5);
    for (index_t o = (index_t)blockIdx.x * (blockDim.x >> 5) + (threadIdx.x >> 5); o < outputs; o += turn) {
        const REAL *from = in + place_of(o, kept_a, kept_b, kept_step_a, kept_step_b, kept_step_c);
        WIDE value = gathered(from, lane, count, 32, reduced_a, reduced_b, step_a, step_b, step_c);
        value = over_warp<DO>(value);
        if (lane == 0)
            keep(out, o, outputs, 1, 0, value, scale);
    }
}

// The same by a block, or by several that share the elements.
extern "C" __global__ void __launch_bounds__(256)
along_by_block(const REAL *__restrict__ in, void *__restrict__ out, const index_t outputs,
               const index_t count, const index_t shares, const double scale, PLACES) {
    __shared__ WIDE room[32];
    const index_t size = ((count + shares - 1) / shares + 15) / 16 * 16; // whole groups
    for (index_t i = blockIdx.x; i < outputs * shares; i += gridDim.x) {
        const index_t o = i / shares, share = i - o * shares;
        const index_t stop = min(count, (share + 1) * size);
        const REAL *from = in + place_of(o, kept_a, kept_b, kept_step_a, kept_step_b, kept_step_c);
        const bool beside = step_a == 1 && count <= reduced_a && (unsigned long long)from % 16 == 0;
        WIDE value = beside ? side_by_side(from, share * size, stop)
                            : gathered(from, share * size + threadIdx.x, stop, blockDim.x, reduced_a,
                                       reduced_b, step_a, step_b, step_c);
        value = over_block<DO>(value, room, (WIDE)NOTHING);
        if (threadIdx.x == 0)
            keep(out, o, outputs, shares, share, value, scale);
    }
}

// The innermost dimension stays: 32 outputs beside each other, 8 threads for each.
extern "C" __global__ void __launch_bounds__(256)
across(const REAL *__restrict__ in, void *__restrict__ out, const index_t outputs,
       const index_t count, const index_t shares, const double scale, PLACES) {
    __shared__ WIDE room[8][33];
    const int column = threadIdx.x & 31, row = threadIdx.x >> 5;
    const index_t tiles = (kept_a + 31) / 32, all = tiles * (outputs / kept_a) * shares;
    const index_t size = (count + shares - 1) / shares;
    for (index_t i = blockIdx.x; i < all; i += gridDim.x) {
        const index_t tile = i / shares, share = i - tile * shares;
        const index_t outer = tile / tiles, inner = (tile - outer * tiles) * 32 + column;
        const index_t o = outer * kept_a + inner, stop = min(count, (share + 1) * size);
        WIDE value = (WIDE)NOTHING;
        if (inner < kept_a) {
            const REAL *from = in + place_of(o, kept_a, kept_b, kept_step_a, kept_step_b, kept_step_c);
            value = gathered(from, share * size + row, stop, 8, reduced_a, reduced_b, step_a, step_b,
                             step_c);
        }
        room[row][column] = value;
        __syncthreads();
        if (row == 0 && inner < kept_a) {
#pragma unroll
            for (int k = 1; k < 8; k++)
                value = DO::of(value, room[k][column]);
            keep(out, o, outputs, shares, share, value, scale);
        }
        __syncthreads();
    }
}
