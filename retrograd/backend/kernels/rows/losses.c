/* The loss of a classifier: one class for each row of scores. With NumPy's bits: each element is computed alone, and the
 * sum goes the way of NumPy's. Weights, and classes that are ignored or out of bounds, are the neutral kernel's. */
#include "arrays.h"

#include "../pairwise.h"

enum { NONE, MEAN, SUM }; /* ops.neural.shared */

/* Whether these are rows of scores and their classes, all inside, with the class to ignore outside; the reduction. */
static int
read_classes(PyObject *scores, PyObject *const *rest, long *reduction)
{
    PyObject *target = rest[0];
    int overflow, beyond;
    if (type_number(scores) < 0 || !is_plain(scores) || PyArray_NDIM(ARRAY(scores)) != 2
        || PyArray_DIM(ARRAY(scores), 0) == 0 || !PyArray_CheckExact(target)
        || PyArray_TYPE(ARRAY(target)) != NPY_INT64 || !PyArray_ISNOTSWAPPED(ARRAY(target)) || !is_plain(target)
        || PyArray_NDIM(ARRAY(target)) != 1 || PyArray_DIM(ARRAY(target), 0) != PyArray_DIM(ARRAY(scores), 0)
        || rest[1] != Py_None || !PyLong_CheckExact(rest[2]) || !PyLong_CheckExact(rest[3])) {
        return 0;
    }
    const npy_intp count = PyArray_DIM(ARRAY(scores), 1);
    const npy_int64 *classes = PyArray_DATA(ARRAY(target));
    const long long ignored = PyLong_AsLongLongAndOverflow(rest[3], &overflow);
    *reduction = PyLong_AsLongAndOverflow(rest[2], &beyond);
    if (overflow || beyond || (ignored >= 0 && ignored < count) || *reduction < NONE || *reduction > SUM) {
        return 0;
    }
    for (npy_intp row = 0; row < PyArray_DIM(ARRAY(scores), 0); row++) {
        if (classes[row] < 0 || classes[row] >= count) {
            return 0;
        }
    }
    return 1;
}

#define LOSS(type)                                                                             \
    do {                                                                                       \
        const npy_##type *x = PyArray_DATA(ARRAY(scores));                                     \
        npy_##type *out = PyArray_DATA(ARRAY(losses));                                         \
        for (npy_intp row = 0; row < rows; row++, x += columns) {                              \
            out[row] = -x[classes[row]];                                                       \
        }                                                                                      \
        if (total != NULL) {                                                                   \
            const npy_##type sum = 0 + pairwise_sum_##type(out, rows);                         \
            *(npy_##type *)PyArray_DATA(ARRAY(total)) = reduction == MEAN ? sum / (npy_##type)rows : sum; \
        }                                                                                      \
    } while (0)

/* nll_loss(input, target, weight, reduction, ignore_index) */
static PyObject *
rows_nll_loss(PyObject *Py_UNUSED(module), PyObject *const *arguments, Py_ssize_t count)
{
    long reduction;
    if (!has_count(count, 5, "nll_loss")) {
        return NULL;
    }
    PyObject *scores = arguments[0];
    if (!read_classes(scores, arguments + 1, &reduction)) {
        Py_RETURN_NONE;
    }
    npy_intp rows = PyArray_DIM(ARRAY(scores), 0);
    const npy_intp columns = PyArray_DIM(ARRAY(scores), 1);
    const npy_int64 *classes = PyArray_DATA(ARRAY(arguments[1]));
    const int type = PyArray_TYPE(ARRAY(scores));
    PyObject *losses = PyArray_SimpleNew(1, &rows, type);
    PyObject *total = reduction == NONE ? NULL : PyArray_SimpleNew(0, NULL, type);
    if (losses == NULL || (total == NULL && reduction != NONE)) {
        Py_XDECREF(losses);
        Py_XDECREF(total);
        return NULL;
    }
    if (type == NPY_FLOAT32) {
        LOSS(float32);
    }
    else {
        LOSS(float64);
    }
    if (total == NULL) {
        return losses;
    }
    Py_DECREF(losses);
    return total;
}

#define SLOPES(type)                                                                          \
    do {                                                                                      \
        const npy_##type *slopes = PyArray_DATA(ARRAY(gradient));                             \
        npy_##type *out = PyArray_DATA(ARRAY(result));                                        \
        for (npy_intp row = 0; row < rows; row++, out += columns) {                           \
            const npy_##type slope = slopes[reduction == NONE ? row : 0];                     \
            out[classes[row]] = -(reduction == MEAN ? slope / (npy_##type)rows : slope);      \
        }                                                                                     \
    } while (0)

/* nll_loss_gradient(grad, input, target, weight, reduction, ignore_index) */
static PyObject *
rows_nll_loss_gradient(PyObject *Py_UNUSED(module), PyObject *const *arguments, Py_ssize_t count)
{
    long reduction;
    if (!has_count(count, 6, "nll_loss_gradient")) {
        return NULL;
    }
    PyObject *gradient = arguments[0], *scores = arguments[1];
    if (!read_classes(scores, arguments + 2, &reduction) || type_number(gradient) != type_number(scores)
        || !is_plain(gradient)
        || PyArray_SIZE(ARRAY(gradient)) != (reduction == NONE ? PyArray_DIM(ARRAY(scores), 0) : 1)) {
        Py_RETURN_NONE;
    }
    const npy_intp rows = PyArray_DIM(ARRAY(scores), 0), columns = PyArray_DIM(ARRAY(scores), 1);
    const npy_int64 *classes = PyArray_DATA(ARRAY(arguments[2]));
    const int type = PyArray_TYPE(ARRAY(scores));
    PyObject *result = PyArray_ZEROS(2, PyArray_DIMS(ARRAY(scores)), type, 0);
    if (result == NULL) {
        return NULL;
    }
    if (type == NPY_FLOAT32) {
        SLOPES(float32);
    }
    else {
        SLOPES(float64);
    }
    return result;
}

PyMethodDef loss_methods[] = {
    {"nll_loss", (PyCFunction)(void (*)(void))rows_nll_loss, METH_FASTCALL,
     "nll_loss(input, target, weight, reduction, ignore_index)"},
    {"nll_loss_gradient", (PyCFunction)(void (*)(void))rows_nll_loss_gradient, METH_FASTCALL,
     "nll_loss_gradient(grad, input, target, weight, reduction, ignore_index)"},
    {NULL, NULL, 0, NULL},
};
