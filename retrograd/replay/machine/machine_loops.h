/* Chains of elementwise operations and small products, for one type; see backend/kernels/primitives.h.
 *
 * A chain does all its operations on one block of elements before it goes to the next, so that what is computed stays
 * in the first-level cache. Registers are longer than a block by what fills the last vector.
 */

/* ---- between memory and registers ----------------------------------------------------------------------------- */

/* Where an iteration stands, and how far to the end of its innermost dimension. */
INLINE void
NAMED(find)(const Chain *chain, ptrdiff_t start, ptrdiff_t *index)
{
    for (int dim = chain->dims - 1; dim >= 0; dim--) {
        index[dim] = start == 0 ? 0 : start % chain->shape[dim]; /* most chains are one block: divisions take longer than these */
        start = start == 0 ? 0 : start / chain->shape[dim];
    }
}

/* To the next row, with the place (of that many strides) that moves along. */
INLINE ptrdiff_t
NAMED(next_row)(const Chain *chain, ptrdiff_t *index, const ptrdiff_t *strides)
{
    ptrdiff_t moved = -strides[chain->dims - 1] * index[chain->dims - 1];
    index[chain->dims - 1] = 0;
    for (int dim = chain->dims - 2; dim >= 0; dim--) {
        moved += strides[dim];
        if (++index[dim] < chain->shape[dim]) {
            break;
        }
        moved -= strides[dim] * chain->shape[dim];
        index[dim] = 0;
    }
    return moved;
}

/* Runs `body` for each stretch of `run` elements of a block along one row: `at` in the block, `where` in the strides. */
#define FOR_STRETCHES(chain, start, count, strides, body)                              \
    do {                                                                               \
        ptrdiff_t index[MOST_DIMS], where = 0;                                         \
        const ptrdiff_t inner = (chain)->shape[(chain)->dims - 1];                     \
        NAMED(find)(chain, start, index);                                              \
        for (int dim = 0; dim < (chain)->dims; dim++) {                                \
            where += index[dim] * (strides)[dim];                                      \
        }                                                                              \
        for (ptrdiff_t at = 0, run; at < (count); at += run) {                         \
            run = inner - index[(chain)->dims - 1];                                    \
            run = run < (count) - at ? run : (count) - at;                             \
            body;                                                                      \
            index[(chain)->dims - 1] += run;                                           \
            where += run * (strides)[(chain)->dims - 1];                               \
            if (index[(chain)->dims - 1] == inner) {                                   \
                where += NAMED(next_row)(chain, index, strides);                       \
            }                                                                          \
        }                                                                              \
    } while (0)

INLINE REAL
NAMED(truth_bits)(int held)
{
    const BITS bits = held ? -1 : 0;
    REAL found;
    memcpy(&found, &bits, sizeof found);
    return found;
}

INLINE REAL
NAMED(read)(const char *from, int kind)
{
    switch (kind) {
    case AS_BOOL:
        return NAMED(truth_bits)(*from != 0);
    case AS_INT64:
        return (REAL) * (const int64_t *)from;
    case AS_INT32:
        return (REAL) * (const int32_t *)from;
    case AS_OTHER_REAL:
        return (REAL) * (const OTHER_REAL *)from;
    default:
        return *(const REAL *)from;
    }
}

INLINE void
NAMED(write)(char *to, REAL value, int kind)
{
    BITS bits;
    switch (kind) {
    case AS_BOOL:
        memcpy(&bits, &value, sizeof bits);
        *to = bits != 0;
        break;
    case AS_OTHER_REAL:
        *(OTHER_REAL *)to = (OTHER_REAL)value;
        break;
    default:
        *(REAL *)to = value;
    }
}

/* Between a register, which has room for whole vectors, and an array in line, which may not. */
INLINE void
NAMED(copy_line)(REAL *to, const REAL *from, ptrdiff_t count, int pads)
{
    ptrdiff_t at = 0;
    for (; at + LANES <= count; at += LANES) {
        NAMED(store)(to + at, NAMED(load)(from + at));
    }
    if (at < count && pads) {
        NAMED(store)(to + at, NAMED(load_some)(from + at, count - at, 0));
    }
    else if (at < count) {
        NAMED(store_some)(to + at, NAMED(load)(from + at), count - at);
    }
}

