/* What a compiled part was built from: setup.py gives SOURCES, and built.py compares it when the part is imported. */
#ifndef RETROGRAD_SOURCES_H
#define RETROGRAD_SOURCES_H

/* The module with that attribute; NULL where there is none, or on an error. */
static PyObject *
with_sources(PyObject *module)
{
    if (module != NULL && PyModule_AddStringConstant(module, "SOURCES", SOURCES) < 0) {
        Py_CLEAR(module);
    }
    return module;
}

#endif
