/* Gradients of many parameters in one call: clearing them, and keeping them small. */
#include "arithmetic.h"
#include "shortcut.h"

#include <math.h>

#define LARGE (1 << 16) /* elements from which on other threads may run meanwhile */

static PyObject *name_param_groups, *name_params, *name_set_to_none, *name_mul, *name_clamp;

/* ---- finding them ------------------------------------------------------------------------------------------- */

/* Puts the gradient of a parameter into the list, if it has one; 0 for a parameter that is Python's to look at. */
static int
add_gradient(PyObject *parameter, PyObject *found)
{
    if (!is_tensor(parameter)) {
        return 0;
    }
    PyObject *meta = SLOT(parameter, in_tensor.meta);
    if (meta != NULL && Py_TYPE(meta) == objects.TensorMeta && slot_given(meta, in_meta.grad)) {
        return PyList_Append(found, SLOT(meta, in_meta.grad)) == 0;
    }
    /* asking a tensor with a history for a gradient that it cannot have is worth a warning */
    return meta != NULL && !slot_given(parameter, in_tensor.grad_fn) && !slot_given(parameter, in_tensor.view);
}

/* ---- clearing ----------------------------------------------------------------------------------------------- */

/* The parameters of all groups as one list; NULL if a group is not as it should be, or with an error set. */
static PyObject *
parameters_of(PyObject *groups)
{
    PyObject *all = PyList_New(0);
    for (Py_ssize_t number = 0; all != NULL && number < PyList_GET_SIZE(groups); number++) {
        PyObject *group = PyList_GET_ITEM(groups, number);
        PyObject *parameters = PyDict_CheckExact(group) ? PyDict_GetItemWithError(group, name_params) : NULL;
        if (parameters == NULL || !PyList_CheckExact(parameters)
            || PyList_SetSlice(all, PyList_GET_SIZE(all), PyList_GET_SIZE(all), parameters) < 0) {
            Py_CLEAR(all);
        }
    }
    return all;
}

static int
can_clear(PyObject *parameters)
{
    for (Py_ssize_t index = 0; index < PyList_GET_SIZE(parameters); index++) {
        PyObject *parameter = PyList_GET_ITEM(parameters, index);
        PyObject *meta = is_tensor(parameter) ? SLOT(parameter, in_tensor.meta) : NULL;
        if (meta == NULL || (meta != Py_None && Py_TYPE(meta) != objects.TensorMeta)) {
            return 0;
        }
    }
    return 1;
}

/* The list is the caller's own: what the end of a gradient sets off cannot change it. */
static void
clear_all(PyObject *parameters)
{
    for (Py_ssize_t index = 0; index < PyList_GET_SIZE(parameters); index++) {
        PyObject *meta = SLOT(PyList_GET_ITEM(parameters, index), in_tensor.meta);
        if (meta != NULL && Py_TYPE(meta) == objects.TensorMeta && slot_given(meta, in_meta.grad)) {
            slot_set(meta, in_meta.grad, Py_None);
        }
    }
}

/* `optimizer.zero_grad()`, of any optimizer: it depends on nothing but the groups. */
static PyObject *
zero_grad_way(Shortcut *Py_UNUSED(self), PyObject *const *arguments, Py_ssize_t count, PyObject *names)
{
    const int named = names != NULL && PyTuple_GET_SIZE(names) == 1 && PyTuple_GET_ITEM(names, 0) == name_set_to_none;
    if ((names != NULL && !named) || count + named > 2 || count < 1
        || (count + named == 2 && arguments[1] != Py_True)) {
        return NULL;
    }
    PyObject *own = borrowed_dict(arguments[0]);
    PyObject *groups = own == NULL ? NULL : PyDict_GetItemWithError(own, name_param_groups);
    PyObject *parameters = groups == NULL || !PyList_CheckExact(groups) ? NULL : parameters_of(groups);
    PyObject *result = NULL;
    if (parameters != NULL && can_clear(parameters)) {
        clear_all(parameters);
        result = Py_NewRef(Py_None);
    }
    Py_XDECREF(parameters);
    return result;
}

SHORTCUT_METHOD(zero_grad, 0)

/* ---- clipping ----------------------------------------------------------------------------------------------- */

/* Whether a gradient is a plain array in one piece that may be written: no history, no view, no unusual memory. */
static int
is_simple(PyObject *gradient)
{
    if (!is_tensor(gradient) || slot_given(gradient, in_tensor.grad_fn) || slot_given(gradient, in_tensor.view)
        || SLOT(gradient, in_tensor.requires_grad) != Py_False) {
        return 0;
    }
    PyObject *array = SLOT(gradient, in_tensor.array), *cell = SLOT(gradient, in_tensor.cell);
    return array != NULL && PyArray_CheckExact(array) && cell != NULL
           && (cell == Py_None || Py_TYPE(cell) == objects.VersionCell)
           && (PyArray_TYPE(ARRAY(array)) == NPY_FLOAT32 || PyArray_TYPE(ARRAY(array)) == NPY_FLOAT64)
           && PyArray_ISBEHAVED(ARRAY(array)) && (PyArray_IS_C_CONTIGUOUS(ARRAY(array)) || PyArray_IS_F_CONTIGUOUS(ARRAY(array)));
}