static void
NAMED(load_block)(const Chain *chain, const Place *place, const char *base, ptrdiff_t start, ptrdiff_t count, REAL *to)
{
    const ptrdiff_t step = place->strides[chain->dims - 1];
    const int kind = place->kind;
    base += place->offset;
    if (place->walk == IN_LINE) {
        NAMED(copy_line)(to, (const REAL *)base + start, count, 1);
        return;
    }
    FOR_STRETCHES(chain, start, count, place->strides, {
        const char *from = base + where;
        if (kind != AS_REAL) {
            for (ptrdiff_t k = 0; k < run; k++) {
                to[at + k] = NAMED(read)(from + k * step, kind);
            }
        }
        else if (step == sizeof(REAL)) {
            for (ptrdiff_t k = 0; k < run; k++) {
                to[at + k] = ((const REAL *)from)[k];
            }
        }
        else {
            for (ptrdiff_t k = 0; k < run; k++) {
                to[at + k] = *(const REAL *)(from + k * step);
            }
        }
    });
}

static void
NAMED(store_block)(const Chain *chain, const Place *place, char *base, ptrdiff_t start, ptrdiff_t count, const REAL *from,
                   ptrdiff_t each)
{
    const ptrdiff_t step = place->strides[chain->dims - 1];
    const int kind = place->kind;
    base += place->offset;
    if (place->walk == IN_LINE && each == 1) {
        NAMED(copy_line)((REAL *)base + start, from, count, 0);
        return;
    }
    FOR_STRETCHES(chain, start, count, place->strides, {
        char *to = base + where;
        if (kind == AS_REAL && step == sizeof(REAL) && each == 1) {
            for (ptrdiff_t k = 0; k < run; k++) {
                ((REAL *)to)[k] = from[at + k];
            }
        }
        else {
            for (ptrdiff_t k = 0; k < run; k++) {
                NAMED(write)(to + k * step, from[(at + k) * each], kind);
            }
        }
    });
}

/* Stores past the caches, for what is too large to be in them when it is read again: memory is not read before it is
 * written. */
INLINE void
NAMED(stream_block)(REAL *to, const REAL *from, ptrdiff_t count)
{
    ptrdiff_t at = 0;
    for (; at < count && (uintptr_t)(to + at) % sizeof(V) != 0; at++) {
        to[at] = from[at];
    }
    for (; at + LANES <= count; at += LANES) {
        STREAM(to + at, NAMED(load)(from + at));
    }
    for (; at < count; at++) {
        to[at] = from[at];
    }
}

/* ---- sums ----------------------------------------------------------------------------------------------------- */

INLINE double
NAMED(sum_stretch)(const REAL *x, ptrdiff_t count, ptrdiff_t each)
{
    if (each == 0) {
        return (double)*x * (double)count;
    }
    V sum = {0}, second = {0}, third = {0}, fourth = {0}; /* an addition need not wait for the one before */
    double total = 0;
    ptrdiff_t at = 0;
    for (; at + 4 * LANES <= count; at += 4 * LANES) {
        sum += NAMED(load)(x + at);
        second += NAMED(load)(x + at + LANES);
        third += NAMED(load)(x + at + 2 * LANES);
        fourth += NAMED(load)(x + at + 3 * LANES);
    }
    for (; at + LANES <= count; at += LANES) {
        sum += NAMED(load)(x + at);
    }
    total = at ? NAMED(sum_lanes)((sum + second) + (third + fourth)) : 0;
    for (; at < count; at++) {
        total += (double)x[at];
    }
    return total;
}

/* The larger of two, or the smaller; a nan of either. */
INLINE double
NAMED(extreme)(double x, double y, int kind)
{
    return x != x || (kind == AS_MAXIMUM ? x > y : x < y) ? x : y;
}

INLINE double
NAMED(extreme_of_stretch)(const REAL *x, ptrdiff_t count, ptrdiff_t each, int kind)
{
    V found = NAMED(all)(*x);
    REAL lanes[LANES];
    ptrdiff_t at = 0;
    for (; each && at + LANES <= count; at += LANES) {
        const V next = NAMED(load)(x + at);
        found = kind == AS_MAXIMUM ? NAMED(do_maximum)(next, found) : NAMED(do_minimum)(next, found);
    }
    NAMED(store)(lanes, found);
    double extreme = (double)lanes[0];
    for (ptrdiff_t lane = 1; lane < LANES; lane++) {
        extreme = NAMED(extreme)((double)lanes[lane], extreme, kind);
    }
    for (; each && at < count; at++) {
        extreme = NAMED(extreme)((double)x[at], extreme, kind);
    }
    return extreme;
}

