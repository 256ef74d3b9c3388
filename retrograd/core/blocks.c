/* Blocks in which modes have other values, entered and left in one step: `engine.state` is the definition.
 *
 * Python looks for signals where a function of Python begins and after calls. So a block whose two methods are
 * compiled is either not entered or left again, wherever Ctrl-C comes. A shortcut is given the object that has the
 * modes, and what counts them: by name a tuple of (dictionary, key, kind). */
#include "shortcut.h"

enum { ON, OFF, EACH };

static PyObject *name_dict, *name_inside, *name_before, *name_entered, *name_left;
static PyObject *name_vmaps, *name_duals, *name_active, *name_dual_levels, *name_size, *name_holders;

/* How much a value adds to a count. What is not set has its default, which counts nothing. */
static long
weight(PyObject *value, long kind)
{
    if (value == NULL) {
        return 0;
    }
    if (kind == OFF) {
        return value == Py_False;
    }
    if (PyTuple_CheckExact(value)) {
        return kind == EACH ? (long)PyTuple_GET_SIZE(value) : PyTuple_GET_SIZE(value) > 0;
    }
    return value != Py_None && value != Py_False;
}

/* 1 where the mode is counted, 0 where not; -1 with an error set. */
static int
count_change(PyObject *counts, PyObject *name, PyObject *before, PyObject *value)
{
    PyObject *counted = PyDict_GetItemWithError(counts, name), *space, *key;
    if (counted == NULL) {
        return PyErr_Occurred() ? -1 : 0;
    }
    for (Py_ssize_t index = 0; index < PyTuple_GET_SIZE(counted); index++) {
        long kind;
        if (!PyArg_ParseTuple(PyTuple_GET_ITEM(counted, index), "O!Ol", &PyDict_Type, &space, &key, &kind)) {
            return -1;
        }
        const long change = weight(value, kind) - weight(before, kind);
        if (change == 0) {
            continue;
        }
        PyObject *number = PyDict_GetItemWithError(space, key);
        number = PyLong_FromLong((number == NULL ? 0 : PyLong_AsLong(number)) + change);
        const int failed = number == NULL || PyDict_SetItem(space, key, number) < 0;
        Py_XDECREF(number);
        if (failed) {
            return -1;
        }
    }
    return 1;
}

/* Whether a count of TRANSFORMS is one. */
static int
is_one(PyObject *name)
{
    PyObject *count = PyObject_GetAttr(objects.TRANSFORMS, name);
    const int found = count == objects.one;
    if (count == NULL) {
        PyErr_Clear();
    }
    Py_XDECREF(count);
    return found;
}

/* Lets the core run ops on batches, if this thread's call of `vmap` is the only transform. */
static int
tell_vmaps(PyObject *levels)
{
    Py_ssize_t size = -1;
    if (PyTuple_CheckExact(levels) && PyTuple_GET_SIZE(levels) == 1 && is_one(name_active)) {
        PyObject *found = PyObject_GetAttr(PyTuple_GET_ITEM(levels, 0), name_size);
        size = found == NULL ? -1 : PyLong_AsSsize_t(found);
        Py_XDECREF(found);
    }
    only_batch(size);
    return PyErr_Occurred() ? -1 : 0;
}

/* Lets the core pass tangents on, if there is only one level, and it is this thread's. */
static int
tell_duals(PyObject *levels)
{
    PyObject *level = NULL, *holders = NULL;
    if (PyTuple_CheckExact(levels) && PyTuple_GET_SIZE(levels) == 1 && is_one(name_dual_levels)) {
        level = PyTuple_GET_ITEM(levels, 0);
        holders = PyObject_GetAttr(level, name_holders);
    }
    only_level(holders == NULL ? NULL : level, holders);
    Py_XDECREF(holders);
    return PyErr_Occurred() ? -1 : 0;
}

static int
tell(PyObject *name, PyObject *value)
{
    if (PyUnicode_Compare(name, name_vmaps) == 0) {
        return tell_vmaps(value);
    }
    return PyUnicode_Compare(name, name_duals) == 0 ? tell_duals(value) : 0;
}

static int
put(PyObject *places, PyObject *counts, PyObject *name, PyObject *value)
{
    PyObject *before = PyDict_GetItemWithError(places, name);
    const int counted = before == NULL && PyErr_Occurred() ? -1 : count_change(counts, name, before, value);
    if (counted < 0 || PyDict_SetItem(places, name, value) < 0) {
        return -1;
    }
    return counted ? tell(name, value) : 0;
}

