/* The portable build of the loops, and the choice among the builds. */
#include "core.h"

#include "../backend/kernels/builds.h"

#include <float.h>

#define BUILD arithmetic_portable
#define BUILD_NAME "portable"
#include "arithmetic_build.h"

const Arithmetic *arithmetic = NULL;

/* The builds that this processor can run, the fastest first. */
static int
usable_builds(const void **found)
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

static PyObject *
core_builds(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(nothing))
{
    const void *builds[MOST_BUILDS];
    return names_of_builds(builds, usable_builds(builds));
}

static PyObject *
core_use_build(PyObject *Py_UNUSED(module), PyObject *wanted)
{
    const void *builds[MOST_BUILDS], *before = arithmetic;
    const Arithmetic *found = build_named(wanted, builds, usable_builds(builds));
    if (found == NULL) {
        return NULL;
    }
    arithmetic = found;
    return PyUnicode_FromString(name_of_build(before));
}

static int
add(PyObject *Py_UNUSED(module))
{
    const void *builds[MOST_BUILDS];
    arithmetic = usable_builds(builds) > 0 ? builds[0] : NULL;
    return 0;
}

static PyMethodDef methods[] = {
    {"builds", core_builds, METH_NOARGS, "builds(): the builds of the loops that can run here, the fastest first."},
    {"use_build", core_use_build, METH_O, "use_build(name): compute with that build; the name of the one before."},
    {NULL, NULL, 0, NULL},
};

const Part arithmetic_part = {.methods = methods, .add = add};
