/* The portable build of the loops, and the choice among the builds. */
#include "core.h"

#include <float.h>

#define BUILD arithmetic_portable
#define BUILD_NAME "portable"
#include "arithmetic_build.h"

const Arithmetic *arithmetic = NULL;

/* The builds that this processor can run, the fastest first. */
static int
usable_builds(const Arithmetic **found)
{
    int count = 0;
#ifdef HAS_BUILDS_FOR_X86
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512f")) {
        found[count++] = &arithmetic_avx512;
    }
    if (__builtin_cpu_supports("avx2")) {
        found[count++] = &arithmetic_avx2;
    }
#endif
#if FLT_EVAL_METHOD == 0
    found[count++] = &arithmetic_portable;
#endif
    return count;
}

#define MOST_BUILDS 3

static PyObject *
core_builds(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(nothing))
{
    const Arithmetic *builds[MOST_BUILDS];
    const int count = usable_builds(builds);
    PyObject *names = PyTuple_New(count);
    for (int index = 0; names != NULL && index < count; index++) {
        PyObject *name = PyUnicode_FromString(builds[index]->name);
        if (name == NULL) {
            Py_CLEAR(names);
        }
        else {
            PyTuple_SET_ITEM(names, index, name);
        }
    }
    return names;
}

static PyObject *
core_use_build(PyObject *Py_UNUSED(module), PyObject *wanted)
{
    const Arithmetic *builds[MOST_BUILDS];
    const int count = usable_builds(builds);
    if (!PyUnicode_Check(wanted)) {
        PyErr_SetString(PyExc_TypeError, "use_build() takes the name of a build");
        return NULL;
    }
    for (int index = 0; index < count; index++) {
        if (PyUnicode_CompareWithASCIIString(wanted, builds[index]->name) == 0) {
            PyObject *before = PyUnicode_FromString(arithmetic->name);
            arithmetic = builds[index];
            return before;
        }
    }
    PyErr_Format(PyExc_ValueError, "this processor has no build %R of the loops", wanted);
    return NULL;
}

static int
add(PyObject *Py_UNUSED(module))
{
    const Arithmetic *builds[MOST_BUILDS];
    arithmetic = usable_builds(builds) > 0 ? builds[0] : NULL;
    return 0;
}

static PyMethodDef methods[] = {
    {"builds", core_builds, METH_NOARGS, "builds(): the builds of the loops that can run here, the fastest first."},
    {"use_build", core_use_build, METH_O, "use_build(name): compute with that build; the name of the one before."},
    {NULL, NULL, 0, NULL},
};

const Part arithmetic_part = {.methods = methods, .add = add};
