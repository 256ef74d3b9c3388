// Losses by class and rows by index. What is outside is noted in memory of the host, for whoever waits
// for the device next: nobody waits for it here.

#ifndef REAL
#define REAL float
#define WIDE float
#define INDEX long long
#endif

// The first of several that are outside: its number, then what it is.
__device__ __forceinline__ void note(index_t *fault, index_t kind, index_t value) {
    if (fault[0] == 0) {
        fault[1] = value;
        __threadfence_system();
        fault[0] = kind;
    }
}

// Scores are (batch, classes, places); a target of `ignored` counts nothing.
extern "C" __global__ void __launch_bounds__(1024) nll(const REAL *__restrict__ in, const INDEX *__restrict__ target,
                               const REAL *__restrict__ weight, REAL *__restrict__ out,
                               const index_t all, const index_t classes, const index_t places,
                               const index_t ignored, const index_t reduction, index_t *fault) {
    __shared__ WIDE room[32];
    WIDE loss = 0, total = 0;
    const index_t turn = reduction ? blockDim.x : (index_t)gridDim.x * blockDim.x;
    for (index_t i = reduction ? threadIdx.x : (index_t)blockIdx.x * blockDim.x + threadIdx.x; i < all;
         i += turn) {
        const index_t chosen = (index_t)target[i];
        WIDE own = 0;
        if (chosen != ignored) {
            if (chosen < 0 || chosen >= classes) {
                note(fault, 1, chosen);
                own = (WIDE)NOT_A_NUMBER;
            } else {
                const index_t batch = i / places;
                const WIDE scale = weight ? (WIDE)widened(weight[chosen]) : (WIDE)1;
                own = -scale * (WIDE)widened(in[(batch * classes + chosen) * places + (i - batch * places)]);
                total += scale;
            }
        }
        loss += own;
        if (!reduction)
            out[i] = Stored<REAL>::from(own);
    }
    if (!reduction)
        return;
    loss = over_block<Add>(loss, room, (WIDE)0);
    total = over_block<Add>(total, room, (WIDE)0);
    if (threadIdx.x == 0)
        out[0] = Stored<REAL>::from(reduction == 1 ? loss / total : loss);
}

// The sum of the weights of all targets that count.
extern "C" __global__ void __launch_bounds__(1024) nll_total(const INDEX *__restrict__ target, const REAL *__restrict__ weight,
                                     WIDE *__restrict__ out, const index_t all, const index_t classes,
                                     const index_t ignored) {
    __shared__ WIDE room[32];
    WIDE total = 0;
    for (index_t i = threadIdx.x; i < all; i += blockDim.x) {
        const index_t chosen = (index_t)target[i];
        if (chosen != ignored && chosen >= 0 && chosen < classes)
            total += weight ? (WIDE)widened(weight[chosen]) : (WIDE)1;
    }
    total = over_block<Add>(total, room, (WIDE)0);
    if (threadIdx.x == 0)
        out[0] = total;
}

extern "C" __global__ void __launch_bounds__(256)
nll_slopes(const REAL *__restrict__ g, const INDEX *__restrict__ target, const REAL *__restrict__ weight,
           const WIDE *__restrict__ total, REAL *__restrict__ out, const index_t size,
           const index_t classes, const index_t places, const index_t ignored, const index_t reduction) {
    for (index_t at = (index_t)blockIdx.x * blockDim.x + threadIdx.x; at < size;
         at += (index_t)gridDim.x * blockDim.x) {
        const index_t rest = at / places, place = at - rest * places;
        const index_t batch = rest / classes, own = rest - batch * classes, i = batch * places + place;
        const index_t chosen = (index_t)target[i];
        WIDE slope = 0;
        if (chosen == own && chosen != ignored) {
            slope = -(WIDE)widened(g[reduction ? 0 : i]);
            if (weight)
                slope *= (WIDE)widened(weight[chosen]);
            if (reduction == 1)
                slope /= total[0];
        }
        out[at] = Stored<REAL>::from(slope);
    }
}

// ------------------------------------------------------------------------------------- rows by index

extern "C" __global__ void __launch_bounds__(256)
take_rows(const REAL *__restrict__ table, const INDEX *__restrict__ index, REAL *__restrict__ out,
          const index_t size, const index_t columns, const index_t rows, index_t *fault) {
    for (index_t at = (index_t)blockIdx.x * blockDim.x + threadIdx.x; at < size;
         at += (index_t)gridDim.x * blockDim.x) {
        const index_t i = at / columns, row = (index_t)index[i];
        if (row < 0 || row >= rows) {
            note(fault, 2, row);
            continue;
        }
        out[at] = table[row * columns + (at - i * columns)];
    }
}

extern "C" __global__ void __launch_bounds__(256)
add_rows(const REAL *__restrict__ g, const INDEX *__restrict__ index, WIDE *__restrict__ out,
         const index_t size, const index_t columns, const index_t rows, const index_t padding) {
    for (index_t at = (index_t)blockIdx.x * blockDim.x + threadIdx.x; at < size;
         at += (index_t)gridDim.x * blockDim.x) {
        const index_t i = at / columns, row = (index_t)index[i];
        if (row >= 0 && row < rows && row != padding)
            atomicAdd(out + row * columns + (at - i * columns), (WIDE)widened(g[at]));
    }
}
