/* Launches on a CUDA device without CuPy's own way to them, which takes longer than PyTorch's whole op.
 *
 * Nothing of NVIDIA's is needed to build this: the driver's function is given at run time. Whatever is
 * unusual goes to the Python function that says what has to be done.
 */

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <math.h>
#include <stddef.h>
#include <string.h>

typedef int (*LaunchKernel)(
    void *function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x, unsigned block_y,
    unsigned block_z, unsigned shared_bytes, void *stream, void **arguments, void **extra
);

static LaunchKernel launch_kernel;
static PyObject *name_data, *name_ptr, *name_shape, *name_strides, *name_dtype, *name_transpose;

enum { MOST = 48 };  /* arguments of a launch */

typedef union {
    long long whole;
    double real;
} Slot;

/* What a launch is given: eight bytes each, or a structure that lies elsewhere. */
typedef struct {
    Slot slots[MOST];
    void *places[MOST];
    int count;
} Arguments;

static int
take(Arguments *arguments, PyObject *value)
{
    if (arguments->count == MOST) {
        PyErr_SetString(PyExc_ValueError, "a launch with too many arguments");
        return -1;
    }
    Slot *slot = &arguments->slots[arguments->count];
    arguments->places[arguments->count++] = slot;
    if (PyFloat_CheckExact(value)) {
        slot->real = PyFloat_AS_DOUBLE(value);
        return 0;
    }
    if (PyBytes_CheckExact(value)) {
        arguments->places[arguments->count - 1] = PyBytes_AS_STRING(value);
        return 0;
    }
    slot->whole = PyLong_AsLongLong(value);
    return slot->whole == -1 && PyErr_Occurred() ? -1 : 0;
}

static int
run(void *function, unsigned blocks, unsigned threads, void *stream, Arguments *arguments)
{
    if (launch_kernel == NULL) {
        return -1;
    }
    return launch_kernel(function, blocks, 1, 1, threads, 1, 1, 0, stream, arguments->places, NULL);
}

static PyObject *
given_driver(PyObject *module, PyObject *address)
{
    launch_kernel = (LaunchKernel)PyLong_AsVoidPtr(address);
    if (launch_kernel == NULL && PyErr_Occurred()) {
        return NULL;
    }
    Py_RETURN_NONE;
}

/* launch(function, blocks, threads, stream, arguments): the driver's status */
static PyObject *
launch(PyObject *module, PyObject *const *given, Py_ssize_t count)
{
    if (count != 5 || !PyTuple_CheckExact(given[4])) {
        PyErr_SetString(PyExc_TypeError, "launch takes a function, blocks, threads, a stream and a tuple");
        return NULL;
    }
    void *function = PyLong_AsVoidPtr(given[0]), *stream = PyLong_AsVoidPtr(given[3]);
    const long blocks = PyLong_AsLong(given[1]), threads = PyLong_AsLong(given[2]);
    Arguments arguments = {.count = 0};
    for (Py_ssize_t index = 0; index < PyTuple_GET_SIZE(given[4]); index++) {
        if (take(&arguments, PyTuple_GET_ITEM(given[4], index)) < 0) {
            return NULL;
        }
    }
    if (PyErr_Occurred()) {
        return NULL;
    }
    return PyLong_FromLong(run(function, (unsigned)blocks, (unsigned)threads, stream, &arguments));
}

/* ------------------------------------------------------------------------------ elementwise calls */

/* An op on the device: `plans` has what is known of calls like this one, `plan` finds out about a new
 * kind, `general` does what no plan does. A plan is (function, blocks, threads, shape, dtypes, numbers,
 * axes): numbers are packed, eight bytes each; axes bring the result's dimensions into order, or None. */
typedef struct {
    PyObject_HEAD
    vectorcallfunc vectorcall;
    PyObject *plans, *plan, *general, *array, *stream;
} Caller;

enum { FUNCTION, BLOCKS, THREADS, SHAPE, DTYPES, NUMBERS, AXES, FIELDS };
enum { MOST_VALUES = 12 };

static int
is_own_way(double number)
{
    return number == 1.0 || number == 2.0 || number == -1.0 || (number == 0.0 && !signbit(number));
}

