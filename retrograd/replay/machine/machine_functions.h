/* The primitives of chains, as functions of vectors, for one type; see backend/kernels/vectors.h. A truth is a vector of bits,
 * all set or none. */

INLINE V
NAMED(truth)(IV held)
{
    return (V)held;
}

INLINE V
NAMED(magnitude)(V x)
{
    return (V)((UV)x & ~(UV)NAMED(all)((REAL)-0.0));
}

/* ---- functions of one ---------------------------------------------------------------------------------------- */

#define LARGEST (IS_FLOAT ? (REAL)3.402823466e38 : (REAL)1.7976931348623157e308)
#define DEFINE(name, result)     \
    INLINE V NAMED(do_##name)(V x) \
    {                            \
        return result;           \
    }
DEFINE(negative, (V)((UV)x ^ (UV)NAMED(all)((REAL)-0.0)))
DEFINE(absolute, NAMED(magnitude)(x))
DEFINE(square, x * x)
DEFINE(reciprocal, 1 / x)
DEFINE(expit, NAMED(logistic)(x))
DEFINE(isnan, NAMED(truth)(x != x))
DEFINE(isinf, NAMED(truth)(NAMED(magnitude)(x) > LARGEST))
DEFINE(isfinite, NAMED(truth)(NAMED(magnitude)(x) <= LARGEST))
DEFINE(logical_not, (V) ~(IV)x)
DEFINE(number_of, NAMED(choose)((IV)x, NAMED(all)(1), (V){0}))
DEFINE(truth_of, NAMED(truth)(x != 0))
#undef DEFINE

/* The exponential of any number. Above 88 (709) a power is left to a factor, so that 2^n is a number. */
INLINE V
NAMED(do_exp)(V x)
{
    const REAL high = IS_FLOAT ? (REAL)88 : (REAL)709;
    const IV above = x > high;
    const V limited = NAMED(choose)(x > high + (REAL)1.5, NAMED(all)(high + (REAL)1.5), x);
    const V found = NAMED(exponential)(NAMED(choose)(above, limited - 1, limited));
    return found * NAMED(choose)(above, NAMED(all)((REAL)2.71828182845904523536), NAMED(all)(1));
}

#if IS_FLOAT
/* x P(x^2) / Q(x^2), a fit over all x where the result is not 1 to rounding (that of Eigen's `ptanh`). */
INLINE V
NAMED(do_tanh)(V x)
{
    const V size = NAMED(magnitude)(x);
    const V high = NAMED(choose)(x > 7.90531110763549805f, NAMED(all)(7.90531110763549805f), x);
    const V y = NAMED(choose)(high < -7.90531110763549805f, NAMED(all)(-7.90531110763549805f), high);
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
/* Near zero x + x^3 P(x^2) / Q(x^2) (that of Cephes), else 1 - 2 / (exp(2 x) + 1) with the sign of x. */
INLINE V
NAMED(do_tanh)(V x)
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

/* ---- functions of two ---------------------------------------------------------------------------------------- */

#define DEFINE(name, result)            \
    INLINE V NAMED(do_##name)(V x, V y) \
    {                                   \
        return result;                  \
    }
DEFINE(add, x + y)
DEFINE(subtract, x - y)
DEFINE(multiply, x * y)
DEFINE(divide, x / y)
DEFINE(maximum, NAMED(choose)((x > y) | (x != x), x, y)) /* the second where both are zeros; a nan of either */
DEFINE(minimum, NAMED(choose)((x < y) | (x != x), x, y))
DEFINE(fmax, NAMED(choose)((x >= y) | (y != y), x, y))
DEFINE(fmin, NAMED(choose)((x <= y) | (y != y), x, y))
DEFINE(less, NAMED(truth)(x < y))
DEFINE(less_equal, NAMED(truth)(x <= y))
DEFINE(greater, NAMED(truth)(x > y))
DEFINE(greater_equal, NAMED(truth)(x >= y))
DEFINE(equal, NAMED(truth)(x == y))
DEFINE(not_equal, NAMED(truth)(x != y))
DEFINE(logical_and, (V)((IV)x & (IV)y))
DEFINE(logical_or, (V)((IV)x | (IV)y))
DEFINE(logical_xor, (V)((IV)x ^ (IV)y))
DEFINE(copysign, (V)(((UV)x & ~(UV)NAMED(all)((REAL)-0.0)) | ((UV)y & (UV)NAMED(all)((REAL)-0.0))))
#undef DEFINE

/* ---- two functions of two at once ---------------------------------------------------------------------------- */

/* The first result is rounded before the second begins, as NumPy does it: the compiler may not join the two. */
#ifdef HAS_BUILDS_FOR_X86
#define ROUNDED(value) __asm__("" : "+x"(value))
#else
#define ROUNDED(value) (void)(value)
#endif
#define DEFINE(name, first, second)          \
    INLINE V NAMED(do_##name)(V x, V y, V z) \
    {                                        \
        V w = first;                         \
        ROUNDED(w);                          \
        return second;                       \
    }
#define DEFINE_ALL(name, first)                \
    DEFINE(name##_add, first, w + z)           \
    DEFINE(name##_subtract, first, w - z)      \
    DEFINE(name##_multiply, first, w *z)       \
    DEFINE(name##_from, first, z - w)
DEFINE_ALL(add, x + y)
DEFINE_ALL(subtract, x - y)
DEFINE_ALL(multiply, x *y)
#undef DEFINE_ALL
#undef DEFINE
#undef ROUNDED

INLINE V
NAMED(do_where)(V x, V y, V z)
{
    return NAMED(choose)((IV)x, y, z);
}
#undef LARGEST
