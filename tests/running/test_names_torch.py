"""What PyTorch answers where nothing is computed: devices, settings, a group of one, trees."""

import inspect
import os
import pkgutil
from collections import OrderedDict, defaultdict, namedtuple
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("torch.utils.benchmark")  # which `import torch` alone does not load

import retrograd
from retrograd.running.as_torch import OWN

pytestmark = pytest.mark.torch

Pair = namedtuple("Pair", "left right")

ANSWERS = """
t.distributed.is_available()
t.distributed.is_initialized()
t.distributed.is_gloo_available()
t.distributed.is_nccl_available()
t.distributed.is_torchelastic_launched()
t.distributed.get_rank()
t.distributed.get_world_size()
t.distributed.get_backend()
t.distributed.barrier()
t.distributed.all_reduce(t.ones(1))
t.distributed.new_group()
t.distributed.destroy_process_group()
t.distributed.distributed_c10d._get_default_group()
t.distributed.init_process_group("gloo")
t.distributed.init_process_group("gloo", rank=0)
t.distributed.init_process_group("gloo", rank=0, world_size=1)
t.distributed.ReduceOp.SUM
t.distributed.ReduceOp.AVG
t.distributed.GroupMember.NON_GROUP_MEMBER
t.distributed.group.WORLD
t.distributed.Backend("GLOO")
t.distributed.default_pg_timeout
t.nn.parallel.DistributedDataParallel(t.nn.Linear(1, 1))
t.utils.data.DistributedSampler([1])
t.compiler.is_compiling()
t.compiler.is_exporting()
t.compiler.get_default_backend()
t.jit.is_scripting()
t.jit.is_tracing()
t.jit.annotate(int, 3)
t.jit.isinstance([1, 2], list[int])
t.jit.isinstance([1, "a"], list[int])
t.jit.isinstance({"a": 1.0}, dict[str, float])
t.jit.isinstance((1, "a"), tuple[int, str])
t.jit.Attribute(1, int)
t.jit.wait(t.jit.fork(abs, -2))
t.jit.onednn_fusion_enabled()
t.jit._unwrap_optional(None)
t.onnx.is_in_onnx_export()
t.fx.wrap("len")
t.backends.cudnn.is_available()
t.backends.cudnn.version()
t.backends.cudnn.enabled
t.backends.cudnn.benchmark
t.backends.cudnn.deterministic
t.backends.cudnn.allow_tf32
t.backends.cudnn.set_flags()
t.backends.cudnn.is_acceptable(t.ones(1))
t.backends.cuda.is_built()
t.backends.cuda.matmul.allow_tf32
t.backends.cuda.matmul.allow_fp16_reduced_precision_reduction
t.backends.cuda.matmul.nothing
t.backends.mps.is_available()
t.backends.mps.is_built()
t.backends.mps.is_macos13_or_newer()
t.backends.mkldnn.enabled
t.backends.mkldnn.set_flags()
t.backends.opt_einsum.is_available()
t.backends.opt_einsum.set_flags()
t.backends.cusparselt.is_available()
t.backends.kleidiai.is_available()
t.backends.mha.get_fastpath_enabled()
t.mps.is_available()
t.mps.device_count()
t.mps.manual_seed(1)
t.mps.synchronize()
t.mps.empty_cache()
t.mps.current_allocated_memory()
t.mps.compile_shader("")
t.xpu.is_available()
t.xpu.device_count()
t.xpu.empty_cache()
t.xpu.synchronize()
t.xpu.memory_allocated()
t.xpu.get_device_name()
t.xpu.Stream()
t.xpu.Event()
t.xpu.get_rng_state_all()
t.mtia.is_available()
t.mtia.device_count()
t.cpu.device_count()
t.cpu.Event().query()
t.cpu.synchronize()
t.cuda.CUDAGraph()
t.cuda.nvtx.range_push('a')
t.cuda.nvtx.mark('a')
t.cuda.memory.memory_allocated()
t.cuda.random.get_rng_state_all()
t.accelerator.is_available()
t.version.cuda
t.finfo(t.float8_e4m3fn)
t.finfo(t.float8_e5m2fnuz)
t.utils.backcompat.broadcast_warning.enabled
t.utils.benchmark.select_unit(0.00025)
t.utils._foreach_utils._group_tensors_by_device_and_dtype([[t.ones(1)], [t.zeros(1)]], True)
""".strip().splitlines()


