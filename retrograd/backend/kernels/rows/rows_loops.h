/* softmax and its kin, and activations, for one type; see ../vectors.h.
 *
 * A sum runs over BLOCK elements in REAL and goes on in double: rounding errors do not grow with the length.
 */
/* Runs `whole` at every place `at` of a whole vector, and `some` where `rest` elements are left before `stop`. */
#define FOR_VECTORS(start, stop, whole, some)                             \
    do {                                                                  \
        ptrdiff_t at = (start);                                           \
        for (; at + LANES <= (stop); at += LANES) {                       \
            whole;                                                        \
        }                                                                 \
        if (at < (stop)) {                                                \
            const ptrdiff_t rest = (stop) - at;                           \
            some;                                                         \
        }                                                                 \
    } while (0)

INLINE ptrdiff_t
NAMED(block_end)(ptrdiff_t start, ptrdiff_t length)
{
    return length - start > BLOCK ? start + BLOCK : length;
}

/* ---- softmax ------------------------------------------------------------------------------------------------ */

/* The largest of a row; a nan beside numbers is not seen here, but by the sum that follows. */
INLINE REAL
NAMED(row_peak)(const REAL *x, ptrdiff_t length)
{
    const REAL lowest = (REAL)-INFINITY;
    V peak = NAMED(all)(lowest);
#define RAISE(values) peak = NAMED(larger)(values, peak)
    FOR_VECTORS(0, length, RAISE(NAMED(load)(x + at)), RAISE(NAMED(load_some)(x + at, rest, lowest)));
#undef RAISE
    REAL lanes[LANES], found = lowest;
    NAMED(store)(lanes, peak);
    for (ptrdiff_t lane = 0; lane < LANES; lane++) {
        found = lanes[lane] > found ? lanes[lane] : found;
    }
    return found;
}

/* The sum of exp(x - peak); the exponentials are kept where `kept` is not NULL. */
INLINE double
NAMED(sum_exponentials)(const REAL *x, REAL peak, REAL *kept, ptrdiff_t length)
{
    double total = 0;
    for (ptrdiff_t start = 0; start < length; start += BLOCK) {
        const ptrdiff_t stop = NAMED(block_end)(start, length);
        V sum = {0};
        FOR_VECTORS(
            start, stop,
            {
                const V item = NAMED(exponential)(NAMED(load)(x + at) - peak);
                sum += item;
                if (kept != NULL) {
                    NAMED(store)(kept + at, item);
                }
            },
            {
                const V item = NAMED(exponential)(NAMED(load_some)(x + at, rest, (REAL)-INFINITY) - peak);
                REAL lanes[LANES];
                NAMED(store)(lanes, item);
                sum += NAMED(load_some)(lanes, rest, 0); /* a row of infinities has nan beyond its end */
                if (kept != NULL) {
                    NAMED(store_some)(kept + at, item, rest);
                }
            });
        total += NAMED(sum_lanes)(sum);
    }
    return total;
}

static void
NAMED(softmax)(const void *input, void *result, ptrdiff_t rows, ptrdiff_t length)
{
    const REAL *x = input;
    REAL *restrict out = result;
    for (ptrdiff_t row = 0; row < rows; row++, x += length, out += length) {
        const REAL share = (REAL)(1 / NAMED(sum_exponentials)(x, NAMED(row_peak)(x, length), out, length));
        for (ptrdiff_t at = 0; at < length; at++) {
            out[at] *= share;
        }
    }
}

static void
NAMED(log_softmax)(const void *input, void *result, ptrdiff_t rows, ptrdiff_t length)
{
    const REAL *restrict x = input;
    REAL *restrict out = result;
    for (ptrdiff_t row = 0; row < rows; row++, x += length, out += length) {
        const REAL peak = NAMED(row_peak)(x, length);
        const REAL level = (REAL)log(NAMED(sum_exponentials)(x, peak, NULL, length));
        for (ptrdiff_t at = 0; at < length; at++) {
            out[at] = (x[at] - peak) - level;
        }
    }
}

/* The answer for a row with an infinity; a nan beside it counts more. */
static REAL
NAMED(endless_row)(const REAL *x, ptrdiff_t length)
{
    int unknown = 0;
    for (ptrdiff_t at = 0; at < length; at++) {
        unknown |= isnan(x[at]);
    }
    return unknown ? (REAL)NAN : (REAL)INFINITY;
}

/* One number for each row. Where all are -inf, or nan, distances from the largest would all be nan. */
static void
NAMED(logsumexp)(const void *input, void *result, ptrdiff_t rows, ptrdiff_t length)
{
    const REAL *x = input;
    for (ptrdiff_t row = 0; row < rows; row++, x += length) {
        const REAL peak = NAMED(row_peak)(x, length), level = isfinite(peak) ? peak : 0;
        ((REAL *)result)[row] = peak > 0 && !isfinite(peak)
                                    ? NAMED(endless_row)(x, length)
                                    : (REAL)(log(NAMED(sum_exponentials)(x, level, NULL, length)) + (double)level);
    }
}

