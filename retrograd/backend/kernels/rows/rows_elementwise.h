/* Written by `python -m retrograd.replay.elementwise_loops` from the kernels of the ops. */

/* relu */
static void
NAMED(relu)(const ElementWork *work, ptrdiff_t start, ptrdiff_t stop)
{
    FOR_ELEMENTS(
        const V v0 = READ(0);
        const V v1 = NAMED(do_maximum)(NAMED(all)((REAL)0.0), v0);
        KEEP(v1);
    );
}

/* leaky_relu */
static void
NAMED(leaky_relu)(const ElementWork *work, ptrdiff_t start, ptrdiff_t stop)
{
    const V number_0 = NAMED(all)((REAL)work->numbers[0]);
    FOR_ELEMENTS(
        const V v0 = READ(0);
        const V v1 = NAMED(do_greater)(v0, NAMED(all)((REAL)0.0));
        const V v2 = NAMED(do_multiply)(v0, number_0);
        const V v3 = NAMED(do_where)(v1, v0, v2);
        KEEP(v3);
    );
}

/* clamp */
static void
NAMED(limited)(const ElementWork *work, ptrdiff_t start, ptrdiff_t stop)
{
    const V number_0 = NAMED(all)((REAL)work->numbers[0]);
    const V number_1 = NAMED(all)((REAL)work->numbers[1]);
    FOR_ELEMENTS(
        const V v0 = READ(0);
        const V v1 = NAMED(do_maximum)(number_0, v0);
        const V v2 = NAMED(do_minimum)(number_1, v1);
        KEEP(v2);
    );
}

/* xp.maximum */
static void
NAMED(not_below)(const ElementWork *work, ptrdiff_t start, ptrdiff_t stop)
{
    const V number_0 = NAMED(all)((REAL)work->numbers[0]);
    FOR_ELEMENTS(
        const V v0 = READ(0);
        const V v1 = NAMED(do_maximum)(number_0, v0);
        KEEP(v1);
    );
}

/* xp.minimum */
static void
NAMED(not_above)(const ElementWork *work, ptrdiff_t start, ptrdiff_t stop)
{
    const V number_0 = NAMED(all)((REAL)work->numbers[0]);
    FOR_ELEMENTS(
        const V v0 = READ(0);
        const V v1 = NAMED(do_minimum)(number_0, v0);
        KEEP(v1);
    );
}

/* _hardtanh_gradient */
static void
NAMED(limited_gradient)(const ElementWork *work, ptrdiff_t start, ptrdiff_t stop)
{
    const V number_0 = NAMED(all)((REAL)work->numbers[0]);
    const V number_1 = NAMED(all)((REAL)work->numbers[1]);
    FOR_ELEMENTS(
        const V v0 = READ(0);
        const V v1 = READ(1);
        const V v2 = NAMED(do_less_equal)(v1, number_0);
        const V v3 = NAMED(do_greater_equal)(v1, number_1);
        const V v4 = NAMED(do_logical_or)(v2, v3);
        const V v5 = NAMED(do_logical_not)(v4);
        const V v6 = NAMED(do_where)(v5, v0, NAMED(all)((REAL)0.0));
        KEEP(v6);
    );
}

/* hardswish */
static void
NAMED(hardswish)(const ElementWork *work, ptrdiff_t start, ptrdiff_t stop)
{
    FOR_ELEMENTS(
        const V v0 = READ(0);
        const V v1 = NAMED(do_add)(v0, NAMED(all)((REAL)3.0));
        const V v2 = NAMED(do_maximum)(v1, NAMED(all)((REAL)0.0));
        const V v3 = NAMED(do_minimum)(v2, NAMED(all)((REAL)6.0));
        const V v4 = NAMED(do_multiply)(v0, v3);
        const V v5 = NAMED(do_divide)(v4, NAMED(all)((REAL)6.0));
        KEEP(v5);
    );
}

/* hardsigmoid */
static void
NAMED(hardsigmoid)(const ElementWork *work, ptrdiff_t start, ptrdiff_t stop)
{
    FOR_ELEMENTS(
        const V v0 = READ(0);
        const V v1 = NAMED(do_add)(v0, NAMED(all)((REAL)3.0));
        const V v2 = NAMED(do_maximum)(v1, NAMED(all)((REAL)0.0));
        const V v3 = NAMED(do_minimum)(v2, NAMED(all)((REAL)6.0));
        const V v4 = NAMED(do_divide)(v3, NAMED(all)((REAL)6.0));
        KEEP(v4);
    );
}

/* xp.where */
static void
NAMED(chosen)(const ElementWork *work, ptrdiff_t start, ptrdiff_t stop)
{
    FOR_ELEMENTS(
        const V v0 = READ_TRUTH(0);
        const V v1 = READ(1);
        const V v2 = READ(2);
        const V v3 = NAMED(do_where)(v0, v1, v2);
        KEEP(v3);
    );
}

/* xp.where */
static void
NAMED(chosen_or_number)(const ElementWork *work, ptrdiff_t start, ptrdiff_t stop)
{
    const V number_0 = NAMED(all)((REAL)work->numbers[0]);
    FOR_ELEMENTS(
        const V v0 = READ_TRUTH(0);
        const V v1 = READ(1);
        const V v2 = NAMED(do_where)(v0, v1, number_0);
        KEEP(v2);
    );
}

/* xp.where */
static void
NAMED(number_or_chosen)(const ElementWork *work, ptrdiff_t start, ptrdiff_t stop)
{
    const V number_0 = NAMED(all)((REAL)work->numbers[0]);
    FOR_ELEMENTS(
        const V v0 = READ_TRUTH(0);
        const V v1 = READ(1);
        const V v2 = NAMED(do_where)(v0, number_0, v1);
        KEEP(v2);
    );
}

/* mse_loss */
static void
NAMED(squared_error)(const ElementWork *work, ptrdiff_t start, ptrdiff_t stop)
{
    FOR_ELEMENTS(
        const V v0 = READ(0);
        const V v1 = READ(1);
        const V v2 = NAMED(do_subtract)(v0, v1);
        const V v3 = NAMED(do_multiply)(v2, v2);
        KEEP(v3);
    );
}
