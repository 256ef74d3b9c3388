/* The primitives of elementwise expressions, as functions of vectors, for one type; see vectors.h. A truth is a vector of
 * bits, all set or none. Chains of replay and the loops in rows/rows_elementwise.h are made of them. */

INLINE V
NAMED(truth)(IV held)
{
    return (V)held;
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
DEFINE(tanh, NAMED(tangent)(x))
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
