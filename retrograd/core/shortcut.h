/* A Python function with a compiled way for the common call: it stands in a class where the function would.
 *
 * Everything that one asks of it (name, signature, source, attributes) is answered by the function. */
#ifndef RETROGRAD_SHORTCUT_H
#define RETROGRAD_SHORTCUT_H

#include "core.h"

struct Shortcut;

/* Does a call, or declines it: NULL without an error, before anything was changed. Then the function is called. */
typedef PyObject *(*ShortWay)(struct Shortcut *self, PyObject *const *arguments, Py_ssize_t count, PyObject *names);

typedef struct Shortcut {
    PyObject_HEAD
    vectorcallfunc vectorcall;
    PyObject *function;
    PyObject *given; /* a tuple of what else the way reads */
    ShortWay way;
} Shortcut;

extern PyTypeObject ShortcutType;

/* A new one, from the arguments (function, *given) of a method of the module that wants `count` given objects. */
PyObject *new_shortcut(PyObject *const *arguments, Py_ssize_t argument_count, Py_ssize_t count, ShortWay way);

/* A function of the module that gives a function the way of that name. */
#define SHORTCUT_METHOD(name, given_count) \
    static PyObject *core_##name(PyObject *Py_UNUSED(module), PyObject *const *arguments, Py_ssize_t count) \
    { \
        return new_shortcut(arguments, count, given_count, name##_way); \
    }

#endif