/* What is clipped: the gradients, their arrays, and where this happens. */
typedef struct {
    PyObject *gradients; /* a list of its own */
    PyObject *code, *instruction;
    npy_intp elements;
} Clip;

static void
drop_clip(Clip *clip)
{
    Py_XDECREF(clip->gradients);
    Py_XDECREF(clip->code);
    Py_XDECREF(clip->instruction);
}

static PyArrayObject *
array_at(const Clip *clip, Py_ssize_t index)
{
    return ARRAY(SLOT(PyList_GET_ITEM(clip->gradients, index), in_tensor.array));
}

/* Finds the gradients of a list of parameters: 1; 0 if one is unusual; -1 with an error set. */
static int
begin_clip(PyObject *parameters, Clip *clip)
{
    memset(clip, 0, sizeof *clip);
    if (!core_ready || arithmetic == NULL || !PyList_CheckExact(parameters) || is_unusual()) {
        return 0;
    }
    clip->gradients = PyList_New(0);
    if (clip->gradients == NULL) {
        return -1;
    }
    for (Py_ssize_t index = 0; index < PyList_GET_SIZE(parameters); index++) {
        if (!add_gradient(PyList_GET_ITEM(parameters, index), clip->gradients)) {
            return PyErr_Occurred() ? -1 : 0;
        }
    }
    for (Py_ssize_t index = 0; index < PyList_GET_SIZE(clip->gradients); index++) {
        if (!is_simple(PyList_GET_ITEM(clip->gradients, index))
            || PyArray_TYPE(array_at(clip, index)) != PyArray_TYPE(array_at(clip, 0))) {
            return 0;
        }
        clip->elements += PyArray_SIZE(array_at(clip, index));
    }
    return user_site(&clip->code, &clip->instruction) < 0 ? -1 : 1;
}

static int
count_clipped(const Clip *clip, PyObject *writer)
{
    for (Py_ssize_t index = 0; index < PyList_GET_SIZE(clip->gradients); index++) {
        if (count_write(PyList_GET_ITEM(clip->gradients, index), writer, clip->code, clip->instruction) < 0) {
            return -1;
        }
    }
    return 0;
}

/* The 2-norm by NumPy's own product of vectors, which is what Python takes. */
static double
norm(PyArrayObject *like, void *values, npy_intp size)
{
    PyArray_DotFunc *dot = PyDataType_GetArrFuncs(PyArray_DESCR(like))->dotfunc;
    const npy_intp stride = PyArray_ITEMSIZE(like);
    if (PyArray_TYPE(like) == NPY_FLOAT32) {
        float square;
        dot(values, stride, values, stride, &square, size, like);
        return sqrtf(square);
    }
    double square;
    dot(values, stride, values, stride, &square, size, like);
    return sqrt(square);
}

/* The norms of all gradients, as elements of an array of their dtype, and then the norm of those. */
static double
total_norm(const Clip *clip, void *norms)
{
    const Py_ssize_t count = PyList_GET_SIZE(clip->gradients);
    PyArrayObject *first = array_at(clip, 0);
    for (Py_ssize_t index = 0; index < count; index++) {
        PyArrayObject *array = array_at(clip, index);
        const double found = norm(array, PyArray_DATA(array), PyArray_SIZE(array));
        if (PyArray_TYPE(first) == NPY_FLOAT32) {
            ((float *)norms)[index] = (float)found;
        }
        else {
            ((double *)norms)[index] = found;
        }
    }
    return norm(first, norms, count);
}

/* `clamp(limit / (total + 1e-6), max=1)`, in the precision of the gradients; nan stays. */
static double
factor_of(double limit, double total, int is_double)
{
    const double factor = is_double ? limit / (total + 1e-6) : (float)limit / ((float)total + (float)1e-6);
    return factor > 1 ? 1 : factor;
}

static double
scale_all(const Clip *clip, void *norms, double limit)
{
    const int is_double = PyArray_TYPE(array_at(clip, 0)) == NPY_FLOAT64;
    const double total = total_norm(clip, norms);
    const double factor = factor_of(limit, total, is_double);
    for (Py_ssize_t index = 0; index < PyList_GET_SIZE(clip->gradients); index++) {
        PyArrayObject *array = array_at(clip, index);
        arithmetic->scale[is_double](PyArray_DATA(array), PyArray_SIZE(array), factor);
    }
    return total;
}

