"""PyTorch's compilers, as seen from a program that runs as it is written: they change nothing.

>>> import retrograd as torch
>>> torch.compiler.is_compiling()
False
>>> with torch._dynamo.config.patch(suppress_errors=True):
...     torch._dynamo.config.suppress_errors
True
>>> torch._inductor.config.coordinate_descent_tuning = True
>>> torch._inductor.config.coordinate_descent_tuning
True
"""

from __future__ import annotations

from retrograd.namespaces.rows import (
    TABLE,
    Group,
    aliases,
    answers,
    module,
    more,
    patch,
    refusals,
    same,
    settings,
)

_WHY = "there is no compiler; call the model or function itself"
_AS_WRITTEN = "retrograd.namespaces.as_written"

module(
    "_dynamo",
    "Switches of PyTorch's compiler: there is none, and functions run as they are written.",
    answers(False, is_compiling="Whether a function is being compiled: no."),
    answers(
        None,
        graph_break="Leave the compiled graph here: there is none.",
        reset="Forget what was compiled: nothing was.",
        **dict.fromkeys(
            ("mark_dynamic", "mark_static", "mark_static_address", "maybe_mark_dynamic"),
            "Say how a tensor's sizes are to be compiled: nothing is compiled.",
        ),
    ),
    answers(list[str], list_backends="The compilers that can be chosen: none."),
    aliases(
        _AS_WRITTEN,
        """
        allow_in_graph=itself assume_constant_result=itself disable disallow_in_graph=itself
        dont_skip_tracing=itself error_on_graph_break forbid_in_graph=itself nonstrict_trace=itself
        optimize optimize_assert=optimize run=decorated set_stance
        """,
    ),
    aliases("retrograd.nn.optimized", "OptimizedModule"),
    refusals(_WHY, "explain export lookup_backend replay"),
)
module(
    "_dynamo.config",
    "Settings of PyTorch's compiler. They can be set and read, and change nothing here.",
    settings(
        accumulated_cache_size_limit=256,
        accumulated_recompile_limit=256,
        allow_unspec_int_on_nn_module=False,
        assume_static_by_default=True,
        automatic_dynamic_shapes=True,
        cache_size_limit=8,
        capture_dynamic_output_shape_ops=False,
        capture_scalar_outputs=False,
        compiled_autograd=False,
        disable=False,
        dynamic_shapes=True,
        error_on_recompile=False,
        force_parameter_static_shapes=True,
        guard_nn_modules=True,
        inline_inbuilt_nn_modules=True,
        optimize_ddp=True,
        recompile_limit=8,
        repro_after=str | None,
        specialize_float=False,
        specialize_int=False,
        suppress_errors=False,
        verbose=False,
    ),
    patch(),
)
module(
    "_dynamo.eval_frame",
    "The module of PyTorch's compiler whose class tells compiled models from others.",
    aliases("retrograd.nn.optimized", "OptimizedModule"),
    answers(False, is_dynamo_supported="Whether models can be compiled here: no."),
)
module(
    "_dynamo.utils",
    "Helpers of PyTorch's compiler: there is none.",
    answers(False, is_compile_supported="Whether models can be compiled for a device: no."),
)
module(
    "_custom_ops",
    "The older place of `torch.library`'s operators.",
    aliases("retrograd.library", "impl_abstract=register_fake"),
    refusals(
        "this older way of defining operators was replaced by torch.library.custom_op",
        "custom_op get_ctx impl impl_backward impl_save_for_backward",
    ),
)
module(
    "_inductor",
    "The place of PyTorch's code generator: only its settings, which change nothing here.",
)
module(
    "_inductor.config",
    "Settings of PyTorch's code generator. They can be set and read, and change nothing here.",
    settings(
        coordinate_descent_tuning=False,
        debug=False,
        epilogue_fusion=True,
        force_fuse_int_mm_with_mul=False,
        fx_graph_cache=True,
        max_autotune=False,
        shape_padding=True,
        cpp=Group(),
        cuda=Group(),
        trace=Group(),
        triton=Group(),
    ),
    patch(),
)
module(
    "compiler",
    "PyTorch's compiler, as seen from a program that runs as it is written: it changes nothing.",
    answers(
        False,
        is_compiling="Whether a function is being compiled: no.",
        is_dynamo_compiling="Whether a function is being compiled: no.",
        is_exporting="Whether a model is being exported: no.",
        set_enable_guard_collectives="Note a setting; returns False, as it was.",
    ),
    answers(
        None,
        cudagraph_mark_step_begin="Say that a step begins: without a compiler nobody asks.",
        reset="Forget what was compiled: nothing was.",
    ),
    answers(
        tuple[bytes, object] | None,
        save_cache_artifacts="What was compiled, for another process: nothing was, so None.",
    ),
    answers(list[str], list_backends="The compilers that can be chosen: none."),
    aliases(
        _AS_WRITTEN,
        """
        allow_in_graph=itself assume_constant_result=itself disable
        nested_compile_region=decorated set_stance substitute_in_graph
        """,
    ),
    aliases("retrograd.settings", "compile"),
    aliases("retrograd.namespaces.told", "get_default_backend set_default_backend"),
    refusals(
        _WHY,
        """
        keep_portable_guards_unsafe keep_tensor_guards_unsafe load_cache_artifacts
        load_compiled_function skip_all_guards_unsafe skip_guard_on_all_nn_modules_unsafe
        skip_guard_on_globals_unsafe skip_guard_on_inbuilt_nn_modules_unsafe wrap_numpy
        """,
    ),
)
module(
    "compiler.config",
    "Settings of the compiler. They can be set and read, and change nothing here.",
    settings(
        dynamic_shapes=True,
        dynamic_sources="",
        force_disable_caches=False,
        job_id=str | None,
        unbacked_sources="",
    ),
    patch(),
)
module(
    "fx",
    "Graphs taken from Python code: there are none, models run as they are written.",
    aliases(_AS_WRITTEN, "has_side_effect=itself wrap=itself"),
    refusals(
        _WHY,
        functions="map_arg replace_pattern symbolic_trace",
        classes="Graph GraphModule Interpreter Node Proxy Tracer Transformer",
    ),
)
_GRAPHS = "Graphs taken from Python code, under the name of PyTorch's module: there are none."
for _name, _names in {
    "graph": "Graph",
    "graph_module": "GraphModule",
    "interpreter": "Interpreter Transformer",
    "node": "Node map_arg has_side_effect",
    "proxy": "Proxy",
    "_symbolic_trace": "Tracer symbolic_trace wrap",
}.items():
    module(f"fx.{_name}", _GRAPHS, aliases("retrograd.fx", _names))
