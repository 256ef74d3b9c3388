/* Vectors of REAL and the functions of them that the loops are made of.
 *
 * No include guard: a build of loops includes this once for float and once for double.
 */
#define V NAMED(vector)
#define IV NAMED(bit_vector)
#define UV NAMED(unsigned_vector)
#define LANES ((ptrdiff_t)(VECTOR_BYTES / sizeof(REAL)))

typedef REAL V __attribute__((vector_size(VECTOR_BYTES)));
typedef BITS IV __attribute__((vector_size(VECTOR_BYTES)));
typedef UNSIGNED_BITS UV __attribute__((vector_size(VECTOR_BYTES)));

/* ---- memory ------------------------------------------------------------------------------------------------- */

INLINE V
NAMED(load)(const REAL *from)
{
    V found;
    memcpy(&found, from, sizeof found);
    return found;
}

INLINE void
NAMED(store)(REAL *to, V values)
{
    memcpy(to, &values, sizeof values);
}

/* The first `count` lanes from memory, the others `rest`: the end of a row. */
INLINE V
NAMED(load_some)(const REAL *from, ptrdiff_t count, REAL rest)
{
#if VECTOR_BYTES == 64 && defined(__AVX512F__)
    const uint32_t chosen = ((uint32_t)1 << count) - 1;
    const V others = rest - (V){0};
    return sizeof(REAL) == 4 ? (V)_mm512_mask_loadu_ps((__m512)others, (__mmask16)chosen, from)
                             : (V)_mm512_mask_loadu_pd((__m512d)others, (__mmask8)chosen, from);
#else
    REAL lanes[LANES];
    for (ptrdiff_t lane = 0; lane < LANES; lane++) {
        lanes[lane] = lane < count ? from[lane] : rest;
    }
    return NAMED(load)(lanes);
#endif
}

INLINE void
NAMED(store_some)(REAL *to, V values, ptrdiff_t count)
{
#if VECTOR_BYTES == 64 && defined(__AVX512F__)
    const uint32_t chosen = ((uint32_t)1 << count) - 1;
    if (sizeof(REAL) == 4) {
        _mm512_mask_storeu_ps(to, (__mmask16)chosen, (__m512)values);
    }
    else {
        _mm512_mask_storeu_pd(to, (__mmask8)chosen, (__m512d)values);
    }
#else
    REAL lanes[LANES];
    NAMED(store)(lanes, values);
    for (ptrdiff_t lane = 0; lane < count; lane++) {
        to[lane] = lanes[lane];
    }
#endif
}

/* ---- arithmetic --------------------------------------------------------------------------------------------- */

INLINE V
NAMED(all)(REAL value)
{
    return value - (V){0};
}

/* `yes` where the sign bit of `sign` is set, else `no`. */
INLINE V
NAMED(choose_by_sign)(V sign, V yes, V no)
{
#if VECTOR_BYTES == 64 && defined(__AVX512DQ__)
    return sizeof(REAL) == 4
               ? (V)_mm512_mask_blend_ps(_mm512_movepi32_mask((__m512i)sign), (__m512)no, (__m512)yes)
               : (V)_mm512_mask_blend_pd(_mm512_movepi64_mask((__m512i)sign), (__m512d)no, (__m512d)yes);
#else
    const IV held = (IV)sign >> (sizeof(REAL) * 8 - 1);
    return (V)(((IV)yes & held) | ((IV)no & ~held));
#endif
}

/* `yes` where a comparison held, else `no`. */
INLINE V
NAMED(choose)(IV held, V yes, V no)
{
#if VECTOR_BYTES == 64 && defined(__AVX512DQ__)
    return NAMED(choose_by_sign)((V)held, yes, no);
#else
    return (V)(((IV)yes & held) | ((IV)no & ~held));
#endif
}

