/* logsumexp along the last dimension, and its gradient. */
#include "arrays.h"

typedef struct {
    RowsLoop forward;
    LevelsLoop backward; /* the one that is not NULL is run */
    const char *input, *gradient, *output;
    char *result;
    npy_intp length, item;
} Levels;

static void
do_levels(void *context, npy_intp start, npy_intp stop)
{
    const Levels *all = context;
    const npy_intp few = start * all->item, many = few * all->length;
    if (all->forward != NULL) {
        all->forward(all->input + many, all->result + few, stop - start, all->length);
    }
    else {
        all->backward(all->gradient + few, all->input + many, all->output + few, all->result + many, stop - start, all->length);
    }
}

static void
run_levels(Levels *all, Rows rows)
{
    const npy_intp grain = (THREAD_GRAIN / 4 + rows.length - 1) / rows.length; /* an exponential takes longer than a sum */
    WITHOUT_LOCK(rows.count * rows.length, in_threads(row_pool, do_levels, all, rows.count, grain));
}

/* The only dimension of a tuple of one; else the object itself. Borrowed. */
static PyObject *
only_dim(PyObject *dim)
{
    return PyTuple_CheckExact(dim) && PyTuple_GET_SIZE(dim) == 1 ? PyTuple_GET_ITEM(dim, 0) : dim;
}

/* logsumexp(input, dim, keepdim) */
static PyObject *
rows_logsumexp(PyObject *Py_UNUSED(module), PyObject *const *arguments, Py_ssize_t count)
{
    if (!has_count(count, 3, "logsumexp")) {
        return NULL;
    }
    Rows rows;
    const int number = type_number(arguments[0]);
    if (number < 0 || !read_rows(arguments[0], only_dim(arguments[1]), &rows) || !PyBool_Check(arguments[2])) {
        Py_RETURN_NONE;
    }
    PyObject *input = by_rows(arguments[0]);
    if (input == NULL) {
        return NULL;
    }
    const int kept = arguments[2] == Py_True, last = PyArray_NDIM(ARRAY(input)) - 1;
    npy_intp dims[NPY_MAXDIMS];
    memcpy(dims, PyArray_DIMS(ARRAY(input)), (size_t)last * sizeof(npy_intp));
    dims[last] = 1;
    PyObject *result = PyArray_SimpleNew(last + kept, dims, PyArray_TYPE(ARRAY(input)));
    if (result != NULL) {
        Levels all = {.forward = row_loops->logsumexp[number], .input = PyArray_DATA(ARRAY(input)),
                      .result = PyArray_DATA(ARRAY(result)), .length = rows.length, .item = PyArray_ITEMSIZE(ARRAY(input))};
        run_levels(&all, rows);
    }
    Py_DECREF(input);
    return result;
}

/* Whether an array has one element for each row, in order. */
static int
is_level(PyObject *array, int number, Rows rows)
{
    return type_number(array) == number && is_plain(array) && PyArray_SIZE(ARRAY(array)) == rows.count;
}

/* logsumexp_gradient(grad, input, output, dim, keepdim) */
static PyObject *
rows_logsumexp_gradient(PyObject *Py_UNUSED(module), PyObject *const *arguments, Py_ssize_t count)
{
    if (!has_count(count, 5, "logsumexp_gradient")) {
        return NULL;
    }
    Rows rows;
    const int number = type_number(arguments[1]);
    if (number < 0 || !read_rows(arguments[1], only_dim(arguments[3]), &rows) || !is_level(arguments[0], number, rows)
        || !is_level(arguments[2], number, rows)) {
        Py_RETURN_NONE;
    }
    PyObject *input = by_rows(arguments[1]), *result = input == NULL ? NULL : new_like(input);
    if (result != NULL) {
        Levels all = {.backward = row_loops->logsumexp_gradient[number], .input = PyArray_DATA(ARRAY(input)),
                      .gradient = PyArray_DATA(ARRAY(arguments[0])), .output = PyArray_DATA(ARRAY(arguments[2])),
                      .result = PyArray_DATA(ARRAY(result)), .length = rows.length, .item = PyArray_ITEMSIZE(ARRAY(input))};
        run_levels(&all, rows);
    }
    Py_XDECREF(input);
    return result;
}

#define METHOD(name, text) {#name, (PyCFunction)(void (*)(void))rows_##name, METH_FASTCALL, text}

PyMethodDef logsumexp_methods[] = {
    METHOD(logsumexp, "logsumexp(input, dim, keepdim)"),
    METHOD(logsumexp_gradient, "logsumexp_gradient(grad, input, output, dim, keepdim)"),
    {NULL, NULL, 0, NULL},
};
