// Attention that keeps no scores: tiles of 64 queries and 64 keys in shared memory.
//
// `REAL` is what is stored, all else is float. `MASK` is the mask's type: truth values say where
// attention may go, numbers are added to the scores. `MOST` is 32, 64 or 128: the width of a head is
// at most that. The threads of a block stand as 16 by 16; each has four rows of a tile, and four of
// its columns or `PER` columns of what a tile adds to. Forward, the largest score so far and the sum
// of exponentials are kept for each query; backward, weights come again from their logarithm.

#ifndef REAL
#define REAL float
#define MASK bool
#define MOST 64
#endif

#define SIDE 64
#define DEEP 32        // how much of a head's width, or of a tile's columns, is in shared memory
#define PADDED 68      // so that neighbours in a column lie in different banks
#define PER (MOST / 16)
#define GROUP (PER < 4 ? PER : 4)
#define UNSEEN ((float)-INFINITE)

struct Lines { // steps from one to the next, in elements; those of a row lie side by side
    index_t batch, head, row;
};
struct Problem { // rows are queries, columns are keys; of one head, all counts fit into an int
    index_t heads, rows, columns, width;
    Lines query, key, value, out, given; // `given` is the gradient of the result
    index_t mask_batch, mask_head, mask_row, mask_column, causal;
};
struct Tile { // what a block works on
    index_t batch, head;
    int first;
};

typedef float Quad[4][4];
typedef float Wide[4][PER];

struct alignas(16) Room {
    float factors[2][DEEP][PADDED]; // parts of two factors, turned; or lines of one, as they lie
    float weights[SIDE][PADDED];
};

__device__ __forceinline__ Tile placed(index_t count, index_t heads) {
    const index_t tiles = (count + SIDE - 1) / SIDE, both = blockIdx.x / tiles;
    Tile found;
    found.batch = both / heads;
    found.head = both % heads;
    found.first = (int)(blockIdx.x % tiles) * SIDE;
    return found;
}

__device__ __forceinline__ const REAL *begin(const REAL *from, Lines lines, Tile place) {
    return from + place.batch * lines.batch + place.head * lines.head;
}

// A part of 64 rows, as columns; what lies outside is zero.
__device__ __forceinline__ void turned(float (*room)[PADDED], const REAL *from, index_t step,
                                       int first, int rows, int across, int width) {
#pragma unroll 4
    for (int k = 0; k < SIDE * DEEP / 256; k++) {
        const int at = threadIdx.x + k * 256, column = at % DEEP, row = at / DEEP;
        const bool inside = first + row < rows && across + column < width;
        room[column][row] =
            inside ? (float)widened(from[(index_t)(first + row) * step + across + column]) : 0.0f;
    }
}

// The products of 64 rows with 64 rows.
__device__ __forceinline__ void multiplied(Quad &sums, Room &room, const REAL *rows, index_t step,
                                           int first, int count, const REAL *others,
                                           index_t other_step, int other_first, int other_count,
                                           int width) {
    const int down = threadIdx.x / 16 * 4, across = threadIdx.x % 16 * 4;
#pragma unroll
    for (int i = 0; i < 4; i++)
#pragma unroll
        for (int j = 0; j < 4; j++)
            sums[i][j] = 0;
    for (int part = 0; part < width; part += DEEP) {
        __syncthreads();
        turned(room.factors[0], rows, step, first, count, part, width);
        turned(room.factors[1], others, other_step, other_first, other_count, part, width);
        __syncthreads();
#pragma unroll 4
        for (int d = 0; d < DEEP; d++) {
            const Pack<float, 4> a = *reinterpret_cast<Pack<float, 4> *>(&room.factors[0][d][down]);
            const Pack<float, 4> b = *reinterpret_cast<Pack<float, 4> *>(&room.factors[1][d][across]);
#pragma unroll
            for (int i = 0; i < 4; i++)
#pragma unroll
                for (int j = 0; j < 4; j++)
                    sums[i][j] += a.at[i] * b.at[j];
        }
    }
}

