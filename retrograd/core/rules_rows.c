/* Rules along rows: sums and means, the largest of each row, softmax and what is computed with it. */
#include "rules.h"

#include "../backend/kernels/tiny_loops.h"

/* ---- reductions --------------------------------------------------------------------------------------------- */

#define FILL(type, number)                      \
    do {                                        \
        type *items = PyArray_DATA(ARRAY(made)); \
        const type value = (type)(number);      \
        for (npy_intp i = 0; i < count; i++) {  \
            items[i] = value;                   \
        }                                       \
    } while (0)

/* A number divided by a count, in its own type. */
static double
share_float32(PyObject *g, npy_intp count)
{
    return *(npy_float32 *)PyArray_DATA(ARRAY(g)) / (npy_float32)(double)count;
}

static double
share_float64(PyObject *g, npy_intp count)
{
    return *(npy_float64 *)PyArray_DATA(ARRAY(g)) / (npy_float64)count;
}

/* An array of a shape that holds one number everywhere: the gradient of a sum, divided. */
static int
spread_out(PyObject *g, PyObject *wanted_shape, int is_mean, Results *results)
{
    npy_intp shape[LARGEST_NDIM];
    const int ndim = read_shape(wanted_shape, shape);
    if (ndim < 0 || !is_plain(g) || PyArray_NDIM(ARRAY(g)) != 0) {
        return 0;
    }
    const npy_intp count = PyArray_MultiplyList(shape, ndim);
    const double number = is_float64(g) ? share_float64(g, is_mean ? count : 1) : share_float32(g, is_mean ? count : 1);
    PyArray_Descr *dtype = PyArray_DESCR(ARRAY(g));
    PyObject *made = results->chain == NULL ? NULL : chain_constant(results->chain, ndim, shape, dtype, number);
    if (made != NULL || PyErr_Occurred()) {
        return give(results, 0, made);
    }
    made = new_array(ndim, shape, dtype);
    if (made == NULL) {
        return -1;
    }
    if (is_float64(g)) {
        FILL(npy_float64, number);
    }
    else {
        FILL(npy_float32, number);
    }
    return give(results, 0, made);
}

RULE(rule_sum_all)
{
    UNUSED_WANTED;
    return spread_out(g, saved[0], 0, results);
}

RULE(rule_mean_all)
{
    UNUSED_WANTED;
    return spread_out(g, saved[0], 1, results);
}

/* A view of an array with dimensions of size one repeated, as `expand` makes it; NULL without an error: not a case for
 * C. Where an element stands in several places the view cannot be written. */
static PyObject *
expanded(PyObject *array, PyObject *wanted_shape)
{
    npy_intp shape[LARGEST_NDIM], strides[LARGEST_NDIM];
    const int ndim = read_shape(wanted_shape, shape), own = PyArray_NDIM(ARRAY(array)), lead = ndim - own;
    if (ndim < 1 || lead < 0 || !(PyArray_FLAGS(ARRAY(array)) & LAYOUT)) {
        return NULL;
    }
    int repeats = 0;
    for (int place = ndim - 1; place >= 0; place--) {
        const npy_intp size = place >= lead ? PyArray_DIM(ARRAY(array), place - lead) : 1;
        if (size != shape[place] && size != 1) {
            return NULL;
        }
        if (size != shape[place] || own == 0) {
            strides[place] = 0;
        }
        else {
            strides[place] = place >= lead ? PyArray_STRIDE(ARRAY(array), place - lead) : shape[place + 1] * strides[place + 1];
        }
        repeats |= strides[place] == 0;
    }
    return new_view(array, ndim, shape, strides, PyArray_DATA(ARRAY(array)), !repeats);
}

RULE(rule_sum_to_size)
{
    UNUSED_WANTED;
    PyObject *view = expanded(g, saved[0]);
    if (view == NULL) {
        return PyErr_Occurred() ? -1 : 0;
    }
    return give(results, 0, view);
}

