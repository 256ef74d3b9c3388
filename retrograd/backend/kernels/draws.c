/* Random numbers for arrays of any size: what `retrograd.random` makes with NumPy, word for word of the stream.
 *
 * A function here takes the words it needs from a generator (`random.generator.Generator`) and makes the numbers that the
 * Python function of the same purpose makes, bit for bit: the same operations in the same order, the C library's
 * functions where Python's `math` calls them. It gives None, before anything is drawn, for a call that is not its own.
 */
#define NO_IMPORT_ARRAY
#include "tiny.h"
#include "stream.h"

#include <math.h>

/* start + slope * number, rounded once, below `end`; for a draw of ones, `slope` is their probability. */
typedef struct {
    npy_float64 start, slope, end;
} Line;

#define CHUNK 65536 /* numbers made at a time: their words stay in the cache */

/* ---- words -------------------------------------------------------------------------------------------------- */

static inline npy_float32
uniform32(npy_uint32 word)
{
    return (npy_float32)(npy_int32)(word & 0xFFFFFF) * 0x1p-24f;
}

static inline npy_float64
uniform64(const npy_uint32 *words)
{
    return (npy_int32)(words[0] & 0x1FFFFF) * 0x1p-21 + words[1] * 0x1p-53;
}

/* ---- shapes and dtypes -------------------------------------------------------------------------------------- */

/* A Python int of 64 bits; 0 if it is none. */
static int
as_int64(PyObject *object, npy_int64 *number)
{
    int overflow = 1;
    *number = PyLong_CheckExact(object) ? PyLong_AsLongLongAndOverflow(object, &overflow) : 0;
    return !overflow;
}

/* Reads a tuple of ints as a shape; the number of elements, -1 if it is anything else. */
static npy_intp
read_shape(PyObject *object, int *ndim, npy_intp *shape)
{
    if (!PyTuple_Check(object) || PyTuple_GET_SIZE(object) > LARGEST_NDIM) {
        return -1;
    }
    npy_intp count = 1;
    *ndim = (int)PyTuple_GET_SIZE(object);
    for (int dim = 0; dim < *ndim; dim++) {
        PyObject *size = PyTuple_GET_ITEM(object, dim);
        int overflow;
        const long number = PyLong_CheckExact(size) ? PyLong_AsLongAndOverflow(size, &overflow) : -1;
        if (number < 0 || number > NPY_MAX_INT32 || count * number > NPY_MAX_INT32) {
            return -1;
        }
        shape[dim] = number;
        count *= number;
    }
    return count;
}

/* ---- normal numbers ----------------------------------------------------------------------------------------- */

#define GROUP 16 /* from so many on, numbers are made in groups of that size */
#define PI 3.141592653589793
#define TWO_PI 6.283185307179586

/* Where the processor rounds a product and a sum at once, or `fmaf` does; the float32 sums of `random.box_muller` come out
 * the same in float64, then rounded: a uniform has 24 bits. */
#if defined(__x86_64__) && defined(__GNUC__)
#define WITH_FUSED __attribute__((target("avx2,fma")))
static int has_fused;
#else
#define WITH_FUSED
static const int has_fused = 0;
#endif
#define INLINE static inline __attribute__((always_inline))

INLINE npy_float32
fused(npy_float32 a, npy_float32 b, npy_float32 c, int at_once)
{
    return at_once ? fmaf(a, b, c) : (npy_float32)((npy_float64)a * b + c);
}

INLINE npy_float32
radius32(npy_float32 u, int at_once)
{
    static const npy_float32 terms[] = {7.0376836292e-2f,  -1.1514610310e-1f, 1.1676998740e-1f,
                                        -1.2420140846e-1f, 1.4249322787e-1f,  -1.6668057665e-1f,
                                        2.0000714765e-1f,  -2.4999993993e-1f, 3.3333331174e-1f};
    union {
        npy_float32 number;
        npy_int32 bits;
    } mantissa = {.number = u};
    const npy_int32 bits = mantissa.bits - 0x3F3504F3;
    const npy_float32 exponent = (npy_float32)(bits >> 23);
    mantissa.bits = (bits & 0x7FFFFF) + 0x3F3504F3;
    const npy_float32 x = mantissa.number - 1.0f, square = x * x;
    npy_float32 y = terms[0];
    for (int index = 1; index < 9; index++) {
        y = fused(y, x, terms[index], at_once);
    }
    const npy_float32 low = exponent * -2.12194440e-4f;
    const npy_float32 correction = fused(y * x, square, low, at_once) - square * 0.5f;
    return sqrtf(((x + correction) + exponent * 0.693359375f) * -2.0f);
}

INLINE void
sin_and_cos32(npy_float32 angle, npy_float32 *sin_out, npy_float32 *cos_out, int at_once)
{
    typedef union {
        npy_float32 number;
        npy_uint32 bits;
    } Bits;
    const npy_int32 octant = ((npy_int32)(angle * 1.27323954473516f) + 1) & ~1;
    const npy_float32 multiple = (npy_float32)octant;
    const npy_float32 x = (multiple * -0.78515625f + angle) + multiple * -2.4187564849853515625e-4f;
    const npy_float32 rest = fused(multiple, -3.77489497744594108e-8f, x, at_once), square = rest * rest;
    npy_float32 y = fused(-1.9515295891e-4f, square, 8.3321608736e-3f, at_once);
    y = fused(y, square, -1.6666654611e-1f, at_once) * square;
    const Bits sine = {.number = fused(y, rest, rest, at_once)};
    y = fused(2.443315711809948e-5f, square, -1.388731625493765e-3f, at_once);
    y = fused(y, square, 4.166664568298827e-2f, at_once) * square;
    const Bits cosine = {.number = fused(y, square, square * -0.5f, at_once) + 1.0f};
    const npy_uint32 exchange = (octant & 2 ? ~(npy_uint32)0 : 0) & (sine.bits ^ cosine.bits);
    const Bits first = {.bits = (sine.bits ^ exchange) ^ (npy_uint32)(octant & 4) << 29};
    const Bits second = {.bits = (cosine.bits ^ exchange) ^ (npy_uint32)((octant + 2) & 4) << 29};
    *sin_out = first.number;
    *cos_out = second.number;
}

