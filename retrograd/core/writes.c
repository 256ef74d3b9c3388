/* `zero_`, `fill_` and `copy_` of tensors whose history does not change: what `ops.shapes.copying` does with them. */
#include "caller.h"
#include "shortcut.h"

static PyObject *name_zero, *name_fill, *name_copy;

/* ---- targets ------------------------------------------------------------------------------------------------ */

/* A tensor of ordinary elements that nothing unusual is known of. */
static int
is_usual(PyObject *tensor)
{
    if (!is_tensor(tensor)) {
        return 0;
    }
    PyObject *array = SLOT(tensor, in_tensor.array), *cell = SLOT(tensor, in_tensor.cell);
    PyObject *view = SLOT(tensor, in_tensor.view);
    if (array == NULL || !PyArray_CheckExact(array) || cell == NULL
        || (cell != Py_None && Py_TYPE(cell) != objects.VersionCell) || view == NULL
        || (view != Py_None && (Py_TYPE(view) != objects.ViewInfo || SLOT(view, in_view.base) == NULL))
        || SLOT(tensor, in_tensor.grad_fn) == NULL || SLOT(tensor, in_tensor.cut) == NULL) {
        return 0;
    }
    const PyArray_Descr *dtype = PyArray_DESCR(ARRAY(array));
    return dtype == objects.F32 || dtype == objects.F64 || dtype == objects.I64 || dtype == objects.B8;
}

int
is_plain_target(PyObject *tensor)
{
    if (is_unusual() || !is_usual(tensor)) {
        return 0;
    }
    PyArrayObject *array = ARRAY(SLOT(tensor, in_tensor.array));
    for (int axis = 0; axis < PyArray_NDIM(array); axis++) {
        if (PyArray_STRIDE(array, axis) == 0) {
            return 0; /* expanded: its elements may share memory */
        }
    }
    const int enabled = grad_is_enabled();
    return enabled < 0 ? -1 : PyArray_ISWRITEABLE(array) && !(enabled && requires_grad(tensor));
}

/* ---- one value ---------------------------------------------------------------------------------------------- */

typedef union {
    npy_float32 float32;
    npy_float64 float64;
    npy_int64 int64;
} Element;

/* A number as an element of a dtype; 0 where Python has to look at it. */
static int
as_element(PyObject *number, const PyArray_Descr *dtype, Element *element)
{
    double value;
    if (dtype == objects.I64) {
        int overflow = 1;
        element->int64 = PyLong_CheckExact(number) ? PyLong_AsLongLongAndOverflow(number, &overflow) : 0;
        return !overflow;
    }
    if (!fits_dtype(number, dtype, &value)) {
        return 0;
    }
    if (dtype == objects.F32) {
        element->float32 = (npy_float32)value;
    }
    else {
        element->float64 = value;
    }
    return 1;
}

static void
fill_array(PyArrayObject *array, const Element *element)
{
    const npy_intp size = PyArray_SIZE(array);
    if (PyArray_DESCR(array) == objects.F32) {
        npy_float32 *data = PyArray_DATA(array);
        for (npy_intp index = 0; index < size; index++) {
            data[index] = element->float32;
        }
    }
    else { /* float64 and int64 are alike here */
        npy_int64 *data = PyArray_DATA(array);
        for (npy_intp index = 0; index < size; index++) {
            memcpy(&data[index], element, sizeof *data);
        }
    }
}

static int
is_dense(PyArrayObject *array)
{
    return PyArray_ISALIGNED(array) && (PyArray_IS_C_CONTIGUOUS(array) || PyArray_IS_F_CONTIGUOUS(array));
}

/* zero_(input) */
static PyObject *
zero_way(Shortcut *Py_UNUSED(self), PyObject *const *arguments, Py_ssize_t count, PyObject *names)
{
    if (count != 1 || names != NULL || is_plain_target(arguments[0]) <= 0) {
        return NULL;
    }
    PyArrayObject *array = ARRAY(SLOT(arguments[0], in_tensor.array));
    if (!is_dense(array)) {
        return NULL;
    }
    memset(PyArray_DATA(array), 0, (size_t)PyArray_NBYTES(array));
    return count_write_here(arguments[0], name_zero) < 0 ? NULL : Py_NewRef(arguments[0]);
}

