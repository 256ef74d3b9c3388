/* Adding through an index: whole slices, and elements along a dimension.
 *
 * What is added to one place is added in the order of the index, so the bits are NumPy's, however many threads there are:
 * each does some of the places.
 */
#include "indexing.h"

static int
are_apart(PyObject *a, PyObject *b)
{
    const char *first = PyArray_DATA(ARRAY(a)), *second = PyArray_DATA(ARRAY(b));
    return first + PyArray_NBYTES(ARRAY(a)) <= second || second + PyArray_NBYTES(ARRAY(b)) <= first;
}

/* add_rows(flat, rows, values): adds row i of values to row rows[i] of a flat table, in place; whether it was done. */
static PyObject *
rows_add_rows(PyObject *Py_UNUSED(module), PyObject *const *arguments, Py_ssize_t count)
{
    if (!has_count(count, 3, "add_rows")) {
        return NULL;
    }
    PyObject *flat = arguments[0], *rows = arguments[1], *values = arguments[2];
    const int number = type_number(flat);
    if (number < 0 || type_number(values) != number || !is_plain(flat) || !is_plain(values) || !is_index(rows)
        || !PyArray_ISWRITEABLE(ARRAY(flat)) || PyArray_NDIM(ARRAY(values)) != 2
        || PyArray_DIM(ARRAY(values), 0) != PyArray_SIZE(ARRAY(rows)) || !are_apart(flat, values)) {
        Py_RETURN_FALSE;
    }
    const npy_intp width = PyArray_DIM(ARRAY(values), 1), each = PyArray_SIZE(ARRAY(rows));
    if (width == 0 || PyArray_SIZE(ARRAY(flat)) % width != 0
        || !are_within(PyArray_DATA(ARRAY(rows)), each, PyArray_SIZE(ARRAY(flat)) / width)) {
        Py_RETURN_FALSE;
    }
    const SlicesWork work = {.rows = each,
                             .step = width,
                             .places = PyArray_DATA(ARRAY(rows)),
                             .values = PyArray_DATA(ARRAY(values)),
                             .result = PyArray_DATA(ARRAY(flat))};
    WITHOUT_LOCK(each * width, row_loops->add_slices[number](&work, 0, width));
    Py_RETURN_TRUE;
}

/* ---- into a new array ----------------------------------------------------------------------------------------- */

typedef struct {
    Split split;
    npy_intp length; /* places of the index along the dimension */
    npy_intp item;   /* bytes of an element */
    int number;      /* of the type */
    const npy_int64 *places;
    const unsigned char *first, *seen; /* slices: the first to come to its place; the places where one comes; or NULL */
    const char *base;                  /* to what is added; NULL: to zeros */
    const char *source;
    char *result;
    int outside; /* a number of the index is out of bounds */
} Adding;

typedef struct {
    npy_intp outer, start, stop; /* one of the outer dimensions, and columns of the inner ones */
} Part;

typedef void (*AddPart)(Adding *work, Part part);

/* What is below the sums: the base or zeros, in the places from `from` to `to`. */
static void
lay_base(const Adding *work, Part part, npy_intp from, npy_intp to)
{
    const Split split = work->split;
    const int whole = part.stop - part.start == split.inner;
    const npy_intp rows = whole ? 1 : to - from, width = (whole ? (to - from) * split.inner : part.stop - part.start);
    npy_intp skip = ((part.outer * split.size + from) * split.inner + part.start) * work->item;
    for (npy_intp row = 0; row < rows; row++, skip += split.inner * work->item) {
        if (work->base == NULL) {
            memset(work->result + skip, 0, (size_t)(width * work->item));
        }
        else {
            memcpy(work->result + skip, work->base + skip, (size_t)(width * work->item));
        }
    }
}

typedef struct {
    Adding *work;
    AddPart add;
} Spread;

static void
add_outer(void *context, npy_intp start, npy_intp stop)
{
    const Spread *spread = context;
    for (; start < stop; start++) {
        spread->add(spread->work, (Part){start, 0, spread->work->split.inner});
    }
}

static void
add_columns(void *context, npy_intp start, npy_intp stop)
{
    const Spread *spread = context;
    spread->add(spread->work, (Part){0, start, stop});
}

/* Everything, in pieces that have no place in common. */
static void
add_in_threads(Adding *work, AddPart add)
{
    Spread spread = {work, add};
    const npy_intp column = work->split.size + work->length, least_columns = rows_worth_a_thread(column);
    if (work->split.outer == 1) {
        in_threads(row_pool, add_columns, &spread, work->split.inner, least_columns < 64 ? 64 : least_columns);
    }
    else {
        in_threads(row_pool, add_outer, &spread, work->split.outer, rows_worth_a_thread(column * work->split.inner));
    }
}

