/* Rules of views, and of ops that take tensors apart or put them together. */
#include "rules.h"

/* ---- views -------------------------------------------------------------------------------------------------- */

/* The transpose of a matrix. That of a transpose is the matrix it was made from, so that a weight's gradient, which
 * comes as a transpose, can become its `.grad` without a copy. */
static PyObject *
transposed(PyObject *array)
{
    PyArrayObject *matrix = ARRAY(array);
    PyObject *base = PyArray_BASE(matrix);
    if (base != NULL && PyArray_CheckExact(base) && PyArray_NDIM(matrix) == 2 && PyArray_NDIM(ARRAY(base)) == 2
        && PyArray_DATA(ARRAY(base)) == PyArray_DATA(matrix) && PyArray_DESCR(ARRAY(base)) == PyArray_DESCR(matrix)
        && PyArray_DIM(ARRAY(base), 0) == PyArray_DIM(matrix, 1) && PyArray_DIM(ARRAY(base), 1) == PyArray_DIM(matrix, 0)
        && PyArray_STRIDE(ARRAY(base), 0) == PyArray_STRIDE(matrix, 1)
        && PyArray_STRIDE(ARRAY(base), 1) == PyArray_STRIDE(matrix, 0)) {
        return Py_NewRef(base);
    }
    return PyArray_Transpose(matrix, NULL);
}

RULE(rule_t)
{
    UNUSED_SAVED, UNUSED_WANTED;
    return PyArray_NDIM(ARRAY(g)) > 2 ? 0 : give(results, 0, transposed(g));
}

RULE(rule_transpose)
{
    UNUSED_WANTED;
    const int ndim = PyArray_NDIM(ARRAY(g));
    const int first = read_dim(saved[0], ndim), second = read_dim(saved[1], ndim);
    if (first < 0 || second < 0 || first == second) {
        return 0;
    }
    return give(results, 0, PyArray_SwapAxes(ARRAY(g), first, second));
}

RULE(rule_view)
{
    UNUSED_WANTED;
    npy_intp shape[LARGEST_NDIM];
    const int ndim = read_shape(saved[0], shape);
    if (ndim < 0) {
        return 0;
    }
    PyArray_Dims dims = {shape, ndim};
    return give(results, 0, PyArray_Newshape(ARRAY(g), &dims, NPY_CORDER));
}

/* Zeros of a shape with the gradient in a part of them; takes over both references. */
static int
give_filled(PyObject *whole, PyObject *part, PyObject *g, Results *results)
{
    if (part == NULL || !has_shape_of(part, g) || PyArray_CopyInto(ARRAY(part), ARRAY(g)) < 0) {
        const int failed = PyErr_Occurred() != NULL;
        Py_XDECREF(part);
        Py_XDECREF(whole);
        return failed ? -1 : 0;
    }
    Py_DECREF(part);
    return give(results, 0, whole);
}

RULE(rule_select)
{
    /* saved: input_shape, dim, index */
    UNUSED_WANTED;
    npy_intp shape[LARGEST_NDIM];
    const int ndim = read_shape(saved[0], shape);
    if (ndim < 1 || !is_plain(g) || PyArray_NDIM(ARRAY(g)) != ndim - 1) {
        return 0;
    }
    const int dim = read_dim(saved[1], ndim);
    if (dim < 0 || !PyLong_CheckExact(saved[2])) {
        return 0;
    }
    npy_intp index = PyLong_AsSsize_t(saved[2]);
    index += index < 0 ? shape[dim] : 0;
    if (index < 0 || index >= shape[dim]) {
        PyErr_Clear();
        return 0;
    }
    PyObject *whole = new_zeros(ndim, shape, PyArray_DESCR(ARRAY(g)));
    return give_filled(whole, whole == NULL ? NULL : selected(whole, dim, index), g, results);
}

RULE(rule_stack)
{
    /* saved: dim, tensors_shape */
    UNUSED_WANTED;
    const int dim = read_dim(saved[0], PyArray_NDIM(ARRAY(g)));
    if (dim < 0 || !PyTuple_CheckExact(saved[1]) || PyArray_NDIM(ARRAY(g)) > LARGEST_NDIM
        || PyTuple_GET_SIZE(saved[1]) != PyArray_DIM(ARRAY(g), dim)) {
        return 0;
    }
    const Py_ssize_t count = PyTuple_GET_SIZE(saved[1]);
    PyObject *holder = PyTuple_New(count);
    for (Py_ssize_t index = 0; holder != NULL && index < count; index++) {
        PyObject *part = selected(g, dim, index);
        if (part == NULL) {
            Py_CLEAR(holder);
            break;
        }
        PyTuple_SET_ITEM(holder, index, part);
    }
    if (holder == NULL) {
        return -1;
    }
    results->holder = holder;
    results->count = count;
    return 1;
}