/* Groups of 16 numbers; times `width`, plus `centre`, rounded once: which leaves no negative zero. */
INLINE void
make_groups32(const npy_uint32 *restrict words, npy_float32 *restrict out, npy_intp groups, npy_float32 centre,
              npy_float32 width, int at_once)
{
    for (; groups > 0; groups--, words += GROUP, out += GROUP) {
        for (int lane = 0; lane < GROUP / 2; lane++) {
            const npy_float32 radius = radius32(1.0f - uniform32(words[lane]), at_once);
            npy_float32 sine, cosine;
            sin_and_cos32((npy_float32)TWO_PI * uniform32(words[lane + GROUP / 2]), &sine, &cosine, at_once);
            out[lane] = cosine * radius;
            out[lane + GROUP / 2] = sine * radius;
        }
        for (int lane = 0; lane < GROUP; lane++) {
            out[lane] = at_once || width != 1 ? fmaf(out[lane], width, centre) : out[lane] + centre;
        }
    }
}

WITH_FUSED static void
make_groups32_fused(const npy_uint32 *words, npy_float32 *out, npy_intp groups, npy_float32 centre, npy_float32 width)
{
    make_groups32(words, out, groups, centre, width, 1);
}

static void
groups32(const npy_uint32 *words, npy_float32 *out, npy_intp groups, Line line)
{
    if (has_fused) {
        make_groups32_fused(words, out, groups, (npy_float32)line.start, (npy_float32)line.slope);
    }
    else {
        make_groups32(words, out, groups, (npy_float32)line.start, (npy_float32)line.slope, 0);
    }
}

static void
groups64(const npy_uint32 *words, npy_float64 *out, npy_intp groups, Line line)
{
    for (; groups > 0; groups--, words += 2 * GROUP, out += GROUP) {
        for (int lane = 0; lane < GROUP / 2; lane++) {
            const npy_float64 radius = sqrt(-2.0 * log(1.0 - uniform64(words + 2 * lane)));
            const npy_float64 angle = TWO_PI * uniform64(words + 2 * lane + GROUP);
            out[lane] = fma(radius * cos(angle), line.slope, line.start);
            out[lane + GROUP / 2] = fma(radius * sin(angle), line.slope, line.start);
        }
    }
}

static int
fill_groups(Stream *generator, npy_intp count, Kind kind, void *out, Line line, npy_intp skipped)
{
    const npy_intp each = kind == FLOAT32 ? 1 : 2;
    Words taken;
    if (take_words(generator, each * (skipped + count), &taken) < 0) {
        return -1;
    }
    if (kind == FLOAT32) {
        groups32(taken.words + skipped, out, count / GROUP, line);
    }
    else {
        groups64(taken.words + 2 * skipped, out, count / GROUP, line);
    }
    Py_DECREF(taken.owner);
    return 0;
}

/* Fills the target with `count` >= 16 numbers. If they are no whole groups, the last 16 are made anew from 16 more
 * uniforms; those of the incomplete group are drawn all the same. */
static int
fill_in_groups(Stream *generator, npy_intp count, Kind kind, void *out, Line line)
{
    const npy_intp rest = count % GROUP, item = kind == FLOAT32 ? sizeof(npy_float32) : sizeof(npy_float64);
    for (npy_intp at = 0, many; at < count - rest; at += many) {
        many = count - rest - at < CHUNK ? count - rest - at : CHUNK;
        if (fill_groups(generator, many, kind, (char *)out + at * item, line, 0) < 0) {
            return -1;
        }
    }
    return rest == 0 ? 0 : fill_groups(generator, GROUP, kind, (char *)out + (count - GROUP) * item, line, rest);
}

static void
put_number(void *out, npy_intp at, Kind kind, npy_float64 number)
{
    if (kind == FLOAT32) {
        ((npy_float32 *)out)[at] = (npy_float32)number;
    }
    else {
        ((npy_float64 *)out)[at] = number;
    }
}

/* A negative zero stays where nothing is to be done. */
INLINE npy_float64
on_line(npy_float64 number, Line line)
{
    return line.start == 0 && line.slope == 1 ? number : fma(number, line.slope, line.start);
}

INLINE npy_float64
exp_on_line(npy_float64 number, Line line)
{
    return exp(fma(number, line.slope, line.start));
}

/* Numbers made one by one, in pairs, each put through `finish`; the second half of the last pair may wait in the
 * generator. */
INLINE int
fill_in_pairs(Stream *generator, npy_intp count, Kind kind, void *out, Line line, npy_float64 finish(npy_float64, Line))
{
    npy_intp at = 0;
    npy_float64 second = 0.0;
    if (generator->cached_normal != NULL && PyFloat_CheckExact(generator->cached_normal)) {
        put_number(out, at++, kind, finish(PyFloat_AS_DOUBLE(generator->cached_normal), line));
        Py_SETREF(generator->cached_normal, Py_NewRef(Py_None));
    }
    const int odd = (count - at) % 2;
    while (at < count) {
        const npy_intp pairs = (count - at + 1) / 2 < CHUNK ? (count - at + 1) / 2 : CHUNK;
        Words taken;
        if (take_words(generator, 4 * pairs, &taken) < 0) {
            return -1;
        }
        for (npy_intp pair = 0; pair < pairs; pair++) {
            const npy_float64 turn = uniform64(taken.words + 4 * pair), tail = uniform64(taken.words + 4 * pair + 2);
            const npy_float64 radius = sqrt(-2.0 * log1p(-tail)), angle = TWO_PI * turn;
            put_number(out, at++, kind, finish(radius * cos(angle), line));
            second = radius * sin(angle);
            if (at < count) {
                put_number(out, at++, kind, finish(second, line));
            }
        }
        Py_DECREF(taken.owner);
    }
    PyObject *kept = odd ? PyFloat_FromDouble(second) : Py_NewRef(Py_None);
    if (kept == NULL) {
        return -1;
    }
    Py_XSETREF(generator->cached_normal, kept);
    return 0;
}

