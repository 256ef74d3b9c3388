/* The user's call site: the innermost frame whose code is not the library's, as `(code, lasti)`.
 *
 * Where the interpreter's own list of frames is known (3.11 to 3.14) it is walked directly: nothing is made and
 * nothing is kept alive. Other versions go through the public functions, which make a frame object for each step.
 */
#include <Python.h> /* the version, before it is known what else is needed */

#if PY_VERSION_HEX >= 0x030B0000 && PY_VERSION_HEX < 0x030F0000 && !defined(PYPY_VERSION) && !defined(Py_GIL_DISABLED)
#define WALKS_FRAMES 1
#ifndef Py_BUILD_CORE
#define Py_BUILD_CORE 1
#endif
#if PY_VERSION_HEX >= 0x030E0000
#include <internal/pycore_interpframe.h>
#else
#include <internal/pycore_frame.h>
#endif
#else
#define WALKS_FRAMES 0
#endif

#include "core.h"

static PyObject *library_files; /* the set `lifecycle.site.LIBRARY_FILES` */
static PyObject *sites_enabled;
static PyObject *library_prefix; /* generated code names itself with it */

/* ---- whose code it is --------------------------------------------------------------------------------------- */

/* Answers by file name, found by the address of the string: all code of a module shares one. The names are kept
 * alive, so an address means the same string as long as it stands here. */
#define KNOWN_COUNT 256

typedef struct {
    PyObject *name;
    int is_library;
} KnownFile;

static KnownFile known_files[KNOWN_COUNT];
static Py_ssize_t files_when_known; /* size of the set: a name that joins it makes all answers doubtful */

static void
forget_known_files(void)
{
    for (int index = 0; index < KNOWN_COUNT; index++) {
        Py_CLEAR(known_files[index].name);
    }
}

/* Whether code of this file name is the library's: 1 or 0; -1 with an error set. */
static int
is_library_file(PyObject *name)
{
    if (PySet_GET_SIZE(library_files) != files_when_known) {
        forget_known_files();
        files_when_known = PySet_GET_SIZE(library_files);
    }
    KnownFile *known = &known_files[((size_t)name >> 4) % KNOWN_COUNT];
    if (known->name == name) {
        return known->is_library;
    }
    int found = PySet_Contains(library_files, name);
    if (found == 0) {
        found = (int)PyUnicode_Tailmatch(name, library_prefix, 0, PY_SSIZE_T_MAX, -1);
    }
    if (found >= 0) {
        known->is_library = found;
        Py_XSETREF(known->name, Py_NewRef(name));
    }
    return found;
}

/* ---- the walk ----------------------------------------------------------------------------------------------- */

#if WALKS_FRAMES

#if PY_VERSION_HEX >= 0x030D0000
#define INNERMOST(state) ((state)->current_frame)
#define CODE_OF(frame) _PyFrame_GetCode(frame)
#else
#define INNERMOST(state) ((state)->cframe->current_frame)
#define CODE_OF(frame) ((frame)->f_code)
#endif

/* The site in the interpreter's frames; `found` stays NULL where there is none. */
static int
walk_frames(PyCodeObject **found, int *lasti)
{
    _PyInterpreterFrame *frame = INNERMOST(PyThreadState_Get());
    for (; frame != NULL; frame = frame->previous) {
        if (_PyFrame_IsIncomplete(frame)) {
            continue;
        }
        *found = CODE_OF(frame);
        *lasti = _PyInterpreterFrame_LASTI(frame);
        const int is_library = is_library_file((*found)->co_filename);
        if (is_library < 0) {
            return -1;
        }
        if (!is_library) {
            break;
        }
    }
    *lasti = *lasti < 0 ? -1 : *lasti * (int)sizeof(_Py_CODEUNIT);
    Py_XINCREF(*found);
    return 0;
}

#else

static int
walk_frames(PyCodeObject **found, int *lasti)
{
    PyFrameObject *frame = (PyFrameObject *)Py_XNewRef((PyObject *)PyEval_GetFrame());
    while (frame != NULL) {
        Py_XSETREF(*found, PyFrame_GetCode(frame));
        *lasti = PyFrame_GetLasti(frame);
        const int is_library = is_library_file((*found)->co_filename);
        if (is_library <= 0) {
            Py_DECREF(frame);
            if (is_library < 0) {
                Py_CLEAR(*found);
            }
            return is_library;
        }
        PyFrameObject *outer = PyFrame_GetBack(frame);
        Py_DECREF(frame);
        frame = outer;
    }
    return 0;
}

#endif

int
user_site(PyObject **code, PyObject **instruction)
{
    PyCodeObject *found = NULL;
    int lasti = 0;
    if (sites_enabled == Py_True && walk_frames(&found, &lasti) < 0) {
        return -1;
    }
    *instruction = PyLong_FromLong(lasti);
    if (*instruction == NULL) {
        Py_XDECREF(found);
        return -1;
    }
    *code = found == NULL ? Py_NewRef(Py_None) : (PyObject *)found;
    return 0;
}

/* ---- the part ----------------------------------------------------------------------------------------------- */

static PyObject *
core_user_site(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(nothing))
{
    PyObject *code, *instruction;
    if (user_site(&code, &instruction) < 0) {
        return NULL;
    }
    PyObject *site = PyTuple_Pack(2, code, instruction);
    Py_DECREF(code);
    Py_DECREF(instruction);
    return site;
}

static int
start(void)
{
    if (!PyAnySet_CheckExact(library_files)) {
        PyErr_SetString(PyExc_TypeError, "LIBRARY_FILES must be a set");
        return -1;
    }
    Py_XSETREF(library_prefix, PyUnicode_InternFromString("<retrograd"));
    forget_known_files();
    return library_prefix == NULL ? -1 : 0;
}

static PyMethodDef methods[] = {
    {"user_site", core_user_site, METH_NOARGS, "user_site(): code and instruction of the user's line that runs now."},
    {NULL, NULL, 0, NULL},
};

static const Wanted wanted[] = {
    {"LIBRARY_FILES", &library_files},
    {"sites_enabled", &sites_enabled},
    {NULL, NULL},
};

const Part site_part = {.methods = methods, .wanted = wanted, .start = start};
