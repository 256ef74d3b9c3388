/* The steps of LSTM and GRU layers, and the gates of a single step of an LSTM.
 *
 * The products over all steps at once (the input's share of the gates, the gradients of the weights) are the caller's, by
 * BLAS. Results are None where the arrays are none that are taken: another dtype or shape, no elements.
 */
#include "arrays.h"

#define MOST_HELD 12
#define ALIGNMENT 64

/* One call: its arrays, which are let go together. */
typedef struct {
    RecurrentWork work;
    int number, type, gates, held;
    PyObject *holds[MOST_HELD];
    void *memory; /* of the panels */
} Call;

static PyObject *
hold(Call *call, PyObject *object)
{
    if (object != NULL) {
        call->holds[call->held++] = object;
    }
    return object;
}

/* The result of a call, if there is one, and the end of it. */
static PyObject *
let_go(Call *call, PyObject *result)
{
    while (call->held > 0) {
        Py_DECREF(call->holds[--call->held]);
    }
    PyMem_RawFree(call->memory);
    return result == NULL && !PyErr_Occurred() ? Py_NewRef(Py_None) : result;
}

/* Whether an object is an array of that shape and of the call's type. */
static int
has_shape(const Call *call, PyObject *object, int dimensions, npy_intp first, npy_intp second, npy_intp third)
{
    const npy_intp shape[3] = {first, second, third};
    return type_number(object) == call->number && PyArray_NDIM(ARRAY(object)) == dimensions
           && PyArray_CompareLists(PyArray_DIMS(ARRAY(object)), (npy_intp *)shape, dimensions);
}

/* Its elements row by row, maybe those of a copy; NULL with an error set. */
static void *
elements(Call *call, PyObject *array)
{
    PyObject *rows = hold(call, PyArray_FromArray(ARRAY(array), NULL, NPY_ARRAY_C_CONTIGUOUS | NPY_ARRAY_ALIGNED));
    return rows == NULL ? NULL : PyArray_DATA(ARRAY(rows));
}

static void *
new_elements(Call *call, int dimensions, npy_intp first, npy_intp second, npy_intp third, PyObject **made)
{
    npy_intp shape[3] = {first, second, third};
    *made = hold(call, PyArray_SimpleNew(dimensions, shape, call->type));
    return *made == NULL ? NULL : PyArray_DATA(ARRAY(*made));
}

/* Read the gates, (steps, batch, gates * width), which are plain and, where they are written to, writable. */
static int
read_gates(Call *call, PyObject *gates, int written)
{
    call->number = type_number(gates);
    if (call->number < 0 || PyArray_NDIM(ARRAY(gates)) != 3 || !is_plain(gates) || PyArray_SIZE(ARRAY(gates)) == 0
        || PyArray_DIM(ARRAY(gates), 2) % call->gates != 0 || (written && !PyArray_ISWRITEABLE(ARRAY(gates)))) {
        return 0;
    }
    call->type = PyArray_TYPE(ARRAY(gates));
    call->work.steps = PyArray_DIM(ARRAY(gates), 0);
    call->work.batch = PyArray_DIM(ARRAY(gates), 1);
    call->work.width = PyArray_DIM(ARRAY(gates), 2) / call->gates;
    call->work.gates = PyArray_DATA(ARRAY(gates));
    return 1;
}

/* Whether a weight and its biases fit, or the weight is None. */
static int
fits_weight(const Call *call, PyObject *weight, PyObject *bias, PyObject *other)
{
    const npy_intp width = call->work.width, all = call->gates * width;
    if (weight == Py_None) {
        return call->gates == 4;
    }
    return has_shape(call, weight, 2, all, width, 0)
           && ((bias == Py_None && other == Py_None)
               || (has_shape(call, bias, 1, all, 0, 0) && has_shape(call, other, 1, all, 0, 0)));
}

/* Lay the weight out as the loops read it; 0 with an error set. */
static int
pack_weight(Call *call, PyObject *weight, PyObject *bias, PyObject *other, int turned)
{
    if (weight == Py_None) {
        return 1;
    }
    const void *from = elements(call, weight), *first = NULL, *second = NULL;
    if (bias != Py_None) {
        first = elements(call, bias);
        second = elements(call, other);
    }
    if (PyErr_Occurred()) {
        return 0;
    }
    const PackLoop pack = row_loops->pack[call->number];
    call->memory = PyMem_RawMalloc(pack(NULL, NULL, NULL, call->gates, turned, call->work.width, NULL) + ALIGNMENT);
    if (call->memory == NULL) {
        PyErr_NoMemory();
        return 0;
    }
    call->work.panels = (void *)(((uintptr_t)call->memory + ALIGNMENT) / ALIGNMENT * ALIGNMENT);
    pack(from, first, second, call->gates, turned, call->work.width, call->work.panels);
    return 1;
}