static int
fill_one_by_one(Stream *generator, npy_intp count, Kind kind, void *out, Line line)
{
    return fill_in_pairs(generator, count, kind, out, line, on_line);
}

static int
fill_log_normals(Stream *generator, npy_intp count, Kind kind, void *out, Line line)
{
    return fill_in_pairs(generator, count, kind, out, line, exp_on_line);
}

/* ---- arrays of numbers ------------------------------------------------------------------------------- */

FOR_EACH_PROCESSOR static void
uniforms32(const npy_uint32 *restrict words, npy_float32 *restrict out, npy_intp count)
{
    for (npy_intp i = 0; i < count; i++) {
        out[i] = uniform32(words[i]);
    }
}

FOR_EACH_PROCESSOR static void
uniforms64(const npy_uint32 *restrict words, npy_float64 *restrict out, npy_intp count)
{
    for (npy_intp i = 0; i < count; i++) {
        out[i] = uniform64(words + 2 * i);
    }
}

/* Rounding may reach the end of the line, which does not belong to it. */
#define STRETCH(name, type, fma_of_type)                                                          \
    INLINE void name(type *out, npy_intp count, type start, type slope, type end)                 \
    {                                                                                             \
        for (npy_intp i = 0; i < count; i++) {                                                    \
            const type number = fma_of_type(out[i], slope, start);                                \
            out[i] = number == end ? start : number;                                              \
        }                                                                                         \
    }                                                                                             \
    WITH_FUSED static void name##_fused(type *out, npy_intp count, type start, type slope, type end) \
    {                                                                                             \
        name(out, count, start, slope, end);                                                      \
    }

STRETCH(stretch32, npy_float32, fmaf)
STRETCH(stretch64, npy_float64, fma)

/* Uniform numbers from `start` to `end`; in float32 both are rounded first. */
static void
make_uniforms(const npy_uint32 *words, npy_intp count, Kind kind, void *out, Line line)
{
    const npy_float32 first = (npy_float32)line.start, end = (npy_float32)line.end;
    const int whole = line.start == 0 && line.slope == 1;
    if (kind == FLOAT32) {
        uniforms32(words, out, count);
        if (!whole) {
            (has_fused ? stretch32_fused : stretch32)(out, count, first, end - first, end);
        }
        return;
    }
    uniforms64(words, out, count);
    if (!whole) {
        (has_fused ? stretch64_fused : stretch64)(out, count, line.start, line.slope, line.end);
    }
}

/* A uniform number is below a probability where its 53 bits, as a whole number, are below that many times 2**53. */
#define ONES(name, type)                                                                                   \
    FOR_EACH_PROCESSOR static void name(const npy_uint32 *restrict words, type *restrict out, npy_intp count, \
                                        npy_int64 limit)                                                   \
    {                                                                                                      \
        for (npy_intp i = 0; i < count; i++) {                                                             \
            const npy_int64 number = (npy_int64)(words[2 * i] & 0x1FFFFF) << 32 | words[2 * i + 1];        \
            out[i] = number < limit;                                                                       \
        }                                                                                                  \
    }

ONES(ones32, npy_float32)
ONES(ones64, npy_float64)

static void
make_ones(const npy_uint32 *words, npy_intp count, Kind kind, void *out, Line line)
{
    const npy_int64 limit = (npy_int64)ceil(line.slope * 0x1p53);
    if (kind == FLOAT32) {
        ones32(words, out, count, limit);
    }
    else {
        ones64(words, out, count, limit);
    }
}

static void
make_exponentials(const npy_uint32 *words, npy_intp count, Kind kind, void *out, Line line)
{
    for (npy_intp i = 0; i < count; i++) {
        put_number(out, i, kind, line.slope * log1p(-uniform64(words + 2 * i)));
    }
}

static void
make_cauchys(const npy_uint32 *words, npy_intp count, Kind kind, void *out, Line line)
{
    for (npy_intp i = 0; i < count; i++) {
        const npy_float64 angle = PI * (uniform64(words + 2 * i) - 0.5);
        put_number(out, i, kind, fma(tan(angle), line.slope, line.start));
    }
}

static void
make_trials(const npy_uint32 *words, npy_intp count, Kind kind, void *out, Line line)
{
    for (npy_intp i = 0; i < count; i++) {
        put_number(out, i, kind, ceil(log(uniform64(words + 2 * i)) / line.slope));
    }
}

typedef void (*Make)(const npy_uint32 *words, npy_intp count, Kind kind, void *out, Line line);

/* Numbers that take `each` words. */
static int
fill_by(Make make, npy_intp each, Stream *generator, npy_intp count, Kind kind, void *out, Line line)
{
    const npy_intp item = kind == FLOAT32 ? sizeof(npy_float32) : sizeof(npy_float64);
    for (npy_intp at = 0, many; at < count; at += many) {
        Words taken;
        many = count - at < CHUNK ? count - at : CHUNK;
        if (take_words(generator, each * many, &taken) < 0) {
            return -1;
        }
        make(taken.words, many, kind, (char *)out + at * item, line);
        Py_DECREF(taken.owner);
    }
    return 0;
}

static int
fill_uniforms(Stream *generator, npy_intp count, Kind kind, void *out, Line line)
{
    return fill_by(make_uniforms, kind == FLOAT32 ? 1 : 2, generator, count, kind, out, line);
}