/* The pieces of a split, put together again; `g` is a list of all of them. saved: input_shape, split_size, dim. */
RULE(rule_split)
{
    UNUSED_WANTED;
    npy_intp shape[LARGEST_NDIM], total = 0;
    const int ndim = read_shape(saved[0], shape);
    const int dim = ndim < 1 ? -1 : read_dim(saved[2], ndim);
    if (dim < 0 || ndim > 3 || !PyList_CheckExact(g)) {
        return 0;
    }
    for (Py_ssize_t index = 0; index < PyList_GET_SIZE(g); index++) {
        PyObject *piece = PyList_GET_ITEM(g, index);
        if (!is_plain(piece) || !PyArray_IS_C_CONTIGUOUS(ARRAY(piece)) || PyArray_NDIM(ARRAY(piece)) != ndim
            || PyArray_SIZE(ARRAY(piece)) == 0
            || PyArray_DESCR(ARRAY(piece)) != PyArray_DESCR(ARRAY(PyList_GET_ITEM(g, 0)))) {
            return 0;
        }
        total += PyArray_DIM(ARRAY(piece), dim);
    }
    if (total != shape[dim]) {
        return 0;
    }
    PyObject *whole = PyArray_Concatenate(g, dim);
    if (whole == NULL) {
        return -1;
    }
    if (!PyArray_IS_C_CONTIGUOUS(ARRAY(whole))) {
        Py_DECREF(whole);
        return 0;
    }
    return give(results, 0, whole);
}

/* ---- dimensions of size one --------------------------------------------------------------------------------- */

RULE(rule_unsqueeze)
{
    /* saved: dim */
    UNUSED_WANTED;
    const int dim = read_dim(saved[0], PyArray_NDIM(ARRAY(g)));
    if (dim < 0 || PyArray_DIM(ARRAY(g), dim) != 1 || PyArray_NDIM(ARRAY(g)) > LARGEST_NDIM) {
        return 0;
    }
    return give(results, 0, selected(g, dim, 0));
}

/* The gradient in the shape that an input had before dimensions of size one were left out. */
static int
give_in_shape(PyObject *g, npy_intp *shape, int ndim, Results *results)
{
    if (ndim == PyArray_NDIM(ARRAY(g))) {
        return give(results, 0, Py_NewRef(g)); /* nothing was left out */
    }
    if (!PyArray_IS_C_CONTIGUOUS(ARRAY(g))) {
        return 0;
    }
    PyArray_Dims dims = {shape, ndim};
    return give(results, 0, PyArray_Newshape(ARRAY(g), &dims, NPY_CORDER));
}

RULE(rule_squeeze_dim)
{
    /* saved: dim, input_shape */
    UNUSED_WANTED;
    npy_intp shape[LARGEST_NDIM];
    const int ndim = read_shape(saved[1], shape);
    if (ndim < 1 || read_dim(saved[0], ndim) < 0) {
        return 0;
    }
    return give_in_shape(g, shape, ndim, results);
}

/* ---- orders and parts --------------------------------------------------------------------------------------- */

RULE(rule_permute)
{
    /* saved: dims, none negative */
    UNUSED_WANTED;
    npy_intp dims[LARGEST_NDIM], inverse[LARGEST_NDIM];
    const int ndim = read_shape(saved[0], dims);
    if (ndim != PyArray_NDIM(ARRAY(g))) {
        return 0;
    }
    for (int place = 0; place < ndim; place++) {
        if (dims[place] >= ndim) {
            return 0;
        }
        inverse[dims[place]] = place;
    }
    PyArray_Dims order = {inverse, ndim};
    return give(results, 0, PyArray_Transpose(ARRAY(g), &order));
}

/* A view of `count` indices of a dimension, every `step`-th from `start` on. */
static PyObject *
sliced(PyObject *array, int dim, npy_intp start, npy_intp count, npy_intp step)
{
    const int ndim = PyArray_NDIM(ARRAY(array));
    npy_intp shape[LARGEST_NDIM], strides[LARGEST_NDIM];
    for (int axis = 0; axis < ndim; axis++) {
        shape[axis] = PyArray_DIM(ARRAY(array), axis);
        strides[axis] = PyArray_STRIDE(ARRAY(array), axis);
    }
    char *data = PyArray_BYTES(ARRAY(array)) + (count > 0 ? start * strides[dim] : 0);
    shape[dim] = count;
    strides[dim] *= step;
    return new_view(array, ndim, shape, strides, data, 1);
}