/* fill_(input, value) */
static PyObject *
fill_way(Shortcut *Py_UNUSED(self), PyObject *const *arguments, Py_ssize_t count, PyObject *names)
{
    Element element;
    if (count != 2 || names != NULL || is_plain_target(arguments[0]) <= 0) {
        return NULL;
    }
    PyArrayObject *array = ARRAY(SLOT(arguments[0], in_tensor.array));
    if (!is_dense(array) || !as_element(arguments[1], PyArray_DESCR(array), &element)) {
        return NULL;
    }
    fill_array(array, &element);
    return count_write_here(arguments[0], name_fill) < 0 ? NULL : Py_NewRef(arguments[0]);
}

/* ---- another tensor ----------------------------------------------------------------------------------------- */

/* A tensor whose elements can be written as they are; what overlaps, and where nodes come of it, is Python's. */
static int
is_plain_source(PyObject *target, PyObject *source)
{
    if (!is_usual(source)) {
        return 0;
    }
    PyArrayObject *from = ARRAY(SLOT(source, in_tensor.array)), *to = ARRAY(SLOT(target, in_tensor.array));
    PyObject *cell = SLOT(target, in_tensor.cell);
    if (PyArray_DESCR(from) != PyArray_DESCR(to) || !PyArray_SAMESHAPE(from, to) || source == target
        || (cell != Py_None && SLOT(source, in_tensor.cell) == cell)) {
        return 0;
    }
    const int enabled = grad_is_enabled();
    return enabled < 0 ? -1 : !(enabled && requires_grad(source));
}

/* copy_(self, other) */
static PyObject *
copy_way(Shortcut *Py_UNUSED(self), PyObject *const *arguments, Py_ssize_t count, PyObject *names)
{
    if (count != 2 || names != NULL || is_plain_target(arguments[0]) <= 0
        || is_plain_source(arguments[0], arguments[1]) <= 0) {
        return NULL;
    }
    PyObject *target = arguments[0], *source = arguments[1], *cut;
    cut = SLOT(source, in_tensor.requires_grad) == Py_True ? PyObject_GetAttr(objects.STATE, objects.name_cut)
                                                           : Py_NewRef(SLOT(source, in_tensor.cut));
    if (cut == NULL || write_array(SLOT(target, in_tensor.array), SLOT(source, in_tensor.array)) < 0
        || count_write_here(target, name_copy) < 0) {
        Py_XDECREF(cut);
        return NULL;
    }
    slot_set(target, in_tensor.cut, cut);
    Py_DECREF(cut);
    return Py_NewRef(target);
}

/* ---- the part ----------------------------------------------------------------------------------------------- */

SHORTCUT_METHOD(zero, 0)
SHORTCUT_METHOD(fill, 0)
SHORTCUT_METHOD(copy, 0)

static int
add(PyObject *Py_UNUSED(module))
{
    name_zero = PyUnicode_InternFromString("zero_");
    name_fill = PyUnicode_InternFromString("fill_");
    name_copy = PyUnicode_InternFromString("copy_");
    return name_zero == NULL || name_fill == NULL || name_copy == NULL ? -1 : 0;
}

#define ENTRY(name, text) {#name, (PyCFunction)(void (*)(void))core_##name, METH_FASTCALL, text}

static PyMethodDef methods[] = {
    ENTRY(zero, "zero(function): x.zero_() without history."),
    ENTRY(fill, "fill(function): x.fill_(number) without history."),
    ENTRY(copy, "copy(function): x.copy_(y) of the same shape and dtype, without history."),
    {NULL, NULL, 0, NULL},
};

const Part writes_part = {.methods = methods, .add = add};
