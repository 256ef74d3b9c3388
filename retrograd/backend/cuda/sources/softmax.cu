// Softmax and its logarithm with their gradients, over rows or along another dimension.
//
// `REAL` is what is stored, `WIDE` what is computed with. Where all of a row is minus infinity, or
// something is plus infinity or NaN, results are NaN as PyTorch's are.

#ifndef REAL
#define REAL float
#define WIDE float
#endif

#define SMALLEST ((WIDE)-INFINITE)

__device__ __forceinline__ float exponential(float a) { return expf(a); }
__device__ __forceinline__ double exponential(double a) { return exp(a); }
__device__ __forceinline__ float logarithm(float a) { return logf(a); }
__device__ __forceinline__ double logarithm(double a) { return log(a); }

struct Total { // of exponentials, beside the largest so far
    WIDE largest, sum;
};

__device__ __forceinline__ void take(Total &total, WIDE value) {
    if (value > total.largest) {
        total.sum = total.sum * exponential(total.largest - value) + 1;
        total.largest = value;
    } else if (value != SMALLEST)
        total.sum += exponential(value - total.largest);
}

__device__ __forceinline__ WIDE rescaled(Total total, WIDE largest) {
    return total.sum * exponential(total.largest - largest);
}

template <int LOG> __device__ __forceinline__ WIDE result(WIDE value, WIDE largest, WIDE total) {
    // `total` is the logarithm of the sum, or one over it
    return LOG ? value - largest - total : exponential(value - largest) * total;
}

template <int LOG> __device__ __forceinline__ WIDE slope(WIDE g, WIDE y, WIDE total) {
    return LOG ? g - exponential(y) * total : y * (g - total);
}

// ------------------------------------------------------------------------------- a warp for each row

template <int LOG, int MOST>
__device__ void forward_by_warp(const REAL *__restrict__ in, REAL *__restrict__ out, index_t rows,
                                int columns) {
    const int lane = threadIdx.x & 31;
    const index_t turn = (index_t)gridDim.x * (blockDim.x >> 5);
    for (index_t row = (index_t)blockIdx.x * (blockDim.x >> 5) + (threadIdx.x >> 5); row < rows;
         row += turn) {
        WIDE held[MOST], largest = SMALLEST, sum = 0;
#pragma unroll
        for (int k = 0; k < MOST; k++) {
            int column = lane + k * 32;
            held[k] = column < columns ? (WIDE)widened(in[row * columns + column]) : SMALLEST;
            largest = Largest::of(largest, held[k]);
        }
        largest = over_warp<Largest>(largest);
#pragma unroll
        for (int k = 0; k < MOST; k++)
            if (lane + k * 32 < columns)
                sum += exponential(held[k] - largest);
        sum = over_warp<Add>(sum);
        const WIDE total = LOG ? logarithm(sum) : (WIDE)1 / sum;
#pragma unroll
        for (int k = 0; k < MOST; k++) {
            int column = lane + k * 32;
            if (column < columns)
                out[row * columns + column] = Stored<REAL>::from(result<LOG>(held[k], largest, total));
        }
    }
}

template <int LOG, int MOST>
__device__ void backward_by_warp(const REAL *__restrict__ g, const REAL *__restrict__ y,
                                 REAL *__restrict__ out, index_t rows, int columns) {
    const int lane = threadIdx.x & 31;
    const index_t turn = (index_t)gridDim.x * (blockDim.x >> 5);
    for (index_t row = (index_t)blockIdx.x * (blockDim.x >> 5) + (threadIdx.x >> 5); row < rows;
         row += turn) {
        WIDE slopes[MOST], values[MOST], sum = 0;
#pragma unroll
        for (int k = 0; k < MOST; k++) {
            int column = lane + k * 32;
            bool inside = column < columns;
            slopes[k] = inside ? (WIDE)widened(g[row * columns + column]) : (WIDE)0;
            values[k] = inside ? (WIDE)widened(y[row * columns + column]) : (WIDE)0;
            sum += LOG ? slopes[k] : slopes[k] * values[k];
        }
        sum = over_warp<Add>(sum);
#pragma unroll
        for (int k = 0; k < MOST; k++) {
            int column = lane + k * 32;
            if (column < columns)
                out[row * columns + column] = Stored<REAL>::from(slope<LOG>(slopes[k], values[k], sum));
        }
    }
}

// ------------------------------------------------------------------------------ a block for each row

template <int LOG>
__device__ void forward_by_block(const REAL *__restrict__ in, REAL *__restrict__ out, index_t rows,
                                 int columns) {
    __shared__ WIDE room[32];
    for (index_t row = blockIdx.x; row < rows; row += gridDim.x) {
        const REAL *from = in + row * columns;
        Total own = {SMALLEST, 0};
        for (int column = threadIdx.x; column < columns; column += blockDim.x)
            take(own, (WIDE)widened(from[column]));
        const WIDE largest = over_block<Largest>(own.largest, room, SMALLEST);
        const WIDE sum = over_block<Add>(rescaled(own, largest), room, (WIDE)0);
        const WIDE total = LOG ? logarithm(sum) : (WIDE)1 / sum;
        for (int column = threadIdx.x; column < columns; column += blockDim.x)
            out[row * columns + column] =
                Stored<REAL>::from(result<LOG>((WIDE)widened(from[column]), largest, total));
    }
}