static int
fill_ones(Stream *generator, npy_intp count, Kind kind, void *out, Line line)
{
    return fill_by(make_ones, 2, generator, count, kind, out, line);
}

static int
fill_exponentials(Stream *generator, npy_intp count, Kind kind, void *out, Line line)
{
    return fill_by(make_exponentials, 2, generator, count, kind, out, line);
}

static int
fill_cauchys(Stream *generator, npy_intp count, Kind kind, void *out, Line line)
{
    return fill_by(make_cauchys, 2, generator, count, kind, out, line);
}

static int
fill_trials(Stream *generator, npy_intp count, Kind kind, void *out, Line line)
{
    return fill_by(make_trials, 2, generator, count, kind, out, line);
}

static int
fill_normals(Stream *generator, npy_intp count, Kind kind, void *out, Line line)
{
    return count < GROUP ? fill_one_by_one(generator, count, kind, out, line)
                         : fill_in_groups(generator, count, kind, out, line);
}

typedef int (*Fill)(Stream *generator, npy_intp count, Kind kind, void *out, Line line);

/* Where numbers go: an array that is given and lies in C order, or a new one of a shape, which may be wrapped in a tuple
 * as `f((2, 3))` has it. None if it is neither; NULL with an error set. */
static PyObject *
target_for(PyObject *place, PyObject *dtype)
{
    int ndim;
    npy_intp shape[LARGEST_NDIM];
    if (PyArray_CheckExact(place)) {
        const int ours = plain_kind(place, NPY_MAX_INT32) != NOT_PLAIN && PyArray_IS_C_CONTIGUOUS(ARRAY(place))
                         && PyArray_ISWRITEABLE(ARRAY(place));
        return Py_NewRef(ours ? place : Py_None);
    }
    if (PyTuple_CheckExact(place) && PyTuple_GET_SIZE(place) == 1 && PyTuple_Check(PyTuple_GET_ITEM(place, 0))) {
        place = PyTuple_GET_ITEM(place, 0);
    }
    const Kind kind = requested_kind(dtype);
    if (kind == NOT_PLAIN || read_shape(place, &ndim, shape) < 0) {
        Py_RETURN_NONE;
    }
    return new_array(ndim, shape, kind, 0);
}

/* fill(generator, shape or array, dtype): an array with numbers of a generator. None: not one of ours. */
static PyObject *
filled_by(Fill fill, PyObject *const *arguments, Line line)
{
    PyObject *made = target_for(arguments[1], arguments[2]);
    if (made == NULL || made == Py_None) {
        return made;
    }
    Stream *held = lock(arguments[0]);
    if (held == NULL) {
        Py_DECREF(made);
        return NULL;
    }
    const Kind kind = plain_kind(made, NPY_MAX_INT32);
    const npy_intp count = PyArray_SIZE(ARRAY(made));
    if (count > 0 && fill(held, count, kind, PyArray_DATA(ARRAY(made)), line) < 0) {
        Py_CLEAR(made);
    }
    return unlock(held, made);
}

/* A number that all of a draw's numbers of a kind can be near: 0 if it is none, and Python says why. */
static int
is_moderate(PyObject *object, npy_float64 *number)
{
    *number = PyFloat_CheckExact(object) ? PyFloat_AS_DOUBLE(object) : NAN;
    return fabs(*number) <= 1e30;
}

/* draw_uniform(generator, shape or array, dtype, low = 0.0, high = 1.0) */
PyObject *
tiny_draw_uniform(PyObject *Py_UNUSED(module), PyObject *const *arguments, Py_ssize_t given)
{
    npy_float64 low = 0, high = 1;
    if (wrong_count("draw_uniform", given, 3, 5)) {
        return NULL;
    }
    if (given == 4 || (given == 5 && !(is_moderate(arguments[3], &low) && is_moderate(arguments[4], &high) && low <= high))) {
        Py_RETURN_NONE;
    }
    return filled_by(fill_uniforms, arguments, (Line){low, high - low, high});
}

/* draw_normal(generator, shape or array, dtype, mean = 0.0, std = 1.0) */
PyObject *
tiny_draw_normal(PyObject *Py_UNUSED(module), PyObject *const *arguments, Py_ssize_t given)
{
    npy_float64 mean = 0, std = 1;
    if (wrong_count("draw_normal", given, 3, 5)) {
        return NULL;
    }
    if (given == 4 || (given == 5 && !(is_moderate(arguments[3], &mean) && is_moderate(arguments[4], &std) && std >= 0))) {
        Py_RETURN_NONE;
    }
    return filled_by(fill_normals, arguments, (Line){mean, std, 0});
}

PyObject *
tiny_draw_ones(PyObject *Py_UNUSED(module), PyObject *const *arguments, Py_ssize_t given)
{
    npy_float64 chance;
    if (wrong_count("draw_ones", given, 4, 4)) {
        return NULL;
    }
    if (!is_moderate(arguments[3], &chance) || chance < 0 || chance > 1) {
        Py_RETURN_NONE;
    }
    return filled_by(fill_ones, arguments, (Line){0, chance, 0});
}

/* Those below take so few that NumPy's vectors, whose last bits need care, win nothing. */
static int
is_few(PyObject *array)
{
    return plain_kind(array, LARGEST_SIZE) != NOT_PLAIN;
}

/* draw_exponential(generator, array, dtype, rate) */
PyObject *
tiny_draw_exponential(PyObject *Py_UNUSED(module), PyObject *const *arguments, Py_ssize_t given)
{
    npy_float64 rate;
    if (wrong_count("draw_exponential", given, 4, 4)) {
        return NULL;
    }
    if (!is_moderate(arguments[3], &rate) || !(rate > 0) || !is_few(arguments[1])) {
        Py_RETURN_NONE;
    }
    return filled_by(fill_exponentials, arguments, (Line){0, -1.0 / rate, 0});
}

