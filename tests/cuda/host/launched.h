// The kernel KERNEL_NAME of the text above, as Python launches it.
namespace host {
static void **given;
template <int... I> struct Numbers {};
template <typename... P, int... I> static void call(void (*kernel)(P...), Numbers<I...>) {
    kernel(*(P *)given[I]...);
}
template <typename... P> static void call(void (*kernel)(P...)) {
    call(kernel, Numbers<__integer_pack((int)sizeof...(P))...>());
}
template <typename... P> static int count_of(void (*)(P...)) { return sizeof...(P); }
static void one_thread() { call(KERNEL_NAME); }
} // namespace host

extern "C" int arguments() { return host::count_of(KERNEL_NAME); }

// 1: it trapped; 2: threads wait for others that do not come
extern "C" int launched(unsigned blocks, unsigned threads, void **arguments) {
    trapped = 0;
    host::given = arguments;
    gridDim.x = blocks;
    blockDim.x = threads;
    for (blockIdx.x = 0; blockIdx.x < blocks; blockIdx.x++)
        if (!host::run_block(threads))
            return 2;
    return trapped;
}