/* log_softmax along the last dimension: grad - exp(output) * sum(grad); saved: out, dim. */
#define LARGEST_SOFTMAX 1024 /* beyond, the kernels may be those of backend/kernels/rows, with other bits */

/* Whether that is the last dimension of a small array that lies row by row; of how many rows. */
static int
are_rows(PyObject *array, PyObject *dim, npy_intp *rows, npy_intp *columns)
{
    const int ndim = PyArray_NDIM(ARRAY(array));
    const npy_intp size = PyArray_SIZE(ARRAY(array));
    if (ndim == 0 || size == 0 || size > LARGEST_SOFTMAX || !PyArray_IS_C_CONTIGUOUS(ARRAY(array))
        || read_dim(dim, ndim) != ndim - 1) {
        return 0;
    }
    *columns = PyArray_DIM(ARRAY(array), ndim - 1);
    *rows = size / *columns;
    return 1;
}

#define SPREAD_ROWS(type, pairwise)                                   \
    do {                                                              \
        const type *gradient = PyArray_DATA(ARRAY(g));                \
        type *items = PyArray_DATA(ARRAY(result));                    \
        for (npy_intp row = 0; row < rows; row++) {                   \
            const type total = 0 + pairwise(gradient, columns);       \
            for (npy_intp column = 0; column < columns; column++) {   \
                items[column] = gradient[column] - items[column] * total; \
            }                                                         \
            gradient += columns;                                      \
            items += columns;                                         \
        }                                                             \
    } while (0)

RULE(rule_log_softmax)
{
    UNUSED_WANTED;
    PyObject *output = saved[0];
    npy_intp rows, columns;
    if (!are_alike(g, output) || !are_rows(g, saved[1], &rows, &columns)) {
        return 0;
    }
    PyObject *result = PyObject_CallOneArg(raw_functions.exp, output);
    if (result == NULL) {
        return -1;
    }
    if (!are_alike(result, g) || Py_REFCNT(result) != 1 || !PyArray_ISWRITEABLE(ARRAY(result))) {
        Py_DECREF(result);
        return 0;
    }
    if (is_float64(g)) {
        SPREAD_ROWS(npy_float64, pairwise_sum_float64);
    }
    else {
        SPREAD_ROWS(npy_float32, pairwise_sum_float32);
    }
    return give(results, 0, result);
}

/* softmax along the last dimension: output * grad - output * sum(output * grad); saved: out, dim. */
#define SOFTMAX_ROWS(type, pairwise)                                  \
    do {                                                              \
        const type *gradient = PyArray_DATA(ARRAY(g)), *output = PyArray_DATA(ARRAY(saved[0])); \
        type *items = PyArray_DATA(ARRAY(result));                    \
        for (npy_intp row = 0; row < rows; row++) {                   \
            for (npy_intp column = 0; column < columns; column++) {   \
                items[column] = gradient[column] * output[column];    \
            }                                                         \
            const type total = 0 + pairwise(items, columns);          \
            for (npy_intp column = 0; column < columns; column++) {   \
                items[column] = items[column] - output[column] * total; \
            }                                                         \
            gradient += columns;                                      \
            output += columns;                                        \
            items += columns;                                         \
        }                                                             \
    } while (0)

RULE(rule_softmax)
{
    UNUSED_WANTED;
    npy_intp rows, columns;
    if (!are_alike(g, saved[0]) || !are_rows(g, saved[1], &rows, &columns)) {
        return 0;
    }
    PyObject *result = new_array_like(g);
    if (result != NULL && is_float64(g)) {
        SOFTMAX_ROWS(npy_float64, pairwise_sum_float64);
    }
    else if (result != NULL) {
        SOFTMAX_ROWS(npy_float32, pairwise_sum_float32);
    }
    return give(results, 0, result);
}

/* ---- sums along dimensions ---------------------------------------------------------------------------------- */