/* gradient * exp(input - output), with one gradient and one output for each row */
static void
NAMED(logsumexp_gradient)(const void *gradient, const void *input, const void *output, void *result, ptrdiff_t rows,
                          ptrdiff_t length)
{
    const REAL *x = input;
    REAL *out = result;
    for (ptrdiff_t row = 0; row < rows; row++, x += length, out += length) {
        const REAL slope = ((const REAL *)gradient)[row], level = ((const REAL *)output)[row];
        FOR_VECTORS(0, length,
                    NAMED(store)(out + at, NAMED(exponential)(NAMED(load)(x + at) - level) * slope),
                    NAMED(store_some)(out + at, NAMED(exponential)(NAMED(load_some)(x + at, rest, 0) - level) * slope, rest));
    }
}

/* output * (gradient - sum(gradient * output)) */
static void
NAMED(softmax_gradient)(const void *gradient, const void *output, void *result, ptrdiff_t rows, ptrdiff_t length)
{
    const REAL *restrict g = gradient, *restrict y = output;
    REAL *restrict out = result;
    for (ptrdiff_t row = 0; row < rows; row++, g += length, y += length, out += length) {
        double total = 0;
        for (ptrdiff_t start = 0; start < length; start += BLOCK) {
            V sum = {0};
            FOR_VECTORS(start, NAMED(block_end)(start, length),
                        sum += NAMED(load)(g + at) * NAMED(load)(y + at),
                        sum += NAMED(load_some)(g + at, rest, 0) * NAMED(load_some)(y + at, rest, 0));
            total += NAMED(sum_lanes)(sum);
        }
        const REAL level = (REAL)total;
        for (ptrdiff_t at = 0; at < length; at++) {
            out[at] = y[at] * (g[at] - level);
        }
    }
}

/* exp(output); outputs of log_softmax are never above zero, but those that a user hands over may be. */
INLINE V
NAMED(probability)(V y)
{
    const REAL largest = IS_FLOAT ? (REAL)88 : (REAL)709;
    return NAMED(choose)(y > largest, NAMED(all)((REAL)INFINITY), NAMED(exponential)(y));
}

/* gradient - exp(output) * sum(gradient) */
static void
NAMED(log_softmax_gradient)(const void *gradient, const void *output, void *result, ptrdiff_t rows, ptrdiff_t length)
{
    const REAL *restrict g = gradient, *restrict y = output;
    REAL *restrict out = result;
    for (ptrdiff_t row = 0; row < rows; row++, g += length, y += length, out += length) {
        double sum_of_row = 0;
        for (ptrdiff_t start = 0; start < length; start += BLOCK) {
            V sum = {0};
            FOR_VECTORS(start, NAMED(block_end)(start, length), sum += NAMED(load)(g + at),
                        sum += NAMED(load_some)(g + at, rest, 0));
            sum_of_row += NAMED(sum_lanes)(sum);
        }
        const REAL total = (REAL)sum_of_row;
        FOR_VECTORS(
            0, length,
            NAMED(store)(out + at, NAMED(load)(g + at) - NAMED(probability)(NAMED(load)(y + at)) * total),
            NAMED(store_some)(out + at,
                              NAMED(load_some)(g + at, rest, 0)
                                  - NAMED(probability)(NAMED(load_some)(y + at, rest, 0)) * total,
                              rest));
    }
}

/* ---- activations -------------------------------------------------------------------------------------------- */

/* A loop that puts a function of one vector, or of a gradient and another vector, at every place. One such function is a
 * chain in which each step waits for the one before: two at a time, their steps in turn, leave the processor less to wait
 * for, but GCC puts them in turn only where it is told to. */
#if defined(__GNUC__) && !defined(__clang__)
#define IN_TURN static __attribute__((optimize("schedule-insns"))) void
#else
#define IN_TURN static void
#endif

