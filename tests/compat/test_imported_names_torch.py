"""Names that packages import, in both libraries: the same value, type, text or error."""

from __future__ import annotations

import typing
from importlib import import_module

import pytest

import retrograd

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch

MODULES = """
__config__ __future__ _C._nn _dynamo._trace_wrapped_higher_order_op _jit_internal _subclasses
_subclasses.fake_tensor _tensor distributed._tensor.experimental distributed.checkpoint
distributed.checkpoint.default_planner distributed.checkpoint.filesystem
distributed.checkpoint.format_utils distributed.checkpoint.metadata
distributed.checkpoint.optimizer distributed.checkpoint.planner distributed.checkpoint.state_dict
distributed.checkpoint.stateful distributed.checkpoint.storage distributed.fsdp.api
distributed.fsdp.wrap distributed.tensor.experimental distributed.tensor.parallel
fx._symbolic_trace fx.experimental.proxy_tensor fx.experimental.symbolic_shapes fx.graph
fx.graph_module fx.interpreter fx.node fx.proxy jit._script jit.annotations
nn.attention.flex_attention onnx.symbolic_helper utils.deterministic _custom_ops _dynamo.utils
distributed.autograd onnx.operators onnx.symbolic_opset11
"""

SAME = """
t.__future__.get_overwrite_module_params_on_conversion()
t.__future__.get_swap_module_params_on_conversion()
t.__future__.set_swap_module_params_on_conversion(False)
t.utils.deterministic.fill_uninitialized_memory
t.Stream()
t.Stream('cpu').device
t.Stream(priority=1) == t.Stream()
t.Stream().query()
t.Stream().record_event()
t.Stream().wait_stream(t.Stream())
t.Stream('cuda')
t.Event()
t.Event(enable_timing=True).device
t.Event().query()
t.Event().record()
t.Stream.__module__, t.Event.__name__
t.nn.attention.flex_attention._DEFAULT_SPARSE_BLOCK_SIZE
t.hub._get_torch_home()
t.hub.HASH_REGEX
t.hub.READ_DATA_CHUNK
t.jit.annotations.BroadcastingList2[int]
t.jit._script_if_tracing(len)([1])
t.fx.node.Node is t.fx.Node
t.fx.graph_module.GraphModule is t.fx.GraphModule
t.fx._symbolic_trace.is_fx_tracing()
t.fx.proxy.Proxy is t.fx.Proxy
t.utils._pytree.LeafSpec()
isinstance(t.utils._pytree.tree_flatten(1)[1], t.utils._pytree.LeafSpec)
isinstance(t.utils._pytree.tree_flatten([1])[1], t.utils._pytree.LeafSpec)
sorted(k.__name__ for k in t.utils._pytree.SUPPORTED_NODES if k in (list, dict, tuple))
t.utils._pytree.SUPPORTED_NODES[list].flatten_fn([1, 2])
t.utils._pytree.SUPPORTED_NODES[dict].unflatten_fn([1, 2], ['a', 'b'])
t._C._TensorMeta is type(t.Tensor)
t._C._nn._parse_to('cpu')
t._C._nn._parse_to(t.float64, non_blocking=True)
t._C._nn._parse_to(t.zeros(1))
t._C._nn._parse_to(device='cpu', memory_format=t.channels_last)
t._C._nn._parse_to('cpu', copy=True)
t._C._nn.softplus(t.ones(2), out=t.empty(2))
t._C._nn.gelu(t.ones(2), approximate='tanh')
t._C._nn.linear(t.ones(2), t.ones(3, 2))
t._subclasses.fake_tensor.is_fake(t.ones(1))
isinstance(t.ones(1), t._subclasses.FakeTensor)
t.cuda.FloatTensor
isinstance(t.ones(1), t.cuda.FloatTensor)
t.ones(1).type(t.cuda.FloatTensor)
t.ones(1).type('torch.cuda.HalfTensor')
t.PyTorchFileReader.__name__
t._assert_async(t.tensor(1))
t._assert_async(t.tensor(False))
t._assert_async(t.tensor(0.0), 'said')
t._shape_as_tensor(t.ones(2, 3))
t._C._are_functorch_transforms_active()
t.func.vmap(lambda x: x + int(t._C._are_functorch_transforms_active()))(t.zeros(2))
t._C._get_accelerator()
t._C.DispatchKeySet(t._C.DispatchKey.CPU) | t._C.DispatchKeySet(t._C.DispatchKey.CPU)
t._C.DispatchKeySet(t._C.DispatchKey.CPU).has(t._C.DispatchKey.CUDA)
t._C.DispatchKey.AutogradMTIA.name
isinstance(3, (t.SymInt, t.SymFloat, t.SymBool))
t.types._device is t.device
t.utils._pytree._get_node_type([1])
t.utils._pytree._get_node_type(t.max(t.ones(2), 0)).__name__
t.utils._pytree.is_namedtuple_class(int)
t.hub.urlparse('a://b').netloc
t.hub.tqdm.__name__
t.fx.graph_module._USER_PRESERVED_ATTRIBUTES_KEY
t.nn.attention.SDPBackend.MATH.name
"""