TABLE["fx.graph_module"].rows.update(
    settings(_USER_PRESERVED_ATTRIBUTES_KEY="_user_preserved_attributes")
    | refusals(_WHY, "_copy_attr", "_CodeOnlyModule")
)
TABLE["fx.node"].rows.update(settings(Argument=object, Target=object))
TABLE["fx.proxy"].rows.update(
    refusals(_WHY, classes="Attribute GraphAppendingTracer ParameterProxy TraceError TracerBase")
)
TABLE["fx._symbolic_trace"].rows.update(
    answers(
        False,
        is_fx_tracing="Whether a graph is being taken: no.",
        is_fx_symbolic_tracing="Whether a graph is being taken: no.",
    )
)
module("fx.experimental", "Newer parts of graphs taken from Python code: there are none.")
module(
    "fx.experimental.proxy_tensor",
    "Graphs of the calls that a program makes: there are none.",
    answers(object | None, get_proxy_mode="What records the calls: nothing, so None."),
    refusals(_WHY, "make_fx", "ProxyTorchDispatchMode"),
)
module(
    "fx.experimental.symbolic_shapes",
    "Sizes that stand for any number: here sizes are plain integers.",
    aliases(_AS_WRITTEN, "guard_int=itself hint_int=itself free_symbols=no_symbols"),
    refusals("sizes are plain integers", classes="ShapeEnv"),
)
module(
    "_dynamo._trace_wrapped_higher_order_op",
    "Functions inside compiled graphs: there are none.",
    aliases(_AS_WRITTEN, "TransformGetItemToIndex"),
    refusals(_WHY, "trace_wrapped"),
)
module("_subclasses", "Tensors without values: there are none.")
module(
    "_subclasses.fake_tensor",
    "Tensors without values, of any device: there are none; those of ``device='meta'`` are.",
    answers(False, is_fake="Whether a tensor has no values: no."),
    refusals(
        "there are no tensors without values but those of device='meta'",
        classes="DataDependentOutputException DynamicOutputShapeException FakeTensor"
        " FakeTensorConverter FakeTensorMode UnsupportedFakeTensorException",
    ),
)
TABLE["_subclasses"].rows.update(same("_subclasses.fake_tensor"))

_BROADCASTING = " ".join(f"BroadcastingList{n}=BROADCASTING" for n in range(1, 7))
module(
    "jit.annotations",
    "Types that only a script could tell from Python's.",
    aliases(_AS_WRITTEN, _BROADCASTING),
    aliases("retrograd.futures", "Future"),
    aliases("typing", "Any Dict List Optional Tuple"),
    aliases("retrograd.tensor", "Tensor"),
)
module(
    "jit._script",
    "The module of PyTorch's where `torch.jit.script` is written.",
    aliases("retrograd.jit", "Attribute ScriptModule script"),
    aliases("retrograd.jit", "CompilationUnit RecursiveScriptModule ScriptFunction"),
)
module(
    "_jit_internal",
    "Marks for scripts, which are never made: functions are left as they are.",
    aliases(_AS_WRITTEN, _BROADCASTING),
    aliases(_AS_WRITTEN, "BroadcastingListCls boolean_dispatch _copy_to_script_wrapper=itself"),
    aliases(_AS_WRITTEN, "_overload=itself _overload_method=itself"),
    aliases("retrograd.jit", "export ignore is_scripting unused"),
    aliases("retrograd.futures", "Future"),
    aliases("typing", "Any Dict Final List Optional Tuple Union"),
)
more(
    "jit",
    aliases("retrograd.jit", "_script_if_tracing=script_if_tracing"),
    refusals(
        "there is no TorchScript; keep the model's class in Python, and its weights with "
        "torch.save(model.state_dict(), file)",
        "save load export_opnames jit_module_from_flatbuffer save_jit_module_to_flatbuffer",
        "CompilationUnit ScriptFunction RecursiveScriptModule TopLevelTracedModule",
    ),
)
