/* The leaves' end of the graph: an array that arrives becomes `.grad`, or is added to it.
 *
 * What `AccumulateGrad.run_raw` does for a leaf without hooks while no other backward call runs. Then nothing else
 * writes a `.grad`: the lock that Python takes is not needed, as long as nothing here lets another thread run between
 * reading and writing.
 */
#include "engine.h"

#include "../backend/kernels/turning.h"

PyObject *accumulate_run;
static PyObject *active;      /* `accumulate.ACTIVE`: how many backward calls run */
static PyObject *name_calls, *writer;
static PyObject *alone_count; /* `ownership.ALONE`: 0 where reference counts do not tell the owners */

/* ---- adding up ---------------------------------------------------------------------------------------------- */

#define LARGEST_SUM 4096

#define ADD_INTO(type)                                          \
    do {                                                        \
        type *sum = PyArray_DATA(ARRAY(target));                \
        const type *part = PyArray_DATA(ARRAY(other));          \
        const npy_intp count = PyArray_SIZE(ARRAY(target));     \
        for (npy_intp index = 0; index < count; index++) {      \
            sum[index] += part[index];                          \
        }                                                       \
    } while (0)

/* Whether `add_alike` can do it: small arrays that lie alike, and are the same memory or wholly apart. */
static int
can_add(PyObject *target, PyObject *other)
{
    if (!are_alike(target, other) || PyArray_SIZE(ARRAY(target)) > LARGEST_SUM || !PyArray_ISWRITEABLE(ARRAY(target))) {
        return 0;
    }
    const char *first = PyArray_BYTES(ARRAY(target)), *second = PyArray_BYTES(ARRAY(other));
    const npy_intp bytes = PyArray_NBYTES(ARRAY(target));
    return first == second || first + bytes <= second || second + bytes <= first;
}

int
add_alike(PyObject *target, PyObject *other)
{
    if (!can_add(target, other)) {
        return 0;
    }
    if (PyArray_DESCR(ARRAY(target)) == objects.F32) {
        ADD_INTO(npy_float32);
    }
    else {
        ADD_INTO(npy_float64);
    }
    return 1;
}

/* ---- the leaf ----------------------------------------------------------------------------------------------- */

/* Whether this thread's backward call is the only one: 1 or 0; -1 with an error set. */
static int
is_only_call(void)
{
    PyObject *calls = PyObject_GetAttr(active, name_calls);
    if (calls == NULL) {
        return -1;
    }
    const int only = calls == objects.one;
    Py_DECREF(calls);
    return only;
}

static int
add_to_held(PyObject *held, PyObject *gradient)
{
    if (Py_TYPE(held) != objects.Tensor) {
        return 0;
    }
    PyObject *array = SLOT(held, in_tensor.array), *cell = SLOT(held, in_tensor.cell);
    if ((cell != Py_None && Py_TYPE(cell) != objects.VersionCell) || !can_add(array, gradient)) {
        return 0;
    }
    if (count_write(held, writer, Py_None, objects.zero) < 0) {
        return -1;
    }
    return add_alike(array, gradient);
}

/* Whether nobody but the walk can reach the memory: the array's own, or all of one that only this view of it holds. */
static int
is_alone(PyObject *gradient)
{
    PyObject *base = PyArray_BASE(ARRAY(gradient));
    if (alone_count == objects.zero || Py_REFCNT(gradient) != 1) {
        return 0;
    }
    return base == NULL
           || (Py_REFCNT(base) == 1 && PyArray_CheckExact(base) && PyArray_BASE(ARRAY(base)) == NULL
               && PyArray_CHKFLAGS(ARRAY(base), NPY_ARRAY_OWNDATA) && PyArray_ISWRITEABLE(ARRAY(gradient))
               && PyArray_NBYTES(ARRAY(base)) == PyArray_NBYTES(ARRAY(gradient)));
}

/* The array as `.grad` is to have it: itself if nobody else holds it, else a copy laid out as the leaf is. NULL
 * without an error: not a case for C. */
static PyObject *
own_gradient(PyObject *gradient, PyObject *leaf_array)
{
    const int ndim = PyArray_NDIM(ARRAY(gradient));
    if (is_alone(gradient)
        && PyArray_CompareLists(PyArray_STRIDES(ARRAY(gradient)), PyArray_STRIDES(ARRAY(leaf_array)), ndim)) {
        return Py_NewRef(gradient);
    }
    if (!PyArray_IS_C_CONTIGUOUS(ARRAY(leaf_array))) {
        return NULL;
    }
    return copy_in_rows(ARRAY(gradient), shared_threads);
}

int
accumulate(PyObject *node, PyObject **place)
{
    PyObject *gradient = *place, *saved = SLOT(node, in_node.saved);
    if (!PyArray_CheckExact(gradient) || saved == NULL || !PyTuple_CheckExact(saved) || PyTuple_GET_SIZE(saved) != 1) {
        return 0;
    }
    PyObject *leaf = PyTuple_GET_ITEM(saved, 0);
    if (!is_tensor(leaf) || SLOT(leaf, in_tensor.requires_grad) != Py_True || is_unusual()) {
        return 0;
    }
    PyObject *meta = SLOT(leaf, in_tensor.meta), *leaf_array = SLOT(leaf, in_tensor.array);
    if (Py_TYPE(meta) != objects.TensorMeta || slot_given(meta, in_meta.hooks)
        || slot_given(meta, in_meta.post_accumulate_hooks) || !PyArray_CheckExact(leaf_array)
        || !has_shape_of(gradient, leaf_array)) {
        return 0;
    }
    const int only = is_only_call();
    if (only != 1) {
        return only;
    }
    PyObject *held = SLOT(meta, in_meta.grad);
    if (held != Py_None) {
        return held == NULL ? 0 : add_to_held(held, gradient);
    }
    PyObject *own = own_gradient(gradient, leaf_array);
    if (own == NULL) {
        return PyErr_Occurred() ? -1 : 0;
    }
    PyObject *tensor = new_tensor(own);
    Py_DECREF(own);
    if (tensor == NULL) {
        return -1;
    }
    if (SLOT(meta, in_meta.grad) != Py_None) { /* a large copy lets other threads run */
        Py_DECREF(tensor);
        return 0;
    }
    slot_set(meta, in_meta.grad, tensor);
    Py_DECREF(tensor);
    Py_CLEAR(*place);
    return 1;
}

/* ---- part --------------------------------------------------------------------------------------------------- */

static const Wanted accumulate_wanted[] = {
    {"accumulate_run", &accumulate_run},
    {"ACTIVE", &active},
    {"ALONE", &alone_count},
    {NULL, NULL},
};

static int
accumulate_start(void)
{
    Py_XSETREF(name_calls, PyUnicode_InternFromString("calls"));
    Py_XSETREF(writer, PyUnicode_InternFromString("accumulation into .grad"));
    return name_calls == NULL || writer == NULL ? -1 : 0;
}

const Part accumulate_part = {.wanted = accumulate_wanted, .start = accumulate_start};