/* The key of a call, the addresses and numbers that it gives; 0 where no plan can stand for it. */
static int
read_values(Caller *self, PyObject *const *values, Py_ssize_t count, PyObject **key, Arguments *pointers,
            Arguments *numbers)
{
    PyObject *parts[3 * MOST_VALUES + 1];
    Py_ssize_t used = 0;
    unsigned long long bits = 0;
    int fits = 1;
    for (Py_ssize_t index = 0; fits == 1 && index < count; index++) {
        PyObject *value = values[index];
        if ((PyObject *)Py_TYPE(value) == self->array) {
            PyObject *memory = PyObject_GetAttr(value, name_data);
            PyObject *address = memory == NULL ? NULL : PyObject_GetAttr(memory, name_ptr);
            Py_XDECREF(memory);
            if (address == NULL || take(pointers, address) < 0) {
                Py_XDECREF(address);
                fits = -1;
                break;
            }
            Py_DECREF(address);
            bits |= (unsigned long long)pointers->slots[pointers->count - 1].whole;
            for (int fact = 0; fact < 3; fact++) {
                PyObject *name = fact == 0 ? name_shape : fact == 1 ? name_strides : name_dtype;
                parts[used] = PyObject_GetAttr(value, name);
                if (parts[used] == NULL) {
                    fits = -1;
                    break;
                }
                used++;
            }
        }
        else if (PyFloat_CheckExact(value)) {
            parts[used++] = Py_NewRef((PyObject *)Py_TYPE(value));
            if (is_own_way(PyFloat_AS_DOUBLE(value))) {
                parts[used++] = Py_NewRef(value);
            }
            else if (take(numbers, value) < 0) {
                fits = -1;
            }
        }
        else if (PyLong_CheckExact(value)) {
            int overflow = 0;
            const long long number = PyLong_AsLongLongAndOverflow(value, &overflow);
            parts[used++] = Py_NewRef((PyObject *)Py_TYPE(value));
            if (overflow || number >= (1LL << 62) || number <= -(1LL << 62)
                || (number >= -1 && number <= 2)) {
                parts[used++] = Py_NewRef(value);
            }
            else if (take(numbers, value) < 0) {
                fits = -1;
            }
        }
        else if (value == Py_None || PyBool_Check(value) || PyUnicode_CheckExact(value)) {
            parts[used++] = Py_NewRef((PyObject *)Py_TYPE(value));
            parts[used++] = Py_NewRef(value);
        }
        else {
            fits = 0;
        }
    }
    if (fits == 1) {
        parts[used] = PyLong_FromUnsignedLongLong(bits & 15);
        fits = parts[used++] == NULL ? -1 : 1;
    }
    *key = fits == 1 ? PyTuple_New(used) : NULL;
    if (*key == NULL) {
        for (Py_ssize_t index = 0; index < used; index++) {
            Py_XDECREF(parts[index]);
        }
        return fits == 1 ? -1 : fits;
    }
    for (Py_ssize_t index = 0; index < used; index++) {
        PyTuple_SET_ITEM(*key, index, parts[index]);
    }
    return 1;
}

/* The plan for a key, borrowed from `plans`; NULL with an error, or without one where there is none. */
static PyObject *
plan_for(Caller *self, PyObject *key, PyObject *const *values, Py_ssize_t count, PyObject *names)
{
    PyObject *plan = PyDict_GetItemWithError(self->plans, key);
    if (plan != NULL || PyErr_Occurred()) {
        return plan;
    }
    PyObject *operands = PyTuple_New(count);
    if (operands == NULL) {
        return NULL;
    }
    for (Py_ssize_t index = 0; index < count; index++) {
        PyTuple_SET_ITEM(operands, index, Py_NewRef(values[index]));
    }
    PyObject *found = PyObject_CallFunctionObjArgs(self->plan, operands, names == NULL ? Py_None : names, NULL);
    Py_DECREF(operands);
    if (found == NULL) {
        return NULL;
    }
    if (found != Py_None && (!PyTuple_CheckExact(found) || PyTuple_GET_SIZE(found) != FIELDS)) {
        PyErr_SetString(PyExc_TypeError, "a plan is None or a tuple");
        Py_DECREF(found);
        return NULL;
    }
    const int kept = PyDict_SetItem(self->plans, key, found);
    Py_DECREF(found);
    return kept < 0 ? NULL : PyDict_GetItemWithError(self->plans, key);
}