/* draw_cauchy(generator, array, dtype, median, sigma) */
PyObject *
tiny_draw_cauchy(PyObject *Py_UNUSED(module), PyObject *const *arguments, Py_ssize_t given)
{
    npy_float64 median, sigma;
    if (wrong_count("draw_cauchy", given, 5, 5)) {
        return NULL;
    }
    if (!is_moderate(arguments[3], &median) || !is_moderate(arguments[4], &sigma) || !(sigma > 0)
        || !is_few(arguments[1])) {
        Py_RETURN_NONE;
    }
    return filled_by(fill_cauchys, arguments, (Line){median, sigma, 0});
}

/* draw_geometric(generator, array, dtype, chance) */
PyObject *
tiny_draw_geometric(PyObject *Py_UNUSED(module), PyObject *const *arguments, Py_ssize_t given)
{
    npy_float64 chance;
    if (wrong_count("draw_geometric", given, 4, 4)) {
        return NULL;
    }
    if (!is_moderate(arguments[3], &chance) || !(chance > 0 && chance < 1) || !is_few(arguments[1])) {
        Py_RETURN_NONE;
    }
    return filled_by(fill_trials, arguments, (Line){0, log1p(-chance), 0});
}

/* draw_log_normal(generator, array, dtype, mean, std): of any size, as NumPy's vectors would need care twice. */
PyObject *
tiny_draw_log_normal(PyObject *Py_UNUSED(module), PyObject *const *arguments, Py_ssize_t given)
{
    npy_float64 mean, std;
    if (wrong_count("draw_log_normal", given, 5, 5)) {
        return NULL;
    }
    if (!is_moderate(arguments[3], &mean) || !is_moderate(arguments[4], &std) || !(std > 0)) {
        Py_RETURN_NONE;
    }
    return filled_by(fill_log_normals, arguments, (Line){mean, std, 0});
}

/* ---- choices ------------------------------------------------------------------------------------------------ */

