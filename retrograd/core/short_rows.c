/* Kernels of small arrays that work row by row along the last dimension: softmax and its kin, extremes, gather; and softmax
 * along the first one.
 *
 * As in short_kernels.c: the bits of the Python kernels, which take the same steps. Exponentials and logarithms are
 * NumPy's own loops over whole arrays; sums have NumPy's order. Rows with a maximum that is not finite are Python's.
 */
#include "caller.h"
#include "engine.h"

#include "../backend/kernels/pairwise.h"
#include "../backend/kernels/tiny_loops.h"

#define SMALL_WORK 1024 /* elements: beyond, backend/kernels/rows has kernels, with other bits */

static CallPlan exponential, logarithm, logarithm_of_one_more; /* only their loops are used */

typedef struct {
    npy_intp count, length; /* rows, and elements in each */
    int number;             /* of the loops: 0 for float32, 1 for float64 */
} Rows;

/* Whether an array is small, of floats, in C order and not empty; the number of its loops. */
static int
is_small(PyObject *array, Rows *rows)
{
    if (!is_plain(array) || !PyArray_IS_C_CONTIGUOUS(ARRAY(array)) || PyArray_NDIM(ARRAY(array)) == 0) {
        return 0;
    }
    const npy_intp size = PyArray_SIZE(ARRAY(array));
    rows->number = PyArray_DESCR(ARRAY(array)) == objects.F64;
    return size > 0 && size <= SMALL_WORK && exponential.loops[rows->number] != NULL
           && logarithm.loops[rows->number] != NULL;
}

/* Whether `dim` is the last dimension of a small array. */
static int
read_rows(PyObject *array, PyObject *dim, Rows *rows)
{
    if (!PyLong_CheckExact(dim) || !is_small(array, rows)) {
        return 0;
    }
    int overflow;
    const long long place = PyLong_AsLongLongAndOverflow(dim, &overflow);
    const int last = PyArray_NDIM(ARRAY(array)) - 1;
    if (overflow || (place != -1 && place != last)) {
        return 0;
    }
    rows->length = PyArray_DIM(ARRAY(array), last);
    rows->count = PyArray_SIZE(ARRAY(array)) / rows->length;
    return 1;
}

static void
apply_loop(const CallPlan *plan, int number, void *from, void *to, npy_intp size)
{
    const npy_intp item = number ? sizeof(npy_float64) : sizeof(npy_float32), strides[2] = {item, item};
    char *data[2] = {from, to};
    plan->loops[number](data, &size, strides, plan->loop_data[number]);
}

typedef union {
    npy_float32 float32[SMALL_WORK];
    npy_float64 float64[SMALL_WORK];
} Work;

#define ROWS_OF(type, number, pairwise)                                                                  \
    /* Writes what is left of each row without its maximum; 0 if one is not finite. */                   \
    static int shift_##type(const npy_##type *x, const Rows *rows, npy_##type *peaks, npy_##type *out)   \
    {                                                                                                    \
        for (npy_intp row = 0; row < rows->count; row++, x += rows->length, out += rows->length) {       \
            npy_##type peak = x[0];                                                                      \
            int odd = x[0] != x[0];                                                                      \
            for (npy_intp i = 1; i < rows->length; i++) {                                                \
                odd |= x[i] != x[i];                                                                     \
                peak = x[i] > peak ? x[i] : peak;                                                        \
            }                                                                                            \
            if (odd || !npy_isfinite(peak)) {                                                            \
                return 0;                                                                                \
            }                                                                                            \
            peaks[row] = peak;                                                                           \
            for (npy_intp i = 0; i < rows->length; i++) {                                                \
                out[i] = x[i] - peak;                                                                    \
            }                                                                                            \
        }                                                                                                \
        return 1;                                                                                        \
    }                                                                                                    \
    static int softmax_##type(const npy_##type *x, const Rows *rows, npy_##type *out)                    \
    {                                                                                                    \
        npy_##type peaks[SMALL_WORK];                                                                    \
        if (!shift_##type(x, rows, peaks, out)) {                                                        \
            return 0;                                                                                    \
        }                                                                                                \
        apply_loop(&exponential, number, out, out, rows->count * rows->length);                          \
        for (npy_intp row = 0; row < rows->count; row++, out += rows->length) {                          \
            const npy_##type total = 0 + pairwise(out, rows->length);                                    \
            for (npy_intp i = 0; i < rows->length; i++) {                                                \
                out[i] /= total;                                                                         \
            }                                                                                            \
        }                                                                                                \
        return 1;                                                                                        \
    }                                                                                                    \
    /* The logarithms of the sums of exponentials of shifted rows. */                                    \
    static void totals_##type(npy_##type *shifted, const Rows *rows, npy_##type *totals)                 \
    {                                                                                                    \
        npy_##type work[SMALL_WORK], *powers = work;                                                     \
        apply_loop(&exponential, number, shifted, powers, rows->count * rows->length);                   \
        for (npy_intp row = 0; row < rows->count; row++, powers += rows->length) {                       \
            totals[row] = 0 + pairwise(powers, rows->length);                                            \
        }                                                                                                \
        apply_loop(&logarithm, number, totals, totals, rows->count);                                     \
    }                                                                                                    \
    static int log_softmax_##type(const npy_##type *x, const Rows *rows, npy_##type *out)                \
    {                                                                                                    \
        npy_##type totals[SMALL_WORK];                                                                   \
        if (!shift_##type(x, rows, totals, out)) {                                                       \
            return 0;                                                                                    \
        }                                                                                                \
        totals_##type(out, rows, totals);                                                                \
        for (npy_intp row = 0; row < rows->count; row++, out += rows->length) {                          \
            for (npy_intp i = 0; i < rows->length; i++) {                                                \
                out[i] -= totals[row];                                                                   \
            }                                                                                            \
        }                                                                                                \
        return 1;                                                                                        \
    }                                                                                                    \
    static int logsumexp_##type(const npy_##type *x, const Rows *rows, npy_##type *out)                  \
    {                                                                                                    \
        npy_##type peaks[SMALL_WORK], shifted[SMALL_WORK];                                               \
        if (!shift_##type(x, rows, peaks, shifted)) {                                                    \
            return 0;                                                                                    \
        }                                                                                                \
        totals_##type(shifted, rows, out);                                                               \
        for (npy_intp row = 0; row < rows->count; row++) {                                               \
            out[row] += peaks[row];                                                                      \
        }                                                                                                \
        return 1;                                                                                        \
    }

