// Normalization: an input is seen as (before, groups, after), and each group has its own mean.
//
// A weight and a bias belong to a channel: that of an element is its number over `places`, modulo
// `channels`. So one set of kernels does for layers, batches and groups of channels.

#ifndef REAL
#define REAL float
#define WIDE float
#endif
#ifndef SCALE // of weight and bias, which may be wider than the input
#define SCALE REAL
#endif

__device__ __forceinline__ float inverse_root(float a) { return 1.0f / sqrtf(a); }
__device__ __forceinline__ double inverse_root(double a) { return 1.0 / sqrt(a); }

struct View {
    index_t before, groups, after, places, channels;
};

__device__ __forceinline__ index_t element(const View &view, index_t group, index_t number) {
    if (view.before == 1)
        return group * view.after + number;
    const index_t outer = number / view.after;
    return (outer * view.groups + group) * view.after + (number - outer * view.after);
}

__device__ __forceinline__ index_t channel(const View &view, index_t place) {
    return (place / view.places) % view.channels;
}

#define VIEW                                                                                       \
    const index_t before, const index_t groups, const index_t after, const index_t places,         \
        const index_t channels
#define GIVEN_VIEW const View view = {before, groups, after, places, channels};

// Mean, one over the deviation and the variance of each group; with `out`, what is normalized too.
extern "C" __global__ void __launch_bounds__(1024) normalized(const REAL *__restrict__ in, const SCALE *__restrict__ weight,
                                      const SCALE *__restrict__ bias, REAL *__restrict__ out,
                                      WIDE *__restrict__ means, WIDE *__restrict__ inverses,
                                      WIDE *__restrict__ variances, const double eps, VIEW) {
    __shared__ WIDE room[32];
    GIVEN_VIEW
    const index_t count = view.before * view.after;
    for (index_t group = blockIdx.x; group < view.groups; group += gridDim.x) {
        WIDE sum = 0;
        for (index_t i = threadIdx.x; i < count; i += blockDim.x)
            sum += (WIDE)widened(in[element(view, group, i)]);
        const WIDE mean = over_block<Add>(sum, room, (WIDE)0) / count;
        sum = 0;
        for (index_t i = threadIdx.x; i < count; i += blockDim.x) {
            const WIDE apart = (WIDE)widened(in[element(view, group, i)]) - mean;
            sum += apart * apart;
        }
        const WIDE variance = over_block<Add>(sum, room, (WIDE)0) / count;
        const WIDE inverse = inverse_root(variance + (WIDE)eps);
        if (threadIdx.x == 0) {
            means[group] = mean;
            inverses[group] = inverse;
            if (variances)
                variances[group] = variance;
        }
        if (out)
            for (index_t i = threadIdx.x; i < count; i += blockDim.x) {
                const index_t at = element(view, group, i), own = channel(view, at);
                WIDE value = ((WIDE)widened(in[at]) - mean) * inverse;
                if (weight)
                    value *= (WIDE)widened(weight[own]);
                if (bias)
                    value += (WIDE)widened(bias[own]);
                out[at] = Stored<REAL>::from(value);
            }
    }
}

// The rest of the above where a group lies in pieces: all elements in their order.
extern "C" __global__ void __launch_bounds__(256)
scaled(const REAL *__restrict__ in, const SCALE *__restrict__ weight, const SCALE *__restrict__ bias,
       REAL *__restrict__ out, const WIDE *__restrict__ means, const WIDE *__restrict__ inverses, VIEW) {
    GIVEN_VIEW
    const index_t all = view.before * view.groups * view.after;
    for (index_t at = (index_t)blockIdx.x * blockDim.x + threadIdx.x; at < all;
         at += (index_t)gridDim.x * blockDim.x) {
        const index_t group = (at / view.after) % view.groups, own = channel(view, at);
        WIDE value = ((WIDE)widened(in[at]) - means[group]) * inverses[group];
        if (weight)
            value *= (WIDE)widened(weight[own]);
        if (bias)
            value += (WIDE)widened(bias[own]);
        out[at] = Stored<REAL>::from(value);
    }
}

