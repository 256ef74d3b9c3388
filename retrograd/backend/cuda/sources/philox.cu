// Random numbers of PyTorch's generator: random/philox.py has the same in NumPy, with the reasons.
//
// Threads are as many as PyTorch launches: thread t reads stream t, at the generator's offset.
// While a graph is recorded the seed and the offset lie in memory, where each replay puts them.

typedef unsigned long long word_t;

struct Four {
    unsigned w[4];
};

__device__ __forceinline__ Four four_words(word_t seed, word_t counter, word_t stream) {
    unsigned a = (unsigned)counter, b = (unsigned)(counter >> 32);
    unsigned c = (unsigned)stream, d = (unsigned)(stream >> 32);
    unsigned first_key = (unsigned)seed, second_key = (unsigned)(seed >> 32);
#pragma unroll
    for (int round = 0; round < 10; round++) {
        word_t first = (word_t)0xD2511F53u * a, second = (word_t)0xCD9E8D57u * c;
        a = (unsigned)(second >> 32) ^ b ^ first_key;
        b = (unsigned)second;
        c = (unsigned)(first >> 32) ^ d ^ second_key;
        d = (unsigned)first;
        first_key += 0x9E3779B9u;
        second_key += 0xBB67AE85u;
    }
    Four found = {{a, b, c, d}};
    return found;
}

struct Position {
    word_t seed, counter;
};

__device__ __forceinline__ Position position(index_t seed, index_t offset, const word_t *recorded) {
    Position found = {(word_t)seed, (word_t)offset / 4};
    if (recorded) {
        found.seed = recorded[0];
        found.counter += recorded[1] / 4;
    }
    return found;
}

// ---------------------------------------------------------------------------- numbers from words

__device__ __forceinline__ float unit32(unsigned word) {
    return fmaf((float)word, 2.3283064365386963e-10f, 1.1641532182693481e-10f);
}
__device__ __forceinline__ word_t bits53(unsigned first, unsigned second) {
    return (word_t)first ^ ((word_t)second << 21);
}
__device__ __forceinline__ double unit64(unsigned first, unsigned second) {
    return fma((double)bits53(first, second), 1.1102230246251565e-16, 5.551115123125783e-17);
}

// What a thread makes of four words: four numbers, or two of the wide types.
struct Units32 {
    typedef float number;
    enum { lanes = 4 };
    static __device__ __forceinline__ void make(Four words, float *found) {
        for (int k = 0; k < 4; k++) found[k] = unit32(words.w[k]);
    }
};
struct Units64 {
    typedef double number;
    enum { lanes = 2 };
    static __device__ __forceinline__ void make(Four words, double *found) {
        found[0] = unit64(words.w[0], words.w[1]);
        found[1] = unit64(words.w[2], words.w[3]);
    }
};
struct Normals32 {
    typedef float number;
    enum { lanes = 4 };
    static __device__ __forceinline__ void make(Four words, float *found) {
        const float turn = 2.3283064365386963e-10f * 6.2831855f;
        for (int k = 0; k < 4; k += 2) {
            float radius = sqrtf(-2.0f * logf(unit32(words.w[k])));
            float sine, cosine;
            __sincosf(fmaf((float)words.w[k + 1], turn, turn / 2), &sine, &cosine);
            found[k] = sine * radius;
            found[k + 1] = cosine * radius;
        }
    }
};
struct Normals64 {
    typedef double number;
    enum { lanes = 2 };
    static __device__ __forceinline__ void make(Four words, double *found) {
        double radius = sqrt(-2.0 * log(unit64(words.w[0], words.w[1])));
        double turn = fma((double)bits53(words.w[2], words.w[3]), 2.220446049250313e-16, 1.1102230246251565e-16);
        double sine, cosine;
        sincospi(turn, &sine, &cosine);
        found[0] = sine * radius;
        found[1] = cosine * radius;
    }
};
struct Words32 {
    typedef unsigned number;
    enum { lanes = 4 };
    static __device__ __forceinline__ void make(Four words, unsigned *found) {
        for (int k = 0; k < 4; k++) found[k] = words.w[k];
    }
};
struct Words64 {
    typedef word_t number;
    enum { lanes = 2 };
    static __device__ __forceinline__ void make(Four words, word_t *found) {
        found[0] = (word_t)words.w[0] << 32 | words.w[1];
        found[1] = (word_t)words.w[2] << 32 | words.w[3];
    }
};

