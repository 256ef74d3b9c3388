// One step of a layer of LSTM or GRU: everything between the products with the hidden state.
//
// `REAL` is what is stored, `WIDE` what is computed with. Gates lie side by side, (rows, gates *
// width), in PyTorch's order. `own` is the hidden state's share of them, made by the product before.
// A pointer that may be null is a part that is not there.

#ifndef REAL
#define REAL float
#define WIDE float
#endif

__device__ __forceinline__ float sigmoid(float a) { return __fdiv_rn(1.0f, 1.0f + expf(-a)); }
__device__ __forceinline__ double sigmoid(double a) { return 1.0 / (1.0 + exp(-a)); }
__device__ __forceinline__ float bent(float a) { return tanhf(a); }
__device__ __forceinline__ double bent(double a) { return tanh(a); }

__device__ __forceinline__ WIDE read(const REAL *from, unsigned place) {
    return from == 0 ? (WIDE)0 : (WIDE)widened(from[place]);
}
__device__ __forceinline__ WIDE bell(WIDE value) { return value * (1 - value); } // sigmoid's slope

#define EACH_PLACE                                                                                 \
    for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < rows * width;                     \
         i += gridDim.x * blockDim.x)

// ------------------------------------------------------------------------------------------- LSTM

// `gates` holds the input's share, and then the gates.
extern "C" __global__ void __launch_bounds__(256)
lstm_step(REAL *gates, const WIDE *own, const REAL *bias, const REAL *other, const REAL *cell,
          REAL *hidden, REAL *next, const index_t rows, const index_t width) {
    EACH_PLACE {
        const unsigned column = i % (unsigned)width;
        const index_t first = (index_t)(i / (unsigned)width) * 4 * width + column;
        WIDE sums[4];
#pragma unroll
        for (int k = 0; k < 4; k++) {
            const unsigned place = k * (unsigned)width + column;
            sums[k] = (WIDE)widened(gates[first + k * width]) + own[first + k * width] +
                      (read(bias, place) + read(other, place));
        }
        const WIDE enter = sigmoid(sums[0]), forget = sigmoid(sums[1]);
        const WIDE candidate = bent(sums[2]), leave = sigmoid(sums[3]);
        const WIDE kept = forget * (WIDE)widened(cell[i]) + enter * candidate;
        gates[first] = Stored<REAL>::from(enter);
        gates[first + width] = Stored<REAL>::from(forget);
        gates[first + 2 * width] = Stored<REAL>::from(candidate);
        gates[first + 3 * width] = Stored<REAL>::from(leave);
        next[i] = Stored<REAL>::from(kept);
        hidden[i] = Stored<REAL>::from(leave * bent(kept));
    }
}

// `slope` is the gradient of the cell state after the step, and then of the one before it; `back`
// what later steps give the hidden state, `given` what the rest of the program gives it.
extern "C" __global__ void __launch_bounds__(256)
lstm_slopes(const REAL *gates, const REAL *cell, const REAL *next, const REAL *given,
            const WIDE *back, WIDE *slope, REAL *found, const index_t rows, const index_t width) {
    EACH_PLACE {
        const unsigned column = i % (unsigned)width;
        const index_t first = (index_t)(i / (unsigned)width) * 4 * width + column;
        const WIDE enter = widened(gates[first]), forget = widened(gates[first + width]);
        const WIDE candidate = widened(gates[first + 2 * width]);
        const WIDE leave = widened(gates[first + 3 * width]);
        const WIDE of_hidden = read(given, i) + (back == 0 ? (WIDE)0 : back[i]);
        const WIDE shown = bent((WIDE)widened(next[i]));
        const WIDE of_cell = slope[i] + of_hidden * leave * (1 - shown * shown);
        found[first] = Stored<REAL>::from(of_cell * candidate * bell(enter));
        found[first + width] = Stored<REAL>::from(of_cell * (WIDE)widened(cell[i]) * bell(forget));
        found[first + 2 * width] = Stored<REAL>::from(of_cell * enter * (1 - candidate * candidate));
        found[first + 3 * width] = Stored<REAL>::from(of_hidden * shown * bell(leave));
        slope[i] = of_cell * forget;
    }
}

// -------------------------------------------------------------------------------------------- GRU

// `kept` gets the hidden state's share of the candidate, which the reset gate multiplies.
extern "C" __global__ void __launch_bounds__(256)
gru_step(REAL *gates, const WIDE *own, const REAL *bias, const REAL *other, const REAL *hidden,
         REAL *next, REAL *kept, const index_t rows, const index_t width) {
    EACH_PLACE {
        const unsigned column = i % (unsigned)width;
        const index_t first = (index_t)(i / (unsigned)width) * 3 * width + column;
        WIDE given[3], shares[3];
#pragma unroll
        for (int k = 0; k < 3; k++) {
            const unsigned place = k * (unsigned)width + column;
            given[k] = (WIDE)widened(gates[first + k * width]) + read(bias, place);
            shares[k] = own[first + k * width] + read(other, place);
        }
        const WIDE reset = sigmoid(given[0] + shares[0]), update = sigmoid(given[1] + shares[1]);
        const WIDE candidate = bent(given[2] + reset * shares[2]);
        gates[first] = Stored<REAL>::from(reset);
        gates[first + width] = Stored<REAL>::from(update);
        gates[first + 2 * width] = Stored<REAL>::from(candidate);
        kept[i] = Stored<REAL>::from(shares[2]);
        next[i] = Stored<REAL>::from(candidate + update * ((WIDE)widened(hidden[i]) - candidate));
    }
}

// `back` is what later steps give the hidden state, and then what this step gives the one before it
// beside the product with the weight; `found` and `of_own` are of the input's and the hidden share.
extern "C" __global__ void __launch_bounds__(256)
gru_slopes(const REAL *gates, const REAL *own, const REAL *hidden, const REAL *given, WIDE *back,
           REAL *found, REAL *of_own, const index_t rows, const index_t width) {
    EACH_PLACE {
        const unsigned column = i % (unsigned)width;
        const index_t first = (index_t)(i / (unsigned)width) * 3 * width + column;
        const WIDE reset = widened(gates[first]), update = widened(gates[first + width]);
        const WIDE candidate = widened(gates[first + 2 * width]);
        const WIDE of_hidden = read(given, i) + back[i];
        const WIDE of_candidate = of_hidden * (1 - update) * (1 - candidate * candidate);
        const REAL of_reset = Stored<REAL>::from(of_candidate * (WIDE)widened(own[i]) * bell(reset));
        const REAL of_update = Stored<REAL>::from(
            of_hidden * ((WIDE)widened(hidden[i]) - candidate) * bell(update));
        found[first] = of_own[first] = of_reset;
        found[first + width] = of_own[first + width] = of_update;
        found[first + 2 * width] = Stored<REAL>::from(of_candidate);
        of_own[first + 2 * width] = Stored<REAL>::from(of_candidate * reset);
        back[i] = of_hidden * update;
    }
}
