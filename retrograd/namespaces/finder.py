"""The finder of modules that exist for their names only, such as `torch.backends.cudnn`.

Such a module is a row in the table (`namespaces/table/`), not a file. `INDEX` says which modules
there are, by the file of the table that describes them; `import` asks the finder, which makes the
module from its rows.

>>> import retrograd as torch
>>> torch.backends.cudnn.benchmark
False
>>> listed()["torch.onnx"].doc
'Files for other runtimes: nothing is exported here.'
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import TYPE_CHECKING, Any

from retrograd.namespaces import from_table, missing

if TYPE_CHECKING:
    from retrograd.namespaces.rows import Described

INDEX = {
    "backends": """
        backends backends.cpu backends.cuda backends.cudnn backends.cusparselt backends.kleidiai
        backends.mha backends.miopen backends.mkl backends.mkldnn backends.mps backends.nnpack
        backends.openmp backends.opt_einsum backends.quantized backends.xnnpack
    """,
    "compilers": """
        _custom_ops _dynamo _dynamo._trace_wrapped_higher_order_op _dynamo.config
        _dynamo.eval_frame _dynamo.utils
        _inductor _inductor.config _jit_internal _subclasses _subclasses.fake_tensor compiler
        compiler.config fx fx._symbolic_trace fx.experimental fx.experimental.proxy_tensor
        fx.experimental.symbolic_shapes fx.graph fx.graph_module fx.interpreter fx.node fx.proxy
        jit._script jit.annotations
    """,
    "devices": """
        accelerator cpu cpu.amp cpu.amp.autocast_mode cpu.amp.grad_scaler cuda cuda.amp
        cuda.amp.autocast_mode cuda.amp.common cuda.amp.grad_scaler cuda.graphs cuda.memory
        cuda.nvtx cuda.random cuda.streams mps mtia xpu
    """,
    "elsewhere": """
        ao ao.quantization export hub monitor nested onnx onnx.operators onnx.symbolic_helper
        onnx.symbolic_opset11 package quantization
        utils.bundled_inputs utils.mobile_optimizer utils.model_zoo
    """,
    "layers": """
        autograd.variable nn.attention.flex_attention nn.modules nn.modules.activation
        nn.modules.adaptive
        nn.modules.batchnorm nn.modules.channelshuffle nn.modules.container nn.modules.conv
        nn.modules.distance nn.modules.dropout nn.modules.flatten nn.modules.fold
        nn.modules.instancenorm nn.modules.lazy nn.modules.linear
        nn.modules.linear_cross_entropy nn.modules.linear_cross_entropy_options nn.modules.loss
        nn.modules.module nn.modules.normalization nn.modules.padding nn.modules.pixelshuffle
        nn.modules.pooling nn.modules.rnn nn.modules.sparse nn.modules.transformer
        nn.modules.upsampling nn.modules.utils optim._adafactor optim._functional optim._muon
        optim._stateless
    """,
    "processes": """
        distributed._composable distributed._composable.fsdp distributed._functional_collectives
        distributed._tensor distributed._tensor.experimental
        distributed.autograd
        distributed.checkpoint distributed.checkpoint.default_planner
        distributed.checkpoint.filesystem distributed.checkpoint.format_utils
        distributed.checkpoint.hf_storage distributed.checkpoint.metadata
        distributed.checkpoint.optimizer
        distributed.checkpoint.planner distributed.checkpoint.state_dict
        distributed.checkpoint.state_dict_loader distributed.checkpoint.state_dict_saver
        distributed.checkpoint.stateful distributed.checkpoint.storage
        distributed.constants distributed.device_mesh distributed.elastic
        distributed.elastic.multiprocessing distributed.elastic.multiprocessing.errors
        distributed.fsdp distributed.fsdp.api
        distributed.fsdp.fully_sharded_data_parallel distributed.fsdp.wrap distributed.nn
        distributed.optim distributed.pipelining distributed.rpc distributed.tensor
        distributed.tensor._utils distributed.tensor.experimental distributed.tensor.parallel
        distributed.tensor.placement_types
    """,
    "tools": """
        _C _C._nn __config__ __future__ _tensor functional utils.backcompat utils.cpp_extension
        utils.data._utils
        utils.data._utils.collate utils.data._utils.fetch utils.data._utils.worker
        utils.flop_counter utils.throughput_benchmark version
    """,
}
"""The modules that are made from the table, by the file that describes them."""

MORE = {
    "compilers": "jit",
    "processes": "distributed",
    "tools": """
        autograd.profiler library overrides profiler utils.benchmark utils.data.dataloader
    """,
}
"""Modules with a file of their own, of which the table has more names."""

TABLED = {name: topic for topic, names in INDEX.items() for name in names.split()}
_TOPICS = TABLED | {name: topic for topic, names in MORE.items() for name in names.split()}
TOP = frozenset(name for name in TABLED if "." not in name)
PACKAGES = {name.rpartition(".")[0] for name in TABLED}


def described(name: str) -> Described | None:
    """What the table has of a module, by its name below ``torch``; None if it has nothing."""
    topic = _TOPICS.get(name)
    if topic is None:
        return None
    import_module(f"retrograd.namespaces.table.{topic}")
    from retrograd.namespaces.rows import TABLE

    return TABLE[name]


def listed(below: str = "") -> dict[str, Described]:
    """The modules of the table by PyTorch's names for them, each with its rows."""
    found = {}
    for name in sorted(name for name in _TOPICS if name.startswith(below)):
        here = described(name)
        assert here is not None
        found[f"torch.{name}"] = here
    return found


def find_in_table(module: ModuleType, name: str) -> Any:
    """A name that a module does not have itself: from the table, or an error that explains."""
    path = module.__name__.removeprefix("retrograd.")
    if f"{path}.{name}" in TABLED:
        return import_module(f"{module.__name__}.{name}")
    here = described(path)
    if here is None or name not in here.rows:
        raise missing(module.__name__, name, dir(module))
    row = here.rows[name]
    made = row.make(module, name)
    # another thread may have asked at the same time: both get what was there first
    return vars(module).setdefault(name, made) if row.kept else made


class NamesFinder:
    """Makes the modules of the table; the import system asks it first.

    First, because a folder of type stubs with a module's name would be taken for a package.
    """

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: object = None
    ) -> ModuleSpec | None:
        """The spec of a module of the table; None for all others."""
        if not fullname.startswith("retrograd.") or fullname[10:] not in TABLED:
            return None
        # a finder without the abstract base class, whose module takes long to import
        return ModuleSpec(fullname, self, is_package=fullname[10:] in PACKAGES)  # type: ignore[arg-type]

    def create_module(self, spec: ModuleSpec) -> None:
        """Leave it to the import system to make an empty module."""

    def exec_module(self, module: ModuleType) -> None:
        """Let the module answer from its rows."""
        here = described(module.__name__.removeprefix("retrograd."))
        assert here is not None
        facts = vars(module)
        facts["__doc__"] = here.doc
        facts["__all__"] = [name for name in here.rows if not name.startswith("_")]
        from_table(module.__name__)
        facts["__dir__"] = lambda: sorted({*vars(module), *here.rows})


def install() -> None:
    """Let `import` find the modules of the table."""
    if not any(type(finder).__name__ == "NamesFinder" for finder in sys.meta_path):
        sys.meta_path.insert(0, NamesFinder())
