/* Reading through an index: elements along a dimension, and whole slices. Elements are moved, whatever they are. */
#include "indexing.h"

typedef struct {
    Split split;
    npy_intp length; /* places of the index along the dimension */
    npy_intp item;   /* bytes that are moved at once: of an element, or of a slice */
    const char *input;
    const npy_int64 *places;
    char *result;
    int outside; /* a number of the index is out of bounds */
} Taking;

static void
note_outside(int *outside)
{
    __atomic_store_n(outside, 1, __ATOMIC_RELAXED);
}

/* Elements of a line: the places of a stretch of the index, which are in bounds, `step` apart, from `shift` on. */
#define TAKE_STRETCH(type)                                                                                      \
    static void take_##type(const char *line, const npy_int64 *places, char *result, npy_intp count, npy_intp step, \
                            npy_intp shift)                                                                     \
    {                                                                                                           \
        const npy_##type *restrict from = (const npy_##type *)line + shift;                                     \
        npy_##type *restrict out = (npy_##type *)result;                                                        \
        npy_intp at = 0;                                                                                        \
        if (step == 1) {                                                                                        \
            for (; at + 8 <= count; at += 8) {                                                                  \
                for (int more = 0; more < 8; more++) {                                                          \
                    out[at + more] = from[places[at + more]];                                                   \
                }                                                                                               \
            }                                                                                                   \
            for (; at < count; at++) {                                                                          \
                out[at] = from[places[at]];                                                                     \
            }                                                                                                   \
        }                                                                                                       \
        for (; at < count; at++) {                                                                              \
            out[at] = from[places[at] * step + at];                                                             \
        }                                                                                                       \
    }                                                                                                           \
    /* One element of each of some lines that are `size` apart. */                                              \
    static void take_each_##type(const char *line, const npy_int64 *places, char *result, npy_intp count, npy_intp size, \
                                 npy_intp Py_UNUSED(shift))                                                     \
    {                                                                                                           \
        const npy_##type *restrict from = (const npy_##type *)line;                                             \
        npy_##type *restrict out = (npy_##type *)result;                                                        \
        for (npy_intp at = 0; at < count; at++, from += size) {                                                 \
            out[at] = from[places[at]];                                                                         \
        }                                                                                                       \
    }

TAKE_STRETCH(uint8)
TAKE_STRETCH(uint16)
TAKE_STRETCH(uint32)
TAKE_STRETCH(uint64)

typedef void (*TakeStretch)(const char *line, const npy_int64 *places, char *result, npy_intp count, npy_intp step,
                            npy_intp shift);

static TakeStretch
taker_of(npy_intp item)
{
    return item == 1 ? take_uint8 : item == 2 ? take_uint16 : item == 4 ? take_uint32 : item == 8 ? take_uint64 : NULL;
}

static TakeStretch
taker_of_each(npy_intp item)
{
    return item == 1   ? take_each_uint8
           : item == 2 ? take_each_uint16
           : item == 4 ? take_each_uint32
                       : take_each_uint64;
}

/* An array whose elements are bytes and nothing else, row by row. */
static int
can_move(PyObject *object)
{
    return PyArray_CheckExact(object) && is_plain(object) && !PyDataType_REFCHK(PyArray_DESCR(ARRAY(object)));
}

static PyObject *
new_shaped(PyObject *input, int ndim, const npy_intp *shape)
{
    PyArray_Descr *kind = PyArray_DESCR(ARRAY(input));
    Py_INCREF(kind);
    return PyArray_NewFromDescr(&PyArray_Type, kind, ndim, shape, NULL, NULL, 0, NULL);
}

/* The result where all was in bounds, else None. */
static PyObject *
if_within(PyObject *result, int outside)
{
    if (!outside) {
        return result;
    }
    Py_DECREF(result);
    Py_RETURN_NONE;
}

/* ---- along a dimension ---------------------------------------------------------------------------------------- */

