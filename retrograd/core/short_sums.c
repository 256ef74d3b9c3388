/* Sums and means of small arrays along dimensions, `ops.reduction.reduce.add_along`, and of the losses of a few
 * classes, `ops.neural.classification`: in NumPy's order. */
#include "caller.h"
#include "engine.h"

#include "../backend/kernels/tiny_loops.h"

#include <math.h>

#define SMALL_SUM 1024 /* elements: from here on Python adds in blocks */

static PyObject *sum_all; /* a compiled kernel, None where there are none */

/* How an array in C order lies around what is added up: outer x before x along x after elements, of which `outer` and
 * `along` are the dimensions that go. `outer` is 1 where `after` is not. */
typedef struct {
    npy_intp outer, before, along, after;
    char goes[NPY_MAXDIMS];
} Around;

/* Marks a dimension; 0 if it is none of the array's, or marked already. */
static int
mark_dim(PyObject *number, int ndim, Around *around)
{
    int overflow;
    if (!PyLong_CheckExact(number)) {
        return 0;
    }
    const long long dim = PyLong_AsLongLongAndOverflow(number, &overflow);
    if (overflow || dim < -ndim || dim >= ndim || around->goes[dim < 0 ? dim + ndim : dim]) {
        return 0;
    }
    around->goes[dim < 0 ? dim + ndim : dim] = 1;
    return 1;
}

/* The dimensions that are an int, or a tuple with some. */
static int
mark_dims(PyObject *dims, int ndim, Around *around)
{
    memset(around->goes, 0, (size_t)ndim);
    if (!PyTuple_CheckExact(dims)) {
        return mark_dim(dims, ndim, around);
    }
    for (Py_ssize_t index = 0; index < PyTuple_GET_SIZE(dims); index++) {
        if (!mark_dim(PyTuple_GET_ITEM(dims, index), ndim, around)) {
            return 0;
        }
    }
    return PyTuple_GET_SIZE(dims) > 0;
}

/* Multiplies up the dimensions; those of one element are as if they were not there, as they are in NumPy. */
static int
multiply_dims(PyArrayObject *array, Around *around)
{
    npy_intp *const parts[4] = {&around->outer, &around->before, &around->along, &around->after};
    int part = 0;
    around->outer = around->before = around->along = around->after = 1;
    for (int dim = 0; dim < PyArray_NDIM(array); dim++) {
        const npy_intp size = PyArray_DIM(array, dim);
        if (size > 1) {
            part += (part % 2 == 0) != around->goes[dim];
            if (part > 3) {
                return 0;
            }
            *parts[part] *= size;
        }
    }
    if (around->along == 1 && around->outer > 1) { /* what goes comes first: these are rows */
        around->along = around->outer;
        around->after = around->before;
        around->outer = around->before = 1;
    }
    return around->after == 1 || (around->outer == 1 && around->before == 1);
}

static int
read_around(const Call *call, PyObject *kept, Around *around)
{
    PyObject *array = call->arrays[0];
    if (sum_all == Py_None || !is_plain(array) || !PyArray_IS_C_CONTIGUOUS(ARRAY(array)) || !PyBool_Check(kept)) {
        return 0;
    }
    const npy_intp size = PyArray_SIZE(ARRAY(array));
    return size > 0 && size < SMALL_SUM && mark_dims(call->values[1], PyArray_NDIM(ARRAY(array)), around)
           && multiply_dims(ARRAY(array), around);
}

#define ADD_UP(type)                                                                              \
    do {                                                                                          \
        const npy_##type *next = x;                                                               \
        npy_##type *sums = total, more[SMALL_SUM];                                                \
        if (around->after > 1) {                                                                  \
            sum_rows_##type(next, around->along, around->after, sums);                            \
            return;                                                                               \
        }                                                                                         \
        sum_columns_##type(next, around->before, around->along, sums);                            \
        for (npy_intp block = 1; block < around->outer; block++) {                                \
            next += around->before * around->along;                                               \
            sum_columns_##type(next, around->before, around->along, more);                        \
            for (npy_intp part = 0; part < around->before; part++) {                              \
                sums[part] += more[part];                                                         \
            }                                                                                     \
        }                                                                                         \
    } while (0)