#define MAP(name)                                                                              \
    IN_TURN NAMED(name)(const void *input, void *result, ptrdiff_t size)                       \
    {                                                                                          \
        const REAL *restrict x = input;                                                        \
        REAL *restrict out = result;                                                           \
        ptrdiff_t pair = 0;                                                                    \
        for (; pair + 2 * LANES <= size; pair += 2 * LANES) {                                  \
            const V first = NAMED(name##_of)(NAMED(load)(x + pair));                           \
            const V second = NAMED(name##_of)(NAMED(load)(x + pair + LANES));                  \
            NAMED(store)(out + pair, first);                                                   \
            NAMED(store)(out + pair + LANES, second);                                          \
        }                                                                                      \
        FOR_VECTORS(pair, size, NAMED(store)(out + at, NAMED(name##_of)(NAMED(load)(x + at))), \
                    NAMED(store_some)(out + at, NAMED(name##_of)(NAMED(load_some)(x + at, rest, 0)), rest)); \
    }

#define MAP_PAIR(name)                                                                         \
    IN_TURN NAMED(name)(const void *gradient, const void *other, void *result, ptrdiff_t size) \
    {                                                                                          \
        const REAL *restrict g = gradient, *restrict x = other;                                \
        REAL *restrict out = result;                                                           \
        ptrdiff_t pair = 0;                                                                    \
        for (; pair + 2 * LANES <= size; pair += 2 * LANES) {                                  \
            const V first = NAMED(name##_of)(NAMED(load)(g + pair), NAMED(load)(x + pair));    \
            const V second = NAMED(name##_of)(NAMED(load)(g + pair + LANES), NAMED(load)(x + pair + LANES)); \
            NAMED(store)(out + pair, first);                                                   \
            NAMED(store)(out + pair + LANES, second);                                          \
        }                                                                                      \
        FOR_VECTORS(                                                                           \
            pair, size, NAMED(store)(out + at, NAMED(name##_of)(NAMED(load)(g + at), NAMED(load)(x + at))), \
            NAMED(store_some)(out + at,                                                        \
                              NAMED(name##_of)(NAMED(load_some)(g + at, rest, 0), NAMED(load_some)(x + at, rest, 0)), \
                              rest));                                                          \
    }

INLINE V
NAMED(sigmoid_of)(V x)
{
    return NAMED(logistic)(x);
}

INLINE V
NAMED(silu_of)(V x)
{
    return x * NAMED(logistic)(x);
}

INLINE V
NAMED(silu_gradient_of)(V g, V x)
{
    const V gate = NAMED(logistic)(x);
    return g * gate * (x * (1 - gate) + 1);
}

/* The slope of softplus with the usual threshold, beyond which it is the input. */
INLINE V
NAMED(softplus_gradient_of)(V g, V x)
{
    return NAMED(choose)(x > 20, g, g * NAMED(logistic)(x));
}

/* The form with tanh: (1 + tanh(u)) / 2 is logistic(2 u). */
#define TWICE_BETA ((REAL)1.59576912160573081145)
#define KAPPA ((REAL)0.044715)

INLINE V
NAMED(gelu_tanh_of)(V x)
{
    return x * NAMED(logistic)(x * (x * x * KAPPA + 1) * TWICE_BETA);
}

INLINE V
NAMED(gelu_tanh_gradient_of)(V g, V x)
{
    const V square = x * x;
    const V gate = NAMED(logistic)(x * (square * KAPPA + 1) * TWICE_BETA);
    const V slope = (square * (3 * KAPPA) + 1) * TWICE_BETA;
    return g * (gate * (1 - gate) * slope * x + gate);
}

#undef TWICE_BETA
#undef KAPPA

MAP(sigmoid)
MAP(silu)
MAP(gelu_tanh)
MAP_PAIR(silu_gradient)
MAP_PAIR(softplus_gradient)
MAP_PAIR(gelu_tanh_gradient)

#if IS_FLOAT
/* The normal distribution function, and exp(-x^2 / 2) for its slope: below zero it is that times t P(t) with
 * t = 1 / (1 + 0.35 abs(x)), a fit whose error is a third of a unit in the last place of 1, and a few millionths of the result where
 * that is small. The exponential is 2^y, y = n + f with abs(f) <= 1/2: a fit for 2^f, and n becomes the exponent as in
 * `exponential`. From 13.25 on it is 0. */
INLINE V
NAMED(normal)(V x, V *bell)
{
    const V size = NAMED(smaller)(NAMED(all)(13.25f), NAMED(magnitude)(x));
    const V y = size * size * -0.72134752044448170368f, shifted = y + ROUNDER, f = y - (shifted - ROUNDER);
    V power = f * 0.0013276469944193082f + 0.009675541318174625f;
    power = power * f + 0.05550713279834431f;
    power = power * f + 0.24022119724245125f;
    power = power * f + 0.6931469670608801f;
    power = power * f + 1.0000000716545574f;
    *bell = power * NAMED(power_of_two)(shifted);
    const V t = NAMED(quotient)(NAMED(all)(1), size * 0.35f + 1);
    V series = t * 0.044968367180523626f - 0.18585583813905412f;
    series = series * t + 0.2133948279782547f;
    series = series * t + 0.007021851841741643f;
    series = series * t + 0.1439872023026558f;
    series = series * t + 0.1366925771410467f;
    series = series * t + 0.13979105127670682f;
    const V tail = series * t * *bell;
    return NAMED(choose_by_sign)(x, tail, 1 - tail);
}

INLINE V
NAMED(gelu_of)(V x)
{
    V bell;
    return x * NAMED(normal)(x, &bell);
}

INLINE V
NAMED(gelu_gradient_of)(V g, V x)
{
    V bell;
    const V share = NAMED(normal)(x, &bell);
    return g * (x * bell * 0.39894228040143267794f + share);
}

MAP(gelu)
MAP_PAIR(gelu_gradient)
#endif

#undef MAP
#undef MAP_PAIR
#undef IN_TURN
