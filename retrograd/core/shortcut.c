/* The type of shortcuts, see shortcut.h. */
#include "shortcut.h"

#include <stddef.h>
#include <structmember.h>

static PyObject *refused, *takes; /* of ops.calling.refusals */
static PyObject *called;          /* the public function that was called last, while callers call Python */

void
note_called(PyObject *callable)
{
    Py_XSETREF(called, Py_NewRef(callable));
}

static PyObject *
core_called(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(nothing))
{
    return Py_NewRef(called == NULL ? Py_None : called);
}

/* The arguments of a call as a tuple and a dictionary; 0 without them, with an error. */
static int
gather(PyObject *const *arguments, size_t flagged, PyObject *names, PyObject **args, PyObject **options)
{
    const Py_ssize_t count = PyVectorcall_NARGS(flagged), named = names == NULL ? 0 : PyTuple_GET_SIZE(names);
    *args = PyTuple_New(count);
    *options = PyDict_New();
    for (Py_ssize_t index = 0; *args != NULL && index < count; index++) {
        PyTuple_SET_ITEM(*args, index, Py_NewRef(arguments[index]));
    }
    int failed = *args == NULL || *options == NULL;
    for (Py_ssize_t index = 0; !failed && index < named; index++) {
        failed = PyDict_SetItem(*options, PyTuple_GET_ITEM(names, index), arguments[count + index]) < 0;
    }
    if (failed) {
        Py_CLEAR(*args);
        Py_CLEAR(*options);
    }
    return !failed;
}

/* ---- types ------------------------------------------------------------------------------------------------------ */

enum { MOST_KINDS = 1024 };

static inline uint64_t
mixed(uint64_t kind, uint64_t more)
{
    kind = (kind ^ more) * UINT64_C(0x9E3779B97F4A7C15);
    return kind ^ (kind >> 29);
}

static inline uint64_t *
place_of(const KnownTypes *known, uint64_t kind)
{
    size_t index = kind & (known->size - 1);
    while (known->kinds[index] != 0 && known->kinds[index] != kind) {
        index = (index + 1) & (known->size - 1);
    }
    return &known->kinds[index];
}

void
forget_types(KnownTypes *known)
{
    PyMem_Free(known->kinds);
    *known = (KnownTypes){0};
}

static int
note_types(KnownTypes *known, uint64_t kind)
{
    if (known->count >= MOST_KINDS) { /* of classes made anew in a loop: begin again rather than grow without end */
        forget_types(known);
    }
    if (2 * known->count >= known->size) {
        KnownTypes larger = {.size = known->size == 0 ? 8 : 2 * known->size};
        larger.kinds = PyMem_Calloc(larger.size, sizeof *larger.kinds);
        if (larger.kinds == NULL) {
            PyErr_NoMemory();
            return -1;
        }
        for (size_t index = 0; index < known->size; index++) {
            if (known->kinds[index] != 0) {
                *place_of(&larger, known->kinds[index]) = known->kinds[index];
            }
        }
        larger.count = known->count;
        PyMem_Free(known->kinds);
        *known = larger;
    }
    uint64_t *place = place_of(known, kind);
    known->count += *place == 0;
    *place = kind;
    return 0;
}

int
check_types(PyObject *place, KnownTypes *known, PyObject *const *arguments, size_t flagged, PyObject *names)
{
    if (known->unchecked || takes == NULL) {
        return 0;
    }
    const Py_ssize_t count = PyVectorcall_NARGS(flagged), named = names == NULL ? 0 : PyTuple_GET_SIZE(names);
    uint64_t kind = (uint64_t)count + 1;
    for (Py_ssize_t index = 0; index < count + named; index++) {
        kind = mixed(kind, (uint64_t)(uintptr_t)Py_TYPE(arguments[index]));
    }
    for (Py_ssize_t index = 0; index < named; index++) {
        kind = mixed(kind, (uint64_t)PyObject_Hash(PyTuple_GET_ITEM(names, index)));
    }
    kind |= 1;
    if (known->size != 0 && *place_of(known, kind) == kind) {
        return 0;
    }
    PyObject *args, *options;
    if (!gather(arguments, flagged, names, &args, &options)) {
        return -1;
    }
    PyObject *answer = PyObject_CallFunctionObjArgs(takes, PyTuple_GET_ITEM(place, 0), args, options, NULL);
    Py_DECREF(args);
    Py_DECREF(options);
    if (answer == NULL) {
        return -1;
    }
    if (PyExceptionInstance_Check(answer)) { /* raised here, it begins on the user's line */
        PyErr_SetObject((PyObject *)Py_TYPE(answer), answer);
        Py_DECREF(answer);
        return -1;
    }
    Py_DECREF(answer);
    if (answer == Py_None) {
        known->unchecked = 1;
    }
    return answer == Py_True ? note_types(known, kind) : 0;
}

