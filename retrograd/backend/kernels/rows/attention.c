/* softmax(scale * query @ key.T + mask) @ value and its gradients, for arrays of four dimensions in any layout.
 *
 * Results are None where the arrays are none that are taken: another dtype or shape, no elements, a mask of another type.
 */
#include "arrays.h"

/* Data and distances, in elements, of an array whose dimensions are those of `shape`, or 1 where it is spread. */
static int
read_operand(PyObject *object, int number, const npy_intp *shape, int spread, Operand *operand)
{
    if (type_number(object) != number || !PyArray_ISALIGNED(ARRAY(object)) || PyArray_NDIM(ARRAY(object)) > 4
        || (!spread && PyArray_NDIM(ARRAY(object)) != 4)) {
        return 0;
    }
    const int missing = 4 - PyArray_NDIM(ARRAY(object));
    const npy_intp size = PyArray_ITEMSIZE(ARRAY(object));
    for (int axis = 0; axis < 4; axis++) {
        const npy_intp own = axis < missing ? 1 : PyArray_DIM(ARRAY(object), axis - missing);
        const npy_intp stride = axis < missing ? 0 : PyArray_STRIDE(ARRAY(object), axis - missing);
        if ((own != shape[axis] && !(spread && own == 1)) || stride % size != 0) {
            return 0;
        }
        operand->of[axis] = own == 1 ? 0 : stride / size;
    }
    operand->data = PyArray_DATA(ARRAY(object));
    return 1;
}

/* What both directions read: query, key, value, mask, scale. 0: not taken, or an error is set. */
static int
read_work(PyObject *const *arguments, AttentionWork *work, npy_intp *shape, int *number)
{
    *number = type_number(arguments[0]);
    if (*number < 0 || PyArray_NDIM(ARRAY(arguments[0])) != 4 || type_number(arguments[1]) != *number
        || PyArray_NDIM(ARRAY(arguments[1])) != 4 || PyArray_SIZE(ARRAY(arguments[0])) == 0
        || PyArray_SIZE(ARRAY(arguments[1])) == 0) {
        return 0;
    }
    memcpy(shape, PyArray_DIMS(ARRAY(arguments[0])), 4 * sizeof(npy_intp));
    work->heads = shape[1];
    work->rows = shape[2];
    work->width = shape[3];
    work->keys = PyArray_DIM(ARRAY(arguments[1]), 2);
    work->scale = PyFloat_AsDouble(arguments[4]);
    const npy_intp others[4] = {shape[0], shape[1], work->keys, shape[3]};
    const npy_intp scores[4] = {shape[0], shape[1], shape[2], work->keys};
    return !PyErr_Occurred() && read_operand(arguments[0], *number, shape, 0, &work->query)
           && read_operand(arguments[1], *number, others, 0, &work->key)
           && read_operand(arguments[2], *number, others, 0, &work->value)
           && (arguments[3] == Py_None || read_operand(arguments[3], *number, scores, 1, &work->mask));
}

typedef struct {
    const AttentionWork *work;
    AttentionLoop loop;
    int failed;
} Share;

static void
do_share(void *context, npy_intp start, npy_intp stop)
{
    Share *share = context;
    if (share->loop(share->work, start, stop) < 0) {
        share->failed = 1; /* whoever writes it writes the same */
    }
}

/* All heads, some in each thread; 0 with an error set where memory was short. */
static int
run(const AttentionWork *work, npy_intp items, int number)
{
    Share share = {work, row_loops->attention[number], 0};
    const npy_intp each = work->rows * work->keys * work->width, grain = 1 + THREAD_GRAIN / each;
    WITHOUT_LOCK(each * items, in_threads(row_pool, do_share, &share, items, grain));
    if (share.failed) {
        PyErr_NoMemory();
    }
    return !share.failed;
}

/* attention(query, key, value, mask, scale) */
static PyObject *
rows_attention(PyObject *Py_UNUSED(module), PyObject *const *arguments, Py_ssize_t count)
{
    AttentionWork work = {0};
    npy_intp shape[4];
    int number;
    if (!has_count(count, 5, "attention")) {
        return NULL;
    }
    if (!read_work(arguments, &work, shape, &number)) {
        return PyErr_Occurred() ? NULL : Py_NewRef(Py_None);
    }
    PyObject *result = PyArray_SimpleNew(4, shape, PyArray_TYPE(ARRAY(arguments[0])));
    if (result != NULL) {
        work.results[0] = PyArray_DATA(ARRAY(result));
        if (!run(&work, shape[0] * shape[1], number)) {
            Py_CLEAR(result);
        }
    }
    return result;
}

/* attention_gradients(grad, needs, query, key, value, mask, scale): those that `needs` says, else None. */
static PyObject *
rows_attention_gradients(PyObject *Py_UNUSED(module), PyObject *const *arguments, Py_ssize_t count)
{
    AttentionWork work = {0};
    npy_intp shape[4];
    int number;
    if (!has_count(count, 7, "attention_gradients")) {
        return NULL;
    }
    PyObject *needs = arguments[1];
    if (!PyTuple_CheckExact(needs) || PyTuple_GET_SIZE(needs) != 3 || !read_work(arguments + 2, &work, shape, &number)
        || !read_operand(arguments[0], number, shape, 0, &work.gradient)) {
        return PyErr_Occurred() ? NULL : Py_NewRef(Py_None);
    }
    PyObject *all = PyTuple_New(3);
    for (int each = 0; all != NULL && each < 3; each++) {
        PyObject *made = Py_NewRef(Py_None);
        if (PyTuple_GET_ITEM(needs, each) == Py_True) {
            Py_SETREF(made, PyArray_SimpleNew(4, PyArray_DIMS(ARRAY(arguments[2 + each])),
                                              PyArray_TYPE(ARRAY(arguments[2]))));
            if (made == NULL) {
                Py_CLEAR(all);
                break;
            }
            work.results[each] = PyArray_DATA(ARRAY(made));
        }
        PyTuple_SET_ITEM(all, each, made);
    }
    if (all != NULL && !run(&work, shape[0] * shape[1], number)) {
        Py_CLEAR(all);
    }
    return all;
}

#define METHOD(name, text) {#name, (PyCFunction)(void (*)(void))rows_##name, METH_FASTCALL, text}

PyMethodDef attention_methods[] = {
    METHOD(attention, "attention(query, key, value, mask, scale)"),
    METHOD(attention_gradients, "attention_gradients(grad, needs, query, key, value, mask, scale)"),
    {NULL, NULL, 0, NULL},
};
