// The primitives that traced expressions are made of, for each type; see backend/expressions.py.

#define OF_ANY template <typename T> __device__ __forceinline__
#define OF_REAL(name, single, both)                                                                \
    __device__ __forceinline__ float do_##name(float a) { return single; }                         \
    __device__ __forceinline__ double do_##name(double a) { return both; }
#define OF_TWO_REAL(name, single, both)                                                            \
    __device__ __forceinline__ float do_##name(float a, float b) { return single; }                \
    __device__ __forceinline__ double do_##name(double a, double b) { return both; }

OF_ANY T do_add(T a, T b) { return a + b; }
OF_ANY T do_subtract(T a, T b) { return a - b; }
OF_ANY T do_multiply(T a, T b) { return a * b; }
__device__ __forceinline__ bool do_add(bool a, bool b) { return a || b; }
__device__ __forceinline__ bool do_multiply(bool a, bool b) { return a && b; }
OF_TWO_REAL(divide, __fdiv_rn(a, b), a / b)
OF_ANY T do_negative(T a) { return -a; }
OF_ANY T do_positive(T a) { return a; }
OF_ANY T do_conjugate(T a) { return a; }
OF_ANY T do_square(T a) { return a * a; }
OF_REAL(reciprocal, __fdiv_rn(1.0f, a), 1.0 / a)

OF_ANY T do_absolute(T a) { return a < 0 ? -a : a; }
__device__ __forceinline__ float do_absolute(float a) { return fabsf(a); }
__device__ __forceinline__ double do_absolute(double a) { return fabs(a); }
__device__ __forceinline__ bool do_absolute(bool a) { return a; }
OF_ANY T do_sign(T a) { return a != a ? a : (T)((a > (T)0) - (a < (T)0)); }

OF_ANY T do_maximum(T a, T b) { return (a > b || a != a) ? a : b; }
OF_ANY T do_minimum(T a, T b) { return (a < b || a != a) ? a : b; }
OF_ANY T do_fmax(T a, T b) { return (a >= b || b != b) ? a : b; }
OF_ANY T do_fmin(T a, T b) { return (a <= b || b != b) ? a : b; }

OF_ANY bool do_less(T a, T b) { return a < b; }
OF_ANY bool do_less_equal(T a, T b) { return a <= b; }
OF_ANY bool do_greater(T a, T b) { return a > b; }
OF_ANY bool do_greater_equal(T a, T b) { return a >= b; }
OF_ANY bool do_equal(T a, T b) { return a == b; }
OF_ANY bool do_not_equal(T a, T b) { return a != b; }

OF_ANY bool do_logical_and(T a, T b) { return a != (T)0 && b != (T)0; }
OF_ANY bool do_logical_or(T a, T b) { return a != (T)0 || b != (T)0; }
OF_ANY bool do_logical_xor(T a, T b) { return (a != (T)0) != (b != (T)0); }
OF_ANY bool do_logical_not(T a) { return a == (T)0; }
OF_ANY T do_bitwise_and(T a, T b) { return a & b; }
OF_ANY T do_bitwise_or(T a, T b) { return a | b; }
OF_ANY T do_bitwise_xor(T a, T b) { return a ^ b; }
OF_ANY T do_invert(T a) { return ~a; }
__device__ __forceinline__ bool do_invert(bool a) { return !a; }
OF_ANY T do_where(bool chosen, T a, T b) { return chosen ? a : b; }

OF_ANY bool do_isnan(T a) { return a != a; }
OF_ANY bool do_isinf(T a) { return false; }
__device__ __forceinline__ bool do_isinf(float a) { return fabsf(a) == (float)INFINITE; }
__device__ __forceinline__ bool do_isinf(double a) { return fabs(a) == INFINITE; }
OF_ANY bool do_isfinite(T a) { return true; }
__device__ __forceinline__ bool do_isfinite(float a) { return fabsf(a) < (float)INFINITE; }
__device__ __forceinline__ bool do_isfinite(double a) { return fabs(a) < INFINITE; }
OF_ANY bool do_signbit(T a) { return a < 0; }
__device__ __forceinline__ bool do_signbit(float a) { return __float_as_int(a) < 0; }
__device__ __forceinline__ bool do_signbit(double a) { return __double_as_longlong(a) < 0; }

