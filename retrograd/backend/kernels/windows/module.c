/* retrograd.backend.kernels._windows: convolution, pooling, and normalization of images.
 *
 * Each function takes the arguments of an op's kernel and returns new arrays, or None, meaning that these are none that
 * it takes: then the neutral kernel does it. They take float32 and float64 arrays of NumPy's own class in the machine's
 * byte order, in any layout, by a copy where it must be. Everything is checked before a loop touches memory.
 */
#define IMPORTS_NUMPY
#include "module.h"

#include "../builds.h"
#include "../sources.h"

const WindowLoops *window_loops;
const ThreadPool *window_pool;

/* ---- what comes in ---------------------------------------------------------------------------------------------- */

int
type_number(PyObject *object)
{
    if (!PyArray_CheckExact(object) || !PyArray_ISNOTSWAPPED(ARRAY(object))) {
        return -1;
    }
    const int type = PyArray_TYPE(ARRAY(object));
    return type == NPY_FLOAT32 ? 0 : type == NPY_FLOAT64 ? 1 : -1;
}

PyObject *
by_rows(PyObject *array)
{
    return PyArray_FromArray(ARRAY(array), NULL, NPY_ARRAY_C_CONTIGUOUS | NPY_ARRAY_ALIGNED);
}

/* As `is_channels_last` in backend/neutral/arrangement.py. */
int
is_channels_last(PyObject *array)
{
    const int dimensions = PyArray_NDIM(ARRAY(array));
    const npy_intp *strides = PyArray_STRIDES(ARRAY(array)), *sizes = PyArray_DIMS(ARRAY(array));
    if (dimensions < 4 || dimensions > 5 || strides[1] <= 0 || strides[1] > strides[dimensions - 1]) {
        return 0;
    }
    npy_intp least = 0;
    for (int step = 0; step < dimensions; step++) {
        const int axis = step == 0 ? 1 : step == dimensions - 1 ? 0 : dimensions - step;
        if (sizes[axis] == 0 || strides[axis] < least || (axis == 0 && least == strides[1])) {
            return 0;
        }
        least = strides[axis] * sizes[axis];
    }
    return 1;
}

int
read_size(PyObject *object, Py_ssize_t least, ptrdiff_t *size)
{
    int overflow;
    if (!PyLong_Check(object)) {
        return 0;
    }
    const long long found = PyLong_AsLongLongAndOverflow(object, &overflow);
    *size = (ptrdiff_t)found;
    return !overflow && found >= least && found < LARGEST_SIZE;
}

int
read_sizes(PyObject *object, int count, Py_ssize_t least, ptrdiff_t *sizes)
{
    if (!PyTuple_Check(object) || PyTuple_GET_SIZE(object) != count) {
        return 0;
    }
    for (int place = 0; place < count; place++) {
        if (!read_size(PyTuple_GET_ITEM(object, place), least, &sizes[place])) {
            return 0;
        }
    }
    return 1;
}

int
has_count(Py_ssize_t count, Py_ssize_t wanted, const char *name)
{
    if (count != wanted) {
        PyErr_Format(PyExc_TypeError, "%s() takes %zd arguments, %zd were given", name, wanted, count);
    }
    return count == wanted;
}

/* ---- the builds ------------------------------------------------------------------------------------------------- */

BUILDS_OF(windows, window_loops)

/* ---- the module ------------------------------------------------------------------------------------------------- */

#define METHOD(name, text) {#name, (PyCFunction)(void (*)(void))windows_##name, METH_FASTCALL, text}

static PyMethodDef methods[] = {
    METHOD(convolution,
           "convolution(input, weight, bias, stride, padding, dilation, transposed, output_padding, groups)"),
    METHOD(convolution_at, "convolution_at(input, weight, windows, stride, padding, dilation, groups)"),
    METHOD(convolution_input_gradient,
           "convolution_input_gradient(gradient, weight, input_shape, stride, padding, dilation, groups)"),
    METHOD(convolution_weight_gradient,
           "convolution_weight_gradient(gradient, input, weight_shape, stride, padding, dilation, groups)"),
    METHOD(planes_norm, "planes_norm(input, weight, bias, grouped, scaled, eps): result, mean, one over deviation, variance"),
    METHOD(planes_norm_gradients, "planes_norm_gradients(grad, input, weight, mean, inverse, grouped, scaled, needs)"),
    METHOD(max_pool, "max_pool(input, kernel, stride, padding, dilation, ceil_mode): values, places"),
    METHOD(adaptive_max_pool, "adaptive_max_pool(input, output_size): values, places"),
    METHOD(max_pool2d_gradient, "max_pool2d_gradient(gradient, input, places)"),
    METHOD(max_pool3d_gradient, "max_pool3d_gradient(gradient, input, places)"),
    METHOD(scatter_places, "scatter_places(gradient, places, spatial)"),
    METHOD(avg_pool, "avg_pool(input, kernel, stride, padding, ceil_mode, count_include_pad, divisor_override)"),
    METHOD(avg_pool_gradient,
           "avg_pool_gradient(gradient, input, kernel, stride, padding, ceil_mode, count_include_pad, divisor_override)"),
    METHOD(adaptive_avg_pool, "adaptive_avg_pool(input, output_size)"),
    METHOD(adaptive_avg_pool2d_gradient, "adaptive_avg_pool2d_gradient(gradient, input)"),
    METHOD(adaptive_avg_pool3d_gradient, "adaptive_avg_pool3d_gradient(gradient, input)"),
    {"builds", windows_builds, METH_NOARGS, "builds(): the builds of the loops that can run here, the fastest first."},
    {"use_build", windows_use_build, METH_O, "use_build(name): compute with that build; the name of the one before."},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, .m_name = "_windows", .m_doc = "Compiled kernels over sliding windows.", .m_size = -1,
    .m_methods = methods,
};

PyMODINIT_FUNC
PyInit__windows(void)
{
    const void *builds[MOST_BUILDS];
    import_array();
    usable_builds(builds);
    window_loops = builds[0];
    window_pool = find_thread_pool();
    return with_sources(PyModule_Create(&definition));
}