/* Adds a stretch to totals that lie `step` apart; 0: to one. */
INLINE void
NAMED(add_stretch)(double *to, ptrdiff_t step, const REAL *x, ptrdiff_t each, ptrdiff_t run, int kind)
{
    if (kind != AS_SUM && step == 0) {
        *to = NAMED(extreme)(NAMED(extreme_of_stretch)(x, run, each, kind), *to, kind);
    }
    else if (kind != AS_SUM) {
        for (ptrdiff_t k = 0; k < run; k++) {
            to[k * step] = NAMED(extreme)((double)x[k * each], to[k * step], kind);
        }
    }
    else if (step == 0) {
        *to += NAMED(sum_stretch)(x, run, each);
    }
    else if (step == 1 && each == 1) {
        for (ptrdiff_t k = 0; k < run; k++) {
            to[k] += (double)x[k];
        }
    }
    else {
        for (ptrdiff_t k = 0; k < run; k++) {
            to[k * step] += (double)x[k * each];
        }
    }
}

static void
NAMED(add_up)(const Chain *chain, const Sum *sum, const REAL *x, ptrdiff_t each, ptrdiff_t start, ptrdiff_t count,
              double *totals)
{
    double *total = totals + sum->first;
    if (sum->all) {
        NAMED(add_stretch)(total, 0, x, each, count, sum->kind);
        return;
    }
    const ptrdiff_t step = sum->strides[chain->dims - 1];
    FOR_STRETCHES(chain, start, count, sum->strides,
                  NAMED(add_stretch)(total + where, step, x + at * each, each, run, sum->kind));
}

/* What totals begin with. */
static void
NAMED(begin_sums)(const Chain *chain, double *totals)
{
    memset(totals, 0, (size_t)chain->totals * sizeof *totals);
    for (const Sum *sum = chain->sum; sum < chain->sum + chain->sums; sum++) {
        for (ptrdiff_t at = 0; sum->kind != AS_SUM && at < sum->count; at++) {
            totals[sum->first + at] = sum->kind == AS_MAXIMUM ? -INFINITY : INFINITY;
        }
    }
}

/* ---- chains --------------------------------------------------------------------------------------------------- */