OF_REAL(sqrt, __fsqrt_rn(a), sqrt(a))
OF_REAL(exp, expf(a), exp(a))
OF_REAL(exp2, exp2f(a), exp2(a))
OF_REAL(expm1, expm1f(a), expm1(a))
OF_REAL(log, logf(a), log(a))
OF_REAL(log2, log2f(a), log2(a))
OF_REAL(log10, log10f(a), log10(a))
OF_REAL(log1p, log1pf(a), log1p(a))
OF_REAL(sin, sinf(a), sin(a))
OF_REAL(cos, cosf(a), cos(a))
OF_REAL(tan, tanf(a), tan(a))
OF_REAL(arcsin, asinf(a), asin(a))
OF_REAL(arccos, acosf(a), acos(a))
OF_REAL(arctan, atanf(a), atan(a))
OF_REAL(sinh, sinhf(a), sinh(a))
OF_REAL(cosh, coshf(a), cosh(a))
OF_REAL(tanh, tanhf(a), tanh(a))
OF_REAL(arcsinh, asinhf(a), asinh(a))
OF_REAL(arccosh, acoshf(a), acosh(a))
OF_REAL(arctanh, atanhf(a), atanh(a))
OF_REAL(erf, erff(a), erf(a))
OF_REAL(expit, __fdiv_rn(1.0f, 1.0f + expf(-a)), 1.0 / (1.0 + exp(-a)))
OF_ANY T do_floor(T a) { return a; }
OF_ANY T do_ceil(T a) { return a; }
OF_ANY T do_trunc(T a) { return a; }
OF_ANY T do_rint(T a) { return a; }
OF_REAL(floor, floorf(a), floor(a))
OF_REAL(ceil, ceilf(a), ceil(a))
OF_REAL(trunc, truncf(a), trunc(a))
OF_REAL(rint, rintf(a), rint(a))

OF_TWO_REAL(copysign, copysignf(a, b), copysign(a, b))
OF_TWO_REAL(arctan2, atan2f(a, b), atan2(a, b))
OF_TWO_REAL(hypot, hypotf(a, b), hypot(a, b))
OF_TWO_REAL(nextafter, nextafterf(a, b), nextafter(a, b))
OF_TWO_REAL(power, powf(a, b), pow(a, b))

// Python's remainder and quotient; of integers by zero they give zero, as NumPy's do
OF_ANY T do_fmod(T a, T b) { return b == 0 ? 0 : a % b; }
OF_TWO_REAL(fmod, fmodf(a, b), fmod(a, b))
OF_ANY T do_remainder(T a, T b) {
    if (b == 0 || ((T)-1 < (T)0 && b == (T)-1))
        return 0;
    T rest = a % b;
    return (rest != 0 && ((rest < 0) != (b < 0))) ? rest + b : rest;
}
OF_ANY T do_floor_divide(T a, T b) {
    if (b == 0)
        return 0;
    if (b == (T)-1 && (T)-1 < (T)0)
        return -a;
    T quotient = a / b;
    return (a % b != 0 && ((a < 0) != (b < 0))) ? quotient - 1 : quotient;
}
#define PYTHONS_DIVISION(T, rest_of, floor_of, sign_of)                                            \
    __device__ __forceinline__ T do_remainder(T a, T b) {                                          \
        T rest = rest_of(a, b);                                                                    \
        if (rest != 0)                                                                             \
            return ((rest < 0) != (b < 0)) ? rest + b : rest;                                      \
        return b == 0 ? rest : sign_of((T)0, b);                                                   \
    }                                                                                              \
    __device__ __forceinline__ T do_floor_divide(T a, T b) {                                       \
        if (b == 0)                                                                                \
            return a / b;                                                                          \
        T rest = rest_of(a, b), quotient = (a - rest) / b;                                         \
        if (rest != 0 && ((b < 0) != (rest < 0)))                                                  \
            quotient -= 1;                                                                         \
        if (quotient == 0)                                                                         \
            return sign_of((T)0, a / b);                                                           \
        T whole = floor_of(quotient);                                                              \
        return quotient - whole > (T)0.5 ? whole + 1 : whole;                                      \
    }
PYTHONS_DIVISION(float, fmodf, floorf, copysignf)
PYTHONS_DIVISION(double, fmod, floor, copysign)