/* x where it is the larger, or the smaller, else y: y too where one of them is nan. */
INLINE V
NAMED(larger)(V x, V y)
{
#if VECTOR_BYTES == 64 && defined(__AVX512F__)
    return sizeof(REAL) == 4 ? (V)_mm512_max_ps((__m512)x, (__m512)y) : (V)_mm512_max_pd((__m512d)x, (__m512d)y);
#else
    return NAMED(choose)(x > y, x, y);
#endif
}

INLINE V
NAMED(smaller)(V x, V y)
{
#if VECTOR_BYTES == 64 && defined(__AVX512F__)
    return sizeof(REAL) == 4 ? (V)_mm512_min_ps((__m512)x, (__m512)y) : (V)_mm512_min_pd((__m512d)x, (__m512d)y);
#else
    return NAMED(choose)(x < y, x, y);
#endif
}

INLINE double
NAMED(sum_lanes)(V values)
{
    typedef double Wide __attribute__((vector_size(VECTOR_BYTES)));
    typedef double Pair __attribute__((vector_size(16)));
#if IS_FLOAT
    typedef float Half __attribute__((vector_size(VECTOR_BYTES / 2)));
    Half halves[2];
    memcpy(halves, &values, sizeof halves);
    const Wide wide = __builtin_convertvector(halves[0], Wide) + __builtin_convertvector(halves[1], Wide);
#else
    const Wide wide = values;
#endif
    Pair pairs[VECTOR_BYTES / 16];
    memcpy(pairs, &wide, sizeof pairs);
    for (ptrdiff_t half = VECTOR_BYTES / 32; half > 0; half /= 2) { /* in turn each would wait for the one before */
        for (ptrdiff_t pair = 0; pair < half; pair++) {
            pairs[pair] += pairs[pair + half];
        }
    }
    return pairs[0][0] + pairs[0][1];
}

/* a / b with an error below 2 units in the last place, for b of ordinary size. Where the processor has an estimate of 14
 * bits, two more steps are several times as fast as a division. */
INLINE V
NAMED(quotient)(V a, V b)
{
#if IS_FLOAT && VECTOR_BYTES == 64 && defined(__AVX512F__)
    const V rough = (V)_mm512_rcp14_ps((__m512)b);
    const V better = rough + rough * (1 - b * rough);
    return a * better;
#else
    return a / b;
#endif
}

/* Adding ROUNDER rounds to an integer n and leaves n and the bias of exponents in the low bits: moved to where an
 * exponent is they are 2^n, and 0 where n is -EXPONENT_BIAS. */
#if IS_FLOAT
#define FRACTION_BITS 23
#define EXPONENT_BIAS 127
#define ROUNDER ((REAL)(12582912 + EXPONENT_BIAS)) /* 1.5 * 2^23 */
#define NOTHING (-88.0f)                           /* n is -EXPONENT_BIAS */
#define LOG2_HIGH 0.693359375f
#define LOG2_LOW -2.12194440e-4f
#else
#define FRACTION_BITS 52
#define EXPONENT_BIAS 1023
#define ROUNDER ((REAL)(6755399441055744 + EXPONENT_BIAS)) /* 1.5 * 2^52 */
#define NOTHING (-709.0)
#define LOG2_HIGH 6.93147180369123816490e-01
#define LOG2_LOW 1.90821492927058770002e-10
#endif

/* 2^n for a number to which ROUNDER was added. */
INLINE V
NAMED(power_of_two)(V shifted)
{
    return (V)((UV)shifted << FRACTION_BITS);
}

/* The exponential of numbers up to 88 (float) or 709 (double), with an error below 2 units in the last place as far as the
 * result is a normal number; below that it comes down to 0, that of -inf too; nan gives nan.
 *
 * exp(x) = 2^n exp(r) with abs(r) <= log(2) / 2, where the Taylor series ends within half a unit; n log(2) is taken
 * away in two parts, of which the first has few bits. */
