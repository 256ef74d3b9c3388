/* The words of a generator: the base of `random.generator.Generator`, which draws read without asking Python.
 *
 * The Python class is the definition: `take_words` here does what its `random32` does.
 */
#define NO_IMPORT_ARRAY
#include "tiny.h"
#include "stream.h"

#include <stddef.h>
#include <structmember.h>

static PyObject *name_acquire, *name_release;

/* ---- words -------------------------------------------------------------------------------------------------- */

static int
is_broken(void)
{
    PyErr_SetString(PyExc_RuntimeError, "the words of a generator are not such as it makes");
    return -1;
}

/* Whether [next, stop) are words of the block. */
static int
has_words(const Stream *stream)
{
    PyObject *words = stream->words;
    return words != NULL && PyArray_CheckExact(words) && PyArray_TYPE(ARRAY(words)) == NPY_UINT32
           && PyArray_NDIM(ARRAY(words)) == 1 && PyArray_IS_C_CONTIGUOUS(ARRAY(words)) && PyArray_ISALIGNED(ARRAY(words))
           && stream->next >= 0 && stream->next <= stream->stop
           && (stream->next == stream->stop || stream->stop <= PyArray_SIZE(ARRAY(words)));
}

static npy_uint32 *
key_of(const Stream *stream)
{
    npy_intp blocks;
    npy_uint32 *key = stream->key == NULL ? NULL : words_of(stream->key, &blocks);
    if (key == NULL || blocks != 1) {
        PyErr_Clear();
        is_broken();
        return NULL;
    }
    return key;
}

/* An array for a new block: the one that is there, if nobody else has it. A new reference. */
static PyObject *
array_for_block(const Stream *stream)
{
    const npy_intp shape[1] = {BLOCK_WORDS};
#ifndef Py_GIL_DISABLED
    if (Py_REFCNT(stream->words) == 1 && PyArray_SIZE(ARRAY(stream->words)) == BLOCK_WORDS
        && PyArray_CHKFLAGS(ARRAY(stream->words), NPY_ARRAY_OWNDATA)) {
        return Py_NewRef(stream->words);
    }
#endif
    return PyArray_SimpleNew(1, shape, NPY_UINT32);
}

/* The next block, of which `used` words are used. */
static int
open_block(Stream *stream, npy_uint32 *key, npy_intp used)
{
    PyObject *block = array_for_block(stream);
    if (block == NULL) {
        return -1;
    }
    next_blocks(key, PyArray_DATA(ARRAY(block)), 1);
    PyArray_CLEARFLAGS(ARRAY(block), NPY_ARRAY_WRITEABLE);
    stream->next = used;
    stream->stop = BLOCK_WORDS;
    Py_SETREF(stream->words, block);
    return 0;
}

static int
take_across_blocks(Stream *stream, npy_intp count, Words *taken)
{
    npy_uint32 *key = key_of(stream);
    PyObject *made = key == NULL ? NULL : PyArray_SimpleNew(1, &count, NPY_UINT32);
    if (made == NULL) {
        return -1;
    }
    npy_uint32 *out = PyArray_DATA(ARRAY(made));
    const npy_intp left = stream->stop - stream->next, blocks = (count - left) / BLOCK_WORDS;
    const npy_intp rest = (count - left) % BLOCK_WORDS;
    if (left > 0) {
        memcpy(out, (const npy_uint32 *)PyArray_DATA(ARRAY(stream->words)) + stream->next, (size_t)left * sizeof *out);
    }
    Py_XSETREF(stream->known, Py_NewRef(Py_None));
    next_blocks(key, out + left, blocks);
    stream->next = stream->stop = BLOCK_WORDS; /* none is left */
    if (rest > 0) {
        if (open_block(stream, key, rest) < 0) {
            Py_DECREF(made);
            return -1;
        }
        memcpy(out + count - rest, PyArray_DATA(ARRAY(stream->words)), (size_t)rest * sizeof *out);
    }
    taken->owner = made;
    taken->words = out;
    return 0;
}