/* Reads the array to add to, or, for zeros, the shape of one; whether the other arrays fit. Both have elements. */
static int
read_target(PyObject *target, PyObject *dim, PyObject *index, PyObject *source, Adding *work, int *ndim, npy_intp *shape,
            int *axis)
{
    work->number = type_number(source);
    if (work->number < 0 || !is_plain(source) || !is_index(index) || PyArray_SIZE(ARRAY(source)) == 0) {
        return 0;
    }
    *ndim = PyArray_NDIM(ARRAY(source));
    if (*ndim == 0) { /* one element, and no shape to copy */
        return 0;
    }
    if (PyTuple_Check(target) && PyTuple_GET_SIZE(target) == *ndim) {
        for (int at = 0; at < *ndim; at++) {
            int overflow = 0;
            PyObject *size = PyTuple_GET_ITEM(target, at);
            shape[at] = PyLong_CheckExact(size) ? PyLong_AsLongAndOverflow(size, &overflow) : 0;
            if (shape[at] <= 0 || overflow) {
                return 0;
            }
        }
    }
    else if (type_number(target) == work->number && PyArray_NDIM(ARRAY(target)) == *ndim && is_plain(target)) {
        memcpy(shape, PyArray_DIMS(ARRAY(target)), (size_t)*ndim * sizeof(npy_intp));
        work->base = PyArray_DATA(ARRAY(target));
    }
    else {
        return 0;
    }
    *axis = read_axis(dim, *ndim);
    if (*axis < 0 || !match_beside(*ndim, shape, PyArray_DIMS(ARRAY(source)), *axis)) {
        return 0;
    }
    work->split = split_at(*ndim, shape, *axis);
    work->length = PyArray_DIM(ARRAY(source), *axis);
    work->item = PyArray_ITEMSIZE(ARRAY(source));
    work->places = PyArray_DATA(ARRAY(index));
    work->source = PyArray_DATA(ARRAY(source));
    return work->split.size > 0;
}

/* The sums in a new array; None where a number of the index is out of bounds. */
static PyObject *
add_to_new(Adding *work, AddPart add, int ndim, const npy_intp *shape)
{
    PyObject *result = PyArray_SimpleNew(ndim, shape, work->number == 0 ? NPY_FLOAT32 : NPY_FLOAT64);
    if (result == NULL) {
        return NULL;
    }
    work->result = PyArray_DATA(ARRAY(result));
    const npy_intp size = work->split.outer * (work->split.size + work->length) * work->split.inner;
    WITHOUT_LOCK(size, add_in_threads(work, add));
    if (work->outside) {
        Py_DECREF(result);
        Py_RETURN_NONE;
    }
    return result;
}

/* ---- slices --------------------------------------------------------------------------------------------------- */

#define WIDE_SLICE 4 /* elements: from here on the first slice to come to a place need not find anything there */

static void
add_part_of_slices(Adding *work, Part part)
{
    const Split split = work->split;
    if (work->seen == NULL) {
        lay_base(work, part, 0, split.size);
    }
    for (npy_intp at = 0; work->seen != NULL && at < split.size; at++) {
        if (!work->seen[at]) {
            lay_base(work, part, at, at + 1);
        }
    }
    const npy_intp slab = part.outer * split.size * split.inner * work->item;
    const SlicesWork loop = {.rows = work->length,
                             .step = split.inner,
                             .places = work->places,
                             .first = work->first,
                             .base = work->base == NULL ? NULL : work->base + slab,
                             .values = work->source + part.outer * work->length * split.inner * work->item,
                             .result = work->result + slab};
    row_loops->add_slices[work->number](&loop, part.start, part.stop);
}