#define ONE(name)                                                         \
    case PRIMITIVE_##name:                                                \
        UNROLLED                                                          \
        for (ptrdiff_t at = 0; at < length; at += LANES, a += step_a) {   \
            NAMED(store)(to + at, NAMED(do_##name)(NAMED(load)(a)));      \
        }                                                                 \
        break;
#define ONE_BY_LIBM(name, function)                \
    case PRIMITIVE_##name:                         \
        for (ptrdiff_t at = 0; at < count; at++) { \
            to[at] = LIBM(function)(a[at]);        \
        }                                          \
        break;
#define TWO(name)                                                                             \
    case PRIMITIVE_##name:                                                                    \
        UNROLLED                                                                              \
        for (ptrdiff_t at = 0; at < length; at += LANES, a += step_a, b += step_b) {          \
            NAMED(store)(to + at, NAMED(do_##name)(NAMED(load)(a), NAMED(load)(b)));          \
        }                                                                                     \
        break;
#define TWO_BY_LIBM(name, function)                                                  \
    case PRIMITIVE_##name:                                                           \
        for (ptrdiff_t at = 0; at < count; at++) {                                   \
            to[at] = LIBM(function)(a[step_a ? at : 0], b[step_b ? at : 0]);         \
        }                                                                            \
        break;

#define THREE(name)                                                                                           \
    case PRIMITIVE_##name:                                                                                    \
        UNROLLED                                                                                              \
        for (ptrdiff_t at = 0; at < length; at += LANES, a += step_a, b += step_b, c += step_c) {             \
            NAMED(store)(to + at, NAMED(do_##name)(NAMED(load)(a), NAMED(load)(b), NAMED(load)(c)));          \
        }                                                                                                     \
        break;

/* One primitive on a block of `count` elements, `length` with what fills the last vector. */
static void
NAMED(compute)(const Step *step, REAL **registers, REAL *to, ptrdiff_t count, ptrdiff_t length)
{
    const REAL *a = registers[step->a], *b = registers[step->b], *c = registers[step->c];
    const ptrdiff_t step_a = step->step_a ? LANES : 0, step_b = step->step_b ? LANES : 0;
    const ptrdiff_t step_c = step->step_c ? LANES : 0;
    switch (step->operation) {
        ONE(negative)
        ONE(absolute)
        ONE_BY_LIBM(sqrt, sqrt)
        ONE(square)
        ONE(reciprocal)
        ONE(exp)
        ONE(tanh)
        ONE(expit)
        ONE(isnan)
        ONE(isinf)
        ONE(isfinite)
        ONE(logical_not)
        ONE(number_of)
        ONE(truth_of)
        ONE_BY_LIBM(floor, floor)
        ONE_BY_LIBM(ceil, ceil)
        ONE_BY_LIBM(trunc, trunc)
        ONE_BY_LIBM(rint, rint)
        ONE_BY_LIBM(log, log)
        ONE_BY_LIBM(log1p, log1p)
        ONE_BY_LIBM(log2, log2)
        ONE_BY_LIBM(log10, log10)
        ONE_BY_LIBM(expm1, expm1)
        ONE_BY_LIBM(exp2, exp2)
        ONE_BY_LIBM(sin, sin)
        ONE_BY_LIBM(cos, cos)
        ONE_BY_LIBM(tan, tan)
        ONE_BY_LIBM(arctan, atan)
        ONE_BY_LIBM(arcsin, asin)
        ONE_BY_LIBM(arccos, acos)
        ONE_BY_LIBM(sinh, sinh)
        ONE_BY_LIBM(cosh, cosh)
        ONE_BY_LIBM(arcsinh, asinh)
        ONE_BY_LIBM(arccosh, acosh)
        ONE_BY_LIBM(arctanh, atanh)
        ONE_BY_LIBM(erf, erf)
        TWO(add)
        TWO(subtract)
        TWO(multiply)
        TWO(divide)
        TWO(maximum)
        TWO(minimum)
        TWO(fmax)
        TWO(fmin)
        TWO(less)
        TWO(less_equal)
        TWO(greater)
        TWO(greater_equal)
        TWO(equal)
        TWO(not_equal)
        TWO(logical_and)
        TWO(logical_or)
        TWO(logical_xor)
        TWO(copysign)
        TWO_BY_LIBM(power, pow)
        TWO_BY_LIBM(arctan2, atan2)
        TWO_BY_LIBM(hypot, hypot)
        TWO_BY_LIBM(fmod, fmod)
        TERNARY_PRIMITIVES(THREE)
    }
}

#undef ONE
#undef ONE_BY_LIBM
#undef TWO
#undef TWO_BY_LIBM
#undef THREE

/* The memory of a register that is not uniform: behind one vector for each of those that are. */
INLINE REAL *
NAMED(register_of)(const Chain *chain, REAL *memory, int number)
{
    return memory + chain->uniform_steps * MOST_LANES + (number - chain->uniform_steps) * chain->block;
}

/* What has the same value everywhere is computed once, in all lanes of one vector. */
static void
NAMED(run_uniform)(const Chain *chain, char *const *bases, REAL **registers, REAL *memory)
{
    for (const Step *step = chain->step; step < chain->step + chain->uniform_steps; step++) {
        REAL *to = registers[step->to] = memory + step->to * MOST_LANES;
        if (step->operation == LOAD) {
            const Place *place = chain->place + step->a;
            NAMED(store)(to, NAMED(all)(0));
            const REAL value = NAMED(read)(bases[place->buffer] + place->offset, place->kind);
            for (ptrdiff_t lane = 0; lane < LANES; lane++) {
                to[lane] = value; /* a truth is bits, which arithmetic would change */
            }
        }
        else if (step->operation == CONSTANT) {
            NAMED(store)(to, NAMED(all)((REAL)chain->constant[step->a]));
        }
        else {
            NAMED(compute)(step, registers, to, LANES, LANES);
        }
    }
}

static void
NAMED(run_block)(const Chain *chain, char *const *bases, REAL **registers, REAL *memory, double *totals,
                 ptrdiff_t start, ptrdiff_t count)
{
    const ptrdiff_t length = (count + LANES - 1) / LANES * LANES;
    const int whole = length == count;
    const Step *end = chain->step + chain->steps;
    for (const Step *step = chain->step + chain->uniform_steps; step < end; step++) {
        if (step->operation == LOAD) {
            const Place *place = chain->place + step->a;
            char *base = bases[place->buffer];
            if (step->direct > !whole) {
                registers[step->to] = (REAL *)(base + place->offset) + start;
            }
            else {
                registers[step->to] = NAMED(register_of)(chain, memory, step->to);
                NAMED(load_block)(chain, place, base, start, count, registers[step->to]);
            }
        }
        else if (step->operation == STORE) {
            const Place *place = chain->place + step->b;
            NAMED(store_block)(chain, place, bases[place->buffer], start, count, registers[step->a], step->step_a);
        }
        else if (step->operation == SUM) {
            NAMED(add_up)(chain, chain->sum + step->b, registers[step->a], step->step_a, start, count, totals);
        }
        else if (step->direct > !whole) {
            const Place *place = chain->place + step[1].b;
            REAL *there = (REAL *)(bases[place->buffer] + place->offset) + start;
            REAL *to = chain->streams ? NAMED(register_of)(chain, memory, step->to) : there;
            NAMED(compute)(step, registers, to, count, length);
            if (chain->streams) {
                NAMED(stream_block)(there, to, count);
            }
            registers[step->to] = to;
            step++;
        }
        else {
            REAL *to = NAMED(register_of)(chain, memory, step->to);
            NAMED(compute)(step, registers, to, count, length);
            registers[step->to] = to;
        }
    }
}

/* The elements from `start` to `stop`; what they add to the sums goes to `totals`. */
static void
NAMED(run_part)(const Chain *chain, char *const *bases, void *memory, double *totals, ptrdiff_t start, ptrdiff_t stop)
{
    REAL *registers[MOST_REGISTERS];
    registers[0] = memory; /* what primitives with fewer operands read nothing of */
    NAMED(begin_sums)(chain, totals);
    if (start < stop) {
        NAMED(run_uniform)(chain, bases, registers, memory);
    }
    for (; start < stop; start += chain->block) {
        const ptrdiff_t left = stop - start;
        NAMED(run_block)(chain, bases, registers, memory, totals, start, left < chain->block ? left : chain->block);
    }
    if (chain->streams) {
        END_OF_STREAMS();
    }
}

/* The sums, of what all parts have added to them. */
static void
NAMED(end_sums)(const Chain *chain, char *const *bases, const double *totals, ptrdiff_t parts)
{
    for (const Sum *sum = chain->sum; sum < chain->sum + chain->sums; sum++) {
        REAL *to = (REAL *)(bases[sum->buffer] + sum->offset);
        for (ptrdiff_t at = sum->first; at < sum->first + sum->count; at++) {
            double total = totals[at];
            for (ptrdiff_t part = 1; part < parts; part++) {
                const double next = totals[part * chain->totals + at];
                total = sum->kind == AS_SUM ? total + next : NAMED(extreme)(next, total, sum->kind);
            }
            *to++ = (REAL)(total * sum->scale);
        }
    }
}

/* ---- small products ------------------------------------------------------------------------------------------- */

/* What the sum of a row begins with, from a column on; `some` of a vector. */
INLINE V
NAMED(begin_row)(const Product *p, const REAL *bias, ptrdiff_t column, ptrdiff_t some)
{
    if (bias == NULL) {
        return NAMED(all)(0);
    }
    if (p->bias.of_column == 0) {
        return NAMED(all)(*bias);
    }
    return some < LANES ? NAMED(load_some)(bias + column, some, 0) : NAMED(load)(bias + column);
}

/* Rows of `b`, of the result and of the bias lie in line. */
INLINE void
NAMED(product_by_rows)(const Product *p, const REAL *a, const REAL *b, const REAL *bias, REAL *out)
{
    for (ptrdiff_t row = 0; row < p->rows; row++, a += p->a.of_row, out += p->result.of_row) {
        for (ptrdiff_t column = 0; column < p->columns; column += LANES) {
            const ptrdiff_t rest = p->columns - column;
            V sum = NAMED(begin_row)(p, bias, column, rest);
            if (rest >= LANES) {
                for (ptrdiff_t k = 0; k < p->inner; k++) {
                    sum += a[k * p->a.of_column] * NAMED(load)(b + k * p->b.of_row + column);
                }
                NAMED(store)(out + column, sum);
                continue;
            }
            for (ptrdiff_t k = 0; k < p->inner; k++) {
                sum += a[k * p->a.of_column] * NAMED(load_some)(b + k * p->b.of_row + column, rest, 0);
            }
            NAMED(store_some)(out + column, sum, rest);
        }
        bias += bias == NULL ? 0 : p->bias.of_row;
    }
}

/* The other way round: the columns of `a`, of the result and of the bias lie in line. */
INLINE void
NAMED(product_by_columns)(const Product *p, const REAL *a, const REAL *b, const REAL *bias, REAL *out)
{
    Product turned = *p;
    turned.rows = p->columns;
    turned.columns = p->rows;
    turned.a.of_row = p->b.of_column;
    turned.a.of_column = p->b.of_row;
    turned.b.of_row = p->a.of_column;
    turned.result.of_row = p->result.of_column;
    turned.bias.of_row = p->bias.of_column;
    turned.bias.of_column = p->bias.of_row;
    NAMED(product_by_rows)(&turned, b, a, bias, out);
}

/* Rows of `a` and columns of `b` lie in line. */
INLINE void
NAMED(product_by_dots)(const Product *p, const REAL *a, const REAL *b, const REAL *bias, REAL *out)
{
    for (ptrdiff_t row = 0; row < p->rows; row++) {
        for (ptrdiff_t column = 0; column < p->columns; column++) {
            const REAL *x = a + row * p->a.of_row, *y = b + column * p->b.of_column;
            V sum = {0};
            ptrdiff_t k = 0;
            for (; k + LANES <= p->inner; k += LANES) {
                sum += NAMED(load)(x + k) * NAMED(load)(y + k);
            }
            if (k < p->inner) {
                sum += NAMED(load_some)(x + k, p->inner - k, 0) * NAMED(load_some)(y + k, p->inner - k, 0);
            }
            const REAL begin = bias == NULL ? 0 : bias[row * p->bias.of_row + column * p->bias.of_column];
            out[row * p->result.of_row + column * p->result.of_column] = begin + (REAL)NAMED(sum_lanes)(sum);
        }
    }
}

INLINE void
NAMED(product_by_elements)(const Product *p, const REAL *a, const REAL *b, const REAL *bias, REAL *out)
{
    for (ptrdiff_t row = 0; row < p->rows; row++) {
        for (ptrdiff_t column = 0; column < p->columns; column++) {
            const REAL *x = a + row * p->a.of_row, *y = b + column * p->b.of_column;
            REAL sum = bias == NULL ? 0 : bias[row * p->bias.of_row + column * p->bias.of_column];
            for (ptrdiff_t k = 0; k < p->inner; k++) {
                sum += x[k * p->a.of_column] * y[k * p->b.of_row];
            }
            out[row * p->result.of_row + column * p->result.of_column] = sum;
        }
    }
}

#define PACKED 512 /* elements of a second matrix that are put in line first */

/* The second matrix is put in line first, for several rows. */
INLINE void
NAMED(product_by_packing)(const Product *p, const REAL *a, const REAL *b, const REAL *bias, REAL *out)
{
    REAL packed[PACKED];
    Product rows = *p;
    for (ptrdiff_t k = 0; k < p->inner; k++) {
        for (ptrdiff_t column = 0; column < p->columns; column++) {
            packed[k * p->columns + column] = b[k * p->b.of_row + column * p->b.of_column];
        }
    }
    rows.b.of_row = p->columns;
    rows.b.of_column = 1;
    NAMED(product_by_rows)(&rows, a, packed, bias, out);
}

static void
NAMED(small_product)(const Product *p, char *const *bases)
{
    const REAL *a = (const REAL *)(bases[p->a.buffer] + p->a.offset), *b = (const REAL *)(bases[p->b.buffer] + p->b.offset);
    const REAL *bias = p->biased ? (const REAL *)(bases[p->bias.buffer] + p->bias.offset) : NULL;
    REAL *out = (REAL *)(bases[p->result.buffer] + p->result.offset);
    const int wide = p->result.of_column == 1 && p->columns > 2 && (!p->biased || p->bias.of_column == 1 || p->bias.of_column == 0);
    const int tall = p->result.of_row == 1 && p->rows > 2 && (!p->biased || p->bias.of_row == 1 || p->bias.of_row == 0);
    for (ptrdiff_t item = 0; item < p->batch; item++) {
        if (wide && p->b.of_column == 1) {
            NAMED(product_by_rows)(p, a, b, bias, out);
        }
        else if (tall && p->a.of_row == 1) {
            NAMED(product_by_columns)(p, a, b, bias, out);
        }
        else if (p->a.of_column == 1 && p->b.of_row == 1 && p->inner >= LANES) {
            NAMED(product_by_dots)(p, a, b, bias, out);
        }
        else if (wide && p->rows > 3 && p->inner * p->columns <= PACKED) {
            NAMED(product_by_packing)(p, a, b, bias, out);
        }
        else {
            NAMED(product_by_elements)(p, a, b, bias, out);
        }
        a += p->a.of_batch;
        b += p->b.of_batch;
        bias += bias == NULL ? 0 : p->bias.of_batch;
        out += p->result.of_batch;
    }
}

/* ---- rows ----------------------------------------------------------------------------------------------------- */

/* Runs `body` for each vector of a row: `some` of its lanes are the row's. */
#define FOR_VECTORS(columns, body)                                             \
    for (ptrdiff_t at = 0; at < (columns); at += LANES) {                      \
        const ptrdiff_t some = (columns) - at < LANES ? (columns) - at : LANES; \
        body;                                                                  \
    }

INLINE V
NAMED(take)(const REAL *from, ptrdiff_t some, REAL rest)
{
    return some == LANES ? NAMED(load)(from) : NAMED(load_some)(from, some, rest);
}

INLINE void
NAMED(put)(REAL *to, V values, ptrdiff_t some)
{
    if (some == LANES) {
        NAMED(store)(to, values);
    }
    else {
        NAMED(store_some)(to, values, some);
    }
}

/* The first lanes, the others 0. */
INLINE V
NAMED(some_of)(V values, ptrdiff_t some)
{
    REAL lanes[LANES];
    NAMED(store)(lanes, values);
    return NAMED(load_some)(lanes, some, 0);
}

INLINE void
NAMED(softmax_row)(const REAL *x, REAL *out, ptrdiff_t columns, int logarithm)
{
    REAL largest = x[0];
    for (ptrdiff_t at = 1; at < columns; at++) { /* a nan is larger than all */
        largest = x[at] != x[at] || x[at] > largest ? x[at] : largest;
    }
    double total = 0;
    FOR_VECTORS(columns, {
        const V shifted = NAMED(take)(x + at, some, -INFINITY) - largest;
        const V raised = NAMED(do_exp)(shifted);
        total += NAMED(sum_lanes)(some == LANES ? raised : NAMED(some_of)(raised, some));
        NAMED(put)(out + at, logarithm ? shifted : raised, some);
    });
    const REAL last = logarithm ? LIBM(log)((REAL)total) : (REAL)total;
    FOR_VECTORS(columns, {
        const V found = NAMED(take)(out + at, some, 0);
        NAMED(put)(out + at, logarithm ? found - last : found / last, some);
    });
}

INLINE void
NAMED(softmax_gradient_row)(const REAL *g, const REAL *y, REAL *out, ptrdiff_t columns, int logarithm)
{
    double total = 0;
    FOR_VECTORS(columns, {
        const V gradient = NAMED(take)(g + at, some, 0);
        total += NAMED(sum_lanes)(logarithm ? gradient : gradient * NAMED(take)(y + at, some, 0));
    });
    const REAL sum = (REAL)total;
    FOR_VECTORS(columns, {
        const V gradient = NAMED(take)(g + at, some, 0);
        const V result = NAMED(take)(y + at, some, 0);
        NAMED(put)(out + at, logarithm ? gradient - NAMED(do_exp)(result) * sum : gradient * result - result * sum, some);
    });
}

static void
NAMED(rows)(const Rows *work, char *const *bases)
{
    const REAL *first = (const REAL *)(bases[work->buffer[0]] + work->offset[0]);
    const REAL *second = (const REAL *)(bases[work->buffer[1]] + work->offset[1]);
    REAL *out = (REAL *)(bases[work->buffer[2]] + work->offset[2]);
    for (ptrdiff_t row = 0; row < work->rows; row++) {
        const ptrdiff_t skip = row * work->columns;
        if (work->function == SOFTMAX || work->function == LOG_SOFTMAX) {
            NAMED(softmax_row)(first + skip, out + skip, work->columns, work->function == LOG_SOFTMAX);
        }
        else {
            NAMED(softmax_gradient_row)(first + skip, second + skip, out + skip, work->columns,
                                        work->function == LOG_SOFTMAX_GRADIENT);
        }
    }
}

#undef FOR_VECTORS
#undef FOR_STRETCHES