// Every thread draws, then writes one number of a draw a whole grid apart from the next.
template <typename Source, typename T, typename Last>
__device__ __forceinline__ void fill(T *out, index_t count, Position at, Last last) {
    index_t thread = (index_t)blockIdx.x * blockDim.x + threadIdx.x;
    index_t all = (index_t)gridDim.x * blockDim.x;
    for (index_t first = thread; first < count; first += all * Source::lanes) {
        typename Source::number found[Source::lanes];
        Source::make(four_words(at.seed, at.counter, thread), found);
        at.counter++;
#pragma unroll
        for (int k = 0; k < Source::lanes; k++)
            if (first + k * all < count) out[first + k * all] = last(found[k]);
    }
}

// ------------------------------------------------------------------------------- last steps

__device__ __forceinline__ float mul_add(float a, float b, float c) { return fmaf(a, b, c); }
__device__ __forceinline__ double mul_add(double a, double b, double c) { return fma(a, b, c); }
__device__ __forceinline__ float quick_log(float a) { return __logf(a); }
__device__ __forceinline__ double quick_log(double a) { return log(a); }
__device__ __forceinline__ float quick_exp(float a) { return __expf(a); }
__device__ __forceinline__ double quick_exp(double a) { return exp(a); }
__device__ __forceinline__ float cauchy_of(float u) {
    const float least = 1.1920928955078125e-07f;
    u = u > 1 - least ? 1 - least : u;
    u = u < least ? least : u;
    return __tanf(3.14159265358979323846f * (u - 0.5f));
}
__device__ __forceinline__ double cauchy_of(double u) { return tan(3.14159265358979323846 * (u - 0.5)); }

#define GIVEN(T) T *out, index_t count, index_t seed, index_t offset, const word_t *recorded
#define PASSED out, count, seed, offset, recorded

template <typename U, typename R, typename T>
__device__ void uniform(GIVEN(T), double span, double low, double high) {
    fill<U>(out, count, position(seed, offset, recorded), [=](R u) {
        T value = Stored<T>::from(mul_add(u, (R)span, (R)low));
        return widened(value) == (R)high ? Stored<T>::from((R)low) : value;
    });
}
template <typename N, typename R, typename T>
__device__ void normal(GIVEN(T), double mean, double std) {
    fill<N>(out, count, position(seed, offset, recorded),
            [=](R z) { return Stored<T>::from(mul_add(z, (R)std, (R)mean)); });
}
template <typename N, typename R, typename T>
__device__ void log_normal(GIVEN(T), double mean, double std) {
    fill<N>(out, count, position(seed, offset, recorded),
            [=](R z) { return Stored<T>::from(quick_exp(mul_add(z, (R)std, (R)mean))); });
}
template <typename U, typename R, typename T>
__device__ void exponential(GIVEN(T), double rate, double least) {
    fill<U>(out, count, position(seed, offset, recorded), [=](R u) {
        R logarithm = u >= (R)1 - (R)least ? -(R)least : quick_log(u);
        return Stored<T>::from((R)-1 / (R)rate * logarithm);
    });
}
template <typename U, typename R, typename T>
__device__ void cauchy(GIVEN(T), double median, double sigma) {
    fill<U>(out, count, position(seed, offset, recorded),
            [=](R u) { return Stored<T>::from(mul_add((R)sigma, cauchy_of(u), (R)median)); });
}
template <typename U, typename R, typename T>
__device__ void geometric(GIVEN(T), double p) {
    fill<U>(out, count, position(seed, offset, recorded), [=](R u) {
        return Stored<T>::from((R)ceil(quick_log(u) / quick_log((R)1 - (R)p)));
    });
}
template <typename U, typename R, typename T>
__device__ void choices(GIVEN(T), double p) {
    fill<U>(out, count, position(seed, offset, recorded),
            [=](R u) { return Stored<T>::from((R)(u < (R)p)); });
}
// A whole number, through float where a type has no other way.
template <typename T> struct Whole {
    static __device__ __forceinline__ T from(index_t value) { return (T)value; }
};
template <> struct Whole<float16> {
    static __device__ __forceinline__ float16 from(index_t value) { return Stored<float16>::from((float)value); }
};
template <> struct Whole<bfloat16> {
    static __device__ __forceinline__ bfloat16 from(index_t value) { return Stored<bfloat16>::from((float)value); }
};
// span  how many numbers there are; 0 stands for 2 to the power of 64
template <typename W, typename V, typename T>
__device__ void integers(GIVEN(T), index_t low, index_t span) {
    fill<W>(out, count, position(seed, offset, recorded), [=](V word) {
        word_t number = span ? (word_t)word % (word_t)span : (word_t)word;
        return Whole<T>::from((index_t)(number + (word_t)low));
    });
}