/* The sums of `x`, which lies as the operand does. */
static void
add_up(const Call *call, const Around *around, const void *x, void *total)
{
    if (call->dtype == objects.F32) {
        ADD_UP(float32);
    }
    else {
        ADD_UP(float64);
    }
}

/* An array for one number of each part that is added up. */
static PyObject *
new_sums(const Call *call, PyObject *kept, const Around *around)
{
    PyArrayObject *array = ARRAY(call->arrays[0]);
    npy_intp shape[NPY_MAXDIMS];
    int ndim = 0;
    for (int dim = 0; dim < PyArray_NDIM(array); dim++) {
        if (!around->goes[dim]) {
            shape[ndim++] = PyArray_DIM(array, dim);
        }
        else if (kept == Py_True) {
            shape[ndim++] = 1;
        }
    }
    PyArray_Descr *dtype = PyArray_DESCR(array);
    Py_INCREF(dtype); /* the call below takes this reference */
    return PyArray_NewFromDescr(&PyArray_Type, dtype, ndim, shape, NULL, NULL, 0, NULL);
}

static PyObject *
summed(const Call *call, Around *around)
{
    if (call->values[3] != Py_None || !read_around(call, call->values[2], around)) {
        return NULL;
    }
    PyObject *result = new_sums(call, call->values[2], around);
    if (result != NULL) {
        add_up(call, around, PyArray_DATA(ARRAY(call->arrays[0])), PyArray_DATA(ARRAY(result)));
    }
    return result;
}

/* sum(input, dim, keepdim, *, dtype) */
PyObject *
short_sum(const Call *call)
{
    Around around;
    return summed(call, &around);
}

/* mean(input, dim, keepdim, *, dtype) */
PyObject *
short_mean(const Call *call)
{
    Around around;
    PyObject *result = summed(call, &around);
    if (result == NULL) {
        return NULL;
    }
    const npy_intp size = PyArray_SIZE(ARRAY(result)), count = around.outer * around.along;
    if (call->dtype == objects.F32) {
        npy_float32 *data = PyArray_DATA(ARRAY(result));
        for (npy_intp index = 0; index < size; index++) {
            data[index] /= (npy_float32)count;
        }
    }
    else {
        npy_float64 *data = PyArray_DATA(ARRAY(result));
        for (npy_intp index = 0; index < size; index++) {
            data[index] /= (npy_float64)count;
        }
    }
    return result;
}

/* ---- variance ----------------------------------------------------------------------------------------------- */