static int
put_all(PyObject *places, PyObject *counts, PyObject *modes)
{
    Py_ssize_t at = 0;
    PyObject *name, *value;
    int failed = 0;
    while (PyDict_Next(modes, &at, &name, &value)) {
        failed |= put(places, counts, name, value) < 0;
    }
    return failed ? -1 : 0;
}

/* The dictionary of the object that has the modes, a new reference; NULL where this is not for us. */
static PyObject *
places_of(const Shortcut *self)
{
    PyObject *places = PyObject_GetAttr(PyTuple_GET_ITEM(self->given, 0), name_dict);
    if (places != NULL && !(PyDict_CheckExact(places) && PyDict_CheckExact(PyTuple_GET_ITEM(self->given, 1)))) {
        Py_CLEAR(places);
    }
    return places;
}

/* What the modes of a dictionary are now: a new dictionary. */
static PyObject *
modes_now(PyObject *holder, PyObject *modes)
{
    Py_ssize_t at = 0;
    PyObject *name, *value, *found = PyDict_New();
    while (found != NULL && PyDict_Next(modes, &at, &name, &value)) {
        PyObject *now = PyObject_GetAttr(holder, name);
        if (now == NULL || PyDict_SetItem(found, name, now) < 0) {
            Py_CLEAR(found);
        }
        Py_XDECREF(now);
    }
    return found;
}

/* block.__enter__() */
static PyObject *
enter_modes_way(Shortcut *self, PyObject *const *arguments, Py_ssize_t count, PyObject *names)
{
    PyObject *places = count == 1 && names == NULL ? places_of(self) : NULL;
    if (places == NULL) {
        return NULL;
    }
    PyObject *block = arguments[0], *counts = PyTuple_GET_ITEM(self->given, 1), *now = NULL, *result = NULL;
    PyObject *inside = PyObject_CallMethodNoArgs(block, name_inside);
    if (inside != NULL && !PyDict_CheckExact(inside)) {
        PyErr_SetString(PyExc_TypeError, "the modes of a block must be a dictionary");
        Py_CLEAR(inside);
    }
    PyObject *outer = inside == NULL ? NULL : PyObject_GetAttr(block, name_before);
    if (outer != NULL) {
        now = modes_now(PyTuple_GET_ITEM(self->given, 0), inside);
    }
    PyObject *pair = now == NULL ? NULL : PyTuple_Pack(2, now, outer);
    if (pair != NULL && (result = PyObject_GetAttr(block, name_entered)) != NULL
        && (PyObject_SetAttr(block, name_before, pair) < 0 || put_all(places, counts, inside) < 0)) {
        Py_CLEAR(result);
    }
    Py_XDECREF(pair);
    Py_XDECREF(now);
    Py_XDECREF(outer);
    Py_XDECREF(inside);
    Py_DECREF(places);
    return result;
}

/* Calls what a block does when it was left; once more, if that was interrupted. `failed`: an error ended the block. */
static int
finish(PyObject *block, PyObject *failed)
{
    PyObject *left = PyObject_GetAttr(block, name_left), *type, *value, *traceback;
    if (left == NULL || left == Py_None) {
        Py_XDECREF(left);
        return left == NULL ? -1 : 0;
    }
    PyObject *done = PyObject_CallOneArg(left, failed);
    if (done == NULL) {
        PyErr_Fetch(&type, &value, &traceback);
        done = PyObject_CallOneArg(left, failed);
        Py_XDECREF(done);
        PyErr_Restore(type, value, traceback);
        done = NULL;
    }
    Py_DECREF(left);
    Py_XDECREF(done);
    return done == NULL ? -1 : 0;
}

/* block.__exit__(*error) */
static PyObject *
leave_modes_way(Shortcut *self, PyObject *const *arguments, Py_ssize_t count, PyObject *names)
{
    PyObject *places = count >= 1 && names == NULL ? places_of(self) : NULL;
    if (places == NULL) {
        return NULL;
    }
    PyObject *result = NULL, *block = arguments[0], *pair = PyObject_GetAttr(block, name_before);
    if (pair != NULL && PyTuple_CheckExact(pair) && PyTuple_GET_SIZE(pair) == 2
        && PyDict_CheckExact(PyTuple_GET_ITEM(pair, 0))) {
        PyObject *failed = count >= 2 && arguments[1] != Py_None ? Py_True : Py_False;
        const int wrong = put_all(places, PyTuple_GET_ITEM(self->given, 1), PyTuple_GET_ITEM(pair, 0)) < 0
                           || PyObject_SetAttr(block, name_before, PyTuple_GET_ITEM(pair, 1)) < 0 || finish(block, failed) < 0;
        result = wrong ? NULL : Py_NewRef(Py_None);
    }
    Py_XDECREF(pair);
    Py_DECREF(places);
    return result;
}