#define ENTRY extern "C" __global__ void __launch_bounds__(256)
// The functions of one type, which is named when it is first drawn.
#define REALS(NAME, T, R, UNITS, NORMALS)                                                           \
    ENTRY uniform_##NAME(GIVEN(T), double span, double low, double high) {                          \
        uniform<UNITS, R, T>(PASSED, span, low, high);                                              \
    }                                                                                               \
    ENTRY normal_##NAME(GIVEN(T), double mean, double std) { normal<NORMALS, R, T>(PASSED, mean, std); } \
    ENTRY log_normal_##NAME(GIVEN(T), double mean, double std) {                                    \
        log_normal<NORMALS, R, T>(PASSED, mean, std);                                               \
    }                                                                                               \
    ENTRY exponential_##NAME(GIVEN(T), double rate, double least) {                                 \
        exponential<UNITS, R, T>(PASSED, rate, least);                                              \
    }                                                                                               \
    ENTRY cauchy_##NAME(GIVEN(T), double median, double sigma) {                                    \
        cauchy<UNITS, R, T>(PASSED, median, sigma);                                                 \
    }
#define NUMBERS(NAME, T, R, UNITS)                                                                  \
    ENTRY geometric_##NAME(GIVEN(T), double p) { geometric<UNITS, R, T>(PASSED, p); }
#define ALL(NAME, T, R, UNITS)                                                                      \
    ENTRY choices_##NAME(GIVEN(T), double p) { choices<UNITS, R, T>(PASSED, p); }                   \
    ENTRY integers32_##NAME(GIVEN(T), index_t low, index_t span) {                                  \
        integers<Words32, unsigned, T>(PASSED, low, span);                                          \
    }                                                                                               \
    ENTRY integers64_##NAME(GIVEN(T), index_t low, index_t span) {                                  \
        integers<Words64, word_t, T>(PASSED, low, span);                                            \
    }                                                                                               \
    ENTRY choices_of_##NAME(GIVEN(T), const R *chances) {                                           \
        Position at = position(seed, offset, recorded);                                             \
        index_t thread = (index_t)blockIdx.x * blockDim.x + threadIdx.x;                            \
        for (; thread * 4 < count; thread += (index_t)gridDim.x * blockDim.x) {                     \
            Four words = four_words(at.seed, at.counter, thread);                                   \
            for (int k = 0; k < 4; k++) {                                                           \
                index_t i = thread * 4 + k;                                                         \
                if (i < count) out[i] = Stored<T>::from((R)(unit32(words.w[k]) <= chances[i]));     \
            }                                                                                       \
        }                                                                                           \
    }