/* A bound of a slice: the number, or what stands for a missing one. 0 if it is neither. */
static int
read_bound(PyObject *object, Py_ssize_t missing, Py_ssize_t *bound)
{
    if (object == Py_None) {
        *bound = missing;
        return 1;
    }
    if (!PyLong_CheckExact(object)) {
        return 0;
    }
    *bound = PyLong_AsSsize_t(object);
    if (*bound == -1 && PyErr_Occurred()) {
        PyErr_Clear();
        return 0;
    }
    return 1;
}

RULE(rule_slice)
{
    /* saved: input_shape, dim, start, stop, step */
    UNUSED_WANTED;
    npy_intp shape[LARGEST_NDIM];
    Py_ssize_t start, stop, step;
    const int ndim = read_shape(saved[0], shape), dim = ndim < 1 ? -1 : read_dim(saved[1], ndim);
    if (dim < 0 || !is_float(g) || PyArray_NDIM(ARRAY(g)) != ndim || !read_bound(saved[2], 0, &start)
        || !read_bound(saved[3], PY_SSIZE_T_MAX, &stop) || !read_bound(saved[4], 1, &step) || step < 1) {
        return 0;
    }
    const Py_ssize_t count = PySlice_AdjustIndices(shape[dim], &start, &stop, step);
    PyObject *whole = new_zeros(ndim, shape, PyArray_DESCR(ARRAY(g)));
    return give_filled(whole, whole == NULL ? NULL : sliced(whole, dim, start, count, step), g, results);
}

RULE(rule_cat)
{
    /* saved: dim, tensors_shape */
    UNUSED_WANTED;
    npy_intp shape[LARGEST_NDIM], start = 0;
    const int ndim = PyArray_NDIM(ARRAY(g)), dim = read_dim(saved[0], ndim);
    if (dim < 0 || ndim > LARGEST_NDIM || !PyTuple_CheckExact(saved[1])) {
        return 0;
    }
    const Py_ssize_t count = PyTuple_GET_SIZE(saved[1]);
    PyObject *holder = PyTuple_New(count);
    for (Py_ssize_t index = 0; holder != NULL && index < count; index++) {
        if (read_shape(PyTuple_GET_ITEM(saved[1], index), shape) != ndim || (ndim == 1 && shape[0] == 0)
            || shape[dim] > PyArray_DIM(ARRAY(g), dim) - start) {
            Py_DECREF(holder);
            return 0; /* an empty vector joins tensors of any shape */
        }
        PyObject *part = sliced(g, dim, start, shape[dim], 1);
        if (part == NULL) {
            Py_CLEAR(holder);
            break;
        }
        PyTuple_SET_ITEM(holder, index, part);
        start += shape[dim];
    }
    if (holder == NULL) {
        return -1;
    }
    results->holder = holder;
    results->count = count;
    return 1;
}

/* The slices of a tensor, put together again, zeros for those that got no gradient; `g` is a list. saved: dim. */
RULE(rule_unbind)
{
    UNUSED_WANTED;
    PyObject *given = NULL;
    if (!PyList_CheckExact(g)) {
        return 0;
    }
    const Py_ssize_t count = PyList_GET_SIZE(g);
    for (Py_ssize_t index = 0; index < count; index++) {
        PyObject *part = PyList_GET_ITEM(g, index);
        if (part != Py_None) {
            given = given == NULL ? part : given;
            if (!is_float(part) || PyArray_DESCR(ARRAY(part)) != PyArray_DESCR(ARRAY(given)) || !has_shape_of(part, given)) {
                return 0;
            }
        }
    }
    const int ndim = given == NULL ? 0 : PyArray_NDIM(ARRAY(given)) + 1;
    const int dim = ndim < 1 || ndim > LARGEST_NDIM ? -1 : read_dim(saved[0], ndim);
    if (dim < 0) {
        return 0;
    }
    npy_intp shape[LARGEST_NDIM];
    for (int axis = 0; axis < ndim; axis++) {
        shape[axis] = axis == dim ? count : PyArray_DIM(ARRAY(given), axis - (axis > dim));
    }
    PyObject *whole = new_zeros(ndim, shape, PyArray_DESCR(ARRAY(given)));
    for (Py_ssize_t index = 0; whole != NULL && index < count; index++) {
        PyObject *part = PyList_GET_ITEM(g, index);
        PyObject *place = part == Py_None ? NULL : selected(whole, dim, index);
        if (part != Py_None && (place == NULL || PyArray_CopyInto(ARRAY(place), ARRAY(part)) < 0)) {
            Py_CLEAR(whole);
        }
        Py_XDECREF(place);
    }
    return give(results, 0, whole);
}

