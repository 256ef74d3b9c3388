/* Kernels of small arrays that choose elements or limit them, and powers: clamp, where, x ** 2.
 *
 * As in short_kernels.c: the bits of the Python kernels. NULL without an error set where a call is no case for them.
 */
#include "caller.h"
#include "engine.h"

#define SMALL_WORK 4096 /* elements: beyond, NumPy's wider instructions win */

static PyObject *multiply; /* a compiled kernel, None where there are none: then NumPy does all of it */

static int
is_small(const Call *call)
{
    PyObject *array = call->arrays[0];
    return multiply != Py_None && is_plain(array) && PyArray_SIZE(ARRAY(array)) <= SMALL_WORK;
}

/* ---- limits ------------------------------------------------------------------------------------------------- */

/* maximum(low, x), then minimum(high, .), as the processor's instructions have them: a nan wins, and of two zeros the
 * second. Elsewhere the rule for zeros is another one. */
#if defined(__x86_64__) || defined(_M_X64)
#define CLAMP(type)                                                                           \
    do {                                                                                      \
        const type *x = PyArray_DATA(ARRAY(call->arrays[0]));                                 \
        type *out = PyArray_DATA(ARRAY(result));                                              \
        const type lower = (type)low, upper = (type)high;                                     \
        for (npy_intp index = 0; index < size; index++) {                                     \
            const type raised = has_low && lower > x[index] ? lower : x[index];               \
            out[index] = has_high && upper < raised ? upper : raised;                         \
        }                                                                                     \
    } while (0)

/* clamp(input, min, max) */
PyObject *
short_clamp(const Call *call)
{
    const int has_low = call->arrays[1] != Py_None, has_high = call->arrays[2] != Py_None;
    double low = 0, high = 0;
    if (!is_small(call) || !(has_low || has_high) || (has_low && !fits_dtype(call->arrays[1], call->dtype, &low))
        || (has_high && !fits_dtype(call->arrays[2], call->dtype, &high))) {
        return NULL;
    }
    PyObject *result = new_array_like(call->arrays[0]);
    if (result == NULL) {
        return NULL;
    }
    const npy_intp size = PyArray_SIZE(ARRAY(result));
    if (call->dtype == objects.F32) {
        CLAMP(npy_float32);
    }
    else {
        CLAMP(npy_float64);
    }
    return result;
}
#else
PyObject *
short_clamp(const Call *Py_UNUSED(call))
{
    return NULL;
}
#endif

/* ---- powers ------------------------------------------------------------------------------------------------- */

#define POWER(type)                                                           \
    do {                                                                      \
        const type *x = PyArray_DATA(ARRAY(call->arrays[0]));                 \
        type *out = PyArray_DATA(ARRAY(result));                              \
        for (npy_intp index = 0; index < size; index++) {                     \
            const type square = x[index] * x[index];                          \
            out[index] = exponent == 2 ? square : square * x[index];          \
        }                                                                     \
    } while (0)

/* _pow_number(input, exponent): 2 and 3 */
PyObject *
short_pow(const Call *call)
{
    double exponent;
    if (!is_small(call) || !fits_dtype(call->arrays[1], call->dtype, &exponent) || (exponent != 2 && exponent != 3)) {
        return NULL;
    }
    PyObject *result = new_array_like(call->arrays[0]);
    if (result == NULL) {
        return NULL;
    }
    const npy_intp size = PyArray_SIZE(ARRAY(result));
    if (call->dtype == objects.F32) {
        POWER(npy_float32);
    }
    else {
        POWER(npy_float64);
    }
    return result;
}

/* ---- where -------------------------------------------------------------------------------------------------- */

#define CHOOSE(type)                                                                                        \
    do {                                                                                                    \
        const type *x = PyArray_DATA(ARRAY(call->arrays[0]));                                               \
        const type *y = alike ? PyArray_DATA(ARRAY(call->arrays[1])) : NULL, other = (type)number;          \
        type *out = PyArray_DATA(ARRAY(result));                                                            \
        for (npy_intp index = 0; index < size; index++) {                                                   \
            out[index] = mask[index] ? x[index] : alike ? y[index] : other;                                 \
        }                                                                                                   \
    } while (0)

/* _choose(input, other, condition) of one shape, in C order; other may be a number */
PyObject *
short_choose(const Call *call)
{
    PyObject *condition = call->arrays[2];
    double number = 0;
    const int alike = are_alike(call->arrays[0], call->arrays[1]);
    if (!is_small(call) || !PyArray_IS_C_CONTIGUOUS(ARRAY(call->arrays[0])) || !PyArray_CheckExact(condition)
        || PyArray_DESCR(ARRAY(condition)) != objects.B8 || !PyArray_IS_C_CONTIGUOUS(ARRAY(condition))
        || !has_shape_of(call->arrays[0], condition)
        || !(alike || fits_dtype(call->arrays[1], call->dtype, &number))) {
        return NULL;
    }
    PyObject *result = new_array_like(call->arrays[0]);
    if (result == NULL) {
        return NULL;
    }
    const npy_bool *mask = PyArray_DATA(ARRAY(condition));
    const npy_intp size = PyArray_SIZE(ARRAY(result));
    if (call->dtype == objects.F32) {
        CHOOSE(npy_float32);
    }
    else {
        CHOOSE(npy_float64);
    }
    return result;
}

static const Wanted wanted[] = {
    {"kernel_multiply", &multiply},
    {NULL, NULL},
};

const Part short_choices_part = {.wanted = wanted};