// Adds the products of the tile of weights with 64 rows.
__device__ __forceinline__ void added(Wide &sums, const Quad &weights, Room &room, const REAL *rows,
                                      index_t step, int first, int count, int width) {
    const int down = threadIdx.x / 16 * 4, across = threadIdx.x % 16;
    float(*lines)[MOST] = reinterpret_cast<float(*)[MOST]>(&room);
#pragma unroll
    for (int i = 0; i < 4; i++)
#pragma unroll
        for (int j = 0; j < 4; j++)
            room.weights[down + i][across * 4 + j] = weights[i][j];
    for (int part = 0; part < SIDE; part += DEEP) {
        __syncthreads();
#pragma unroll 4
        for (int k = 0; k < DEEP * MOST / 256; k++) {
            const int at = threadIdx.x + k * 256, column = at % MOST, row = at / MOST;
            const bool inside = first + part + row < count && column < width;
            lines[row][column] =
                inside ? (float)widened(rows[(index_t)(first + part + row) * step + column]) : 0.0f;
        }
        __syncthreads();
#pragma unroll 1
        for (int j = 0; j < DEEP; j += 4) {
            Pack<float, 4> a[4];
#pragma unroll
            for (int i = 0; i < 4; i++)
                a[i] = *reinterpret_cast<Pack<float, 4> *>(&room.weights[down + i][part + j]);
#pragma unroll
            for (int w = 0; w < 4; w++)
#pragma unroll
                for (int m = 0; m < PER; m += GROUP) {
                    const Pack<float, GROUP> b = *reinterpret_cast<Pack<float, GROUP> *>(
                        &lines[j + w][m * 16 + across * GROUP]);
#pragma unroll
                    for (int i = 0; i < 4; i++)
#pragma unroll
                        for (int n = 0; n < GROUP; n++)
                            sums[i][m + n] += a[i].at[w] * b.at[n];
                }
        }
    }
    __syncthreads(); // before another tile of weights comes
}

__device__ __forceinline__ float masked(float score, bool seen) { return seen ? score : UNSEEN; }
__device__ __forceinline__ float masked(float score, float more) { return score + more; }
__device__ __forceinline__ float masked(float score, float16 more) { return score + widened(more); }
__device__ __forceinline__ float masked(float score, bfloat16 more) { return score + widened(more); }

// A score, scaled and masked; minus infinity where attention may not go.
__device__ __forceinline__ float score(float product, float scale, const MASK *mask, int row,
                                       int column, const Problem &p) {
    if (row >= (int)p.rows || column >= (int)p.columns || (p.causal && column > row))
        return UNSEEN;
    product *= scale;
    if (mask == 0)
        return product;
    return masked(product, mask[row * p.mask_row + column * p.mask_column]);
}

__device__ __forceinline__ const MASK *mask_of(const MASK *mask, const Problem &p, Tile place) {
    return mask == 0 ? mask : mask + place.batch * p.mask_batch + place.head * p.mask_head;
}

__device__ __forceinline__ void kept(REAL *to, Lines lines, Tile place, int rows, int width,
                                     const Wide &sums) {
    to += place.batch * lines.batch + place.head * lines.head;
    const int down = place.first + (int)threadIdx.x / 16 * 4;
#pragma unroll
    for (int i = 0; i < 4; i++)
#pragma unroll
        for (int m = 0; m < PER; m++) {
            const int column = m / GROUP * GROUP * 16 + (int)threadIdx.x % 16 * GROUP + m % GROUP;
            if (down + i < rows && column < width)
                to[(index_t)(down + i) * lines.row + column] = Stored<REAL>::from(sums[i][m]);
        }
}

__device__ __forceinline__ void cleared(Wide &sums) {
#pragma unroll
    for (int i = 0; i < 4; i++)
#pragma unroll
        for (int m = 0; m < PER; m++)
            sums[i][m] = 0;
}

// Over the 16 threads that share rows.
template <typename Do> __device__ __forceinline__ float over_row(float value) {
#pragma unroll
    for (int step = 8; step; step >>= 1)
        value = Do::of(value, __shfl_xor_sync(EVERY, value, step));
    return value;
}

// ---------------------------------------------------------------------------------------- forward