INLINE V
NAMED(exponential)(V every)
{
    const V x = NAMED(larger)(NAMED(all)(NOTHING), every);
    const V shifted = x * (REAL)1.44269504088896340736 + ROUNDER;
    const V n = shifted - ROUNDER;
    const V r = (x - n * (REAL)LOG2_HIGH) - n * (REAL)LOG2_LOW;
#if IS_FLOAT
    V series = r * (1.0f / 5040) + 1.0f / 720;
#else
    V series = r * (1.0 / 6227020800) + 1.0 / 479001600;
    series = series * r + 1.0 / 39916800;
    series = series * r + 1.0 / 3628800;
    series = series * r + 1.0 / 362880;
    series = series * r + 1.0 / 40320;
    series = series * r + 1.0 / 5040;
    series = series * r + 1.0 / 720;
#endif
    series = series * r + (REAL)(1.0 / 120);
    series = series * r + (REAL)(1.0 / 24);
    series = series * r + (REAL)(1.0 / 6);
    series = series * r + (REAL)0.5;
    series = series * r * r + r + 1;
    return series * NAMED(power_of_two)(shifted);
}

#undef NOTHING
#undef LOG2_HIGH
#undef LOG2_LOW

/* -abs(x) */
INLINE V
NAMED(below_zero)(V x)
{
    return (V)((UV)x | (UV)NAMED(all)((REAL)-0.0));
}

/* 1 / (1 + exp(-x)), with an error below 4 units in the last place on both sides of zero, as far as exp(x) is normal. */
INLINE V
NAMED(logistic)(V x)
{
    const V small = NAMED(exponential)(NAMED(below_zero)(x));
    return NAMED(quotient)(NAMED(choose_by_sign)(x, small, NAMED(all)(1)), small + 1);
}

/* abs(x) */
INLINE V
NAMED(magnitude)(V x)
{
    return (V)((UV)x & ~(UV)NAMED(all)((REAL)-0.0));
}

#if IS_FLOAT
/* tanh: x P(x^2) / Q(x^2), a fit over all x where the result is not 1 to rounding (that of Eigen's `ptanh`). */
INLINE V
NAMED(tangent)(V x)
{
    const V size = NAMED(magnitude)(x);
    const V y = NAMED(larger)(NAMED(all)(-7.90531110763549805f), NAMED(smaller)(NAMED(all)(7.90531110763549805f), x));
    const V z = y * y;
    V over = z * -2.76076847742355e-16f + 2.00018790482477e-13f;
    over = over * z - 8.60467152213735e-11f;
    over = over * z + 5.12229709037114e-08f;
    over = over * z + 1.48572235717979e-05f;
    over = over * z + 6.37261928875436e-04f;
    over = over * z + 4.89352455891786e-03f;
    V under = z * 1.19825839466702e-06f + 1.18534705686654e-04f;
    under = under * z + 2.26843463243900e-03f;
    under = under * z + 4.89352518554385e-03f;
    return NAMED(choose)(size < 0.0004f, x, y * NAMED(quotient)(over, under));
}
#else
/* tanh: near zero x + x^3 P(x^2) / Q(x^2) (that of Cephes), else 1 - 2 / (exp(2 x) + 1) with the sign of x. */
INLINE V
NAMED(tangent)(V x)
{
    const V size = NAMED(magnitude)(x), z = x * x;
    const V over = (z * -9.64399179425052238628E-1 - 9.92877231001918586564E1) * z - 1.61468768441708447952E3;
    const V under = ((z + 1.12811678491632931402E2) * z + 2.23548839060100448583E3) * z + 4.84406305325125486048E3;
    const V near = x + x * z * (over / under);
    const V small = NAMED(exponential)(size * -2);
    const V far = 1 - 2 * small / (1 + small);
    const V signs = (V)((UV)x & (UV)NAMED(all)((REAL)-0.0));
    return NAMED(choose)(size < 0.625, near, (V)((UV)far | (UV)signs));
}
#endif