def answer(library, text):
    try:
        found = eval(text, {"t": library})
    except Exception as error:
        return type(error).__name__, str(error).splitlines()[0]
    return repr(found)


@pytest.fixture(autouse=True)
def _no_group(monkeypatch):
    for name in ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT", "LOCAL_RANK"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("text", ANSWERS)
def test_answer(text):
    import torch.utils.benchmark

    assert answer(retrograd, text) == answer(torch, text)


GROUP = """
(t.distributed.get_rank(), t.distributed.get_world_size(), t.distributed.get_backend())
(t.distributed.all_reduce(x), x.tolist())
(t.distributed.all_reduce(x, op=t.distributed.ReduceOp.AVG), x.tolist())
t.distributed.all_reduce(x, async_op=True).wait()
t.distributed.all_reduce(x, async_op=True).get_future().wait()
(t.distributed.broadcast(x, 0), x.tolist())
t.distributed.broadcast(x, src=1)
(t.distributed.all_gather(l := [t.zeros(2)], x), l)
t.distributed.all_gather([t.zeros(2), t.zeros(2)], x)
(t.distributed.gather(x, l := [t.zeros(2)], dst=0), l)
t.distributed.gather(x)
(t.distributed.scatter(y := t.zeros(2), [x]), y)
(t.distributed.reduce_scatter(y := t.zeros(2), [x * 2]), y)
(t.distributed.reduce_scatter_tensor(y := t.zeros(2), x * 3), y)
(t.distributed.all_gather_into_tensor(y := t.zeros(2), x), y)
(t.distributed.all_to_all(l := [t.zeros(2)], [x]), l)
(t.distributed.all_to_all_single(y := t.zeros(2), x * 5), y)
(t.distributed.all_gather_object(l := [None], {"a": 1}), l)
(t.distributed.gather_object(3, l := [None]), l)
(t.distributed.scatter_object_list(l := [None], [{"b": 2}], src=0), l)
t.distributed.barrier()
t.distributed.send(x, 0)
t.distributed.all_reduce([x])
t.distributed.get_rank(t.distributed.new_group([0]))
t.distributed.new_group([1])
t.distributed.distributed_c10d._get_default_group() is t.distributed.group.WORLD
t.distributed.init_process_group("gloo")
list(t.utils.data.DistributedSampler(range(5), shuffle=False))
t.nn.parallel.DistributedDataParallel(t.nn.Linear(2, 1))
list(t.nn.parallel.DistributedDataParallel(t.nn.Linear(2, 1)).state_dict())
t.nn.parallel.DistributedDataParallel(t.nn.ReLU())
""".strip().splitlines()


@pytest.mark.filterwarnings("ignore")
def test_group_of_one(tmp_path):
    found = {}
    for library in (torch, retrograd):
        meeting = f"file://{tmp_path / library.__name__}"
        library.distributed.init_process_group("gloo", meeting, rank=0, world_size=1)
        try:
            lines = []
            for text in GROUP:
                names = {"t": library, "x": library.tensor([1.0, 2.0])}
                try:
                    lines.append(repr(eval(text, names)))
                except Exception as error:
                    lines.append((type(error).__name__, str(error).splitlines()[0]))
            found[library.__name__] = lines
        finally:
            library.distributed.destroy_process_group()
    for text, theirs, ours in zip(GROUP, found["torch"], found["retrograd"], strict=True):
        assert (text, ours) == (text, theirs)


TREES = [
    {"a": 1, "b": (2, [3, None])},
    [],
    (1, OrderedDict(x=2, y=[3])),
    Pair(1, {"z": 2}),
    defaultdict(list, {"a": [1]}),
    5,
]