/* As `ops.reduction.statistics._variance`: the mean first, then the squared distances from it. */
#define SPREAD(type, root)                                                                      \
    static void spread_##type(const Call *call, const Around *around, double freedom, int rooted, npy_##type *out) \
    {                                                                                           \
        npy_##type squares[SMALL_SUM];                                                          \
        squares[0] = 0; /* compilers do not know that there is an element */                    \
        const npy_##type *x = PyArray_DATA(ARRAY(call->arrays[0]));                             \
        const npy_intp parts = around->before * around->after, size = parts * around->along;    \
        add_up(call, around, x, out);                                                           \
        for (npy_intp part = 0; part < parts; part++) {                                         \
            out[part] /= (npy_##type)around->along;                                             \
        }                                                                                       \
        for (npy_intp i = 0; i < size; i++) {                                                   \
            const npy_##type distance = x[i] - out[around->after == 1 ? i / around->along : i % around->after]; \
            squares[i] = distance * distance;                                                   \
        }                                                                                       \
        add_up(call, around, squares, out);                                                     \
        for (npy_intp part = 0; part < parts; part++) {                                         \
            const npy_##type variance = out[part] / (npy_##type)freedom;                        \
            out[part] = rooted ? root(variance) : variance;                                     \
        }                                                                                       \
    }

SPREAD(float32, sqrtf)
SPREAD(float64, sqrt)

static PyObject *
spread(const Call *call, int rooted)
{
    Around around;
    double correction;
    PyObject *kept = call->values[3];
    if (!fits_dtype(call->values[2], call->dtype, &correction) || !read_around(call, kept, &around) || around.outer > 1
        || (double)around.along - correction <= 0) {
        return NULL;
    }
    PyObject *result = new_sums(call, kept, &around);
    if (result == NULL) {
        return NULL;
    }
    const double freedom = (double)around.along - correction;
    if (call->dtype == objects.F32) {
        spread_float32(call, &around, freedom, rooted, PyArray_DATA(ARRAY(result)));
    }
    else {
        spread_float64(call, &around, freedom, rooted, PyArray_DATA(ARRAY(result)));
    }
    return result;
}

/* var(input, dim, correction, keepdim) */
PyObject *
short_var(const Call *call)
{
    return spread(call, 0);
}

/* std(input, dim, correction, keepdim) */
PyObject *
short_std(const Call *call)
{
    return spread(call, 1);
}

/* ---- losses of classes -------------------------------------------------------------------------------------- */

enum { NONE, MEAN, SUM }; /* ops.neural.shared */

/* Whether there is one class for each row of scores, all inside, and the class to ignore outside. */
static int
are_classes(PyArrayObject *scores, PyObject *target, PyObject *ignored)
{
    int overflow;
    if (!PyArray_CheckExact(target) || PyArray_DESCR(ARRAY(target)) != objects.I64 || PyArray_NDIM(ARRAY(target)) != 1
        || !PyArray_IS_C_CONTIGUOUS(ARRAY(target)) || !PyArray_ISALIGNED(ARRAY(target))
        || PyArray_DIM(ARRAY(target), 0) != PyArray_DIM(scores, 0) || !PyLong_CheckExact(ignored)) {
        return 0;
    }
    const long long left_out = PyLong_AsLongLongAndOverflow(ignored, &overflow);
    const npy_int64 *classes = PyArray_DATA(ARRAY(target));
    const npy_intp count = PyArray_DIM(scores, 1);
    for (npy_intp row = 0; row < PyArray_DIM(scores, 0); row++) {
        if (classes[row] < 0 || classes[row] >= count) {
            return 0;
        }
    }
    return !overflow && (left_out < 0 || left_out >= count);
}

#define LOSSES(type)                                                                             \
    do {                                                                                         \
        const npy_##type *x = PyArray_DATA(scores);                                              \
        npy_##type losses[SMALL_SUM], *out = reduction == NONE ? PyArray_DATA(made) : losses;    \
        for (npy_intp row = 0; row < rows; row++, x += PyArray_DIM(scores, 1)) {                 \
            out[row] = -x[classes[row]];                                                         \
        }                                                                                        \
        if (reduction != NONE) {                                                                 \
            const npy_##type total = 0 + pairwise_sum_##type(losses, rows);                      \
            *(npy_##type *)PyArray_DATA(made) = reduction == SUM ? total : total / (npy_##type)rows; \
        }                                                                                        \
    } while (0)

/* _nll_loss(input, target, weight, reduction, ignore_index) */
PyObject *
short_nll_loss(const Call *call)
{
    PyArrayObject *scores = ARRAY(call->arrays[0]);
    if (sum_all == Py_None || !is_plain(call->arrays[0]) || !PyArray_IS_C_CONTIGUOUS(scores)
        || PyArray_NDIM(scores) != 2 || PyArray_DIM(scores, 0) == 0 || PyArray_DIM(scores, 0) > SMALL_SUM
        || call->arrays[2] != Py_None || !PyLong_CheckExact(call->values[3])
        || !are_classes(scores, call->arrays[1], call->values[4])) {
        return NULL;
    }
    const long reduction = PyLong_AsLong(call->values[3]);
    if (reduction < NONE || reduction > SUM) {
        PyErr_Clear();
        return NULL;
    }
    const npy_int64 *classes = PyArray_DATA(ARRAY(call->arrays[1]));
    const npy_intp rows = PyArray_DIM(scores, 0);
    PyArray_Descr *dtype = PyArray_DESCR(scores);
    Py_INCREF(dtype); /* the call below takes this reference */
    PyArrayObject *made = (PyArrayObject *)PyArray_NewFromDescr(&PyArray_Type, dtype, reduction == NONE, &rows, NULL,
                                                                NULL, 0, NULL);
    if (made == NULL) {
        return NULL;
    }
    if (dtype == objects.F32) {
        LOSSES(float32);
    }
    else {
        LOSSES(float64);
    }
    return (PyObject *)made;
}

static const Wanted wanted[] = {
    {"kernel_sum_all", &sum_all},
    {NULL, NULL},
};

const Part short_sums_part = {.wanted = wanted};