/* ---- failures --------------------------------------------------------------------------------------------------- */

PyObject *
refuse(PyObject *place, PyObject *const *arguments, size_t flagged, PyObject *names)
{
    if (refused == NULL || !PyErr_ExceptionMatches(PyExc_Exception)) {
        return NULL;
    }
    PyObject *type, *error, *traceback;
    PyErr_Fetch(&type, &error, &traceback);
    PyErr_NormalizeException(&type, &error, &traceback);
    PyObject *args, *options, *instead = NULL, *result = NULL;
    if (gather(arguments, flagged, names, &args, &options)) {
        instead = PyObject_CallFunctionObjArgs(refused, PyTuple_GET_ITEM(place, 0), args, options, error, NULL);
        Py_DECREF(args);
        Py_DECREF(options);
    }
    if (instead == NULL || instead == error) { /* whatever went wrong here, the mistake is what counts */
        PyErr_Restore(type, error, traceback);
    }
    else { /* it begins on the user's line; in a tuple is the result of the call with other names for its arguments */
        if (PyTuple_Check(instead)) {
            result = Py_NewRef(PyTuple_GET_ITEM(instead, 0));
        }
        else {
            PyErr_SetObject((PyObject *)Py_TYPE(instead), instead);
        }
        Py_XDECREF(type);
        Py_XDECREF(error);
        Py_XDECREF(traceback);
    }
    Py_XDECREF(instead);
    return result;
}

/* ---- calls ------------------------------------------------------------------------------------------------------ */

static PyObject *
shortcut_call(PyObject *callable, PyObject *const *arguments, size_t flagged, PyObject *names)
{
    Shortcut *self = (Shortcut *)callable;
    if (self->place != NULL && check_types(self->place, &self->known, arguments, flagged, names) < 0) {
        return NULL;
    }
    if (core_calls_python) {
        note_called(callable);
    }
    PyObject *result = NULL;
    if (self->way != NULL && core_ready && !core_calls_python) {
        result = self->way(self, arguments, PyVectorcall_NARGS(flagged), names);
    }
    if (result == NULL && !PyErr_Occurred()) {
        result = PyObject_Vectorcall(self->function, arguments, flagged, names);
    }
    return result != NULL || self->place == NULL ? result : refuse(self->place, arguments, flagged, names);
}

static PyObject *
make(PyObject *function, PyObject *given, PyObject *place, ShortWay way)
{
    Shortcut *self = PyObject_GC_New(Shortcut, &ShortcutType);
    if (self == NULL) {
        return NULL;
    }
    self->vectorcall = shortcut_call;
    self->function = Py_NewRef(function);
    self->given = Py_NewRef(given);
    self->place = Py_XNewRef(place);
    self->known = (KnownTypes){0};
    self->way = way;
    PyObject_GC_Track(self);
    return (PyObject *)self;
}

PyObject *
new_shortcut(PyObject *const *arguments, Py_ssize_t argument_count, Py_ssize_t count, ShortWay way)
{
    if (argument_count != count + 1 || !PyFunction_Check(arguments[0])) {
        PyErr_Format(PyExc_TypeError, "a shortcut takes a function and %zd objects", count);
        return NULL;
    }
    PyObject *given = PyTuple_New(count);
    for (Py_ssize_t index = 0; given != NULL && index < count; index++) {
        PyTuple_SET_ITEM(given, index, Py_NewRef(arguments[index + 1]));
    }
    PyObject *made = given == NULL ? NULL : make(arguments[0], given, NULL, way);
    Py_XDECREF(given);
    return made;
}

static PyObject *
shortcut_at(PyObject *self, PyObject *place)
{
    Shortcut *shortcut = (Shortcut *)self;
    return make(shortcut->function, shortcut->given, place, shortcut->way);
}

static PyObject *
core_at(PyObject *Py_UNUSED(module), PyObject *const *arguments, Py_ssize_t count)
{
    PyObject *nothing = count != 2 || !PyFunction_Check(arguments[0]) || !PyTuple_Check(arguments[1]) ? NULL : PyTuple_New(0);
    if (nothing == NULL) {
        PyErr_SetString(PyExc_TypeError, "a place is given to a function");
        return NULL;
    }
    PyObject *made = make(arguments[0], nothing, arguments[1], NULL);
    Py_DECREF(nothing);
    return made;
}

static int
shortcut_traverse(Shortcut *self, visitproc visit, void *arg)
{
    Py_VISIT(self->function);
    Py_VISIT(self->given);
    Py_VISIT(self->place);
    return 0;
}