int
take_words(Stream *stream, npy_intp count, Words *taken)
{
    if (!has_words(stream)) {
        return is_broken();
    }
    if (count > stream->stop - stream->next) {
        return take_across_blocks(stream, count, taken);
    }
    taken->owner = Py_NewRef(stream->words);
    taken->words = (const npy_uint32 *)PyArray_DATA(ARRAY(stream->words)) + stream->next;
    stream->next += count;
    return 0;
}

/* ---- the lock ----------------------------------------------------------------------------------------------- */

Stream *
lock(PyObject *generator)
{
    if (!PyObject_TypeCheck(generator, &StreamType) || ((Stream *)generator)->lock == NULL) {
        PyErr_Format(PyExc_TypeError, "a draw takes a generator, not %s", Py_TYPE(generator)->tp_name);
        return NULL;
    }
    PyObject *done = PyObject_CallMethodNoArgs(((Stream *)generator)->lock, name_acquire);
    Py_XDECREF(done);
    return done == NULL ? NULL : (Stream *)Py_NewRef(generator);
}

PyObject *
unlock(Stream *held, PyObject *result)
{
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    PyObject *done = PyObject_CallMethodNoArgs(held->lock, name_release);
    if (done == NULL || type != NULL) {
        Py_CLEAR(result);
    }
    if (done != NULL) {
        PyErr_Restore(type, value, traceback);
        Py_DECREF(done);
    }
    else {
        Py_XDECREF(type);
        Py_XDECREF(value);
        Py_XDECREF(traceback);
    }
    Py_DECREF(held);
    return result;
}

/* ---- the type ----------------------------------------------------------------------------------------------- */

static int
stream_traverse(Stream *self, visitproc visit, void *arg)
{
    Py_VISIT(self->key);
    Py_VISIT(self->words);
    Py_VISIT(self->known);
    Py_VISIT(self->lock);
    Py_VISIT(self->cached_normal);
    return 0;
}

static int
stream_clear(Stream *self)
{
    Py_CLEAR(self->key);
    Py_CLEAR(self->words);
    Py_CLEAR(self->known);
    Py_CLEAR(self->lock);
    Py_CLEAR(self->cached_normal);
    return 0;
}

static void
stream_dealloc(Stream *self)
{
    PyObject_GC_UnTrack(self);
    stream_clear(self);
    Py_TYPE(self)->tp_free(self);
}

static PyMemberDef stream_members[] = {
    {"_key", T_OBJECT_EX, offsetof(Stream, key), 0, "What the block was made from."},
    {"_words", T_OBJECT_EX, offsetof(Stream, words), 0, "The words of the block."},
    {"_known", T_OBJECT_EX, offsetof(Stream, known), 0, "The last state read, and what it belongs to."},
    {"_next", T_PYSSIZET, offsetof(Stream, next), 0, "How many words of the block are used."},
    {"_stop", T_PYSSIZET, offsetof(Stream, stop), 0, "Where the words of the block end."},
    {"lock", T_OBJECT_EX, offsetof(Stream, lock), 0, "Held for the whole of a draw."},
    {"cached_normal", T_OBJECT_EX, offsetof(Stream, cached_normal), 0, "The second half of a pair of normals."},
    {NULL, 0, 0, 0, NULL},
};

PyTypeObject StreamType = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "retrograd.backend.kernels._tiny.Stream",
    .tp_doc = "The words of a generator, as `random.generator.Generator` keeps them.",
    .tp_basicsize = sizeof(Stream),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_BASETYPE,
    .tp_new = PyType_GenericNew,
    .tp_dealloc = (destructor)stream_dealloc,
    .tp_traverse = (traverseproc)stream_traverse,
    .tp_clear = (inquiry)stream_clear,
    .tp_members = stream_members,
};

int
add_stream(PyObject *module)
{
    name_acquire = PyUnicode_InternFromString("acquire");
    name_release = PyUnicode_InternFromString("release");
    return name_acquire == NULL || name_release == NULL ? -1 : PyModule_AddType(module, &StreamType);
}
