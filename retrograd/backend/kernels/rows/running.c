/* Running sums along the last dimension, with NumPy's bits. */
#include "arrays.h"

/* Eight rows at a time: each addition waits for the one before it in its row. They are read and written in short stretches: rows
 * that are a power of two apart, and element by element, would be in each other's way in the cache. */
#define TOGETHER 8
#define STRETCH 16

#define RUN_ROWS(name, type)                                                                              \
    static inline __attribute__((always_inline)) void name##_one_way(const type *x, type *out, npy_intp rows, npy_intp length, const int back) \
    {                                                                                                     \
        for (npy_intp row = 0; row < rows; row += TOGETHER, x += TOGETHER * length, out += TOGETHER * length) { \
            const npy_intp few = rows - row < TOGETHER ? rows - row : TOGETHER;                           \
            double totals[TOGETHER];                                                                      \
            type values[TOGETHER][STRETCH] = {{0}};                                                       \
            for (npy_intp one = 0; one < TOGETHER; one++) {                                               \
                totals[one] = -0.0; /* which leaves the sign of a zero */                                 \
            }                                                                                             \
            for (npy_intp done = 0; done < length; done += STRETCH) {                                     \
                const npy_intp size = length - done < STRETCH ? length - done : STRETCH;                  \
                const npy_intp start = back ? length - done - size : done;                                \
                for (npy_intp one = 0; one < few; one++) {                                                \
                    memcpy(values[one], x + one * length + start, (size_t)size * sizeof(type));           \
                }                                                                                         \
                for (npy_intp step = 0; step < size; step++) {                                            \
                    const npy_intp at = back ? size - 1 - step : step;                                    \
                    for (npy_intp one = 0; one < TOGETHER; one++) {                                       \
                        totals[one] += (double)values[one][at];                                           \
                        values[one][at] = (type)totals[one];                                              \
                    }                                                                                     \
                }                                                                                         \
                for (npy_intp one = 0; one < few; one++) {                                                \
                    memcpy(out + one * length + start, values[one], (size_t)size * sizeof(type));         \
                }                                                                                         \
            }                                                                                             \
        }                                                                                                 \
    }                                                                                                     \
    static void name(const type *x, type *out, npy_intp rows, npy_intp length, int back)                  \
    {                                                                                                     \
        if (back) { /* each way is a loop of its own */                                                   \
            name##_one_way(x, out, rows, length, 1);                                                      \
        }                                                                                                 \
        else {                                                                                            \
            name##_one_way(x, out, rows, length, 0);                                                      \
        }                                                                                                 \
    }

RUN_ROWS(run_float_rows, npy_float32)
RUN_ROWS(run_double_rows, npy_float64)

/* Along the last dimension, in double; of any layout, by a copy where it must be. */
static PyObject *
run_sums(PyObject *const *arguments, Py_ssize_t count, const char *name, const int back)
{
    if (!has_count(count, 2, name)) {
        return NULL;
    }
    PyObject *input = arguments[0], *dim = arguments[1];
    const int number = type_number(input);
    const int last = number < 0 ? -1 : PyArray_NDIM(ARRAY(input)) - 1;
    int overflow = 1;
    const long axis = PyLong_CheckExact(dim) ? PyLong_AsLongAndOverflow(dim, &overflow) : 0;
    if (last < 0 || overflow || (axis != -1 && axis != last) || PyArray_SIZE(ARRAY(input)) == 0) {
        Py_RETURN_NONE;
    }
    input = by_rows(input);
    if (input == NULL) {
        return NULL;
    }
    PyObject *result = PyArray_SimpleNew(last + 1, PyArray_DIMS(ARRAY(input)), PyArray_TYPE(ARRAY(input)));
    if (result != NULL) {
        const npy_intp size = PyArray_SIZE(ARRAY(input)), length = PyArray_DIM(ARRAY(input), last);
        const void *from = PyArray_DATA(ARRAY(input));
        void *to = PyArray_DATA(ARRAY(result));
        if (number == 0) {
            WITHOUT_LOCK(size, run_float_rows(from, to, size / length, length, back));
        }
        else {
            WITHOUT_LOCK(size, run_double_rows(from, to, size / length, length, back));
        }
    }
    Py_DECREF(input);
    return result;
}

static PyObject *
rows_running_sum(PyObject *Py_UNUSED(module), PyObject *const *arguments, Py_ssize_t count)
{
    return run_sums(arguments, count, "running_sum", 0);
}

static PyObject *
rows_sum_to_end(PyObject *Py_UNUSED(module), PyObject *const *arguments, Py_ssize_t count)
{
    return run_sums(arguments, count, "sum_to_end", 1);
}

#define METHOD(name, text) {#name, (PyCFunction)(void (*)(void))rows_##name, METH_FASTCALL, text}

PyMethodDef running_methods[] = {
    METHOD(running_sum, "running_sum(input, dim)"),
    METHOD(sum_to_end, "sum_to_end(input, dim): from each place to the end"),
    {NULL, NULL, 0, NULL},
};
