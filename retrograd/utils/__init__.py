"""Utilities: checkpointing, data loading."""

from retrograd.namespaces import on_first_use

__all__, __getattr__, __dir__ = on_first_use(
    __name__,
    {"swapping": "swap_tensors"},
    modules="""
        _foreach_utils _pytree backcompat benchmark bundled_inputs checkpoint collect_env
        cpp_extension data deterministic dlpack flop_counter hooks mobile_optimizer model_zoo
        throughput_benchmark
    """,
)
