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

#endif