template <int LOG>
__device__ void backward_by_block(const REAL *__restrict__ g, const REAL *__restrict__ y,
                                  REAL *__restrict__ out, index_t rows, int columns) {
    __shared__ WIDE room[32];
    for (index_t row = blockIdx.x; row < rows; row += gridDim.x) {
        const index_t start = row * columns;
        WIDE sum = 0;
        for (int column = threadIdx.x; column < columns; column += blockDim.x) {
            WIDE value = (WIDE)widened(g[start + column]);
            sum += LOG ? value : value * (WIDE)widened(y[start + column]);
        }
        sum = over_block<Add>(sum, room, (WIDE)0);
        for (int column = threadIdx.x; column < columns; column += blockDim.x)
            out[start + column] = Stored<REAL>::from(slope<LOG>(
                (WIDE)widened(g[start + column]), (WIDE)widened(y[start + column]), sum));
    }
}

// ------------------------------------------------------- along another dimension: a thread for each line

template <int LOG>
__device__ void forward_across(const REAL *__restrict__ in, REAL *__restrict__ out, index_t lines,
                               index_t count, index_t inner) {
    const index_t turn = (index_t)gridDim.x * blockDim.x;
    for (index_t line = (index_t)blockIdx.x * blockDim.x + threadIdx.x; line < lines; line += turn) {
        const index_t outer = line / inner, start = outer * count * inner + (line - outer * inner);
        Total own = {SMALLEST, 0};
        for (index_t k = 0; k < count; k++)
            take(own, (WIDE)widened(in[start + k * inner]));
        const WIDE sum = rescaled(own, own.largest);
        const WIDE total = LOG ? logarithm(sum) : (WIDE)1 / sum;
        for (index_t k = 0; k < count; k++)
            out[start + k * inner] = Stored<REAL>::from(
                result<LOG>((WIDE)widened(in[start + k * inner]), own.largest, total));
    }
}

template <int LOG>
__device__ void backward_across(const REAL *__restrict__ g, const REAL *__restrict__ y,
                                REAL *__restrict__ out, index_t lines, index_t count, index_t inner) {
    const index_t turn = (index_t)gridDim.x * blockDim.x;
    for (index_t line = (index_t)blockIdx.x * blockDim.x + threadIdx.x; line < lines; line += turn) {
        const index_t outer = line / inner, start = outer * count * inner + (line - outer * inner);
        WIDE sum = 0;
        for (index_t k = 0; k < count; k++) {
            WIDE value = (WIDE)widened(g[start + k * inner]);
            sum += LOG ? value : value * (WIDE)widened(y[start + k * inner]);
        }
        for (index_t k = 0; k < count; k++) {
            const index_t at = start + k * inner;
            out[at] = Stored<REAL>::from(slope<LOG>((WIDE)widened(g[at]), (WIDE)widened(y[at]), sum));
        }
    }
}

#define FORWARD const REAL *__restrict__ in, REAL *__restrict__ out
#define BACKWARD const REAL *__restrict__ g, const REAL *__restrict__ y, REAL *__restrict__ out
#define KERNEL extern "C" __global__ void
#define BY_WARP(NAME, LOG, MOST)                                                                   \
    KERNEL __launch_bounds__(128) NAME##_##MOST(FORWARD, const index_t rows, const index_t columns) { \
        forward_by_warp<LOG, MOST>(in, out, rows, (int)columns);                                   \
    }                                                                                              \
    KERNEL __launch_bounds__(128)                                                                  \
    NAME##_gradient_##MOST(BACKWARD, const index_t rows, const index_t columns) {                  \
        backward_by_warp<LOG, MOST>(g, y, out, rows, (int)columns);                                \
    }
#define BY_ANY(NAME, LOG)                                                                          \
    BY_WARP(NAME, LOG, 1)                                                                          \
    BY_WARP(NAME, LOG, 4)                                                                          \
    BY_WARP(NAME, LOG, 16)                                                                         \
    BY_WARP(NAME, LOG, 32)                                                                         \
    KERNEL __launch_bounds__(1024) NAME##_block(FORWARD, const index_t rows, const index_t columns) {                      \
        forward_by_block<LOG>(in, out, rows, (int)columns);                                        \
    }                                                                                              \
    KERNEL __launch_bounds__(1024) NAME##_gradient_block(BACKWARD, const index_t rows, const index_t columns) {            \
        backward_by_block<LOG>(g, y, out, rows, (int)columns);                                     \
    }                                                                                              \
    KERNEL NAME##_across(FORWARD, const index_t lines, const index_t count, const index_t inner) { \
        forward_across<LOG>(in, out, lines, count, inner);                                         \
    }                                                                                              \
    KERNEL NAME##_gradient_across(BACKWARD, const index_t lines, const index_t count,              \
                                  const index_t inner) {                                           \
        backward_across<LOG>(g, y, out, lines, count, inner);                                      \
    }
BY_ANY(softmax, 0)
BY_ANY(log_softmax, 1)