@pytest.mark.parametrize("name", MODULES.split())
def test_a_module_can_be_imported(name: str) -> None:
    for library in ("torch", "retrograd"):
        assert __import__(f"{library}.{name}", fromlist=["*"])


def _outcome(library: object, line: str) -> tuple[str, str]:
    try:
        found = eval(line, {"t": library})
    except Exception as error:
        return type(error).__name__, str(error).partition(". ")[0].rstrip(".")
    return type(found).__name__, repr(found).replace("retrograd.", "torch.")


@pytest.mark.parametrize("line", SAME.strip().splitlines())
@pytest.mark.filterwarnings("ignore::FutureWarning")  # PyTorch deprecates LeafSpec
def test_the_outcome_is_the_same(line: str) -> None:
    import_module("torch.nn.attention.flex_attention")  # PyTorch waits for these imports
    import_module("torch.jit.annotations")
    ours, theirs = _outcome(retrograd, line), _outcome(torch, line)
    if "FloatTensor" in line and ours[0] == "AbsentType":
        ours = ("tensortype", ours[1])  # a class of PyTorch's that has no public name
    assert ours == theirs


REFUSED = """
t.PyTorchFileReader('file')
t.nn.attention.flex_attention.flex_attention(1, 2, 3)
t.nn.attention.flex_attention.create_block_mask(None, 1, 1, 1, 1)
t.distributed.checkpoint.optimizer.load_sharded_optimizer_state_dict(None, None, None)
t.distributed.tensor.parallel.parallelize_module(None)
t.fx.graph.Graph()
t.__future__.set_overwrite_module_params_on_conversion(True)
t.onnx.symbolic_opset11.unsqueeze(None)
t._custom_ops.get_ctx()
t._C._ExcludeDispatchKeyGuard(None)
t.SymInt(3)
"""


@pytest.mark.parametrize("line", REFUSED.strip().splitlines())
def test_what_is_not_there_refuses_when_called_and_names_itself(line: str) -> None:
    with pytest.raises(NotImplementedError) as caught:
        eval(line, {"t": retrograd})
    name = line.partition("(")[0].rpartition(".")[2]
    assert name in str(caught.value)


def test_type_hints_of_a_module_can_be_read() -> None:
    ours, theirs = (typing.get_type_hints(t.nn.Module) for t in (retrograd, torch))
    for name in ("training", "dump_patches", "call_super_init"):
        assert ours[name] is theirs[name] is bool
    assert retrograd.nn.Module in typing.get_args(typing.get_args(ours["_modules"])[1])


@pytest.mark.parametrize("t", [retrograd, torch])
def test_a_parameter_subclass_can_take_other_arguments(t: typing.Any) -> None:
    class Filled(t.nn.Parameter):  # type: ignore[misc, name-defined]
        def __new__(cls, rows: int, *, scale: float = 1.0) -> typing.Any:
            return super().__new__(cls, t.full((rows,), scale), requires_grad=False)

    made = Filled(2, scale=3.0)
    assert type(made) is Filled
    assert made.tolist() == [3.0, 3.0]
    assert repr(made) == "Parameter containing:\nParameter(Filled([3., 3.]))"