/* set_...(value): the mode of the given name */
static PyObject *
put_mode_way(Shortcut *self, PyObject *const *arguments, Py_ssize_t count, PyObject *names)
{
    PyObject *places = count == 1 && names == NULL ? places_of(self) : NULL;
    if (places == NULL) {
        return NULL;
    }
    const int failed = put(places, PyTuple_GET_ITEM(self->given, 1), PyTuple_GET_ITEM(self->given, 2), arguments[0]) < 0;
    Py_DECREF(places);
    return failed ? NULL : Py_NewRef(Py_None);
}

/* put_modes(modes) */
static PyObject *
put_modes_way(Shortcut *self, PyObject *const *arguments, Py_ssize_t count, PyObject *names)
{
    PyObject *places = count == 1 && names == NULL && PyDict_CheckExact(arguments[0]) ? places_of(self) : NULL;
    if (places == NULL) {
        return NULL;
    }
    const int failed = put_all(places, PyTuple_GET_ITEM(self->given, 1), arguments[0]) < 0;
    Py_DECREF(places);
    return failed ? NULL : Py_NewRef(Py_None);
}

/* block.__exit__(*error) of a block that has put something at the end of the mode of the given name, a tuple */
static PyObject *
leave_last_way(Shortcut *self, PyObject *const *Py_UNUSED(arguments), Py_ssize_t Py_UNUSED(count),
               PyObject *Py_UNUSED(names))
{
    PyObject *places = places_of(self), *name = PyTuple_GET_ITEM(self->given, 2);
    PyObject *now = places == NULL ? NULL : PyDict_GetItemWithError(places, name), *outer = NULL;
    if (now != NULL && PyTuple_CheckExact(now) && PyTuple_GET_SIZE(now) > 0) {
        outer = PyTuple_GetSlice(now, 0, PyTuple_GET_SIZE(now) - 1);
    }
    const int done = outer != NULL && put(places, PyTuple_GET_ITEM(self->given, 1), name, outer) == 0;
    Py_XDECREF(outer);
    Py_XDECREF(places);
    return done ? Py_NewRef(Py_None) : NULL;
}

/* tell_level(name, value): for the Python functions that set `vmaps` or `duals` */
static PyObject *
core_tell_level(PyObject *Py_UNUSED(module), PyObject *const *arguments, Py_ssize_t count)
{
    if (count != 2 || !PyUnicode_Check(arguments[0])) {
        PyErr_SetString(PyExc_TypeError, "tell_level takes the name of a mode and its value");
        return NULL;
    }
    return tell(arguments[0], arguments[1]) < 0 ? NULL : Py_NewRef(Py_None);
}

/* ---- the part ----------------------------------------------------------------------------------------------- */

SHORTCUT_METHOD(enter_modes, 2)
SHORTCUT_METHOD(leave_modes, 2)
SHORTCUT_METHOD(put_modes, 2)
SHORTCUT_METHOD(put_mode, 3)
SHORTCUT_METHOD(leave_last, 3)

static int
add(PyObject *Py_UNUSED(module))
{
    const struct {
        PyObject **place;
        const char *text;
    } names[] = {
        {&name_dict, "__dict__"},    {&name_inside, "_inside"}, {&name_before, "_before"}, {&name_entered, "_entered"},
        {&name_left, "_left"},       {&name_vmaps, "vmaps"},    {&name_duals, "duals"},    {&name_active, "active"},
        {&name_size, "size"},        {&name_holders, "holders"}, {&name_dual_levels, "dual_levels"},
    };
    for (size_t index = 0; index < Py_ARRAY_LENGTH(names); index++) {
        *names[index].place = PyUnicode_InternFromString(names[index].text);
        if (*names[index].place == NULL) {
            return -1;
        }
    }
    return 0;
}

#define ENTRY(name, text) {#name, (PyCFunction)(void (*)(void))core_##name, METH_FASTCALL, text}

static PyMethodDef methods[] = {
    ENTRY(enter_modes, "enter_modes(function, holder, counts): __enter__ of a block of modes."),
    ENTRY(leave_modes, "leave_modes(function, holder, counts): __exit__ of a block of modes."),
    ENTRY(put_modes, "put_modes(function, holder, counts): sets modes by name."),
    ENTRY(put_mode, "put_mode(function, holder, counts, name): sets one mode."),
    ENTRY(leave_last, "leave_last(function, holder, counts, name): takes the last off a mode that is a tuple."),
    ENTRY(tell_level, "tell_level(name, value): a mode that counts levels of transforms was set."),
    {NULL, NULL, 0, NULL},
};

const Part blocks_part = {.methods = methods, .add = add};
