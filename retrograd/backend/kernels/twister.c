/* The Mersenne twister (MT19937): whole blocks of 624 words, several words at a time. */
#define NO_IMPORT_ARRAY
#include "tiny.h"
#include "stream.h"

#define MIDDLE 397

static inline npy_uint32
twisted(npy_uint32 word, npy_uint32 next, npy_uint32 far)
{
    const npy_uint32 mixed = (word & 0x80000000u) | (next & 0x7FFFFFFFu);
    return far ^ (mixed >> 1) ^ (-(mixed & 1) & 0x9908B0DFu);
}

static inline npy_uint32
tempered(npy_uint32 word)
{
    word ^= word >> 11;
    word ^= (word << 7) & 0x9D2C5680u;
    word ^= (word << 15) & 0xEFC60000u;
    return word ^ (word >> 18);
}

/* No word needs one that was made less than 227 words before it. */
FOR_EACH_PROCESSOR void
next_blocks(npy_uint32 *restrict key, npy_uint32 *restrict out, npy_intp blocks)
{
    const int behind = BLOCK_WORDS - MIDDLE;
    for (; blocks > 0; blocks--, out += BLOCK_WORDS) {
        for (int at = 0; at < behind; at++) {
            key[at] = twisted(key[at], key[at + 1], key[at + MIDDLE]);
        }
        for (int at = behind; at < 2 * behind; at++) {
            key[at] = twisted(key[at], key[at + 1], key[at - behind]);
        }
        for (int at = 2 * behind; at < BLOCK_WORDS - 1; at++) {
            key[at] = twisted(key[at], key[at + 1], key[at - behind]);
        }
        key[BLOCK_WORDS - 1] = twisted(key[BLOCK_WORDS - 1], key[0], key[MIDDLE - 1]);
        for (int at = 0; at < BLOCK_WORDS; at++) {
            out[at] = tempered(key[at]);
        }
    }
}

npy_uint32 *
words_of(PyObject *object, npy_intp *blocks)
{
    if (!PyArray_CheckExact(object) || PyArray_TYPE(ARRAY(object)) != NPY_UINT32 || !PyArray_ISCARRAY(ARRAY(object))
        || PyArray_SIZE(ARRAY(object)) % BLOCK_WORDS != 0) {
        PyErr_SetString(PyExc_TypeError, "the twister takes uint32 arrays of whole blocks of 624 words");
        return NULL;
    }
    *blocks = PyArray_SIZE(ARRAY(object)) / BLOCK_WORDS;
    return PyArray_DATA(ARRAY(object));
}

PyObject *
tiny_twist(PyObject *Py_UNUSED(module), PyObject *const *arguments, Py_ssize_t given)
{
    npy_intp keys, blocks;
    npy_uint32 *key = wrong_count("twist", given, 2, 2) ? NULL : words_of(arguments[0], &keys);
    npy_uint32 *out = key == NULL ? NULL : words_of(arguments[1], &blocks);
    if (out == NULL) {
        return NULL;
    }
    if (keys != 1 || (key < out + blocks * BLOCK_WORDS && out < key + BLOCK_WORDS)) {
        PyErr_SetString(PyExc_ValueError, "twist() takes a key of one block, apart from the words");
        return NULL;
    }
    next_blocks(key, out, blocks);
    Py_RETURN_NONE;
}

PyObject *
tiny_start_twister(PyObject *Py_UNUSED(module), PyObject *const *arguments, Py_ssize_t given)
{
    npy_intp keys;
    npy_uint32 *key = wrong_count("start_twister", given, 2, 2) ? NULL : words_of(arguments[0], &keys);
    const unsigned long seed = key == NULL ? 0 : PyLong_AsUnsignedLongMask(arguments[1]);
    if (key == NULL || PyErr_Occurred()) {
        return NULL;
    }
    for (npy_intp at = 0; at < keys * BLOCK_WORDS; at++) {
        key[at] = at == 0 ? (npy_uint32)seed : 1812433253u * (key[at - 1] ^ key[at - 1] >> 30) + (npy_uint32)at;
    }
    Py_RETURN_NONE;
}