/* Marks the dimensions that a sum went over: an int or a tuple of them. How many; -1 for anything else. */
static int
read_dims(PyObject *object, int ndim, char *summed)
{
    memset(summed, 0, LARGEST_NDIM);
    if (!PyTuple_CheckExact(object)) {
        const int dim = read_dim(object, ndim);
        if (dim >= 0) {
            summed[dim] = 1;
        }
        return dim < 0 ? -1 : 1;
    }
    const int count = (int)PyTuple_GET_SIZE(object);
    for (int index = 0; index < count; index++) {
        const int dim = read_dim(PyTuple_GET_ITEM(object, index), ndim);
        if (dim < 0 || summed[dim]) {
            return -1;
        }
        summed[dim] = 1;
    }
    return count == 0 ? -1 : count;
}

/* The gradient of a reduction with size one in the dimensions that it went over, if these were not kept; without
 * dimensions where it went over all. A new reference; NULL without an error: not a case for C. */
static PyObject *
with_dims(PyObject *g, const npy_intp *shape, int ndim, const char *summed, int summed_count, PyObject *keepdim)
{
    npy_intp restored[LARGEST_NDIM];
    if (keepdim == Py_True || summed_count == ndim) {
        return Py_NewRef(g);
    }
    if (keepdim != Py_False || !is_by_rows(g)) {
        return NULL;
    }
    for (int axis = 0; axis < ndim; axis++) {
        restored[axis] = summed[axis] ? 1 : shape[axis];
    }
    PyArray_Dims dims = {restored, ndim};
    return PyArray_Newshape(ARRAY(g), &dims, NPY_CORDER);
}

#define DIVIDE(type)                                          \
    do {                                                      \
        const type *G = PyArray_DATA(ARRAY(g));               \
        type *R = PyArray_DATA(ARRAY(made));                  \
        const type by = (type)(double)count;                  \
        for (npy_intp i = 0; i < PyArray_SIZE(ARRAY(g)); i++) { \
            R[i] = G[i] / by;                                 \
        }                                                     \
    } while (0)

static PyObject *
divided_by(PyObject *g, npy_intp count)
{
    PyObject *made = new_array_like(g);
    if (made != NULL && is_float64(g)) {
        DIVIDE(npy_float64);
    }
    else if (made != NULL) {
        DIVIDE(npy_float32);
    }
    return made;
}

/* saved: input_shape, dim, keepdim */
static int
spread_along(PyObject *g, PyObject **saved, int is_mean, Results *results)
{
    npy_intp shape[LARGEST_NDIM], count = 1;
    char summed[LARGEST_NDIM];
    const int ndim = read_shape(saved[0], shape), dims = ndim < 1 ? -1 : read_dims(saved[1], ndim, summed);
    if (dims < 0 || !is_plain(g)) {
        return 0;
    }
    PyObject *restored = with_dims(g, shape, ndim, summed, dims, saved[2]);
    if (restored == NULL) {
        return PyErr_Occurred() ? -1 : 0;
    }
    for (int axis = 0; axis < ndim; axis++) {
        count *= summed[axis] ? shape[axis] : 1;
    }
    if (is_mean) {
        Py_SETREF(restored, divided_by(restored, count));
    }
    PyObject *view = restored == NULL ? NULL : expanded(restored, saved[0]);
    Py_XDECREF(restored);
    if (view == NULL) {
        return PyErr_Occurred() ? -1 : 0;
    }
    return give(results, 0, view);
}

RULE(rule_sum)
{
    UNUSED_WANTED;
    return spread_along(g, saved, 0, results);
}

RULE(rule_mean)
{
    UNUSED_WANTED;
    return spread_along(g, saved, 1, results);
}

RULE(rule_expand)
{
    UNUSED_WANTED;
    return is_float(g) ? give(results, 0, call_two(raw_functions.sum_to_size, g, saved[0])) : 0;
}