@pytest.mark.parametrize("tree", TREES)
def test_trees(tree):
    from torch.utils import _pytree as theirs

    from retrograd.utils import _pytree as ours

    leaves, spec = ours.tree_flatten(tree)
    assert leaves == theirs.tree_flatten(tree)[0]
    assert ours.tree_unflatten(leaves, spec) == tree
    for call in (
        lambda p: p.tree_map(lambda leaf: (leaf, "x"), tree),
        lambda p: p.tree_map(lambda a, b: (a, b), tree, tree),
        lambda p: p.tree_map_only(int, lambda leaf: leaf + 1, tree),
        lambda p: p.tree_leaves(tree, is_leaf=lambda value: isinstance(value, list)),
        lambda p: p.tree_any(lambda leaf: leaf == 3, tree),
        lambda p: p.tree_is_leaf(tree),
    ):
        found = call(ours)
        assert found == call(theirs) and type(found) is type(call(theirs))


def test_registered_class_is_a_node():
    class Box:
        def __init__(self, inside):
            self.inside = inside

    for pytree in (torch.utils._pytree, retrograd.utils._pytree):
        pytree.register_pytree_node(Box, lambda b: ([b.inside], None), lambda c, _: Box(c[0]))
        assert pytree.tree_map(lambda leaf: leaf + 1, {"a": Box(1)})["a"].inside == 2
        with pytest.raises(ValueError, match="is already registered as pytree node"):
            pytree.register_pytree_node(Box, None, None)


@pytest.mark.parametrize(
    ("times", "spec"),
    [
        ([0.001, 0.00102, 0.00099, 0.00101], {"label": "L", "sub_label": "s", "description": "d"}),
        ([0.5], {}),
        ([5.0, 6.0, 7.0], {"setup": "y = 1", "num_threads": 2}),
        ([0.00005, 0.00006, 0.00007, 0.001], {"stmt": "x\ny", "setup": "y = 1\nz = 2"}),
    ],
)
def test_measurement_is_printed_as_pytorchs(times, spec):
    import torch.utils.benchmark

    found = []
    for library in (torch, retrograd):
        benchmark = library.utils.benchmark
        task = benchmark.TaskSpec(**{"stmt": "x + y", "setup": "", **spec})
        measured = benchmark.Measurement(10, times, task)
        found.append((repr(measured).split("\n", 1)[1], measured.median, measured.iqr))
    assert found[0][0] == found[1][0]
    assert found[0][1:] == pytest.approx(found[1][1:])


@pytest.mark.parametrize(
    "name",
    """
    compile compiler.disable compiler.set_stance jit.trace jit.script distributed.init_process_group
    distributed.all_reduce distributed.all_gather distributed.broadcast distributed.scatter
    distributed.gather utils.benchmark.Timer multiprocessing.spawn multiprocessing.start_processes
    """.split(),
)
def test_first_parameters_have_pytorchs_names(name):
    """Programs pass them by keyword."""

    def parameters(library):
        place = library
        for part in name.split("."):
            place = getattr(place, part)
        kinds = inspect.signature(place).parameters.values()
        return [p.name for p in kinds if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]

    ours = parameters(retrograd)
    assert ours == parameters(torch)[: len(ours)]


def test_modules_that_pytorch_has_not_are_hidden():
    """`import torch.lifecycle` must fail under `retrograd run`, as it fails with PyTorch."""
    home = Path(torch.__file__).parent
    theirs = {
        found.name
        for found in pkgutil.iter_modules([os.fspath(Path(retrograd.__file__).parent)])
        if (home / found.name).is_dir() or (home / f"{found.name}.py").exists()
    }
    ours = {found.name for found in pkgutil.iter_modules(retrograd.__path__)}
    # PyTorch's compiled part and its operators are no files of that name
    assert ours - theirs - {"_C", "ops"} <= OWN
    assert not OWN & theirs
