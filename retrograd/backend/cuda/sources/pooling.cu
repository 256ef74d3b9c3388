// Maximum pooling over two dimensions, and the sum of gradients into the places that were chosen.
//
// Among equals the first counts, a NaN counts as larger than every number (the last of several), and
// padding is never chosen: as `backend.neutral.pooling` has it.

#ifndef REAL
#define REAL float
#define WIDE float
#endif

struct Window { // of one dimension
    index_t size, count, length, stride, padding, dilation;
};

// Where a window begins and ends inside of the input.
__device__ __forceinline__ void inside(const Window &w, int at, int &begin, int &end) {
    begin = at * (int)w.stride - (int)w.padding;
    end = begin + ((int)w.length - 1) * (int)w.dilation + 1;
    if (begin < 0)
        begin += (-begin + (int)w.dilation - 1) / (int)w.dilation * (int)w.dilation;
    if (end > (int)w.size)
        end = (int)w.size;
}

extern "C" __global__ void __launch_bounds__(256)
max_pool(const REAL *__restrict__ in, REAL *__restrict__ out, index_t *__restrict__ places,
         const index_t count, const Window rows, const Window columns) {
    const index_t turn = (index_t)gridDim.x * blockDim.x;
    for (index_t i = (index_t)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += turn) {
        const int column = (int)(i % columns.count);
        const index_t rest = i / columns.count;
        const int row = (int)(rest % rows.count);
        const REAL *plane = in + rest / rows.count * rows.size * columns.size;
        int top, bottom, left, right;
        inside(rows, row, top, bottom);
        inside(columns, column, left, right);
        WIDE largest = (WIDE)-INFINITE;
        index_t place = (index_t)top * columns.size + left;
        for (int y = top; y < bottom; y += (int)rows.dilation)
            for (int x = left; x < right; x += (int)columns.dilation) {
                const index_t at = (index_t)y * columns.size + x;
                const WIDE value = widened(plane[at]);
                if (value > largest || value != value) {
                    largest = value;
                    place = at;
                }
            }
        out[i] = Stored<REAL>::from(largest);
        places[i] = place;
    }
}

// Each block of `many` elements belongs to a plane of `size`; windows that overlap add in no
// certain order.
extern "C" __global__ void __launch_bounds__(256)
add_places(const REAL *__restrict__ g, const index_t *__restrict__ places, WIDE *__restrict__ to,
           const index_t count, const index_t many, const index_t size) {
    const index_t turn = (index_t)gridDim.x * blockDim.x;
    for (index_t i = (index_t)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += turn)
        atomicAdd(&to[i / many * size + places[i]], (WIDE)widened(g[i]));
}
