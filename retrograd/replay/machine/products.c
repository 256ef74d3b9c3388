/* Products by the BLAS that NumPy has loaded: its symbol is private, so it is looked up and tried before it is used. */
#include "machine.h"

#include <string.h>

#if defined(__unix__) || defined(__APPLE__)
#include <dlfcn.h>
#define CAN_LOOK_UP 1
#endif

enum { ROW_MAJOR = 101, PLAIN = 111, TRANSPOSED = 112 };

/* cblas_?gemm with integers of 64 bits, and of 32. */
#define GEMM(integer, real)                                                                                          \
    void (*)(int, int, int, integer, integer, integer, real, const real *, integer, const real *, integer, real,    \
             real *, integer)

typedef struct {
    void *function[2]; /* of float, of double */
    int wide;          /* integers of 64 bits */
} Blas;

static Blas blas;

/* How a matrix is handed over: as it is or transposed, and the distance of its rows (columns). */
typedef struct {
    int way;
    ptrdiff_t distance;
} Form;

static ptrdiff_t
at_least(ptrdiff_t value, ptrdiff_t least)
{
    return value > least ? value : least;
}

static Form
form_of(const Matrix *matrix, ptrdiff_t rows, ptrdiff_t columns)
{
    if (matrix->of_column == 1 || columns == 1) {
        return (Form){PLAIN, rows == 1 ? columns : at_least(matrix->of_row, columns)};
    }
    return (Form){TRANSPOSED, columns == 1 ? rows : at_least(matrix->of_column, rows)};
}

#define CALL(integer, real, product, a, b, out)                                                                      \
    ((GEMM(integer, real))found.function[sizeof(real) == sizeof(double)])(                                           \
        ROW_MAJOR, of_a.way, of_b.way, (integer)(product)->rows, (integer)(product)->columns,                        \
        (integer)(product)->inner, (real)1, (const real *)(a), (integer)of_a.distance, (const real *)(b),            \
        (integer)of_b.distance, (real)0, (real *)(out), (integer)of_result.distance)

static void
run_with(Blas found, const Product *product, int number, char *const *bases)
{
    const Form of_a = form_of(&product->a, product->rows, product->inner);
    const Form of_b = form_of(&product->b, product->inner, product->columns);
    const Form of_result = form_of(&product->result, product->rows, product->columns);
    const ptrdiff_t size = number ? sizeof(double) : sizeof(float);
    const char *a = bases[product->a.buffer] + product->a.offset, *b = bases[product->b.buffer] + product->b.offset;
    char *out = bases[product->result.buffer] + product->result.offset;
    for (ptrdiff_t item = 0; item < product->batch; item++) {
        if (found.wide && number) {
            CALL(int64_t, double, product, a, b, out);
        }
        else if (found.wide) {
            CALL(int64_t, float, product, a, b, out);
        }
        else if (number) {
            CALL(int, double, product, a, b, out);
        }
        else {
            CALL(int, float, product, a, b, out);
        }
        a += product->a.of_batch * size;
        b += product->b.of_batch * size;
        out += product->result.of_batch * size;
    }
}

void
blas_product(const Product *product, int number, char *const *bases)
{
    run_with(blas, product, number, bases);
}

int
has_blas(void)
{
    return blas.function[0] != NULL;
}

/* Whether a function computes [[1, 2, 3], [4, 5, 6]] @ [[7, 8], [9, 10], [11, 12]], the second given by columns. */
static int
computes(Blas found, int number)
{
    float a[6] = {1, 2, 3, 4, 5, 6}, b[6] = {7, 9, 11, 8, 10, 12}, out[4] = {0};
    double wide_a[6] = {1, 2, 3, 4, 5, 6}, wide_b[6] = {7, 9, 11, 8, 10, 12}, wide_out[4] = {0};
    char *floats[3] = {(char *)a, (char *)b, (char *)out}, *doubles[3] = {(char *)wide_a, (char *)wide_b, (char *)wide_out};
    const Product product = {.batch = 1, .rows = 2, .columns = 2, .inner = 3, .a = {0, 0, 0, 3, 1},
                             .b = {1, 0, 0, 1, 3}, .result = {2, 0, 0, 2, 1}};
    run_with(found, &product, number, number ? doubles : floats);
    for (int at = 0; at < 4; at++) {
        const double wanted[4] = {58, 64, 139, 154};
        if ((number ? wide_out[at] : (double)out[at]) != wanted[at]) {
            return 0;
        }
    }
    return 1;
}

/* Look for the functions in a library that is loaded, and in those that it needs. */
int
find_blas(const char *library)
{
#ifdef CAN_LOOK_UP
    static const char *const names[][2] = {
        {"scipy_cblas_sgemm64_", "scipy_cblas_dgemm64_"},
        {"cblas_sgemm64_", "cblas_dgemm64_"},
        {"cblas_sgemm", "cblas_dgemm"},
    };
    void *handle = dlopen(library, RTLD_LAZY | RTLD_NOLOAD);
    for (int each = 0; handle != NULL && each < 3; each++) {
        const Blas found = {{dlsym(handle, names[each][0]), dlsym(handle, names[each][1])}, each < 2};
        if (found.function[0] != NULL && found.function[1] != NULL && computes(found, 0) && computes(found, 1)) {
            blas = found;
            return 1;
        }
    }
#else
    (void)library;
#endif
    return 0;
}