/* One line: of an index whose numbers lie one after the other, `count` of them. */
static int
take_line(TakeStretch take, const Taking *work, const char *line, npy_intp start, npy_intp count, npy_intp step)
{
    for (npy_intp at = 0; at < count; at += INDEX_STRETCH) {
        const npy_int64 *places = work->places + start + at;
        const npy_intp many = least(count - at, INDEX_STRETCH);
        if (!are_within(places, many, work->split.size)) {
            return 0;
        }
        take(line, places, work->result + (start + at) * work->item, many, step, step == 1 ? 0 : at);
    }
    return 1;
}

/* Lines of which one element is taken. */
static void
take_one_of_each(void *context, npy_intp start, npy_intp stop)
{
    Taking *work = context;
    const npy_intp size = work->split.size;
    for (npy_intp many; start < stop; start += many) {
        many = least(stop - start, INDEX_STRETCH);
        if (!are_within(work->places + start, many, size)) {
            note_outside(&work->outside);
            return;
        }
        taker_of_each(work->item)(work->input + start * size * work->item, work->places + start,
                                  work->result + start * work->item, many, size, 0);
    }
}

/* Rows of the index, each of `inner` numbers. */
static void
take_rows_along(void *context, npy_intp start, npy_intp stop)
{
    Taking *work = context;
    const Split split = work->split;
    const TakeStretch take = taker_of(work->item);
    const npy_intp slab = split.size * split.inner * work->item;
    npy_intp outer = start / work->length, row = start % work->length;
    int within = 1;
    for (npy_intp many; start < stop && within; start += many, outer++, row = 0) {
        const char *line = work->input + outer * slab;
        many = least(stop - start, work->length - row);
        if (split.inner == 1) {
            within = take_line(take, work, line, start, many, 1);
        }
        for (npy_intp at = 0; at < many && split.inner > 1 && within; at++) {
            within = take_line(take, work, line, (start + at) * split.inner, split.inner, split.inner);
        }
    }
    if (!within) {
        note_outside(&work->outside);
    }
}

/* take_along(input, dim, index): the elements that the index names along a dimension. */
static PyObject *
rows_take_along(PyObject *Py_UNUSED(module), PyObject *const *arguments, Py_ssize_t count)
{
    if (!has_count(count, 3, "take_along")) {
        return NULL;
    }
    PyObject *input = arguments[0], *index = arguments[2];
    if (!can_move(input) || taker_of(PyArray_ITEMSIZE(ARRAY(input))) == NULL || !is_index(index)
        || PyArray_NDIM(ARRAY(index)) != PyArray_NDIM(ARRAY(input)) || PyArray_SIZE(ARRAY(index)) == 0) {
        Py_RETURN_NONE;
    }
    const int ndim = PyArray_NDIM(ARRAY(input)), axis = read_axis(arguments[1], ndim);
    const npy_intp *shape = PyArray_DIMS(ARRAY(input)), *named = PyArray_DIMS(ARRAY(index));
    if (axis < 0 || !match_beside(ndim, shape, named, axis)) {
        Py_RETURN_NONE;
    }
    PyObject *result = new_shaped(input, ndim, named);
    if (result == NULL) {
        return NULL;
    }
    Taking work = {.split = split_at(ndim, shape, axis), .length = named[axis], .item = PyArray_ITEMSIZE(ARRAY(input))};
    work.input = PyArray_DATA(ARRAY(input));
    work.places = PyArray_DATA(ARRAY(index));
    work.result = PyArray_DATA(ARRAY(result));
    const npy_intp rows = work.split.outer * work.length, grain = rows_worth_a_thread(work.split.inner);
    const ThreadWork take = work.length == 1 && work.split.inner == 1 ? take_one_of_each : take_rows_along;
    WITHOUT_LOCK(PyArray_SIZE(ARRAY(index)), in_threads(row_pool, take, &work, rows, grain));
    return if_within(result, work.outside);
}

/* ---- slices --------------------------------------------------------------------------------------------------- */

