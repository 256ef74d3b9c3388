/* The words of a generator, for draws.c: see stream.c. */
#ifndef RETROGRAD_STREAM_H
#define RETROGRAD_STREAM_H

typedef struct {
    PyObject_HEAD
    PyObject *key, *words, *known, *lock, *cached_normal;
    Py_ssize_t next, stop; /* the words [next, stop) of the block are still unused */
} Stream;

extern PyTypeObject StreamType;

typedef struct {
    PyObject *owner; /* keeps the words */
    const npy_uint32 *words;
} Words;

/* The next words of the stream; -1 with an error set. The caller holds the stream's lock. */
int take_words(Stream *stream, npy_intp count, Words *taken);

/* Holds a generator's lock: another thread may be in the middle of a longer draw. NULL with an error set. */
Stream *lock(PyObject *generator);

/* Lets it go, and gives `result` unless that fails; an error that is set stays. */
PyObject *unlock(Stream *held, PyObject *result);

int add_stream(PyObject *module);

/* ---- twister.c ---------------------------------------------------------------------------------------------- */

#define BLOCK_WORDS 624

/* The key becomes that of the next block, as often as blocks of words are wanted. */
void next_blocks(npy_uint32 *restrict key, npy_uint32 *restrict out, npy_intp blocks);

/* The words of an array of whole blocks that can be written; NULL with an error set. */
npy_uint32 *words_of(PyObject *object, npy_intp *blocks);

#endif