/* clip_norm(parameters, max_norm): the total 2-norm of the gradients, which are scaled; None: Python has to. */
static PyObject *
core_clip_norm(PyObject *Py_UNUSED(module), PyObject *const *arguments, Py_ssize_t count)
{
    if (count != 2 || !PyFloat_CheckExact(arguments[1])) {
        PyErr_SetString(PyExc_TypeError, "clip_norm() takes a list of parameters and a float");
        return NULL;
    }
    Clip clip;
    PyObject *array = NULL, *total = NULL;
    void *norms = NULL;
    const int usual = begin_clip(arguments[0], &clip);
    const Py_ssize_t gradients = usual == 1 ? PyList_GET_SIZE(clip.gradients) : 0;
    if (usual >= 0 && gradients == 0) {
        drop_clip(&clip);
        Py_RETURN_NONE;
    }
    if (usual == 1) {
        norms = PyMem_Malloc((size_t)gradients * sizeof(double));
        array = PyArray_SimpleNew(0, NULL, PyArray_TYPE(array_at(&clip, 0)));
        total = array == NULL ? NULL : new_tensor(array);
        if (norms == NULL) {
            PyErr_NoMemory();
            Py_CLEAR(total);
        }
    }
    if (total != NULL) {
        const double limit = PyFloat_AS_DOUBLE(arguments[1]);
        double found;
        if (clip.elements >= LARGE) {
            Py_BEGIN_ALLOW_THREADS
            found = scale_all(&clip, norms, limit);
            Py_END_ALLOW_THREADS
        }
        else {
            found = scale_all(&clip, norms, limit);
        }
        if (PyArray_TYPE(ARRAY(array)) == NPY_FLOAT32) {
            *(float *)PyArray_DATA(ARRAY(array)) = (float)found;
        }
        else {
            *(double *)PyArray_DATA(ARRAY(array)) = found;
        }
        if (count_clipped(&clip, name_mul) < 0) {
            Py_CLEAR(total);
        }
    }
    PyMem_Free(norms);
    Py_XDECREF(array);
    drop_clip(&clip);
    return total;
}

/* clip_value(parameters, limit): clamps the gradients; whether it was done. */
static PyObject *
core_clip_value(PyObject *Py_UNUSED(module), PyObject *const *arguments, Py_ssize_t count)
{
    if (count != 2 || !PyFloat_CheckExact(arguments[1])) {
        PyErr_SetString(PyExc_TypeError, "clip_value() takes a list of parameters and a float");
        return NULL;
    }
    const double limit = PyFloat_AS_DOUBLE(arguments[1]);
    if (!(limit > 0)) {
        Py_RETURN_FALSE; /* also for zero, where the sign of the result is a question */
    }
    Clip clip;
    int usual = begin_clip(arguments[0], &clip);
    for (Py_ssize_t index = 0; usual == 1 && index < PyList_GET_SIZE(clip.gradients); index++) {
        PyArrayObject *array = array_at(&clip, index);
        arithmetic->clamp[PyArray_TYPE(array) == NPY_FLOAT64](PyArray_DATA(array), PyArray_SIZE(array), limit);
    }
    if (usual == 1 && count_clipped(&clip, name_clamp) < 0) {
        usual = -1;
    }
    drop_clip(&clip);
    return usual < 0 ? NULL : PyBool_FromLong(usual);
}

/* ---- the part ----------------------------------------------------------------------------------------------- */

static int
add(PyObject *Py_UNUSED(module))
{
    name_param_groups = PyUnicode_InternFromString("param_groups");
    name_params = PyUnicode_InternFromString("params");
    name_set_to_none = PyUnicode_InternFromString("set_to_none");
    name_mul = PyUnicode_InternFromString("mul_");
    name_clamp = PyUnicode_InternFromString("clamp_");
    return name_param_groups == NULL || name_params == NULL || name_set_to_none == NULL || name_mul == NULL
                   || name_clamp == NULL
               ? -1
               : 0;
}

static PyMethodDef methods[] = {
    {"zero_grad", (PyCFunction)(void (*)(void))core_zero_grad, METH_FASTCALL,
     "zero_grad(function): `Optimizer.zero_grad` with a compiled way."},
    {"clip_norm", (PyCFunction)(void (*)(void))core_clip_norm, METH_FASTCALL,
     "clip_norm(parameters, max_norm): scale the gradients; their norm, or None if Python has to."},
    {"clip_value", (PyCFunction)(void (*)(void))core_clip_value, METH_FASTCALL,
     "clip_value(parameters, limit): clamp the gradients; whether it was done."},
    {NULL, NULL, 0, NULL},
};

const Part gradients_part = {.methods = methods, .add = add};