/* ---- the largest, and its smooth kin ------------------------------------------------------------------------ */

/* max and min along a dimension, of which only the values have a gradient; `g` is a list. saved: the indices,
 * input_shape, dim, keepdim. */
RULE(rule_extreme)
{
    UNUSED_WANTED;
    npy_intp shape[LARGEST_NDIM];
    const int ndim = read_shape(saved[1], shape), dim = ndim < 1 ? -1 : read_dim(saved[2], ndim);
    if (dim < 0 || !PyList_CheckExact(g) || PyList_GET_SIZE(g) != 2) {
        return 0;
    }
    PyObject *values = PyList_GET_ITEM(g, 0);
    if (!is_by_rows(values) || !is_index(saved[0]) || !has_shape_of(values, saved[0])) {
        return 0;
    }
    return put_along(values, saved[0], shape, ndim, dim, results);
}

#define SHORT_ROWS 1024 /* elements: what `SHORT_WORK` is to the kernels for rows */

/* logsumexp along one dimension: grad * exp(input - out). The shifted input first, then NumPy's exp, then the product:
 * `lines` parts of `size` times `after` elements, with `after` gradients and results each. */
#define SHIFT(type)                                                     \
    do {                                                                \
        const type *X = PyArray_DATA(ARRAY(input)), *O = PyArray_DATA(ARRAY(out)); \
        type *R = PyArray_DATA(ARRAY(shifted));                         \
        for (npy_intp line = 0; line < lines; line++, O += after) {     \
            for (npy_intp k = 0; k < size; k++) {                       \
                for (npy_intp i = 0; i < after; i++) {                  \
                    *R++ = *X++ - O[i];                                 \
                }                                                       \
            }                                                           \
        }                                                               \
    } while (0)

#define SCALE(type)                                                     \
    do {                                                                \
        const type *G = PyArray_DATA(ARRAY(g));                         \
        type *R = PyArray_DATA(ARRAY(result));                          \
        for (npy_intp line = 0; line < lines; line++, G += after) {     \
            for (npy_intp k = 0; k < size; k++) {                       \
                for (npy_intp i = 0; i < after; i++, R++) {             \
                    *R = G[i] * *R;                                     \
                }                                                       \
            }                                                           \
        }                                                               \
    } while (0)

RULE(rule_logsumexp)
{
    /* saved: input, out, dim, keepdim */
    UNUSED_WANTED;
    PyObject *input = saved[0], *out = saved[1];
    if (!is_by_rows(input) || !is_by_rows(g) || !is_by_rows(out) || !has_shape_of(g, out)
        || PyArray_DESCR(ARRAY(g)) != PyArray_DESCR(ARRAY(input)) || PyArray_DESCR(ARRAY(out)) != PyArray_DESCR(ARRAY(g))) {
        return 0;
    }
    char summed[LARGEST_NDIM];
    const int ndim = PyArray_NDIM(ARRAY(input));
    if (ndim < 1 || ndim > LARGEST_NDIM || read_dims(saved[2], ndim, summed) != 1) {
        return 0;
    }
    npy_intp lines = 1, size = 1, after = 1;
    for (int axis = 0, passed = 0; axis < ndim; passed |= summed[axis], axis++) {
        *(summed[axis] ? &size : passed ? &after : &lines) *= PyArray_DIM(ARRAY(input), axis);
    }
    if (after == 1 && lines * size > SHORT_ROWS) { /* the kernel for whole rows is faster */
        return 0;
    }
    PyObject *shifted = PyArray_SIZE(ARRAY(g)) == lines * after ? new_array_like(input) : NULL;
    if (shifted == NULL) {
        return PyErr_Occurred() ? -1 : 0;
    }
    if (is_float64(g)) {
        SHIFT(npy_float64);
    }
    else {
        SHIFT(npy_float32);
    }
    PyObject *result = PyObject_CallOneArg(raw_functions.exp, shifted);
    Py_DECREF(shifted);
    if (result == NULL) {
        return -1;
    }
    if (!are_alike(result, input) || Py_REFCNT(result) != 1 || !PyArray_ISWRITEABLE(ARRAY(result))) {
        Py_DECREF(result);
        return 0;
    }
    if (is_float64(g)) {
        SCALE(npy_float64);
    }
    else {
        SCALE(npy_float32);
    }
    return give(results, 0, result);
}