typedef struct {
    const RecurrentWork *work;
    RecurrentLoop loop;
} Share;

static void
do_share(void *context, npy_intp start, npy_intp stop)
{
    const Share *share = context;
    share->loop(share->work, start, stop);
}

/* All steps, for some sequences in each thread. A tile has four rows at most: fewer are slower. */
static void
run(Call *call, const RecurrentLoop *loop)
{
    const RecurrentWork *work = &call->work;
    Share share = {work, loop[call->number]};
    const npy_intp each = work->steps * work->width * (work->panels == NULL ? 4 : work->width);
    const npy_intp grain = THREAD_GRAIN / each < 4 ? 4 : THREAD_GRAIN / each;
    WITHOUT_LOCK(each * work->batch, in_threads(row_pool, do_share, &share, work->batch, grain));
}

/* The states of all steps, the initial one first. */
static void *
new_states(Call *call, PyObject *initial, PyObject **made)
{
    const RecurrentWork *work = &call->work;
    void *found = new_elements(call, 3, work->steps + 1, work->batch, work->width, made);
    const void *first = found == NULL ? NULL : elements(call, initial);
    if (first == NULL) {
        return NULL;
    }
    memcpy(found, first, (size_t)(work->batch * work->width) * (call->number ? sizeof(double) : sizeof(float)));
    return found;
}

/* lstm(gates, hidden, cell, weight, bias, other): the hidden and the cell states, (steps + 1, batch, width).
 *
 * `gates` is the input's share and becomes the gates. Without a weight it is all of it, for a single step. */
static PyObject *
rows_lstm(PyObject *Py_UNUSED(module), PyObject *const *arguments, Py_ssize_t count)
{
    Call call = {.gates = 4};
    RecurrentWork *work = &call.work;
    PyObject *hidden, *cell;
    if (!has_count(count, 6, "lstm")) {
        return NULL;
    }
    if (!read_gates(&call, arguments[0], 1) || !has_shape(&call, arguments[1], 2, work->batch, work->width, 0)
        || !has_shape(&call, arguments[2], 2, work->batch, work->width, 0)
        || !fits_weight(&call, arguments[3], arguments[4], arguments[5]) || (arguments[3] == Py_None && work->steps > 1)) {
        Py_RETURN_NONE;
    }
    work->hidden = new_states(&call, arguments[1], &hidden);
    work->cell = work->hidden == NULL ? NULL : new_states(&call, arguments[2], &cell);
    if (work->cell == NULL || !pack_weight(&call, arguments[3], arguments[4], arguments[5], 0)) {
        return let_go(&call, NULL);
    }
    run(&call, row_loops->lstm);
    return let_go(&call, PyTuple_Pack(2, hidden, cell));
}

/* gru(gates, hidden, weight, bias, other): the hidden states, and the hidden state's share of the candidates. */
static PyObject *
rows_gru(PyObject *Py_UNUSED(module), PyObject *const *arguments, Py_ssize_t count)
{
    Call call = {.gates = 3};
    RecurrentWork *work = &call.work;
    PyObject *hidden, *own;
    if (!has_count(count, 5, "gru")) {
        return NULL;
    }
    if (!read_gates(&call, arguments[0], 1) || !has_shape(&call, arguments[1], 2, work->batch, work->width, 0)
        || !fits_weight(&call, arguments[2], arguments[3], arguments[4])) {
        Py_RETURN_NONE;
    }
    work->hidden = new_states(&call, arguments[1], &hidden);
    work->own = work->hidden == NULL ? NULL : new_elements(&call, 3, work->steps, work->batch, work->width, &own);
    if (work->own == NULL || !pack_weight(&call, arguments[2], arguments[3], arguments[4], 0)) {
        return let_go(&call, NULL);
    }
    run(&call, row_loops->gru);
    return let_go(&call, PyTuple_Pack(2, hidden, own));
}

/* The gradient of the hidden states of all steps: in any layout whose last dimension is dense, else a copy. */
static int
read_of_hidden(Call *call, PyObject *array)
{
    RecurrentWork *work = &call->work;
    const npy_intp *strides = PyArray_STRIDES(ARRAY(array)), size = PyArray_ITEMSIZE(ARRAY(array));
    if (PyArray_ISALIGNED(ARRAY(array)) && (strides[2] == size || work->width == 1) && strides[0] % size == 0
        && strides[1] % size == 0) {
        work->of_hidden = PyArray_DATA(ARRAY(array));
        work->of_step = strides[0] / size;
        work->of_row = strides[1] / size;
        return 1;
    }
    work->of_hidden = elements(call, array);
    work->of_row = work->width;
    work->of_step = work->batch * work->width;
    return work->of_hidden != NULL;
}