static int
shortcut_clear(Shortcut *self)
{
    Py_CLEAR(self->function);
    Py_CLEAR(self->given);
    Py_CLEAR(self->place);
    return 0;
}

static void
shortcut_dealloc(Shortcut *self)
{
    PyObject_GC_UnTrack(self);
    shortcut_clear(self);
    forget_types(&self->known);
    PyObject_GC_Del(self);
}

static PyObject *
shortcut_bind(PyObject *self, PyObject *instance, PyObject *Py_UNUSED(type))
{
    return instance == NULL || instance == Py_None ? Py_NewRef(self) : PyMethod_New(self, instance);
}

static PyObject *
shortcut_getattro(PyObject *self, PyObject *name)
{
    if (PyUnicode_Check(name) && PyUnicode_CompareWithASCIIString(name, "__doc__") != 0) {
        PyObject *own = PyObject_GenericGetAttr(self, name);
        if (own != NULL || !PyErr_ExceptionMatches(PyExc_AttributeError)) {
            return own;
        }
        PyErr_Clear();
    }
    return PyObject_GetAttr(((Shortcut *)self)->function, name);
}

static int
shortcut_setattro(PyObject *self, PyObject *name, PyObject *value)
{
    return PyObject_SetAttr(((Shortcut *)self)->function, name, value);
}

static PyObject *
shortcut_repr(PyObject *self)
{
    return PyObject_Repr(((Shortcut *)self)->function);
}

static PyObject *
shortcut_module(PyObject *self, void *Py_UNUSED(nothing))
{
    PyObject *place = ((Shortcut *)self)->place;
    return place != NULL ? Py_NewRef(PyTuple_GET_ITEM(place, 1))
                         : PyObject_GetAttrString(((Shortcut *)self)->function, "__module__");
}

static PyObject *
shortcut_name(PyObject *self, void *Py_UNUSED(nothing))
{
    PyObject *place = ((Shortcut *)self)->place;
    return place != NULL ? Py_NewRef(PyTuple_GET_ITEM(place, 2))
                         : PyObject_GetAttrString(((Shortcut *)self)->function, "__qualname__");
}

/* Pickled as a function is: by its name. */
static PyObject *
shortcut_reduce(PyObject *self, PyObject *Py_UNUSED(nothing))
{
    return shortcut_name(self, NULL);
}

static PyMethodDef shortcut_methods[] = {
    {"__reduce__", shortcut_reduce, METH_NOARGS, NULL},
    {"at", shortcut_at, METH_O, "at(place): the same where users find it."},
    {NULL, NULL, 0, NULL},
};

/* It passes for a function with `isinstance`, too. */
static PyObject *
shortcut_class(PyObject *self, void *Py_UNUSED(nothing))
{
    return Py_NewRef((PyObject *)Py_TYPE(((Shortcut *)self)->function));
}

static PyGetSetDef shortcut_getset[] = {
    {"__class__", shortcut_class, NULL, NULL, NULL},
    {"__module__", shortcut_module, NULL, NULL, NULL},
    {"__qualname__", shortcut_name, NULL, NULL, NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyMemberDef shortcut_members[] = {
    {"python", T_OBJECT_EX, offsetof(Shortcut, function), READONLY, "The function, which takes no shortcut."},
    {NULL, 0, 0, 0, NULL},
};

PyTypeObject ShortcutType = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "retrograd.core._core.Shortcut",
    .tp_basicsize = sizeof(Shortcut),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_METHOD_DESCRIPTOR,
    .tp_vectorcall_offset = offsetof(Shortcut, vectorcall),
    .tp_call = PyVectorcall_Call,
    .tp_dealloc = (destructor)shortcut_dealloc,
    .tp_traverse = (traverseproc)shortcut_traverse,
    .tp_clear = (inquiry)shortcut_clear,
    .tp_descr_get = shortcut_bind,
    .tp_getattro = shortcut_getattro,
    .tp_setattro = shortcut_setattro,
    .tp_repr = shortcut_repr,
    .tp_methods = shortcut_methods,
    .tp_members = shortcut_members,
    .tp_getset = shortcut_getset,
};

static int
add(PyObject *module)
{
    return PyModule_AddType(module, &ShortcutType);
}

static PyMethodDef methods[] = {
    {"called", core_called, METH_NOARGS, "called(): the public function that was called last, while there are modes."},
    {"at", (PyCFunction)(void (*)(void))core_at, METH_FASTCALL, "at(function, place): a function where users find it."},
    {NULL, NULL, 0, NULL},
};

static const Wanted wanted[] = {
    {"refused", &refused},
    {"takes", &takes},
    {NULL, NULL},
};

const Part shortcut_part = {.methods = methods, .wanted = wanted, .add = add};
