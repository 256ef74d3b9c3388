/* Calls of modules without hooks, and what `forward` reads of them: `self.weight`, `self.layer`.
 *
 * The compiled call has no frame of its own. What needs the frames of modules under way (lifecycle.layers) finds
 * them by `forward`, so a class whose `forward` is no plain function of that name is called by Python.
 */
#include "shortcut.h"

enum { FORWARD_PRE, FORWARD, BACKWARD, BACKWARD_PRE, NOTE_LAYER, GETATTR, GIVEN }; /* what the shortcut is given */

static PyObject *name_forward, *name_getattr, *name_getattribute;
static PyObject *hook_tables[4];  /* names of a module's own tables of hooks */
static PyObject *part_tables[3];  /* names of the tables in which a module has its parts */

/* ---- attributes --------------------------------------------------------------------------------------------- */

static getattrofunc python_getattro; /* what a class with a `__getattr__` in Python has in this slot */

/* Looks for a name that the class does not have where the instance and then `Module.__getattr__` would. */
static PyObject *
find_part(PyObject *own, PyObject *name)
{
    PyObject *found = PyDict_GetItemWithError(own, name);
    for (size_t index = 0; found == NULL && !PyErr_Occurred() && index < Py_ARRAY_LENGTH(part_tables); index++) {
        PyObject *table = PyDict_GetItemWithError(own, part_tables[index]);
        if (table == NULL || !PyDict_CheckExact(table)) {
            return NULL;
        }
        found = PyDict_GetItemWithError(table, name);
    }
    return found;
}

/* Whatever is not found here is found, or missed with the right words, by Python. */
static PyObject *
module_getattro(PyObject *self, PyObject *name)
{
    if (PyUnicode_CheckExact(name) && _PyType_Lookup(Py_TYPE(self), name) == NULL) {
        PyObject *own = borrowed_dict(self);
        PyObject *found = own == NULL ? NULL : find_part(own, name);
        if (found != NULL) {
            return Py_NewRef(found);
        }
        if (PyErr_Occurred()) {
            return NULL;
        }
    }
    return python_getattro(self, name);
}

/* Lets a class find the parts of its instances here, if it leaves that to Module. Whoever assigns `__getattr__` or
 * `__getattribute__` to it, or to a class above it, later, sets the slot anew: Python takes care of that. */
static void
adopt(PyTypeObject *type, PyObject *getattr)
{
    if (type->tp_getattro == module_getattro || !(type->tp_flags & Py_TPFLAGS_HEAPTYPE)
        || _PyType_Lookup(type, name_getattr) != getattr
        || _PyType_Lookup(type, name_getattribute) != _PyType_Lookup(&PyBaseObject_Type, name_getattribute)) {
        return;
    }
    if (python_getattro == NULL) {
        python_getattro = type->tp_getattro;
    }
    if (type->tp_getattro == python_getattro) {
        type->tp_getattro = module_getattro;
    }
}

/* ---- calls -------------------------------------------------------------------------------------------------- */

static int
is_empty(PyObject *table)
{
    return table != NULL && PyDict_Check(table) && PyDict_GET_SIZE(table) == 0;
}

static int
has_hooks(Shortcut *shortcut, PyObject *own)
{
    for (int index = FORWARD_PRE; index <= BACKWARD_PRE; index++) {
        if (!is_empty(PyTuple_GET_ITEM(shortcut->given, index))) {
            return 1;
        }
    }
    for (size_t index = 0; index < Py_ARRAY_LENGTH(hook_tables); index++) {
        if (!is_empty(PyDict_GetItemWithError(own, hook_tables[index]))) {
            return 1; /* or the constructor of Module has not run */
        }
    }
    return 0;
}

/* The function `forward` of a class, borrowed; NULL if its frames would not show that it is one. */
static PyObject *
forward_of(PyTypeObject *type, PyObject *own)
{
    PyObject *function = _PyType_Lookup(type, name_forward);
    if (function == NULL || Py_TYPE(function) != &PyFunction_Type || PyDict_GetItemWithError(own, name_forward) != NULL) {
        return NULL;
    }
    PyCodeObject *code = (PyCodeObject *)PyFunction_GET_CODE(function);
    return code->co_name == name_forward && code->co_argcount > 0 ? function : NULL;
}

/* Tells the error that passes which layer it comes from: `except Exception as error: note_layer(error)`. */
static void
note_layer(PyObject *function, PyObject *module)
{
    if (!PyErr_ExceptionMatches(PyExc_Exception)) {
        return;
    }
    PyObject *type, *error, *traceback;
    PyErr_Fetch(&type, &error, &traceback);
    PyErr_NormalizeException(&type, &error, &traceback);
    if (traceback != NULL) {
        PyException_SetTraceback(error, traceback);
    }
    PyObject *done = PyObject_CallFunctionObjArgs(function, error, module, NULL);
    if (done != NULL) {
        Py_DECREF(done);
        PyErr_Restore(type, error, traceback);
        return;
    }
    Py_XDECREF(type); /* an interruption, which nothing may swallow */
    Py_XDECREF(error);
    Py_XDECREF(traceback);
}

/* `module(...)`. */
static PyObject *
call_way(Shortcut *self, PyObject *const *arguments, Py_ssize_t count, PyObject *names)
{
    if (count < 1) {
        return NULL;
    }
    PyObject *module = arguments[0], *own = borrowed_dict(module);
    if (own == NULL || has_hooks(self, own)) {
        return NULL;
    }
    adopt(Py_TYPE(module), PyTuple_GET_ITEM(self->given, GETATTR));
    PyObject *forward = forward_of(Py_TYPE(module), own);
    if (forward == NULL) {
        return NULL;
    }
    Py_INCREF(forward); /* the class may get another one meanwhile */
    PyObject *result = PyObject_Vectorcall(forward, arguments, (size_t)count, names);
    Py_DECREF(forward);
    if (result == NULL) {
        note_layer(PyTuple_GET_ITEM(self->given, NOTE_LAYER), module);
    }
    return result;
}

SHORTCUT_METHOD(call, GIVEN)

/* ---- the part ----------------------------------------------------------------------------------------------- */

static int
add(PyObject *Py_UNUSED(module))
{
    const struct {
        PyObject **place;
        const char *text;
    } names[] = {
        {&name_forward, "forward"},
        {&name_getattr, "__getattr__"},
        {&name_getattribute, "__getattribute__"},
        {&hook_tables[0], "_forward_pre_hooks"},
        {&hook_tables[1], "_forward_hooks"},
        {&hook_tables[2], "_backward_hooks"},
        {&hook_tables[3], "_backward_pre_hooks"},
        {&part_tables[0], "_parameters"},
        {&part_tables[1], "_buffers"},
        {&part_tables[2], "_modules"},
    };
    for (size_t index = 0; index < Py_ARRAY_LENGTH(names); index++) {
        *names[index].place = PyUnicode_InternFromString(names[index].text);
        if (*names[index].place == NULL) {
            return -1;
        }
    }
    return 0;
}

static PyMethodDef methods[] = {
    {"call", (PyCFunction)(void (*)(void))core_call, METH_FASTCALL,
     "call(function, *hook_tables, note_layer, getattr): `Module.__call__` with a compiled way."},
    {NULL, NULL, 0, NULL},
};

const Part layers_part = {.methods = methods, .add = add};