/* A new array that a launch fills: its address goes to the arguments. */
static PyObject *
new_result(Caller *self, PyObject *shape, PyObject *dtype, Arguments *arguments)
{
    PyObject *result = PyObject_CallFunctionObjArgs(self->array, shape, dtype, NULL);
    PyObject *memory = result == NULL ? NULL : PyObject_GetAttr(result, name_data);
    PyObject *address = memory == NULL ? NULL : PyObject_GetAttr(memory, name_ptr);
    Py_XDECREF(memory);
    if (address == NULL || take(arguments, address) < 0) {
        Py_XDECREF(address);
        Py_XDECREF(result);
        return NULL;
    }
    Py_DECREF(address);
    return result;
}

static PyObject *
in_order(PyObject *result, PyObject *axes)
{
    if (axes == Py_None || result == NULL) {
        return result;
    }
    PyObject *turned = PyObject_CallMethodOneArg(result, name_transpose, axes);
    Py_DECREF(result);
    return turned;
}

static int
append(Arguments *arguments, const Arguments *more)
{
    if (arguments->count + more->count > MOST) {
        PyErr_SetString(PyExc_ValueError, "a launch with too many arguments");
        return -1;
    }
    for (int index = 0; index < more->count; index++) {
        arguments->slots[arguments->count] = more->slots[index];
        arguments->places[arguments->count] = &arguments->slots[arguments->count];
        arguments->count++;
    }
    return 0;
}

static PyObject *
planned_call(Caller *self, PyObject *plan, Arguments *arguments, const Arguments *numbers, int *status)
{
    PyObject *dtypes = PyTuple_GET_ITEM(plan, DTYPES), *packed = PyTuple_GET_ITEM(plan, NUMBERS);
    const Py_ssize_t outputs = PyTuple_GET_SIZE(dtypes);
    PyObject *results = PyTuple_New(outputs);
    if (results == NULL) {
        return NULL;
    }
    for (Py_ssize_t index = 0; index < outputs; index++) {
        PyObject *result = new_result(
            self, PyTuple_GET_ITEM(plan, SHAPE), PyTuple_GET_ITEM(dtypes, index), arguments
        );
        if (result == NULL) {
            goto failed;
        }
        PyTuple_SET_ITEM(results, index, result);
    }
    const long blocks = PyLong_AsLong(PyTuple_GET_ITEM(plan, BLOCKS));
    if (blocks > 0) {
        Arguments rest = {.count = (int)(PyBytes_GET_SIZE(packed) / 8)};
        if (rest.count > MOST || append(arguments, numbers) < 0) {
            goto failed;
        }
        memcpy(rest.slots, PyBytes_AS_STRING(packed), (size_t)rest.count * 8);
        if (append(arguments, &rest) < 0) {
            goto failed;
        }
        PyObject *stream = PyObject_CallNoArgs(self->stream);
        if (stream == NULL) {
            goto failed;
        }
        *status = run(
            PyLong_AsVoidPtr(PyTuple_GET_ITEM(plan, FUNCTION)), (unsigned)blocks,
            (unsigned)PyLong_AsLong(PyTuple_GET_ITEM(plan, THREADS)), PyLong_AsVoidPtr(stream), arguments
        );
        Py_DECREF(stream);
        if (PyErr_Occurred() || *status) {
            goto failed;
        }
    }
    PyObject *axes = PyTuple_GET_ITEM(plan, AXES);
    for (Py_ssize_t index = 0; axes != Py_None && index < outputs; index++) {
        PyObject *turned = in_order(PyTuple_GET_ITEM(results, index), axes);
        PyTuple_SET_ITEM(results, index, turned);
        if (turned == NULL) {
            goto failed;
        }
    }
    if (outputs != 1) {
        return results;
    }
    PyObject *only = Py_NewRef(PyTuple_GET_ITEM(results, 0));
    Py_DECREF(results);
    return only;
failed:
    Py_DECREF(results);
    return NULL;
}

static PyObject *
call(PyObject *callable, PyObject *const *given, size_t flags, PyObject *names)
{
    Caller *self = (Caller *)callable;
    const Py_ssize_t count = PyVectorcall_NARGS(flags) + (names == NULL ? 0 : PyTuple_GET_SIZE(names)) - 1;
    if (count > 0 && count <= MOST_VALUES && PyVectorcall_NARGS(flags) > 0) {  /* the first is `xp` */
        Arguments pointers = {.count = 0}, numbers = {.count = 0};
        PyObject *key = NULL;
        const int fits = read_values(self, given + 1, count, &key, &pointers, &numbers);
        if (fits < 0) {
            return NULL;
        }
        if (fits) {
            PyObject *plan = plan_for(self, key, given + 1, count, names);
            if (plan == NULL) {
                Py_DECREF(key);
                return NULL;
            }
            int status = 0;
            if (plan != Py_None) {
                Py_INCREF(plan);
                PyObject *result = planned_call(self, plan, &pointers, &numbers, &status);
                Py_DECREF(plan);
                Py_DECREF(key);
                if (result != NULL || !status) {
                    return result;
                }
                /* The driver refused: the general way works, or says why not. */
            }
            else {
                Py_DECREF(key);
            }
        }
    }
    return PyObject_Vectorcall(self->general, given, flags, names);
}

