/* Rules of products of matrices. */
#include "rules.h"

/* ---- products ----------------------------------------------------------------------------------------------- */

static PyObject *
product(PyObject *left, PyObject *right)
{
    PyObject *found = raw_functions.product == Py_None ? NULL : call_two(raw_functions.product, left, right);
    if (found == Py_None) {
        Py_CLEAR(found);
    }
    return found != NULL || PyErr_Occurred() ? found : call_two(raw_functions.mm, left, right);
}

/* Whether a matrix with these strides lies column after column; -1 if they are no strides of a matrix. */
static int
by_columns(PyObject *strides)
{
    if (!PyTuple_CheckExact(strides) || PyTuple_GET_SIZE(strides) != 2) {
        return -1;
    }
    const npy_intp first = PyLong_AsSsize_t(PyTuple_GET_ITEM(strides, 0));
    const npy_intp second = PyLong_AsSsize_t(PyTuple_GET_ITEM(strides, 1));
    if (PyErr_Occurred()) {
        PyErr_Clear();
        return -1;
    }
    return first < second;
}

/* transpose(left) @ right and the like: `turned` says which operands are transposed first, and the result. */
enum { LEFT = 1, RIGHT = 2, RESULT = 4 };

static PyObject *
turned_product(PyObject *left, PyObject *right, int turned)
{
    PyObject *first = turned & LEFT ? PyArray_Transpose(ARRAY(left), NULL) : Py_NewRef(left);
    PyObject *second = turned & RIGHT ? PyArray_Transpose(ARRAY(right), NULL) : Py_NewRef(right);
    PyObject *result = first == NULL || second == NULL ? NULL : product(first, second);
    Py_XDECREF(first);
    Py_XDECREF(second);
    if (result != NULL && (turned & RESULT)) {
        if (!PyArray_CheckExact(result)) {
            Py_DECREF(result);
            PyErr_SetString(PyExc_TypeError, "a product of arrays is no array");
            return NULL;
        }
        Py_SETREF(result, PyArray_Transpose(ARRAY(result), NULL));
    }
    return result;
}

/* `first_gradient` and `second_gradient` of a product of two matrices. */
static int
product_rule(PyObject *g, PyObject *first, PyObject *second, PyObject *first_strides, PyObject *second_strides, int place,
             Edges wanted, Results *results)
{
    const int first_by_columns = by_columns(first_strides), second_by_columns = by_columns(second_strides);
    if (first_by_columns < 0 || second_by_columns < 0 || !PyArray_CheckExact(g) || PyArray_NDIM(ARRAY(g)) != 2
        || (WANTS(place) && (!PyArray_CheckExact(second) || PyArray_NDIM(ARRAY(second)) != 2))
        || (WANTS(place + 1) && (!PyArray_CheckExact(first) || PyArray_NDIM(ARRAY(first)) != 2))) {
        return 0;
    }
    if (WANTS(place)) {
        PyObject *part
            = first_by_columns ? turned_product(second, g, RIGHT | RESULT) : turned_product(g, second, RIGHT);
        if (give(results, place, part) < 0) {
            return -1;
        }
    }
    if (WANTS(place + 1)) {
        PyObject *part = second_by_columns ? turned_product(g, first, LEFT | RESULT) : turned_product(first, g, LEFT);
        return give(results, place + 1, part);
    }
    return 1;
}

RULE(rule_mm)
{
    /* saved: mat2, input_strides, input, mat2_strides */
    return product_rule(g, saved[2], saved[0], saved[1], saved[3], 0, wanted, results);
}

RULE(rule_addmm)
{
    /* saved: beta, mat2, mat1_strides, alpha, mat1, mat2_strides */
    if (!is_one(saved[0]) || !is_one(saved[3])) {
        return 0;
    }
    const int done = product_rule(g, saved[4], saved[1], saved[2], saved[5], 1, wanted, results);
    if (done == 1 && WANTS(0)) {
        give(results, 0, Py_NewRef(g));
    }
    return done;
}

const NamedRule product_rules[] = {
    {"mm", "mat2,input_strides,input,mat2_strides", rule_mm, 0},
    {"addmm", "beta,mat2,mat1_strides,alpha,mat1,mat2_strides", rule_addmm, 0},
    {NULL, NULL, NULL, 0},
};