/* lstm_gradients(gates, cell, weight, of_hidden, of_cell): of the input's share, of the first hidden (None without a
 * weight) and of the first cell state. */
static PyObject *
rows_lstm_gradients(PyObject *Py_UNUSED(module), PyObject *const *arguments, Py_ssize_t count)
{
    Call call = {.gates = 4};
    RecurrentWork *work = &call.work;
    PyObject *of_gates, *of_first = Py_None, *of_cell;
    if (!has_count(count, 5, "lstm_gradients")) {
        return NULL;
    }
    if (!read_gates(&call, arguments[0], 0) || !fits_weight(&call, arguments[2], Py_None, Py_None)
        || !has_shape(&call, arguments[1], 3, work->steps + 1, work->batch, work->width)
        || !has_shape(&call, arguments[3], 3, work->steps, work->batch, work->width)
        || !has_shape(&call, arguments[4], 2, work->batch, work->width, 0) || (arguments[2] == Py_None && work->steps > 1)) {
        Py_RETURN_NONE;
    }
    of_cell = hold(&call, PyArray_NewCopy(ARRAY(arguments[4]), NPY_CORDER));
    work->carried = of_cell == NULL ? NULL : PyArray_DATA(ARRAY(of_cell));
    work->cell = work->carried == NULL ? NULL : elements(&call, arguments[1]);
    if (work->cell == NULL || !read_of_hidden(&call, arguments[3])
        || !pack_weight(&call, arguments[2], Py_None, Py_None, 1)) {
        return let_go(&call, NULL);
    }
    work->of_gates = new_elements(&call, 3, work->steps, work->batch, 4 * work->width, &of_gates);
    if (work->panels != NULL && work->of_gates != NULL) {
        work->of_first = new_elements(&call, 2, work->batch, work->width, 0, &of_first);
    }
    if (PyErr_Occurred()) {
        return let_go(&call, NULL);
    }
    run(&call, row_loops->lstm_gradients);
    return let_go(&call, PyTuple_Pack(3, of_gates, of_first, of_cell));
}

/* gru_gradients(gates, own, hidden, weight, of_hidden): of the input's and of the hidden state's share, and of the first
 * hidden state. */
static PyObject *
rows_gru_gradients(PyObject *Py_UNUSED(module), PyObject *const *arguments, Py_ssize_t count)
{
    Call call = {.gates = 3};
    RecurrentWork *work = &call.work;
    PyObject *of_gates, *of_own, *of_first, *carried;
    if (!has_count(count, 5, "gru_gradients")) {
        return NULL;
    }
    if (!read_gates(&call, arguments[0], 0) || !fits_weight(&call, arguments[3], Py_None, Py_None)
        || !has_shape(&call, arguments[1], 3, work->steps, work->batch, work->width)
        || !has_shape(&call, arguments[2], 3, work->steps + 1, work->batch, work->width)
        || !has_shape(&call, arguments[4], 3, work->steps, work->batch, work->width)) {
        Py_RETURN_NONE;
    }
    work->own = elements(&call, arguments[1]);
    work->hidden = work->own == NULL ? NULL : elements(&call, arguments[2]);
    if (work->hidden == NULL || !read_of_hidden(&call, arguments[4])
        || !pack_weight(&call, arguments[3], Py_None, Py_None, 1)) {
        return let_go(&call, NULL);
    }
    work->of_gates = new_elements(&call, 3, work->steps, work->batch, 3 * work->width, &of_gates);
    work->of_own = new_elements(&call, 3, work->steps, work->batch, 3 * work->width, &of_own);
    work->of_first = new_elements(&call, 2, work->batch, work->width, 0, &of_first);
    npy_intp shape[2] = {work->batch, work->width};
    carried = hold(&call, PyArray_ZEROS(2, shape, call.type, 0));
    if (PyErr_Occurred()) {
        return let_go(&call, NULL);
    }
    work->carried = PyArray_DATA(ARRAY(carried));
    run(&call, row_loops->gru_gradients);
    return let_go(&call, PyTuple_Pack(3, of_gates, of_own, of_first));
}

#define METHOD(name, text) {#name, (PyCFunction)(void (*)(void))rows_##name, METH_FASTCALL, text}

PyMethodDef recurrent_methods[] = {
    METHOD(lstm, "lstm(gates, hidden, cell, weight, bias, other): the states; `gates` becomes the gates"),
    METHOD(lstm_gradients, "lstm_gradients(gates, cell, weight, of_hidden, of_cell)"),
    METHOD(gru, "gru(gates, hidden, weight, bias, other): the states; `gates` becomes the gates"),
    METHOD(gru_gradients, "gru_gradients(gates, own, hidden, weight, of_hidden)"),
    {NULL, NULL, 0, NULL},
};