/* add_slices(input or shape, dim, index, source): slices of the source added to those that a vector names along a dimension. */
static PyObject *
rows_add_slices(PyObject *Py_UNUSED(module), PyObject *const *arguments, Py_ssize_t count)
{
    if (!has_count(count, 4, "add_slices")) {
        return NULL;
    }
    int ndim, axis;
    npy_intp shape[NPY_MAXDIMS];
    Adding work = {0};
    if (!read_target(arguments[0], arguments[1], arguments[2], arguments[3], &work, &ndim, shape, &axis)
        || PyArray_NDIM(ARRAY(arguments[2])) != 1 || PyArray_SIZE(ARRAY(arguments[2])) != work.length
        || !are_within(work.places, work.length, work.split.size)) {
        Py_RETURN_NONE;
    }
    unsigned char *marks = NULL;
    if (work.split.inner >= WIDE_SLICE) {
        marks = PyMem_Calloc((size_t)(work.split.size + work.length), 1);
        if (marks == NULL) {
            return PyErr_NoMemory();
        }
        for (npy_intp row = 0; row < work.length; row++) {
            unsigned char *seen = marks + work.places[row];
            marks[work.split.size + row] = !*seen;
            *seen = 1;
        }
        work.seen = marks;
        work.first = marks + work.split.size;
    }
    PyObject *result = add_to_new(&work, add_part_of_slices, ndim, shape);
    PyMem_Free(marks);
    return result;
}

/* ---- along a dimension ---------------------------------------------------------------------------------------- */

/* Elements of a line: the places of a stretch of the index, which are in bounds, `step` apart. */
#define ADD_STRETCH(name, type)                                                                                     \
    static void name(char *line, const npy_int64 *places, const char *values, npy_intp count, npy_intp step)        \
    {                                                                                                               \
        type *to = (type *)line;                                                                                    \
        const type *from = (const type *)values;                                                                    \
        if (step == 1) {                                                                                            \
            for (npy_intp at = 0; at < count; at++) {                                                               \
                to[places[at]] += from[at];                                                                         \
            }                                                                                                       \
            return;                                                                                                 \
        }                                                                                                           \
        for (npy_intp at = 0; at < count; at++) {                                                                   \
            to[places[at] * step + at] += from[at];                                                                 \
        }                                                                                                           \
    }

ADD_STRETCH(add_floats, npy_float32)
ADD_STRETCH(add_doubles, npy_float64)

/* Numbers of the index that lie one after the other, and what is beside them. */
static int
add_line(const Adding *work, char *line, npy_intp start, npy_intp count, npy_intp step)
{
    for (npy_intp at = 0; at < count; at += INDEX_STRETCH) {
        const npy_int64 *places = work->places + start + at;
        const npy_intp many = least(count - at, INDEX_STRETCH);
        if (!are_within(places, many, work->split.size)) {
            return 0;
        }
        (work->number == 0 ? add_floats : add_doubles)(line + (step == 1 ? 0 : at * work->item), places,
                                                       work->source + (start + at) * work->item, many, step);
    }
    return 1;
}

static void
add_part_along(Adding *work, Part part)
{
    const Split split = work->split;
    lay_base(work, part, 0, split.size);
    char *slab = work->result + part.outer * split.size * split.inner * work->item;
    const npy_intp start = part.outer * work->length * split.inner;
    int within = 1;
    if (split.inner == 1) {
        within = add_line(work, slab, start, work->length, 1);
    }
    for (npy_intp row = 0; row < work->length && split.inner > 1 && within; row++) {
        within = add_line(work, slab + part.start * work->item, start + row * split.inner + part.start,
                          part.stop - part.start, split.inner);
    }
    if (!within) {
        __atomic_store_n(&work->outside, 1, __ATOMIC_RELAXED);
    }
}

/* add_along(input or shape, dim, index, source): the source added to the elements that the index names along a dimension. */
static PyObject *
rows_add_along(PyObject *Py_UNUSED(module), PyObject *const *arguments, Py_ssize_t count)
{
    if (!has_count(count, 4, "add_along")) {
        return NULL;
    }
    int ndim, axis;
    npy_intp shape[NPY_MAXDIMS];
    Adding work = {0};
    PyObject *index = arguments[2], *source = arguments[3];
    if (!read_target(arguments[0], arguments[1], index, source, &work, &ndim, shape, &axis)
        || PyArray_NDIM(ARRAY(index)) != ndim
        || !PyArray_CompareLists(PyArray_DIMS(ARRAY(source)), PyArray_DIMS(ARRAY(index)), ndim)) {
        Py_RETURN_NONE;
    }
    return add_to_new(&work, add_part_along, ndim, shape);
}

#define METHOD(name, text) {#name, (PyCFunction)(void (*)(void))rows_##name, METH_FASTCALL, text}

PyMethodDef adding_methods[] = {
    METHOD(add_rows, "add_rows(flat, rows, values): whether rows of values were added to rows of a flat table"),
    METHOD(add_slices, "add_slices(input or shape, dim, index, source): in a copy, or in zeros"),
    METHOD(add_along, "add_along(input or shape, dim, index, source): in a copy, or in zeros"),
    {NULL, NULL, 0, NULL},
};
