/* See axes.h. */
#include "axes.h"

#include <stdlib.h>
#include <string.h>

ptrdiff_t
window_count(const Dimension *dimension)
{
    const ptrdiff_t room = dimension->size + 2 * dimension->padding - dimension->dilation * (dimension->kernel - 1) - 1;
    return room < 0 ? 0 : room / dimension->stride + 1;
}

void
free_axis(Axis *axis)
{
    free(axis->tap_weight); /* the other tables lie behind it */
}

/* Tables for `taps` taps and `slots` slots in one piece of memory. */
static int
allocate_tables(Axis *axis, ptrdiff_t taps, ptrdiff_t slots)
{
    axis->tap_weight = calloc(3 * taps + slots + 1, sizeof(ptrdiff_t));
    axis->tap_slot = axis->tap_weight + taps;
    axis->tap_shift = axis->tap_slot + taps;
    axis->slot_start = axis->tap_shift + taps;
    return axis->tap_weight == NULL ? -1 : 0;
}

int
forward_axis(const Dimension *dimension, Axis *axis)
{
    *axis = (Axis){.count = dimension->count, .taps = dimension->kernel, .step = dimension->stride,
                   .source = dimension->size, .result = dimension->count, .result_step = 1};
    const ptrdiff_t most = dimension->stride < dimension->kernel ? dimension->stride : dimension->kernel;
    if (allocate_tables(axis, dimension->kernel, most) < 0) {
        return -1;
    }
    for (ptrdiff_t tap = 0; tap < dimension->kernel; tap++) {
        const ptrdiff_t place = tap * dimension->dilation;
        const ptrdiff_t start = place % dimension->stride - dimension->padding;
        ptrdiff_t slot = 0;
        while (slot < axis->slots && axis->slot_start[slot] != start) {
            slot++;
        }
        if (slot == axis->slots) {
            axis->slot_start[axis->slots++] = start;
        }
        axis->tap_weight[tap] = tap;
        axis->tap_slot[tap] = slot;
        axis->tap_shift[tap] = place / dimension->stride;
    }
    axis->length = dimension->count + (dimension->kernel - 1) * dimension->dilation / dimension->stride;
    return 0;
}

int
backward_axis(const Dimension *dimension, ptrdiff_t phase, Axis *axis)
{
    const ptrdiff_t stride = dimension->stride, before = dimension->padding - phase;
    /* the first element of the phase is number `first` of those that a window could start at */
    const ptrdiff_t first = before > 0 ? (before + stride - 1) / stride : 0;
    const ptrdiff_t start = first * stride - before, after = dimension->size - start;
    *axis = (Axis){.count = after > 0 ? (after + stride - 1) / stride : 0, .step = 1, .slots = 1,
                   .source = dimension->count, .result = dimension->size, .result_first = start,
                   .result_step = stride};
    if (allocate_tables(axis, dimension->kernel, 1) < 0) {
        return -1;
    }
    /* element i = place * stride + phase - padding meets tap t in window place + (phase - t * dilation) / stride */
    ptrdiff_t last = 0;
    for (ptrdiff_t tap = dimension->kernel - 1; tap >= 0; tap--) {
        const ptrdiff_t place = tap * dimension->dilation;
        if (place % stride != phase) {
            continue;
        }
        const ptrdiff_t shift = (phase - place) / stride;
        if (axis->taps == 0) {
            axis->slot_start[0] = first + shift;
            last = shift;
        }
        axis->tap_weight[axis->taps] = tap;
        axis->tap_shift[axis->taps] = shift - last;
        axis->taps++;
    }
    axis->length = axis->count + (axis->taps ? axis->tap_shift[axis->taps - 1] : 0);
    return 0;
}