// `totals` gets the logarithm of each query's sum of exponentials; infinity where it sees nothing.
extern "C" __global__ void __launch_bounds__(256, 2)
attention(const REAL *query, const REAL *key, const REAL *value, const MASK *mask, REAL *out,
          float *totals, const double scale, const Problem p) {
    __shared__ Room room;
    const Tile place = placed(p.rows, p.heads);
    const int down = place.first + (int)threadIdx.x / 16 * 4;
    const int across = threadIdx.x % 16 * 4;
    query = begin(query, p.query, place);
    key = begin(key, p.key, place);
    value = begin(value, p.value, place);
    mask = mask_of(mask, p, place);
    Wide sums;
    float largest[4], total[4];
    cleared(sums);
#pragma unroll
    for (int i = 0; i < 4; i++) {
        largest[i] = UNSEEN;
        total[i] = 0;
    }
    const int end = p.causal && place.first + SIDE < p.columns ? place.first + SIDE : p.columns;
    for (int start = 0; start < end; start += SIDE) {
        Quad tile;
        multiplied(tile, room, query, p.query.row, place.first, p.rows, key, p.key.row, start,
                   p.columns, p.width);
#pragma unroll
        for (int i = 0; i < 4; i++) {
            float most = UNSEEN;
#pragma unroll
            for (int j = 0; j < 4; j++) {
                tile[i][j] =
                    score(tile[i][j], (float)scale, mask, down + i, start + across + j, p);
                most = fmaxf(most, tile[i][j]); // a NaN shows in the sum
            }
            most = fmaxf(largest[i], over_row<Largest>(most));
            const float base = most == UNSEEN ? 0.0f : most;
            const float factor = expf(largest[i] - base);
            largest[i] = most;
            float sum = 0;
#pragma unroll
            for (int j = 0; j < 4; j++) {
                tile[i][j] = expf(tile[i][j] - base);
                sum += tile[i][j];
            }
            total[i] = total[i] * factor + over_row<Add>(sum);
#pragma unroll
            for (int m = 0; m < PER; m++)
                sums[i][m] *= factor;
        }
        added(sums, tile, room, value, p.value.row, start, p.columns, p.width);
    }
#pragma unroll
    for (int i = 0; i < 4; i++) {
        const bool empty = total[i] == 0;
        const float share = empty ? 0.0f : __fdiv_rn(1.0f, total[i]);
#pragma unroll
        for (int m = 0; m < PER; m++)
            sums[i][m] *= share;
        if (threadIdx.x % 16 == 0 && down + i < p.rows)
            totals[(place.batch * p.heads + place.head) * p.rows + down + i] =
                empty ? (float)INFINITE : largest[i] + logf(total[i]);
    }
    kept(out, p.out, place, p.rows, p.width, sums);
}

// --------------------------------------------------------------------------------------- backward

// Of each query, the sum of the result times its gradient: a warp for each.
extern "C" __global__ void __launch_bounds__(256)
attention_shares(const REAL *out, const REAL *given, float *shares, const index_t count,
                 const Problem p) {
    const index_t turn = (index_t)gridDim.x * (blockDim.x >> 5);
    for (index_t at = (index_t)blockIdx.x * (blockDim.x >> 5) + (threadIdx.x >> 5); at < count;
         at += turn) {
        const index_t both = at / p.rows, row = at % p.rows;
        const index_t batch = both / p.heads, head = both % p.heads;
        const REAL *a = out + batch * p.out.batch + head * p.out.head + row * p.out.row;
        const REAL *b = given + batch * p.given.batch + head * p.given.head + row * p.given.row;
        float sum = 0;
        for (index_t column = threadIdx.x & 31; column < p.width; column += 32)
            sum += (float)widened(a[column]) * (float)widened(b[column]);
        sum = over_warp<Add>(sum);
        if ((threadIdx.x & 31) == 0)
            shares[at] = sum;
    }
}

// What attention gave, by the logarithms of the sums; nothing where it may not go.
__device__ __forceinline__ float weight(float found, float total) {
    return found == UNSEEN ? 0.0f : expf(found - total);
}