/* ---- places named by an index ------------------------------------------------------------------------------- */

/* Writes a gradient to the places that indices name along a dimension: `lines` of them, each with `after` elements
 * behind it. 0 if an index is none of the dimension. */
#define PUT(type)                                                                     \
    do {                                                                              \
        const type *G = PyArray_DATA(ARRAY(g));                                       \
        type *R = PyArray_DATA(ARRAY(made));                                          \
        for (npy_intp line = 0; line < lines; line++) {                               \
            for (npy_intp i = 0; i < after; i++) {                                    \
                R[(line * size + at[line * after + i]) * after + i] = G[line * after + i]; \
            }                                                                         \
        }                                                                             \
    } while (0)

int
put_along(PyObject *g, PyObject *index, const npy_intp *shape, int ndim, int dim, Results *results)
{
    npy_intp lines = 1, after = 1;
    const npy_intp size = shape[dim], *at = PyArray_DATA(ARRAY(index));
    for (int axis = 0; axis < ndim; axis++) {
        lines *= axis < dim ? shape[axis] : 1;
        after *= axis > dim ? shape[axis] : 1;
    }
    if (PyArray_SIZE(ARRAY(g)) != lines * after || PyArray_SIZE(ARRAY(index)) != lines * after) {
        return 0;
    }
    for (npy_intp i = 0; i < lines * after; i++) {
        if (at[i] < 0 || at[i] >= size) {
            return 0;
        }
    }
    PyObject *made = new_zeros(ndim, shape, PyArray_DESCR(ARRAY(g)));
    if (made != NULL && is_float64(g)) {
        PUT(npy_float64);
    }
    else if (made != NULL) {
        PUT(npy_float32);
    }
    return give(results, 0, made);
}

/* Where one element was taken along the dimension everywhere, no place is named twice. */
RULE(rule_gather)
{
    /* saved: input, dim, index */
    UNUSED_WANTED;
    PyObject *input = saved[0], *index = saved[2];
    if (!is_by_rows(g) || !PyArray_CheckExact(input) || !is_index(index) || !has_shape_of(g, index)) {
        return 0;
    }
    const int ndim = PyArray_NDIM(ARRAY(input)), dim = read_dim(saved[1], ndim);
    if (dim < 0 || PyArray_NDIM(ARRAY(index)) != ndim || PyArray_SIZE(ARRAY(g)) == 0) {
        return 0;
    }
    for (int axis = 0; axis < ndim; axis++) {
        if (PyArray_DIM(ARRAY(index), axis) != (axis == dim ? 1 : PyArray_DIM(ARRAY(input), axis))) {
            return 0;
        }
    }
    return put_along(g, index, PyArray_DIMS(ARRAY(input)), ndim, dim, results);
}

const NamedRule shape_rules[] = {
    {"t", "", rule_t, 0},
    {"transpose", "dim0,dim1", rule_transpose, 0},
    {"permute", "dims", rule_permute, 0},
    {"view", "input_shape", rule_view, 0},
    {"_unsafe_view", "input_shape", rule_view, 0},
    {"_reshape_alias", "input_shape", rule_view, 0},
    {"unsqueeze", "dim", rule_unsqueeze, 0},
    {"_squeeze_dim", "dim,input_shape", rule_squeeze_dim, 0},
    {"select", "input_shape,dim,index", rule_select, 0},
    {"slice", "input_shape,dim,start,stop,step", rule_slice, 0},
    {"stack", "dim,tensors_shape", rule_stack, 0},
    {"cat", "dim,tensors_shape", rule_cat, 0},
    {"_split", "input_shape,split_size,dim", rule_split, 0},
    {"_unsafe_split", "input_shape,split_size,dim", rule_split, 0},
    {"unbind", "dim", rule_unbind, 0},
    {"gather", "input,dim,index", rule_gather, 0},
    {NULL, NULL, NULL, 0},
};
