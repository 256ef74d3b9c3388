// The threads of a block, taken in turns by one thread of the system: each runs until it waits for
// others at a barrier, and each warp until it waits for others. Every second turn goes backwards, so
// that a thread that goes on without the barrier that it needs is now too early and now too late.
#include <setjmp.h>
#include <sys/mman.h>
#include <ucontext.h>

namespace host {
enum { MOST_THREADS = 1024, WARP = 32, STACK = 1 << 18, GUARD = 1 << 12 };

struct Barrier { unsigned expected, arrived, passed; };
static Barrier whole, warps[MOST_THREADS / WARP];

// A stack, and how far the thread is that runs on it. One that is done leaves it to the next.
struct Stack { ucontext_t begins; jmp_buf goes_on; bool begun; Stack *next; };
struct Thread { Stack *stack; Barrier *at; unsigned before; bool begun, over; };
static Thread block[MOST_THREADS], *running;
static Stack *unused;
static jmp_buf taking_turns;

static void one_thread(); // calls the kernel

static void runs_threads() {
    for (;;) {
        one_thread();
        running->over = true;
        running->stack->next = unused;
        unused = running->stack;
        if (!_setjmp(running->stack->goes_on))
            _longjmp(taking_turns, 1);
    }
}

static Stack *a_stack() {
    Stack *found = unused;
    if (found) {
        unused = found->next;
        return found;
    }
    found = (Stack *)calloc(1, sizeof(Stack));
    char *memory = (char *)mmap(nullptr, STACK, PROT_READ | PROT_WRITE,
                                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (!found || memory == MAP_FAILED || mprotect(memory, GUARD, PROT_NONE) || getcontext(&found->begins))
        __builtin_trap();
    found->begins.uc_stack.ss_sp = memory;
    found->begins.uc_stack.ss_size = STACK;
    found->begins.uc_link = nullptr;
    makecontext(&found->begins, runs_threads, 0);
    return found;
}

static void go_on(unsigned number) {
    running = &block[number];
    running->at = nullptr;
    threadIdx.x = number;
    if (_setjmp(taking_turns))
        return;
    if (!running->begun) {
        running->begun = true;
        running->stack = a_stack();
        if (!running->stack->begun) {
            running->stack->begun = true;
            setcontext(&running->stack->begins);
        }
    }
    _longjmp(running->stack->goes_on, 1);
}

static void wait_at(Barrier &barrier) {
    if (++barrier.arrived == barrier.expected) {
        barrier.arrived = 0;
        barrier.passed++;
        return;
    }
    running->at = &barrier;
    running->before = barrier.passed;
    if (!_setjmp(running->stack->goes_on))
        _longjmp(taking_turns, 1);
}

static bool can_go_on(const Thread &thread) {
    return !thread.over && (!thread.at || thread.at->passed != thread.before);
}

// How often a thread of a warp went on, until all have ended or wait for other warps.
static unsigned run_warp(unsigned first, unsigned last, bool forwards) {
    for (unsigned moves = 0;;) {
        unsigned before = moves;
        for (unsigned turn = 0; turn < last - first; turn++) {
            unsigned number = forwards ? first + turn : last - 1 - turn;
            if (can_go_on(block[number])) {
                go_on(number);
                moves++;
            }
        }
        if (moves == before)
            return moves;
    }
}

// False if all that are left wait, and none comes.
static bool run_block(unsigned threads) {
    whole = Barrier{threads, 0, 0};
    unsigned count = (threads + WARP - 1) / WARP;
    for (unsigned warp = 0; warp < count; warp++)
        warps[warp] = Barrier{min<unsigned>(WARP, threads - warp * WARP), 0, 0};
    for (unsigned number = 0; number < threads; number++)
        block[number] = Thread();
    for (bool forwards = true;; forwards = !forwards) {
        unsigned moves = 0;
        for (unsigned turn = 0; turn < count; turn++) {
            unsigned warp = forwards ? turn : count - 1 - turn;
            moves += run_warp(warp * WARP, min<unsigned>(threads, (warp + 1) * WARP), forwards);
        }
        if (!moves)
            break;
    }
    for (unsigned number = 0; number < threads; number++)
        if (!block[number].over)
            return false;
    return true;
}

static long long slots[MOST_THREADS];
} // namespace host

static inline void __syncthreads() { host::wait_at(host::whole); }
static inline void __syncwarp() { host::wait_at(host::warps[threadIdx.x / host::WARP]); }

template <typename T> static T exchanged(T value, unsigned from) {
    memcpy(&host::slots[threadIdx.x], &value, sizeof(T));
    __syncwarp();
    memcpy(&value, &host::slots[(threadIdx.x & ~31u) | (from & 31u)], sizeof(T));
    __syncwarp();
    return value;
}
template <typename T> static T __shfl_xor_sync(unsigned, T value, int step) {
    return exchanged(value, threadIdx.x ^ step);
}
template <typename T> static T __shfl_sync(unsigned, T value, int lane) {
    return exchanged(value, lane);
}
template <typename T, typename V> static T atomicAdd(T *place, V value) {
    T before = *place;
    *place = before + value;
    return before;
}
template <typename T> static T atomicCAS(T *place, T expected, T value) {
    T before = *place;
    if (before == expected)
        *place = value;
    return before;
}