// For each group the sums of v and of v * x, with v = g * weight and x the normalized input; with `out`
// the gradient of the input too: inverse * (v - mean(v) - x * mean(v * x)).
extern "C" __global__ void __launch_bounds__(1024) slopes(const REAL *__restrict__ g, const REAL *__restrict__ in,
                                  const SCALE *__restrict__ weight, const WIDE *__restrict__ means,
                                  const WIDE *__restrict__ inverses, REAL *__restrict__ out,
                                  WIDE *__restrict__ sums, WIDE *__restrict__ products, VIEW) {
    __shared__ WIDE room[32];
    GIVEN_VIEW
    const index_t count = view.before * view.after;
    for (index_t group = blockIdx.x; group < view.groups; group += gridDim.x) {
        const WIDE mean = means[group], inverse = inverses[group];
        WIDE sum = 0, product = 0;
        for (index_t i = threadIdx.x; i < count; i += blockDim.x) {
            const index_t at = element(view, group, i);
            WIDE v = (WIDE)widened(g[at]);
            if (weight)
                v *= (WIDE)widened(weight[channel(view, at)]);
            sum += v;
            product += v * ((WIDE)widened(in[at]) - mean) * inverse;
        }
        sum = over_block<Add>(sum, room, (WIDE)0);
        product = over_block<Add>(product, room, (WIDE)0);
        if (sums && threadIdx.x == 0) {
            sums[group] = sum;
            products[group] = product;
        }
        if (out)
            for (index_t i = threadIdx.x; i < count; i += blockDim.x) {
                const index_t at = element(view, group, i);
                WIDE v = (WIDE)widened(g[at]);
                if (weight)
                    v *= (WIDE)widened(weight[channel(view, at)]);
                const WIDE x = ((WIDE)widened(in[at]) - mean) * inverse;
                out[at] = Stored<REAL>::from(inverse * (v - sum / count - x * (product / count)));
            }
    }
}

extern "C" __global__ void __launch_bounds__(256)
slopes_from_sums(const REAL *__restrict__ g, const REAL *__restrict__ in, const SCALE *__restrict__ weight,
                 const WIDE *__restrict__ means, const WIDE *__restrict__ inverses,
                 REAL *__restrict__ out, const WIDE *__restrict__ sums,
                 const WIDE *__restrict__ products, VIEW) {
    GIVEN_VIEW
    const index_t all = view.before * view.groups * view.after;
    const WIDE count = (WIDE)(view.before * view.after);
    for (index_t at = (index_t)blockIdx.x * blockDim.x + threadIdx.x; at < all;
         at += (index_t)gridDim.x * blockDim.x) {
        const index_t group = (at / view.after) % view.groups;
        const WIDE scale = weight ? (WIDE)widened(weight[channel(view, at)]) : (WIDE)1;
        const WIDE v = (WIDE)widened(g[at]);
        const WIDE x = ((WIDE)widened(in[at]) - means[group]) * inverses[group];
        out[at] = 
            Stored<REAL>::from(scale * inverses[group] *
                               (v - sums[group] / count - x * (products[group] / count)));
    }
}

// Sums for each column of g and of g * x, over rows: 32 columns and 8 rows at a time, and for each of the
// `shares` of rows its own part.
extern "C" __global__ void __launch_bounds__(256)
column_sums(const REAL *__restrict__ g, const REAL *__restrict__ in, const WIDE *__restrict__ means,
            const WIDE *__restrict__ inverses, WIDE *__restrict__ sums, WIDE *__restrict__ products,
            const index_t rows, const index_t columns, const index_t shares) {
    __shared__ WIDE first[8][33], second[8][33];
    const int along = threadIdx.x & 31, down = threadIdx.x >> 5;
    const index_t tiles = (columns + 31) / 32, size = (rows + shares - 1) / shares;
    for (index_t i = blockIdx.x; i < tiles * shares; i += gridDim.x) {
        const index_t tile = i / shares, share = i - tile * shares, column = tile * 32 + along;
        const index_t stop = min(rows, (share + 1) * size);
        WIDE sum = 0, product = 0;
        if (column < columns)
            for (index_t row = share * size + down; row < stop; row += 8) {
                const WIDE v = (WIDE)widened(g[row * columns + column]);
                sum += v;
                product += v * ((WIDE)widened(in[row * columns + column]) - means[row]) * inverses[row];
            }
        first[down][along] = sum;
        second[down][along] = product;
        __syncthreads();
        if (down == 0 && column < columns) {
            for (int k = 1; k < 8; k++) {
                sum += first[k][along];
                product += second[k][along];
            }
            sums[share * columns + column] = sum;
            products[share * columns + column] = product;
        }
        __syncthreads();
    }
}
