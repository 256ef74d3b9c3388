"""Quantized models: refused."""

from typing import Any

from retrograd.compat.marks import refusing
from retrograd.namespaces import missing

_REFUSED = refusing(
    "torch.ao.quantization",
    "there are no quantized tensors; compute in float32, or quantize elsewhere",
    functions="""
        add_quant_dequant convert default_eval_fn fuse_modules
        get_default_compare_output_module_list get_default_dynamic_quant_module_mappings
        get_default_qat_module_mappings get_default_qconfig get_default_qat_qconfig
        get_default_qconfig_propagation_list get_default_static_quant_module_mappings
        get_fuser_method get_quantized_operator get_static_quant_module_class prepare
        prepare_qat propagate_qconfig_ quantize quantize_dynamic quantize_dynamic_jit
        quantize_jit quantize_qat swap_module default_observer default_weight_observer
        default_histogram_observer default_per_channel_weight_observer
        """,
    classes="""
        DeQuantStub FakeQuantize FakeQuantizeBase HistogramObserver MinMaxObserver
        MovingAverageMinMaxObserver NoopObserver ObserverBase PerChannelMinMaxObserver
        PlaceholderObserver QConfig QConfigMapping QuantStub QuantType QuantWrapper
        WeightObserver
        """,
)
globals().update(_REFUSED)


def __getattr__(name: str) -> Any:
    raise missing(__name__, name, globals())