// The gradient of 64 queries; it lies as the result does.
extern "C" __global__ void __launch_bounds__(256, 2)
attention_of_query(const REAL *query, const REAL *key, const REAL *value, const MASK *mask,
                   const REAL *given, const float *totals, const float *shares, REAL *found,
                   const double scale, const Problem p) {
    __shared__ Room room;
    const Tile place = placed(p.rows, p.heads);
    const int down = place.first + (int)threadIdx.x / 16 * 4;
    const int across = threadIdx.x % 16 * 4;
    query = begin(query, p.query, place);
    key = begin(key, p.key, place);
    value = begin(value, p.value, place);
    given = begin(given, p.given, place);
    mask = mask_of(mask, p, place);
    const index_t line = (place.batch * p.heads + place.head) * p.rows;
    Wide sums;
    float total[4], share[4];
    cleared(sums);
#pragma unroll
    for (int i = 0; i < 4; i++) {
        total[i] = down + i < p.rows ? totals[line + down + i] : 0.0f;
        share[i] = down + i < p.rows ? shares[line + down + i] : 0.0f;
    }
    const int end = p.causal && place.first + SIDE < p.columns ? place.first + SIDE : p.columns;
    for (int start = 0; start < end; start += SIDE) {
        Quad tile, slopes;
        multiplied(tile, room, query, p.query.row, place.first, p.rows, key, p.key.row, start,
                   p.columns, p.width);
        multiplied(slopes, room, given, p.given.row, place.first, p.rows, value, p.value.row, start,
                   p.columns, p.width);
#pragma unroll
        for (int i = 0; i < 4; i++)
#pragma unroll
            for (int j = 0; j < 4; j++) {
                const float seen =
                    score(tile[i][j], (float)scale, mask, down + i, start + across + j, p);
                slopes[i][j] = seen == UNSEEN ? 0.0f
                                              : weight(seen, total[i]) *
                                                    (slopes[i][j] - share[i]) * (float)scale;
            }
        added(sums, slopes, room, key, p.key.row, start, p.columns, p.width);
    }
    kept(found, p.out, place, p.rows, p.width, sums);
}

// The gradients of 64 keys and values: rows are keys here, and columns queries.
extern "C" __global__ void __launch_bounds__(256, 2)
attention_of_key(const REAL *query, const REAL *key, const REAL *value, const MASK *mask,
                 const REAL *given, const float *totals, const float *shares, REAL *of_key,
                 REAL *of_value, const double scale, const Problem p, const Lines lines) {
    __shared__ Room room;
    const Tile place = placed(p.columns, p.heads);
    const int down = place.first + (int)threadIdx.x / 16 * 4;
    const int across = threadIdx.x % 16 * 4;
    query = begin(query, p.query, place);
    key = begin(key, p.key, place);
    value = begin(value, p.value, place);
    given = begin(given, p.given, place);
    mask = mask_of(mask, p, place);
    const index_t line = (place.batch * p.heads + place.head) * p.rows;
    Wide for_key, for_value;
    cleared(for_key);
    cleared(for_value);
    for (int start = p.causal ? place.first : 0; start < (int)p.rows; start += SIDE) {
        Quad tile, slopes;
        multiplied(tile, room, key, p.key.row, place.first, p.columns, query, p.query.row, start,
                   p.rows, p.width);
        multiplied(slopes, room, value, p.value.row, place.first, p.columns, given, p.given.row,
                   start, p.rows, p.width);
#pragma unroll
        for (int j = 0; j < 4; j++) {
            const int row = start + across + j;
            const float total = row < p.rows ? totals[line + row] : 0.0f;
            const float share = row < p.rows ? shares[line + row] : 0.0f;
#pragma unroll
            for (int i = 0; i < 4; i++) {
                const float seen = score(tile[i][j], (float)scale, mask, row, down + i, p);
                tile[i][j] = weight(seen, total);
                slopes[i][j] = seen == UNSEEN
                                   ? 0.0f
                                   : tile[i][j] * (slopes[i][j] - share) * (float)scale;
            }
        }
        added(for_value, tile, room, given, p.given.row, start, p.rows, p.width);
        added(for_key, slopes, room, query, p.query.row, start, p.rows, p.width);
    }
    kept(of_key, lines, place, p.columns, p.width, for_key);
    kept(of_value, lines, place, p.columns, p.width, for_value);
}
