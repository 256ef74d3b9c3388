/* A Python function with a compiled way for the common call: it stands in a class where the function would.
 *
 * Everything that one asks of it (name, signature, source, attributes) is answered by the function. */
#ifndef RETROGRAD_SHORTCUT_H
#define RETROGRAD_SHORTCUT_H

#include "core.h"

/* Which types of arguments a function was called with and takes, each list of types as one number. */
typedef struct {
    uint64_t *kinds; /* a table with free places, which are 0 */
    size_t size, count;
    int unchecked; /* nothing is known of the function's signature */
} KnownTypes;

struct Shortcut;

/* Does a call, or declines it: NULL without an error, before anything was changed. Then the function is called. */
typedef PyObject *(*ShortWay)(struct Shortcut *self, PyObject *const *arguments, Py_ssize_t count, PyObject *names);

typedef struct Shortcut {
    PyObject_HEAD
    vectorcallfunc vectorcall;
    PyObject *function;
    PyObject *given; /* a tuple of what else the way reads */
    PyObject *place; /* where users find it, see `refuse`; NULL: they do not */
    KnownTypes known;
    ShortWay way; /* NULL: every call is the function's */
} Shortcut;

extern PyTypeObject ShortcutType;

/* A new one, from the arguments (function, *given) of a method of the module that wants `count` given objects. */
PyObject *new_shortcut(PyObject *const *arguments, Py_ssize_t argument_count, Py_ssize_t count, ShortWay way);

/* After a call has failed: the exception that is set, or what is to be raised in its place (ops.calling.refusals); or the
 * result, where only names of arguments were unknown that PyTorch takes.
 * `place` is a tuple: the key under which signatures are found, and the module and the name there. */
PyObject *refuse(PyObject *place, PyObject *const *arguments, size_t flagged, PyObject *names);

/* Before a call: -1 with an error where the function does not take arguments of these types. Types that were seen before
 * are known; others are read in Python (ops.calling.refusals), once. */
int check_types(PyObject *place, KnownTypes *known, PyObject *const *arguments, size_t flagged, PyObject *names);
void forget_types(KnownTypes *known);

/* Lets modes know which of several names of a function was called. */
void note_called(PyObject *callable);

/* A function of the module that gives a function the way of that name. */
#define SHORTCUT_METHOD(name, given_count) \
    static PyObject *core_##name(PyObject *Py_UNUSED(module), PyObject *const *arguments, Py_ssize_t count) \
    { \
        return new_shortcut(arguments, count, given_count, name##_way); \
    }

#endif