/* Whether weights of a row can be drawn from: finite, none negative, not all zero. */
#define FAIR_ROW(type)                                                          \
    FOR_EACH_PROCESSOR static int fair_##type(const npy_##type *weights, npy_intp length) \
    {                                                                           \
        int some = 0, wrong = 0;                                                \
        for (npy_intp i = 0; i < length; i++) {                                 \
            wrong |= !(weights[i] >= 0) | !(weights[i] < (npy_##type)INFINITY); \
            some |= weights[i] > 0;                                             \
        }                                                                       \
        return some && !wrong;                                                  \
    }                                                                           \
    /* The index of the largest weight / exponential number, of the first nan if there is one. */ \
    static npy_intp race_##type(const npy_##type *weights, npy_intp length, const npy_uint32 *words) \
    {                                                                           \
        npy_intp first = 0;                                                     \
        npy_##type best = 0;                                                    \
        for (npy_intp i = 0; i < length; i++) {                                 \
            const npy_##type time = (npy_##type)-log1p(-uniform64(words + 2 * i)); \
            const npy_##type score = weights[i] / time;                         \
            if (score != score) {                                               \
                return i;                                                       \
            }                                                                   \
            if (i == 0 || score > best) {                                       \
                first = i;                                                      \
                best = score;                                                   \
            }                                                                   \
        }                                                                       \
        return first;                                                           \
    }

FAIR_ROW(float32)
FAIR_ROW(float64)

/* The first places at which the running sums of a row of weights, divided by the last, reach uniform numbers. */
#define CHOOSE(type)                                                                                     \
    FOR_EACH_PROCESSOR static void divide_##type(npy_##type *sums, npy_intp length, npy_##type total)    \
    {                                                                                                    \
        for (npy_intp i = 0; i < length; i++) {                                                          \
            sums[i] /= total;                                                                            \
        }                                                                                                \
    }                                                                                      \
    static void choose_##type(const npy_##type *weights, npy_##type *sums, npy_intp length,              \
                              const npy_uint32 *words, npy_int64 *out, npy_intp count)                   \
    {                                                                                                    \
        npy_##type total = weights[0];                                                                   \
        sums[0] = total;                                                                                 \
        for (npy_intp i = 1; i < length; i++) {                                                          \
            sums[i] = total += weights[i];                                                               \
        }                                                                                                \
        divide_##type(sums, length, total);                                                              \
        sums[length - 1] = 1;                                                                            \
        for (npy_intp i = 0; i < count; i++) {                                                           \
            const npy_float64 wanted = uniform64(words + 2 * i);                                         \
            npy_intp low = 0, high = length - 1;                                                         \
            while (low < high) {                                                                         \
                const npy_intp middle = (low + high) / 2;                                                \
                if (sums[middle] < wanted) {                                                             \
                    low = middle + 1;                                                                    \
                }                                                                                        \
                else {                                                                                   \
                    high = middle;                                                                       \
                }                                                                                        \
            }                                                                                            \
            out[i] = low;                                                                                \
        }                                                                                                \
    }

CHOOSE(float32)
CHOOSE(float64)

/* A row of an array of one or two dimensions that lies row by row. */
static void *
row_of(PyObject *rows, npy_intp row)
{
    const npy_intp length = PyArray_DIM(ARRAY(rows), PyArray_NDIM(ARRAY(rows)) - 1);
    return PyArray_BYTES(ARRAY(rows)) + row * length * PyArray_ITEMSIZE(ARRAY(rows));
}

/* Whether an array has rows of weights that can be drawn from; then what kind they are of, and else NOT_PLAIN. */
static Kind
fair_rows(PyObject *rows, npy_intp largest_size)
{
    const Kind kind = plain_kind(rows, largest_size);
    const int ndim = kind == NOT_PLAIN ? 0 : PyArray_NDIM(ARRAY(rows));
    if ((ndim != 1 && ndim != 2) || !PyArray_IS_C_CONTIGUOUS(ARRAY(rows)) || PyArray_SIZE(ARRAY(rows)) == 0) {
        return NOT_PLAIN;
    }
    const npy_intp length = PyArray_DIM(ARRAY(rows), ndim - 1), count = ndim == 1 ? 1 : PyArray_DIM(ARRAY(rows), 0);
    for (npy_intp row = 0; row < count; row++) {
        const void *weights = row_of(rows, row);
        if (!(kind == FLOAT32 ? fair_float32(weights, length) : fair_float64(weights, length))) {
            return NOT_PLAIN;
        }
    }
    return kind;
}

/* Draws for one row. With `count` 0 it is one index, by a race that needs as many numbers as there are weights. */
static void
choose(const void *weights, Kind kind, npy_intp length, const npy_uint32 *words, npy_int64 *out, npy_intp count)
{
    npy_float64 sums[LARGEST_SIZE]; /* or as many of the shorter kind */
    if (count == 0) {
        *out = kind == FLOAT32 ? race_float32(weights, length, words) : race_float64(weights, length, words);
    }
    else if (kind == FLOAT32) {
        choose_float32(weights, (npy_float32 *)sums, length, words, out, count);
    }
    else {
        choose_float64(weights, sums, length, words, out, count);
    }
}

static PyObject *
chosen(PyObject *generator, PyObject *rows, npy_intp count)
{
    const Kind kind = fair_rows(rows, count == 0 ? LARGEST_SIZE : NPY_MAX_INT32);
    if (kind == NOT_PLAIN || PyArray_DIM(ARRAY(rows), PyArray_NDIM(ARRAY(rows)) - 1) > LARGEST_SIZE) {
        Py_RETURN_NONE;
    }
    const int ndim = PyArray_NDIM(ARRAY(rows));
    const npy_intp length = PyArray_DIM(ARRAY(rows), ndim - 1);
    const npy_intp shape[2] = {ndim == 1 ? 1 : PyArray_DIM(ARRAY(rows), 0), count ? count : 1};
    const npy_intp each = 2 * (count ? count : length); /* words for a row */
    PyObject *made = PyArray_SimpleNew(ndim, shape + 2 - ndim, NPY_INT64);
    Stream *held = made == NULL ? NULL : lock(generator);
    if (held == NULL) {
        Py_XDECREF(made);
        return NULL;
    }
    Words taken;
    if (take_words(held, shape[0] * each, &taken) == 0) {
        npy_int64 *out = PyArray_DATA(ARRAY(made));
        for (npy_intp row = 0; row < shape[0]; row++) {
            choose(row_of(rows, row), kind, length, taken.words + row * each, out + row * shape[1], count);
        }
        Py_DECREF(taken.owner);
    }
    return unlock(held, made);
}

/* draw_scores(generator, rows): weight / exponential number for each, of which the largest are drawn. */
PyObject *
tiny_draw_scores(PyObject *Py_UNUSED(module), PyObject *const *arguments, Py_ssize_t given)
{
    if (wrong_count("draw_scores", given, 2, 2)) {
        return NULL;
    }
    const Kind kind = fair_rows(arguments[1], LARGEST_SIZE);
    if (kind == NOT_PLAIN) {
        Py_RETURN_NONE;
    }
    PyArrayObject *rows = ARRAY(arguments[1]);
    const npy_intp count = PyArray_SIZE(rows);
    PyObject *made = new_array(PyArray_NDIM(rows), PyArray_DIMS(rows), kind, 0);
    Stream *held = made == NULL ? NULL : lock(arguments[0]);
    if (held == NULL) {
        Py_XDECREF(made);
        return NULL;
    }
    Words taken;
    if (take_words(held, 2 * count, &taken) == 0) {
        make_exponentials(taken.words, count, kind, PyArray_DATA(ARRAY(made)), (Line){0, -1.0, 0});
        for (npy_intp i = 0; i < count; i++) {
            if (kind == FLOAT32) {
                npy_float32 *score = (npy_float32 *)PyArray_DATA(ARRAY(made)) + i;
                *score = ((const npy_float32 *)PyArray_DATA(rows))[i] / *score;
            }
            else {
                npy_float64 *score = (npy_float64 *)PyArray_DATA(ARRAY(made)) + i;
                *score = ((const npy_float64 *)PyArray_DATA(rows))[i] / *score;
            }
        }
        Py_DECREF(taken.owner);
    }
    return unlock(held, made);
}

#define MOST_PLACES 64

/* The places of the `count` largest numbers of a row, the largest first. 0 where one is not finite, or equal ones would
 * have to be told apart. */
#define LARGEST(type)                                                                                       \
    static int largest_##type(const npy_##type *row, npy_intp length, npy_int64 *places, npy_intp count)    \
    {                                                                                                       \
        npy_##type best[MOST_PLACES + 1];                                                                   \
        npy_int64 at[MOST_PLACES + 1];                                                                      \
        npy_intp found = 0;                                                                                 \
        const npy_intp most = count < length ? count + 1 : count; /* one more: it may equal the last */     \
        for (npy_intp i = 0; i < length; i++) {                                                             \
            if (!(fabs((npy_float64)row[i]) < INFINITY)) {                                                  \
                return 0;                                                                                   \
            }                                                                                               \
            if (found == most && row[i] <= best[most - 1]) {                                                \
                continue;                                                                                   \
            }                                                                                               \
            npy_intp place = found < most ? found++ : most - 1;                                             \
            for (; place > 0 && best[place - 1] < row[i]; place--) {                                        \
                best[place] = best[place - 1];                                                              \
                at[place] = at[place - 1];                                                                  \
            }                                                                                               \
            best[place] = row[i];                                                                           \
            at[place] = i;                                                                                  \
        }                                                                                                   \
        for (npy_intp i = 1; i < most; i++) {                                                               \
            if (best[i - 1] == best[i]) {                                                                   \
                return 0;                                                                                   \
            }                                                                                               \
        }                                                                                                   \
        for (npy_intp i = 0; i < count; i++) {                                                              \
            places[i] = at[i];                                                                              \
        }                                                                                                   \
        return 1;                                                                                           \
    }

LARGEST(float32)
LARGEST(float64)

/* largest_places(rows, count): those of each row, or None. */
PyObject *
tiny_largest_places(PyObject *Py_UNUSED(module), PyObject *const *arguments, Py_ssize_t given)
{
    npy_int64 count;
    if (wrong_count("largest_places", given, 2, 2)) {
        return NULL;
    }
    const Kind kind = plain_kind(arguments[0], NPY_MAX_INT32);
    const int ndim = kind == NOT_PLAIN ? 0 : PyArray_NDIM(ARRAY(arguments[0]));
    if ((ndim != 1 && ndim != 2) || !PyArray_IS_C_CONTIGUOUS(ARRAY(arguments[0])) || !as_int64(arguments[1], &count)
        || count < 1 || count > MOST_PLACES || count > PyArray_DIM(ARRAY(arguments[0]), ndim - 1)) {
        Py_RETURN_NONE;
    }
    const npy_intp shape[2] = {ndim == 1 ? 1 : PyArray_DIM(ARRAY(arguments[0]), 0), (npy_intp)count};
    const npy_intp length = PyArray_DIM(ARRAY(arguments[0]), ndim - 1);
    PyObject *made = PyArray_SimpleNew(ndim, shape + 2 - ndim, NPY_INT64);
    for (npy_intp row = 0; made != NULL && row < shape[0]; row++) {
        npy_int64 *places = (npy_int64 *)PyArray_DATA(ARRAY(made)) + row * shape[1];
        const void *numbers = row_of(arguments[0], row);
        if (!(kind == FLOAT32 ? largest_float32(numbers, length, places, shape[1])
                              : largest_float64(numbers, length, places, shape[1]))) {
            Py_SETREF(made, Py_NewRef(Py_None));
            break;
        }
    }
    return made;
}

PyObject *
tiny_draw_indices(PyObject *Py_UNUSED(module), PyObject *const *arguments, Py_ssize_t given)
{
    return wrong_count("draw_indices", given, 2, 2) ? NULL : chosen(arguments[0], arguments[1], 0);
}

PyObject *
tiny_draw_again(PyObject *Py_UNUSED(module), PyObject *const *arguments, Py_ssize_t given)
{
    npy_int64 count;
    if (wrong_count("draw_again", given, 3, 3)) {
        return NULL;
    }
    if (!as_int64(arguments[2], &count) || count < 1 || count > LARGEST_SIZE) {
        Py_RETURN_NONE;
    }
    return chosen(arguments[0], arguments[1], (npy_intp)count);
}

PyObject *
tiny_draw_chances(PyObject *Py_UNUSED(module), PyObject *const *arguments, Py_ssize_t given)
{
    if (wrong_count("draw_chances", given, 2, 2)) {
        return NULL;
    }
    const Kind kind = plain_kind(arguments[1], NPY_MAX_INT32);
    if (kind == NOT_PLAIN || !PyArray_IS_C_CONTIGUOUS(ARRAY(arguments[1]))) {
        Py_RETURN_NONE;
    }
    const npy_intp count = PyArray_SIZE(ARRAY(arguments[1]));
    const npy_float32 *chances32 = PyArray_DATA(ARRAY(arguments[1]));
    const npy_float64 *chances64 = PyArray_DATA(ARRAY(arguments[1]));
    for (npy_intp i = 0; i < count; i++) {
        const npy_float64 chance = kind == FLOAT32 ? chances32[i] : chances64[i];
        if (!(chance >= 0 && chance <= 1)) {
            Py_RETURN_NONE;
        }
    }
    PyObject *made = new_array(PyArray_NDIM(ARRAY(arguments[1])), PyArray_DIMS(ARRAY(arguments[1])), kind, 0);
    Stream *held = made == NULL ? NULL : lock(arguments[0]);
    if (held == NULL) {
        Py_XDECREF(made);
        return NULL;
    }
    Words taken;
    if (take_words(held, kind == FLOAT32 ? count : 2 * count, &taken) == 0) {
        npy_float32 *out32 = PyArray_DATA(ARRAY(made));
        npy_float64 *out64 = PyArray_DATA(ARRAY(made));
        for (npy_intp i = 0; i < count; i++) {
            if (kind == FLOAT32) {
                out32[i] = uniform32(taken.words[i]) < chances32[i];
            }
            else {
                out64[i] = uniform64(taken.words + 2 * i) < chances64[i];
            }
        }
        Py_DECREF(taken.owner);
    }
    return unlock(held, made);
}

/* ---- whole numbers ------------------------------------------------------------------------------------------ */

/* low + word % span; of a power of two, or by two products in place of a division (Lemire, Kaser and Kurz 2019). */
#ifdef __SIZEOF_INT128__
#define REMAINDER(word) (npy_int64)((unsigned __int128)(inverse * (word)) * span >> 64)
#else
#define REMAINDER(word) (npy_int64)((word) % span)
#endif
#define REMAINDERS(type)                                                                                   \
    static void remainders_##type(const npy_uint32 *words, npy_##type *out, npy_intp count, npy_int64 low, \
                                  npy_uint32 span)                                                         \
    {                                                                                                      \
        const npy_uint64 inverse = ~(npy_uint64)0 / span + 1;                                              \
        (void)inverse;                                                                                     \
        if ((span & (span - 1)) == 0) {                                                                    \
            for (npy_intp i = 0; i < count; i++) {                                                         \
                out[i] = (npy_##type)(low + (words[i] & (span - 1)));                                      \
            }                                                                                              \
            return;                                                                                        \
        }                                                                                                  \
        for (npy_intp i = 0; i < count; i++) {                                                             \
            out[i] = (npy_##type)(low + REMAINDER(words[i]));                                              \
        }                                                                                                  \
    }

REMAINDERS(int64)
REMAINDERS(float32)
REMAINDERS(float64)

static int
fill_integers(Stream *generator, PyArrayObject *target, npy_int64 low, npy_uint32 span)
{
    const npy_intp count = PyArray_SIZE(target);
    const int type = PyArray_TYPE(target);
    char *data = PyArray_DATA(target);
    for (npy_intp at = 0, many; at < count; at += many) {
        Words taken;
        many = count - at < CHUNK ? count - at : CHUNK;
        if (take_words(generator, many, &taken) < 0) {
            return -1;
        }
        if (type == NPY_FLOAT32) {
            remainders_float32(taken.words, (npy_float32 *)data + at, many, low, span);
        }
        else if (type == NPY_FLOAT64) {
            remainders_float64(taken.words, (npy_float64 *)data + at, many, low, span);
        }
        else {
            remainders_int64(taken.words, (npy_int64 *)data + at, many, low, span);
        }
        Py_DECREF(taken.owner);
    }
    return 0;
}

/* As `target_for`, of int64 too. */
static PyObject *
whole_target_for(PyObject *place, PyObject *dtype)
{
    int ndim;
    npy_intp shape[LARGEST_NDIM];
    if (PyArray_CheckExact(place) && PyArray_TYPE(ARRAY(place)) == NPY_INT64) {
        return Py_NewRef(PyArray_ISCARRAY(ARRAY(place)) ? place : Py_None);
    }
    if (PyArray_DescrCheck(dtype) && ((PyArray_Descr *)dtype)->type_num == NPY_INT64 && !PyArray_CheckExact(place)) {
        return read_shape(place, &ndim, shape) < 0 ? Py_NewRef(Py_None) : PyArray_SimpleNew(ndim, shape, NPY_INT64);
    }
    return target_for(place, dtype);
}

/* Whether a float counts from `low` to `high` without gaps. */
static int
counts_to(PyArrayObject *target, npy_int64 low, npy_int64 high)
{
    const npy_int64 most = PyArray_TYPE(target) == NPY_FLOAT32 ? 1 << 24 : (npy_int64)1 << 53;
    return PyArray_TYPE(target) == NPY_INT64 || (low >= -most && high <= most);
}

/* draw_integers(generator, shape or array, dtype, low, high) */
PyObject *
tiny_draw_integers(PyObject *Py_UNUSED(module), PyObject *const *arguments, Py_ssize_t given)
{
    npy_int64 low, high;
    if (wrong_count("draw_integers", given, 5, 5)) {
        return NULL;
    }
    if (!as_int64(arguments[3], &low) || !as_int64(arguments[4], &high) || low >= high
        || (npy_uint64)high - (npy_uint64)low >= 1 << 28 /* from there on a number takes two words */) {
        Py_RETURN_NONE;
    }
    PyObject *made = whole_target_for(arguments[1], arguments[2]);
    if (made == NULL || made == Py_None) {
        return made;
    }
    if (!counts_to(ARRAY(made), low, high)) {
        Py_DECREF(made);
        Py_RETURN_NONE;
    }
    Stream *held = lock(arguments[0]);
    if (held == NULL) {
        Py_DECREF(made);
        return NULL;
    }
    if (fill_integers(held, ARRAY(made), low, (npy_uint32)(high - low)) < 0) {
        Py_CLEAR(made);
    }
    return unlock(held, made);
}

/* Exchanges each number with one that comes after it or with itself. The remainders are found in float64, some at a time:
 * quotients of 32 bits come out whole only where they are. */
FOR_EACH_PROCESSOR static void
shuffle(const npy_uint32 *words, npy_int64 *out, npy_intp count)
{
    npy_int32 skips[256];
    for (npy_intp start = 0; start < count - 1; start += 256) {
        const npy_int32 many = count - 1 - start < 256 ? (npy_int32)(count - 1 - start) : 256;
        for (npy_int32 i = 0; i < many; i++) {
            const npy_float64 word = words[start + i], left = (npy_float64)(npy_int32)(count - start - i);
            skips[i] = (npy_int32)(word - floor(word / left) * left);
        }
        for (npy_int32 i = 0; i < many; i++) {
            npy_int64 *here = out + start + i, *there = here + skips[i];
            const npy_int64 kept = *here;
            *here = *there;
            *there = kept;
        }
    }
}

PyObject *
tiny_draw_order(PyObject *Py_UNUSED(module), PyObject *const *arguments, Py_ssize_t given)
{
    npy_int64 count;
    if (wrong_count("draw_order", given, 2, 2)) {
        return NULL;
    }
    if (!as_int64(arguments[1], &count) || count < 0 || count >= NPY_MAX_UINT32 / 20 /* another algorithm */) {
        Py_RETURN_NONE;
    }
    const npy_intp shape[1] = {(npy_intp)count};
    PyObject *made = PyArray_SimpleNew(1, shape, NPY_INT64);
    Stream *held = made == NULL ? NULL : lock(arguments[0]);
    if (held == NULL) {
        Py_XDECREF(made);
        return NULL;
    }
    Words taken;
    if (take_words(held, count < 2 ? 0 : (npy_intp)count - 1, &taken) == 0) {
        npy_int64 *out = PyArray_DATA(ARRAY(made));
        for (npy_int64 i = 0; i < count; i++) {
            out[i] = i;
        }
        shuffle(taken.words, out, (npy_intp)count);
        Py_DECREF(taken.owner);
    }
    return unlock(held, made);
}

/* ---- the processor -------------------------------------------------------------------------------------------------- */

void
start_draws(void)
{
#if defined(__x86_64__) && defined(__GNUC__)
    __builtin_cpu_init();
    has_fused = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
#endif
}