static PyObject *
new_caller(PyTypeObject *type, PyObject *arguments, PyObject *options)
{
    PyObject *plan, *general, *array, *stream;
    if (!PyArg_ParseTuple(arguments, "OOOO", &plan, &general, &array, &stream)) {
        return NULL;
    }
    Caller *self = (Caller *)type->tp_alloc(type, 0);
    if (self == NULL) {
        return NULL;
    }
    self->vectorcall = call;
    self->plans = PyDict_New();
    self->plan = Py_NewRef(plan);
    self->general = Py_NewRef(general);
    self->array = Py_NewRef(array);
    self->stream = Py_NewRef(stream);
    if (self->plans == NULL) {
        Py_DECREF(self);
        return NULL;
    }
    return (PyObject *)self;
}

static int
visit_caller(Caller *self, visitproc visit, void *arg)
{
    Py_VISIT(self->plans);
    Py_VISIT(self->plan);
    Py_VISIT(self->general);
    Py_VISIT(self->array);
    Py_VISIT(self->stream);
    return 0;
}

static int
clear_caller(Caller *self)
{
    Py_CLEAR(self->plans);
    Py_CLEAR(self->plan);
    Py_CLEAR(self->general);
    Py_CLEAR(self->array);
    Py_CLEAR(self->stream);
    return 0;
}

static void
free_caller(Caller *self)
{
    PyObject_GC_UnTrack(self);
    clear_caller(self);
    Py_TYPE(self)->tp_free((PyObject *)self);
}

static PyObject *
caller_plans(Caller *self, void *closure)
{
    return Py_NewRef(self->plans);
}

static PyObject *
caller_general(Caller *self, void *closure)
{
    return Py_NewRef(self->general);
}

static PyGetSetDef caller_facts[] = {
    {"plans", (getter)caller_plans, NULL, "What is known of calls, by their operands' types and layouts.", NULL},
    {"general", (getter)caller_general, NULL, "What does all that no plan does.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyTypeObject caller_type = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "retrograd.backend.cuda._launch.Caller",
    .tp_doc = "Caller(plan, general, array, stream): an elementwise op, called as its kernel is.",
    .tp_basicsize = sizeof(Caller),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL,
    .tp_new = new_caller,
    .tp_call = PyVectorcall_Call,
    .tp_vectorcall_offset = offsetof(Caller, vectorcall),
    .tp_traverse = (traverseproc)visit_caller,
    .tp_clear = (inquiry)clear_caller,
    .tp_dealloc = (destructor)free_caller,
    .tp_getset = caller_facts,
};

static PyMethodDef methods[] = {
    {"given_driver", given_driver, METH_O, "Take the address of the driver's cuLaunchKernel."},
    {"launch", (PyCFunction)(void (*)(void))launch, METH_FASTCALL,
     "launch(function, blocks, threads, stream, arguments): the driver's status."},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, .m_name = "_launch", .m_doc = "Launches on a CUDA device.", .m_size = -1,
    .m_methods = methods,
};

PyMODINIT_FUNC
PyInit__launch(void)
{
    name_data = PyUnicode_InternFromString("data");
    name_ptr = PyUnicode_InternFromString("ptr");
    name_shape = PyUnicode_InternFromString("shape");
    name_strides = PyUnicode_InternFromString("strides");
    name_dtype = PyUnicode_InternFromString("dtype");
    name_transpose = PyUnicode_InternFromString("transpose");
    PyObject *module = PyModule_Create(&definition);
    if (module == NULL || PyType_Ready(&caller_type) < 0
        || PyModule_AddObjectRef(module, "Caller", (PyObject *)&caller_type) < 0
        || PyModule_AddStringConstant(module, "SOURCES", SOURCES) < 0) {
        Py_XDECREF(module);
        return NULL;
    }
    return module;
}