/* Slices of `item` bytes, `length` for each of the outer dimensions. */
static void
take_some_slices(void *context, npy_intp start, npy_intp stop)
{
    Taking *work = context;
    const npy_intp slab = work->split.size * work->item;
    const TakeStretch take = taker_of(work->item);
    npy_intp outer = start / work->length, row = start % work->length;
    for (npy_intp many; start < stop; start += many, outer += row == work->length, row %= work->length) {
        const char *from = work->input + outer * slab;
        const npy_int64 *places = work->places + row;
        char *to = work->result + start * work->item;
        many = least(least(stop - start, work->length - row), INDEX_STRETCH);
        row += many;
        if (!are_within(places, many, work->split.size)) {
            note_outside(&work->outside);
            return;
        }
        if (take != NULL) {
            take(from, places, to, many, 1, 0);
            continue;
        }
        for (npy_intp at = 0; at < many; at++, to += work->item) {
            memcpy(to, from + places[at] * work->item, (size_t)work->item);
        }
    }
}

/* Whether an address fits the elements that slices of so many bytes are moved as. */
static int
fits_item(PyObject *array, npy_intp item)
{
    return taker_of(item) == NULL || (npy_uintp)PyArray_DATA(ARRAY(array)) % (npy_uintp)item == 0;
}

/* take_slices(input, dim, index): the slices along a dimension that an index of any shape names. */
static PyObject *
rows_take_slices(PyObject *Py_UNUSED(module), PyObject *const *arguments, Py_ssize_t count)
{
    if (!has_count(count, 3, "take_slices")) {
        return NULL;
    }
    PyObject *input = arguments[0], *index = arguments[2];
    if (!can_move(input) || !is_index(index)) {
        Py_RETURN_NONE;
    }
    const int ndim = PyArray_NDIM(ARRAY(input)), named = PyArray_NDIM(ARRAY(index)), axis = read_axis(arguments[1], ndim);
    npy_intp shape[2 * NPY_MAXDIMS];
    if (axis < 0 || ndim + named - 1 > NPY_MAXDIMS || PyArray_SIZE(ARRAY(input)) == 0 || PyArray_SIZE(ARRAY(index)) == 0) {
        Py_RETURN_NONE;
    }
    memcpy(shape, PyArray_DIMS(ARRAY(input)), (size_t)axis * sizeof(npy_intp));
    for (int at = 0; at < named; at++) { /* an index without dimensions has no array of them */
        shape[axis + at] = PyArray_DIM(ARRAY(index), at);
    }
    memcpy(shape + axis + named, PyArray_DIMS(ARRAY(input)) + axis + 1, (size_t)(ndim - axis - 1) * sizeof(npy_intp));
    Taking work = {.split = split_at(ndim, PyArray_DIMS(ARRAY(input)), axis), .length = PyArray_SIZE(ARRAY(index))};
    work.item = work.split.inner * PyArray_ITEMSIZE(ARRAY(input));
    if (!fits_item(input, work.item)) {
        Py_RETURN_NONE;
    }
    PyObject *result = new_shaped(input, ndim + named - 1, shape);
    if (result == NULL) {
        return NULL;
    }
    work.input = PyArray_DATA(ARRAY(input));
    work.places = PyArray_DATA(ARRAY(index));
    work.result = PyArray_DATA(ARRAY(result));
    const npy_intp rows = work.split.outer * work.length, grain = rows_worth_a_thread(work.split.inner);
    WITHOUT_LOCK(PyArray_SIZE(ARRAY(result)), in_threads(row_pool, take_some_slices, &work, rows, grain));
    return if_within(result, work.outside);
}

#define METHOD(name, text) {#name, (PyCFunction)(void (*)(void))rows_##name, METH_FASTCALL, text}

PyMethodDef taking_methods[] = {
    METHOD(take_along, "take_along(input, dim, index)"),
    METHOD(take_slices, "take_slices(input, dim, index)"),
    {NULL, NULL, 0, NULL},
};
