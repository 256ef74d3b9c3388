"""The older place of `torch.ao.quantization`: the same names, refused.

Written by ``python -m retrograd.compat.stubs``.
"""
# fmt: off
# ruff: noqa


from retrograd.ao.quantization import DeQuantStub as DeQuantStub
from retrograd.ao.quantization import FakeQuantize as FakeQuantize
from retrograd.ao.quantization import FakeQuantizeBase as FakeQuantizeBase
from retrograd.ao.quantization import HistogramObserver as HistogramObserver
from retrograd.ao.quantization import MinMaxObserver as MinMaxObserver
from retrograd.ao.quantization import MovingAverageMinMaxObserver as MovingAverageMinMaxObserver
from retrograd.ao.quantization import NoopObserver as NoopObserver
from retrograd.ao.quantization import ObserverBase as ObserverBase
from retrograd.ao.quantization import PerChannelMinMaxObserver as PerChannelMinMaxObserver
from retrograd.ao.quantization import PlaceholderObserver as PlaceholderObserver
from retrograd.ao.quantization import QConfig as QConfig
from retrograd.ao.quantization import QConfigMapping as QConfigMapping
from retrograd.ao.quantization import QuantStub as QuantStub
from retrograd.ao.quantization import QuantType as QuantType
from retrograd.ao.quantization import QuantWrapper as QuantWrapper
from retrograd.ao.quantization import WeightObserver as WeightObserver
from retrograd.ao.quantization import add_quant_dequant as add_quant_dequant
from retrograd.ao.quantization import convert as convert
from retrograd.ao.quantization import default_eval_fn as default_eval_fn
from retrograd.ao.quantization import default_histogram_observer as default_histogram_observer
from retrograd.ao.quantization import default_observer as default_observer
from retrograd.ao.quantization import default_per_channel_weight_observer as default_per_channel_weight_observer
from retrograd.ao.quantization import default_weight_observer as default_weight_observer
from retrograd.ao.quantization import fuse_modules as fuse_modules
from retrograd.ao.quantization import get_default_compare_output_module_list as get_default_compare_output_module_list
from retrograd.ao.quantization import get_default_dynamic_quant_module_mappings as get_default_dynamic_quant_module_mappings
from retrograd.ao.quantization import get_default_qat_module_mappings as get_default_qat_module_mappings
from retrograd.ao.quantization import get_default_qat_qconfig as get_default_qat_qconfig
from retrograd.ao.quantization import get_default_qconfig as get_default_qconfig
from retrograd.ao.quantization import get_default_qconfig_propagation_list as get_default_qconfig_propagation_list
from retrograd.ao.quantization import get_default_static_quant_module_mappings as get_default_static_quant_module_mappings
from retrograd.ao.quantization import get_fuser_method as get_fuser_method
from retrograd.ao.quantization import get_quantized_operator as get_quantized_operator
from retrograd.ao.quantization import get_static_quant_module_class as get_static_quant_module_class
from retrograd.ao.quantization import prepare as prepare
from retrograd.ao.quantization import prepare_qat as prepare_qat
from retrograd.ao.quantization import propagate_qconfig_ as propagate_qconfig_
from retrograd.ao.quantization import quantize as quantize
from retrograd.ao.quantization import quantize_dynamic as quantize_dynamic
from retrograd.ao.quantization import quantize_dynamic_jit as quantize_dynamic_jit
from retrograd.ao.quantization import quantize_jit as quantize_jit
from retrograd.ao.quantization import quantize_qat as quantize_qat
from retrograd.ao.quantization import swap_module as swap_module
