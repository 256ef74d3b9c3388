"""What is done elsewhere: export, packing, downloads, quantization, nested tensors."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType

from retrograd.marks import unsupported_class
from retrograd.namespaces.rows import Made, aliases, answers, module, refusals, same, settings

_NO_SCRIPT = "there is no TorchScript; keep the model in Python"
_NO_DOWNLOAD = "nothing is downloaded; fetch the file yourself and read it with torch.load"


def _bar(module: ModuleType) -> object:
    """The progress bar of PyTorch's downloads: that of the package tqdm, where it is installed."""
    try:
        return import_module("tqdm").tqdm
    except ImportError:
        return unsupported_class("torch.hub.tqdm", "it is that of the package tqdm: install tqdm")


module(
    "onnx",
    "Files for other runtimes: nothing is exported here.",
    answers(False, is_in_onnx_export="Whether a model is being exported: no."),
    answers(
        None,
        register_custom_op_symbolic="Say how an operator is exported: nothing is, so nobody asks.",
        unregister_custom_op_symbolic="Take back how an operator is exported: nothing is.",
    ),
    aliases("retrograd.namespaces.errors", "OnnxExporterError errors=onnx_errors"),
    refusals(
        "there is no exporter; keep the weights with torch.save, and export where PyTorch is"
        " installed",
        functions="export",
        classes="ExportableModule InputObserver ONNXProgram",
    ),
)
module(
    "onnx.symbolic_helper",
    "How functions are written into files for other runtimes: nothing is exported here.",
    aliases("retrograd.namespaces.as_written", "parse_args=any_itself quantized_args=any_itself"),
    refusals(
        "there is no exporter; export where PyTorch is installed",
        functions="_get_tensor_sizes _is_none _maybe_get_const _unimplemented",
    ),
)
module(
    "onnx.operators",
    "Functions that an exporter can follow; nothing is exported here.",
    aliases(
        "retrograd.ops.making.compiled_part",
        "shape_as_tensor=_shape_as_tensor reshape_from_tensor_shape=_reshape_from_tensor",
    ),
)
module(
    "onnx.symbolic_opset11",
    "How functions are written into files for other runtimes: nothing is exported here.",
    refusals(
        "there is no exporter; export where PyTorch is installed",
        functions="add cat clamp index_put select squeeze stack topk unsqueeze",
    ),
)
module(
    "export",
    "Models taken out of Python: refused, they run as they are written.",
    refusals(
        "there is no exporter; keep the weights with torch.save(model.state_dict(), file)",
        functions="""
        default_decompositions dims draft_export export load register_dataclass save unflatten
        """,
        classes="""
        AdditionalInputs Constraint CustomDecompTable Dim ExportBackwardSignature
        ExportGraphSignature ExportedProgram FlatArgsAdapter ModuleCallEntry ModuleCallSignature
        ShapesCollection UnflattenedModule
        """,
    ),
)
module(
    "package",
    "Models packed with their code: refused.",
    aliases(
        "retrograd.namespaces.errors",
        "EmptyMatchError ObjMismatchError ObjNotFoundError PackagingError",
    ),
    refusals(
        "code is not packed; keep the model's class in Python, and its weights with torch.save",
        functions="is_from_package",
        classes="Directory GlobGroup Importer OrderedImporter PackageExporter PackageImporter",
    ),
)
module(
    "hub",
    "Models from the network: nothing is downloaded here.",
    aliases("retrograd.namespaces.told", "HASH_REGEX _get_torch_home get_dir set_dir"),
    aliases("urllib.parse", "urlparse"),
    {"tqdm": Made(_bar)},
    settings(
        ENV_TORCH_HOME="TORCH_HOME",
        READ_DATA_CHUNK=128 * 1024,
    ),
    refusals(_NO_DOWNLOAD, "download_url_to_file help list load load_state_dict_from_url"),
)
module(
    "utils.model_zoo",
    "The older name of `torch.hub.load_state_dict_from_url`.",
    refusals(_NO_DOWNLOAD, "load_url"),
    aliases("retrograd.hub", "tqdm"),
)
module(
    "nested",
    "Nested tensors: not there. `nn.utils.rnn` has padding and packing for sequences.",
    refusals(
        "there are no nested tensors; use nn.utils.rnn.pad_sequence or pack_sequence",
        """
        as_nested_tensor masked_select narrow nested_tensor nested_tensor_from_jagged
        to_padded_tensor
        """,
    ),
)
module(
    "monitor",
    "Counters and events of PyTorch itself: refused.",
    refusals(
        "the library does not log events of its own; use Python's logging",
        functions="log_event register_event_handler unregister_event_handler",
        classes="Aggregation Event EventHandlerHandle Stat TensorboardEventHandler",
    ),
)
module(
    "ao", "Models made smaller: what there was to name is in `torch.ao.quantization`, and refuses."
)
module(
    "ao.quantization",
    "Quantized models: refused.",
    refusals(
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
        PlaceholderObserver QConfig QConfigMapping QuantStub QuantType QuantWrapper WeightObserver
        """,
    ),
)
module(
    "quantization",
    "The older place of `torch.ao.quantization`: the same names, refused.",
    same("ao.quantization"),
)
module(
    "utils.bundled_inputs",
    "Models saved with inputs: refused.",
    refusals(
        _NO_SCRIPT,
        functions="""
        augment_many_model_functions_with_bundled_inputs augment_model_with_bundled_inputs
        bundle_inputs bundle_large_tensor bundle_randn
        """,
        classes="InflatableArg",
    ),
)
module(
    "utils.mobile_optimizer",
    "Models for phones: refused.",
    refusals(
        _NO_SCRIPT,
        functions="generate_mobile_module_lints optimize_for_mobile",
        classes="LintCode MobileOptimizerType",
    ),
)
