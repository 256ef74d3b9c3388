// Steps of optimizers over many parameters at once: a table of addresses comes with the launch.
//
// A parameter, its gradient and its state are of one type and lie row by row. Each block has a piece of
// one parameter; sums are in `WIDE`, and every array is read and written once.

#ifndef REAL
#define REAL float
#define WIDE float
#endif

enum { PARAMETERS = 64, PIECE = 4096 };

struct Table {
    unsigned long long value[PARAMETERS], slope[PARAMETERS], state[3][PARAMETERS];
    index_t size[PARAMETERS];
    int first[PARAMETERS + 1]; // the number of the first block of each
    int count;
};

__device__ __forceinline__ int parameter_of(const Table &table, int block) {
    int low = 0, high = table.count;
    while (high - low > 1) {
        const int middle = (low + high) / 2;
        if (table.first[middle] <= block)
            low = middle;
        else
            high = middle;
    }
    return low;
}

__device__ __forceinline__ float root(float a) { return sqrtf(a); }
__device__ __forceinline__ double root(double a) { return sqrt(a); }

struct Numbers {
    WIDE rate, first, second, third, decay;
    int coupled, flag, maximize;
};

// first, second, third: one minus beta1, beta2, eps; rate is divided by the correction already
struct Adam {
    static __device__ __forceinline__ void step(WIDE &value, WIDE g, WIDE &average, WIDE &square,
                                                WIDE &highest, const Numbers &n, WIDE correction,
                                                WIDE rate) {
        if (n.maximize)
            g = -g;
        if (n.coupled)
            g += n.decay * value;
        else if (n.decay != 0)
            value -= n.rate * n.decay * value;
        average += n.first * (g - average);
        square = n.second * square + (1 - n.second) * g * g;
        WIDE under = square;
        if (n.flag) {
            highest = (square > highest || square != square) ? square : highest;
            under = highest;
        }
        value -= rate * average / (root(under) / correction + n.third);
    }
};

// first, second: momentum and one minus dampening; flag: 1 with a buffer, 2 with a new one, 4 Nesterov
struct Descent {
    static __device__ __forceinline__ void step(WIDE &value, WIDE g, WIDE &buffer, WIDE &, WIDE &,
                                                const Numbers &n, WIDE, WIDE) {
        if (n.maximize)
            g = -g;
        if (n.decay != 0)
            g += n.decay * value;
        if (n.flag) {
            buffer = (n.flag & 2) ? g : n.first * buffer + n.second * g;
            g = (n.flag & 4) ? g + n.first * buffer : buffer;
        }
        value -= n.rate * g;
    }
};

template <typename Rule, int STATES>
__device__ __forceinline__ void all(const Table &table, const Numbers &numbers, WIDE correction,
                                    WIDE rate) {
    const int which = parameter_of(table, (int)blockIdx.x);
    const index_t size = table.size[which];
    const index_t start = (index_t)((int)blockIdx.x - table.first[which]) * PIECE;
    REAL *values = (REAL *)table.value[which];
    const REAL *slopes = (const REAL *)table.slope[which];
    REAL *states[3] = {(REAL *)table.state[0][which], (REAL *)table.state[1][which],
                       (REAL *)table.state[2][which]};
    unsigned long long bits = table.value[which] | table.slope[which];
    bool used[3];
#pragma unroll
    for (int s = 0; s < 3; s++) {
        used[s] = s < STATES && states[s] != nullptr;
        bits |= used[s] ? table.state[s][which] : 0;
    }
    typedef Pack<REAL, 4> Four;
    if (size % 4 == 0 && bits % sizeof(Four) == 0) {
        for (index_t i = start + threadIdx.x * 4; i < size && i < start + PIECE; i += blockDim.x * 4) {
            Four value = *(Four *)(values + i), slope = *(const Four *)(slopes + i), held[3];
#pragma unroll
            for (int s = 0; s < STATES; s++)
                if (used[s])
                    held[s] = *(Four *)(states[s] + i);
#pragma unroll
            for (int k = 0; k < 4; k++) {
                WIDE wide = widened(value.at[k]), own[3] = {0, 0, 0};
#pragma unroll
                for (int s = 0; s < STATES; s++)
                    own[s] = used[s] ? (WIDE)widened(held[s].at[k]) : (WIDE)0;
                Rule::step(wide, widened(slope.at[k]), own[0], own[1], own[2], numbers, correction, rate);
                value.at[k] = Stored<REAL>::from(wide);
#pragma unroll
                for (int s = 0; s < STATES; s++)
                    held[s].at[k] = Stored<REAL>::from(own[s]);
            }
            *(Four *)(values + i) = value;
#pragma unroll
            for (int s = 0; s < STATES; s++)
                if (used[s])
                    *(Four *)(states[s] + i) = held[s];
        }
        return;
    }
    for (index_t i = start + threadIdx.x; i < size && i < start + PIECE; i += blockDim.x) {
        WIDE wide = widened(values[i]), own[3] = {0, 0, 0};
        for (int s = 0; s < STATES; s++)
            own[s] = used[s] ? (WIDE)widened(states[s][i]) : (WIDE)0;
        Rule::step(wide, widened(slopes[i]), own[0], own[1], own[2], numbers, correction, rate);
        values[i] = Stored<REAL>::from(wide);
        for (int s = 0; s < STATES; s++)
            if (used[s])
                states[s][i] = Stored<REAL>::from(own[s]);
    }
}

extern "C" __global__ void __launch_bounds__(256)
adam(const Table table, double rate, const double keep, const double beta, const double eps,
     const double decay, double first_correction, double second_correction,
     const index_t coupled, const index_t highest, const index_t maximize, const double *given) {
    if (given) {
        rate = given[0];
        first_correction = given[1];
        second_correction = given[2];
    }
    const Numbers numbers = {(WIDE)rate, (WIDE)keep, (WIDE)beta, (WIDE)eps, (WIDE)decay,
                             coupled && decay != 0, (int)highest, (int)maximize};
    all<Adam, 3>(table, numbers, (WIDE)second_correction, (WIDE)(rate / first_correction));
}

extern "C" __global__ void __launch_bounds__(256)
descent(const Table table, double rate, const double momentum, const double damped,
        const double decay, const index_t flag, const index_t maximize, const double *given) {
    if (given) rate = given[0];
    const Numbers numbers = {(WIDE)rate, (WIDE)momentum, (WIDE)damped, 0, (WIDE)decay,
                             1, (int)flag, (int)maximize};
    all<Descent, 1>(table, numbers, 1, (WIDE)rate);
}

// What a recorded step reads in place of its numbers: set before each replay.
extern "C" __global__ void put_numbers(double *given, const double rate, const double first_correction,
                                       const double second_correction) {
    given[0] = rate;
    given[1] = first_correction;
    given[2] = second_correction;
}
