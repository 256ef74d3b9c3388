/* The choice among several builds of the same loops: a table of functions for each, which begins with its name. */
#ifndef RETROGRAD_BUILDS_H
#define RETROGRAD_BUILDS_H

#define MOST_BUILDS 3

static const char *
name_of_build(const void *build)
{
    return *(const char *const *)build;
}

static PyObject *
names_of_builds(const void *const *builds, int count)
{
    PyObject *names = PyTuple_New(count);
    for (int index = 0; names != NULL && index < count; index++) {
        PyObject *name = PyUnicode_FromString(name_of_build(builds[index]));
        if (name == NULL) {
            Py_CLEAR(names);
        }
        else {
            PyTuple_SET_ITEM(names, index, name);
        }
    }
    return names;
}

/* The build of that name; NULL with an error set if it is none of these. */
static const void *
build_named(PyObject *wanted, const void *const *builds, int count)
{
    if (!PyUnicode_Check(wanted)) {
        PyErr_SetString(PyExc_TypeError, "use_build() takes the name of a build");
        return NULL;
    }
    for (int index = 0; index < count; index++) {
        if (PyUnicode_CompareWithASCIIString(wanted, name_of_build(builds[index])) == 0) {
            return builds[index];
        }
    }
    PyErr_Format(PyExc_ValueError, "this processor has no build %R of the loops", wanted);
    return NULL;
}

/* The builds of a part that this processor can run, the fastest first: `name_portable` and, on x86, those for more. */
#if defined(__x86_64__) && (defined(__GNUC__) || defined(__clang__))
#define ADD_BUILDS_FOR_X86(name, found, count)                                                      \
    do {                                                                                            \
        __builtin_cpu_init();                                                                       \
        if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq")                 \
            && __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw")) {          \
            found[count++] = &name##_avx512;                                                        \
        }                                                                                           \
        if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {                      \
            found[count++] = &name##_avx2;                                                          \
        }                                                                                           \
    } while (0)
#else
#define ADD_BUILDS_FOR_X86(name, found, count) (void)0
#endif

/* `usable_builds`, and the functions `builds()` and `use_build(name)` of a module; `current` is the table in use. */
#define BUILDS_OF(name, current)                                                                    \
    static int usable_builds(const void **found)                                                    \
    {                                                                                               \
        int count = 0;                                                                              \
        ADD_BUILDS_FOR_X86(name, found, count);                                                     \
        found[count++] = &name##_portable;                                                          \
        return count;                                                                               \
    }                                                                                               \
    static PyObject *name##_builds(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(nothing))       \
    {                                                                                               \
        const void *builds[MOST_BUILDS];                                                            \
        return names_of_builds(builds, usable_builds(builds));                                      \
    }                                                                                               \
    static PyObject *name##_use_build(PyObject *Py_UNUSED(module), PyObject *wanted)                \
    {                                                                                               \
        const void *builds[MOST_BUILDS], *before = current;                                         \
        const void *found = build_named(wanted, builds, usable_builds(builds));                     \
        if (found == NULL) {                                                                        \
            return NULL;                                                                            \
        }                                                                                           \
        current = found;                                                                            \
        return PyUnicode_FromString(name_of_build(before));                                         \
    }

#endif