#ifdef FUNCTIONS
FUNCTIONS
#endif

ENTRY units_float32(GIVEN(float)) {
    fill<Units32>(out, count, position(seed, offset, recorded), [](float u) { return u; });
}
ENTRY units_float64(GIVEN(double)) {
    fill<Units64>(out, count, position(seed, offset, recorded), [](double u) { return u; });
}

// ------------------------------------------------------------------------------- of their own

// width  how many elements in a row belong to a thread
ENTRY kept(GIVEN(bool), double keep, index_t width) {
    Position at = position(seed, offset, recorded);
    index_t thread = (index_t)blockIdx.x * blockDim.x + threadIdx.x;
    index_t all = (index_t)gridDim.x * blockDim.x;
    if (width == 1) {
        fill<Units32>(out, count, at, [=](float u) { return u < (float)keep; });
        return;
    }
    for (index_t first = thread * width; first < count; first += all * width) {
        Four words;
        for (int k = 0; k < width; k++) {
            if (k % 4 == 0) words = four_words(at.seed, at.counter++, thread);
            if (first + k < count) out[first + k] = unit32(words.w[k % 4]) < (float)keep;
        }
    }
}

// Keys that are equal, in a row: who finds the first of them shuffles what belongs to them.
template <typename K>
__device__ void shuffle(const K *keys, index_t *order, index_t count, Position at) {
    index_t i = (index_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count - 1 || keys[i] != keys[i + 1] || (i && keys[i] == keys[i - 1])) return;
    index_t size = 2;
    while (i + size < count && keys[i + size] == keys[i]) size++;
    Four words;
    for (index_t last = size - 1, drawn = 0; last > 0; last--, drawn++) {
        if (drawn % 4 == 0) words = four_words(at.seed, at.counter + drawn / 4, i);
        index_t other = words.w[drawn % 4] % (unsigned)(last + 1);
        index_t moved = order[i + last];
        order[i + last] = order[i + other];
        order[i + other] = moved;
    }
}
ENTRY shuffle32(GIVEN(index_t), const int *keys) {
    shuffle(keys, out, count, position(seed, offset, recorded));
}
ENTRY shuffle64(GIVEN(index_t), const long long *keys) {
    shuffle(keys, out, count, position(seed, offset, recorded));
}

// An index for every number of every row: the first whose running sum reaches it.
template <typename R>
__device__ void place(index_t *out, index_t count, Position at, const R *sums, const R *weights, index_t columns,
                      index_t each, index_t streams) {
    index_t i = (index_t)blockIdx.x * blockDim.x + threadIdx.x;
    for (; i < count; i += (index_t)gridDim.x * blockDim.x) {
        index_t row = i / each;
        R number = unit32(four_words(at.seed, at.counter, row * streams + i % each).w[0]);
        const R *line = sums + row * columns;
        index_t begin = 0, end = columns;
        while (begin < end) {
            index_t middle = begin + (end - begin) / 2;
            if (line[middle] < number) begin = middle + 1;
            else end = middle;
        }
        if (begin == columns) begin = columns - 1;
        while (begin > 0 && weights[row * columns + begin] == 0) begin--;
        out[i] = begin;
    }
}
ENTRY places_float32(GIVEN(index_t), const float *sums, const float *weights, index_t columns, index_t each,
                     index_t streams) {
    place(out, count, position(seed, offset, recorded), sums, weights, columns, each, streams);
}
ENTRY places_float64(GIVEN(index_t), const double *sums, const double *weights, index_t columns, index_t each,
                     index_t streams) {
    place(out, count, position(seed, offset, recorded), sums, weights, columns, each, streams);
}

// Where the launches of a recorded graph read: set before each replay.
ENTRY put_position(word_t *place, index_t seed, index_t offset) {
    place[0] = (word_t)seed;
    place[1] = (word_t)offset;
}
