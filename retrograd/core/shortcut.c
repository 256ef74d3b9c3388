/* The type of shortcuts, see shortcut.h. */
#include "shortcut.h"

#include <stddef.h>
#include <structmember.h>

static PyObject *
shortcut_call(PyObject *callable, PyObject *const *arguments, size_t flagged, PyObject *names)
{
    Shortcut *self = (Shortcut *)callable;
    if (core_ready && !core_calls_python) {
        PyObject *result = self->way(self, arguments, PyVectorcall_NARGS(flagged), names);
        if (result != NULL || PyErr_Occurred()) {
            return result;
        }
    }
    return PyObject_Vectorcall(self->function, arguments, flagged, names);
}

PyObject *
new_shortcut(PyObject *const *arguments, Py_ssize_t argument_count, Py_ssize_t count, ShortWay way)
{
    if (argument_count != count + 1 || !PyFunction_Check(arguments[0])) {
        PyErr_Format(PyExc_TypeError, "a shortcut takes a function and %zd objects", count);
        return NULL;
    }
    PyObject *given = PyTuple_New(count);
    Shortcut *self = given == NULL ? NULL : PyObject_GC_New(Shortcut, &ShortcutType);
    if (self == NULL) {
        Py_XDECREF(given);
        return NULL;
    }
    for (Py_ssize_t index = 0; index < count; index++) {
        PyTuple_SET_ITEM(given, index, Py_NewRef(arguments[index + 1]));
    }
    self->vectorcall = shortcut_call;
    self->function = Py_NewRef(arguments[0]);
    self->given = given;
    self->way = way;
    PyObject_GC_Track(self);
    return (PyObject *)self;
}

static int
shortcut_traverse(Shortcut *self, visitproc visit, void *arg)
{
    Py_VISIT(self->function);
    Py_VISIT(self->given);
    return 0;
}

static int
shortcut_clear(Shortcut *self)
{
    Py_CLEAR(self->function);
    Py_CLEAR(self->given);
    return 0;
}

static void
shortcut_dealloc(Shortcut *self)
{
    PyObject_GC_UnTrack(self);
    shortcut_clear(self);
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

/* Pickled as a function is: by its name. */
static PyObject *
shortcut_reduce(PyObject *self, PyObject *Py_UNUSED(nothing))
{
    return PyObject_GetAttrString(((Shortcut *)self)->function, "__qualname__");
}

static PyMethodDef shortcut_methods[] = {
    {"__reduce__", shortcut_reduce, METH_NOARGS, NULL},
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

const Part shortcut_part = {.add = add};