ROWS_OF(float32, 0, pairwise_sum_float32)
ROWS_OF(float64, 1, pairwise_sum_float64)

/* Runs one of the functions above on the first operand; gives the result, takes the reference to it. */
#define RUN_ROWS(name, result)                                                                           \
    PyObject *made = (result);                                                                           \
    if (made == NULL) {                                                                                  \
        return NULL;                                                                                     \
    }                                                                                                    \
    const void *x = PyArray_DATA(ARRAY(call->arrays[0]));                                                \
    void *out = PyArray_DATA(ARRAY(made));                                                               \
    if (!(rows.number ? name##_float64(x, &rows, out) : name##_float32(x, &rows, out))) {                \
        Py_CLEAR(made);                                                                                  \
    }                                                                                                    \
    return made

/* softmax along the first of two dimensions: of `length` rows, each of `count` elements. */
#define SOFTMAX_OF_COLUMNS(type, number)                                                                 \
    static int softmax_columns_##type(const npy_##type *x, const Rows *rows, npy_##type *out)            \
    {                                                                                                    \
        npy_##type peaks[SMALL_WORK], totals[SMALL_WORK];                                                \
        const npy_intp columns = rows->count, size = columns * rows->length;                             \
        memcpy(peaks, x, (size_t)columns * sizeof *peaks);                                               \
        int odd = 0;                                                                                     \
        for (npy_intp i = 0, column = 0; i < size; i++, column = column + 1 == columns ? 0 : column + 1) { \
            odd |= x[i] != x[i];                                                                         \
            peaks[column] = x[i] > peaks[column] ? x[i] : peaks[column];                                 \
        }                                                                                                \
        for (npy_intp column = 0; column < columns; column++) {                                          \
            odd |= !npy_isfinite(peaks[column]);                                                         \
        }                                                                                                \
        if (odd) {                                                                                       \
            return 0;                                                                                    \
        }                                                                                                \
        for (npy_intp row = 0; row < rows->length; row++) {                                              \
            for (npy_intp column = 0; column < columns; column++) {                                      \
                out[row * columns + column] = x[row * columns + column] - peaks[column];                 \
            }                                                                                            \
        }                                                                                                \
        apply_loop(&exponential, number, out, out, size);                                                \
        sum_rows_##type(out, rows->length, columns, totals);                                             \
        for (npy_intp row = 0; row < rows->length; row++) {                                              \
            for (npy_intp column = 0; column < columns; column++) {                                      \
                out[row * columns + column] /= totals[column];                                           \
            }                                                                                            \
        }                                                                                                \
        return 1;                                                                                        \
    }

SOFTMAX_OF_COLUMNS(float32, 0)
SOFTMAX_OF_COLUMNS(float64, 1)

/* Whether `dim` is the first of several dimensions of a small array, with more than one element beside it. */
static int
read_columns(PyObject *array, PyObject *dim, Rows *rows)
{
    if (dim != objects.zero || !is_small(array, rows) || PyArray_NDIM(ARRAY(array)) < 2) {
        return 0;
    }
    rows->length = PyArray_DIM(ARRAY(array), 0);
    rows->count = PyArray_SIZE(ARRAY(array)) / rows->length;
    return rows->count > 1;
}

/* softmax(input, dim) */
PyObject *
short_softmax(const Call *call)
{
    Rows rows;
    if (read_columns(call->arrays[0], call->values[1], &rows)) {
        RUN_ROWS(softmax_columns, new_array_like(call->arrays[0]));
    }
    if (!read_rows(call->arrays[0], call->values[1], &rows)) {
        return NULL;
    }
    RUN_ROWS(softmax, new_array_like(call->arrays[0]));
}

/* log_softmax(input, dim) */
PyObject *
short_log_softmax(const Call *call)
{
    Rows rows;
    if (!read_rows(call->arrays[0], call->values[1], &rows)) {
        return NULL;
    }
    RUN_ROWS(log_softmax, new_array_like(call->arrays[0]));
}

/* A new array of one element for each row, with the last dimension where `kept` says so. */
static PyObject *
new_for_rows(PyObject *array, PyObject *kept)
{
    npy_intp shape[NPY_MAXDIMS];
    const int last = PyArray_NDIM(ARRAY(array)) - 1;
    copy_numbers(shape, PyArray_DIMS(ARRAY(array)), (size_t)last);
    shape[last] = 1;
    PyArray_Descr *dtype = PyArray_DESCR(ARRAY(array));
    Py_INCREF(dtype); /* the call below takes this reference */
    return PyArray_NewFromDescr(&PyArray_Type, dtype, last + (kept == Py_True), shape, NULL, NULL, 0, NULL);
}

/* logsumexp(input, dim, keepdim) */
PyObject *
short_logsumexp(const Call *call)
{
    Rows rows;
    if (!PyBool_Check(call->values[2]) || !read_rows(call->arrays[0], call->values[1], &rows)) {
        return NULL;
    }
    RUN_ROWS(logsumexp, new_for_rows(call->arrays[0], call->values[2]));
}

/* ---- extremes ----------------------------------------------------------------------------------------------- */

/* Rows with nan, or whose extreme is a zero of either sign, are Python's. */
#define EXTREME(name, type, better)                                                                      \
    static int name##_##type(const npy_##type *x, const Rows *rows, npy_##type *out)                     \
    {                                                                                                    \
        int odd = 0;                                                                                     \
        for (npy_intp row = 0; row < rows->count; row++, x += rows->length) {                            \
            npy_##type best = x[0];                                                                      \
            for (npy_intp i = 0; i < rows->length; i++) {                                                \
                odd |= x[i] != x[i];                                                                     \
                best = x[i] better best ? x[i] : best;                                                   \
            }                                                                                            \
            odd |= best == 0;                                                                            \
            out[row] = best;                                                                             \
        }                                                                                                \
        return !odd;                                                                                     \
    }

EXTREME(amax, float32, >)
EXTREME(amax, float64, >)
EXTREME(amin, float32, <)
EXTREME(amin, float64, <)

/* amax(input, dim, keepdim) */
PyObject *
short_amax(const Call *call)
{
    Rows rows;
    if (!PyBool_Check(call->values[2]) || !read_rows(call->arrays[0], call->values[1], &rows)) {
        return NULL;
    }
    RUN_ROWS(amax, new_for_rows(call->arrays[0], call->values[2]));
}

/* amin(input, dim, keepdim) */
PyObject *
short_amin(const Call *call)
{
    Rows rows;
    if (!PyBool_Check(call->values[2]) || !read_rows(call->arrays[0], call->values[1], &rows)) {
        return NULL;
    }
    RUN_ROWS(amin, new_for_rows(call->arrays[0], call->values[2]));
}

/* ---- sigmoid ------------------------------------------------------------------------------------------------ */

#define SIGMOID(type, number)                                                             \
    do {                                                                                  \
        const npy_##type *x = PyArray_DATA(ARRAY(input));                                 \
        npy_##type *out = PyArray_DATA(ARRAY(made));                                      \
        for (npy_intp i = 0; i < size; i++) {                                             \
            out[i] = -x[i];                                                               \
        }                                                                                 \
        apply_loop(&exponential, number, out, out, size);                                 \
        for (npy_intp i = 0; i < size; i++) {                                             \
            out[i] = 1 / (out[i] + 1);                                                    \
        }                                                                                 \
    } while (0)

/* sigmoid(input) */
PyObject *
short_sigmoid(const Call *call)
{
    PyObject *input = call->arrays[0];
    const npy_intp size = PyArray_SIZE(ARRAY(input));
    if (!is_plain(input) || PyArray_NDIM(ARRAY(input)) == 0 || size > SMALL_WORK
        || exponential.loops[call->dtype == objects.F64] == NULL) {
        return NULL;
    }
    PyObject *made = new_array_like(input);
    if (made == NULL) {
        return NULL;
    }
    if (call->dtype == objects.F32) {
        SIGMOID(float32, 0);
    }
    else {
        SIGMOID(float64, 1);
    }
    return made;
}

/* ---- softplus ----------------------------------------------------------------------------------------------- */

/* Whether all are at most 20; a nan is not. */
#define SOFTPLUS(type, number)                                                            \
    do {                                                                                  \
        const npy_##type *x = PyArray_DATA(ARRAY(input));                                 \
        for (npy_intp i = 0; i < size; i++) {                                             \
            usual &= x[i] <= 20;                                                          \
        }                                                                                 \
        if (usual) {                                                                      \
            apply_loop(&exponential, number, (void *)x, PyArray_DATA(ARRAY(made)), size); \
            apply_loop(&logarithm_of_one_more, number, PyArray_DATA(ARRAY(made)), PyArray_DATA(ARRAY(made)), size); \
        }                                                                                 \
    } while (0)

/* softplus(input, beta, threshold) */
PyObject *
short_softplus(const Call *call)
{
    PyObject *input = call->arrays[0];
    const npy_intp size = PyArray_SIZE(ARRAY(input));
    const int number = call->dtype == objects.F64;
    double beta, threshold;
    if (!is_plain(input) || PyArray_NDIM(ARRAY(input)) == 0 || size > SMALL_WORK || exponential.loops[number] == NULL
        || logarithm_of_one_more.loops[number] == NULL || !fits_dtype(call->values[1], call->dtype, &beta)
        || !fits_dtype(call->values[2], call->dtype, &threshold) || beta != 1 || threshold != 20) {
        return NULL;
    }
    PyObject *made = new_array_like(input);
    if (made == NULL) {
        return NULL;
    }
    int usual = 1;
    if (number) {
        SOFTPLUS(float64, 1);
    }
    else {
        SOFTPLUS(float32, 0);
    }
    if (!usual) {
        Py_CLEAR(made);
    }
    return made;
}

/* ---- gather ------------------------------------------------------------------------------------------------- */

/* Whether an index names elements along the last dimension in rows like those of the input. */
static int
fits_rows(PyArrayObject *input, PyArrayObject *index)
{
    const int last = PyArray_NDIM(input) - 1;
    return PyArray_CheckExact((PyObject *)index) && PyArray_DESCR(index) == objects.I64 && PyArray_IS_C_CONTIGUOUS(index)
           && PyArray_ISALIGNED(index) && PyArray_NDIM(index) == last + 1 && PyArray_SIZE(index) > 0
           && PyArray_CompareLists(PyArray_DIMS(input), PyArray_DIMS(index), last);
}

/* gather(input, dim, index, sparse_grad) */
PyObject *
short_gather(const Call *call)
{
    Rows rows;
    if (call->values[3] != Py_False || !read_rows(call->arrays[0], call->values[1], &rows)
        || !fits_rows(ARRAY(call->arrays[0]), ARRAY(call->arrays[1]))) {
        return NULL;
    }
    PyArrayObject *input = ARRAY(call->arrays[0]), *index = ARRAY(call->arrays[1]);
    const npy_int64 *places = PyArray_DATA(index);
    const npy_intp taken = PyArray_SIZE(index), each = taken / rows.count, item = PyArray_ITEMSIZE(input);
    for (npy_intp i = 0; i < taken; i++) {
        if (places[i] < 0 || places[i] >= rows.length) {
            return NULL; /* Python says which */
        }
    }
    PyArray_Descr *dtype = PyArray_DESCR(input);
    Py_INCREF(dtype); /* the call below takes this reference */
    PyObject *found = PyArray_NewFromDescr(&PyArray_Type, dtype, PyArray_NDIM(index), PyArray_DIMS(index), NULL, NULL, 0, NULL);
    if (found == NULL) {
        return NULL;
    }
    const char *from = PyArray_BYTES(input);
    char *to = PyArray_BYTES(ARRAY(found));
    for (npy_intp row = 0; row < rows.count; row++, from += rows.length * item) {
        for (npy_intp i = 0; i < each; i++, to += item) {
            memcpy(to, from + *places++ * item, item);
        }
    }
    return found;
}

/* ---- the part ----------------------------------------------------------------------------------------------- */

static int
start(void)
{
    find_loops(&exponential);
    find_loops(&logarithm);
    find_loops(&logarithm_of_one_more);
    return 0;
}

static const Wanted wanted[] = {
    {"exp", &exponential.ufunc},
    {"log", &logarithm.ufunc},
    {"log1p", &logarithm_of_one_more.ufunc},
    {NULL, NULL},
};

const Part short_rows_part = {.wanted = wanted, .start = start};