/* ---- the loss of a classifier ------------------------------------------------------------------------------- */

#define REDUCTION_NONE 0
#define REDUCTION_MEAN 1

#define CHOSEN(type)                                                                \
    do {                                                                            \
        const type *G = PyArray_DATA(ARRAY(g));                                     \
        type *R = PyArray_DATA(ARRAY(made));                                        \
        for (npy_intp row = 0; row < rows; row++) {                                 \
            const type slope = reduction == REDUCTION_NONE ? G[row] : G[0];         \
            R[row * classes + at[row]] = -(reduction == REDUCTION_MEAN ? slope / (type)(double)rows : slope); \
        }                                                                           \
    } while (0)

/* One target for each row of scores, no weights, none of them ignored. */
RULE(rule_nll_loss)
{
    /* saved: input, target, weight, reduction, ignore_index */
    UNUSED_WANTED;
    PyObject *input = saved[0], *target = saved[1];
    if (saved[2] != Py_None || !PyLong_CheckExact(saved[3]) || !PyLong_CheckExact(saved[4]) || !is_by_rows(g)
        || !PyArray_CheckExact(input) || PyArray_NDIM(ARRAY(input)) != 2 || !is_index(target)
        || PyArray_NDIM(ARRAY(target)) != 1) {
        return 0;
    }
    const npy_intp rows = PyArray_DIM(ARRAY(input), 0), classes = PyArray_DIM(ARRAY(input), 1);
    const npy_intp *at = PyArray_DATA(ARRAY(target));
    const long reduction = PyLong_AsLong(saved[3]), ignored = PyLong_AsLong(saved[4]);
    if (PyErr_Occurred() || rows == 0 || PyArray_DIM(ARRAY(target), 0) != rows
        || PyArray_SIZE(ARRAY(g)) != (reduction == REDUCTION_NONE ? rows : 1)) {
        PyErr_Clear();
        return 0;
    }
    for (npy_intp row = 0; row < rows; row++) {
        if (at[row] < 0 || at[row] >= classes || at[row] == ignored) {
            return 0;
        }
    }
    PyObject *made = new_zeros(2, PyArray_DIMS(ARRAY(input)), PyArray_DESCR(ARRAY(g)));
    if (made != NULL && is_float64(g)) {
        CHOSEN(npy_float64);
    }
    else if (made != NULL) {
        CHOSEN(npy_float32);
    }
    return give(results, 0, made);
}

const NamedRule row_rules[] = {
    {"_sum_all", "input_shape", rule_sum_all, CHAINS},
    {"_mean_all", "input_shape", rule_mean_all, CHAINS},
    {"sum_to_size", "input_shape", rule_sum_to_size, 0},
    {"sum", "input_shape,dim,keepdim", rule_sum, 0},
    {"mean", "input_shape,dim,keepdim", rule_mean, 0},
    {"expand", "input_shape", rule_expand, 0},
    {"max", "out1,input_shape,dim,keepdim", rule_extreme, 0},
    {"min", "out1,input_shape,dim,keepdim", rule_extreme, 0},
    {"log_softmax", "out,dim", rule_log_softmax, 0},
    {"softmax", "out,dim", rule_softmax, 0},
    {"logsumexp", "input,out,dim,keepdim", rule_logsumexp, 0},
    {"_nll_loss", "input,target,weight,reduction,ignore_index", rule_nll_loss, 0},
    {NULL, NULL, NULL, 0},
};
