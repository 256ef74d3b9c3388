"""Several processes with one model: what they cannot do refuses, and says what to do."""

from __future__ import annotations

from datetime import timedelta

from retrograd.namespaces.rows import aliases, answers, module, more, refusals, same, settings

_MODEL = "each process has the whole model; use DistributedDataParallel"
_TENSOR = "each process has whole tensors; use an ordinary one"
_EXCHANGE = "exchange leaves no graph; use the functions of torch.distributed"
_OUT = "groups are made by torch.distributed.new_group"

more(
    "distributed",
    refusals(
        _OUT,
        functions="""
        init_device_mesh shrink_group split_group
        """,
        classes="""
        BackendConfig DeviceMesh ProcessGroupGloo
        """,
    ),
    aliases("retrograd.nn.parallel.buckets", "GradBucket"),
    aliases("retrograd.nn.parallel.distributed", "BuiltinCommHookType"),
    aliases("retrograd.nn.parallel.reducer", "Reducer"),
)
module("distributed._composable", "Parts of a model in several processes: refused, see `fsdp`.")
module(
    "distributed._composable.fsdp",
    "The older place of `torch.distributed.fsdp.fully_shard`: refused.",
    refusals(
        _MODEL, "fully_shard", "CPUOffloadPolicy FSDPModule MixedPrecisionPolicy OffloadPolicy"
    ),
)
module(
    "distributed._functional_collectives",
    "Exchange that returns new tensors: refused.",
    aliases("retrograd.namespaces.as_written", "wait_tensor=itself"),
    refusals(
        _EXCHANGE,
        functions="""
        all_gather_tensor all_reduce all_to_all_single all_to_all_single_autograd broadcast
        reduce_scatter_tensor
        """,
        classes="AsyncCollectiveTensor",
    ),
)
module(
    "distributed.checkpoint",
    "Checkpoints of several processes in one folder, which is always whole.",
    aliases("retrograd.namespaces.errors", "CheckpointException"),
    aliases(
        "retrograd.parallel.checkpoint",
        """
        FileSystemReader FileSystemWriter Metadata async_save load load_state_dict save
        save_state_dict
        """,
    ),
    refusals(
        "states are read and written as a whole; leave planners and other storages out",
        functions="load_sharded_optimizer_state_dict",
        classes="""
        DefaultLoadPlanner DefaultSavePlanner HuggingFaceStorageReader HuggingFaceStorageWriter
        LoadPlan LoadPlanner SavePlan SavePlanner StorageReader StorageWriter
        """,
    ),
)
for _name, _names in {
    "default_planner": "DefaultLoadPlanner DefaultSavePlanner",
    "filesystem": "FileSystemReader FileSystemWriter",
    "hf_storage": "HuggingFaceStorageReader HuggingFaceStorageWriter",
    "metadata": "Metadata",
    "optimizer": "load_sharded_optimizer_state_dict",
    "planner": "LoadPlan LoadPlanner SavePlan SavePlanner",
    "state_dict_loader": "load load_state_dict",
    "state_dict_saver": "async_save save save_state_dict",
    "storage": "StorageReader StorageWriter",
}.items():
    module(
        f"distributed.checkpoint.{_name}",
        "A module of PyTorch's where names of the package are written.",
        aliases("retrograd.distributed.checkpoint", _names),
    )
module(
    "distributed.checkpoint.format_utils",
    "A checkpoint in a folder as one file, and back.",
    aliases("retrograd.parallel.checkpoint.format_utils", "dcp_to_torch_save torch_save_to_dcp"),
    refusals(
        "use dcp_to_torch_save and torch_save_to_dcp",
        "",
        "BroadcastingTorchSaveReader DynamicMetaLoadPlanner",
    ),
)
module(
    "distributed.checkpoint.state_dict",
    "States of models and optimizers under the parameters' own names.",
    aliases(
        "retrograd.parallel.checkpoint.state_dict",
        """
        StateDictOptions get_model_state_dict get_optimizer_state_dict get_state_dict
        set_model_state_dict set_optimizer_state_dict set_state_dict
        """,
    ),
)
module(
    "distributed.checkpoint.stateful",
    "What has a state that can be kept.",
    aliases("retrograd.namespaces.stateful", "Stateful"),
)
module(
    "distributed.constants",
    "How long a process waits for the others, by default.",
    aliases("retrograd.distributed.names", "default_pg_timeout"),
    settings(default_pg_nccl_timeout=timedelta | None),
)
module(
    "distributed.device_mesh",
    "Processes in rows and columns: refused.",
    refusals(
        "groups are made by torch.distributed.new_group",
        functions="init_device_mesh",
        classes="DeviceMesh",
    ),
)
module("distributed.elastic", "Processes that a launcher starts anew: see `torch.distributed.run`.")
module(
    "distributed.elastic.multiprocessing",
    "Processes that a launcher starts: see `torch.distributed.run`.",
)
module(
    "distributed.elastic.multiprocessing.errors",
    "Errors that a launcher reads: `record` marks the main function, whose error it shows.",
    aliases("retrograd.distributed.launcher.failures", "ChildFailedError ProcessFailure record"),
)
module(
    "distributed.fsdp",
    "Models split over processes: refused.",
    refusals(
        _MODEL,
        functions="fully_shard register_fsdp_forward_method share_comm_ctx",
        classes="""
        BackwardPrefetch CPUOffload CPUOffloadPolicy DataParallelMeshDims FSDPModule
        FullOptimStateDictConfig FullStateDictConfig FullyShardedDataParallel
        LocalOptimStateDictConfig LocalStateDictConfig MixedPrecision MixedPrecisionPolicy
        OffloadPolicy OptimStateDictConfig OptimStateKeyType ShardedOptimStateDictConfig
        ShardedStateDictConfig ShardingStrategy StateDictConfig StateDictSettings StateDictType
        UnshardHandle
        """,
    ),
)
module(
    "distributed.fsdp.fully_sharded_data_parallel",
    "The module of PyTorch's where the classes of this package are written.",
    same("distributed.fsdp"),
)
module(
    "distributed.fsdp.api",
    "The module of PyTorch's where the options of this package are written: refused.",
    aliases(
        "retrograd.distributed.fsdp",
        """
        BackwardPrefetch CPUOffload FullOptimStateDictConfig FullStateDictConfig
        LocalOptimStateDictConfig LocalStateDictConfig MixedPrecision OptimStateDictConfig
        ShardedOptimStateDictConfig ShardedStateDictConfig ShardingStrategy StateDictConfig
        StateDictSettings StateDictType
        """,
    ),
)
module(
    "distributed.fsdp.wrap",
    "Which layers are split over processes: refused.",
    refusals(
        _MODEL,
        """
        always_wrap_policy enable_wrap lambda_auto_wrap_policy size_based_auto_wrap_policy
        transformer_auto_wrap_policy wrap
        """,
        "CustomPolicy ModuleWrapPolicy",
    ),
)
module(
    "distributed.nn",
    "Exchange between processes with gradients: refused.",
    refusals(
        _EXCHANGE,
        functions="""
        all_gather all_reduce all_to_all all_to_all_single broadcast gather reduce reduce_scatter
        scatter
        """,
        classes="RemoteModule",
    ),
)
module(
    "distributed.optim",
    "Optimizers of several processes.",
    aliases("retrograd.parallel.zero_redundancy", "ZeroRedundancyOptimizer"),
    refusals(
        "use the optimizer itself, or ZeroRedundancyOptimizer",
        functions="as_functional_optim",
        classes="DistributedOptimizer PostLocalSGDOptimizer",
    ),
)
module(
    "distributed.pipelining",
    "Models whose layers are in several processes: refused.",
    refusals(
        _MODEL,
        functions="build_stage pipe_split pipeline",
        classes="""
        Pipe PipelineStage Schedule1F1B ScheduleDualPipeV ScheduleGPipe ScheduleInterleaved1F1B
        ScheduleInterleavedZeroBubble ScheduleLoopedBFS ScheduleZBVZeroBubble SplitPoint
        """,
    ),
)
module(
    "distributed.autograd",
    "Gradients through functions of other processes: refused.",
    answers(False, is_available="Whether gradients come from other processes: no."),
    refusals(
        "gradients stay in their process; call loss.backward()",
        functions="backward get_gradients",
        classes="DistAutogradContext context",
    ),
)
module(
    "distributed.rpc",
    "Functions of other processes: refused.",
    answers(False, is_available="Whether functions of other processes can be called: no."),
    refusals(
        "functions run in their own process; call the function itself",
        functions="get_worker_info init_rpc remote rpc_async rpc_sync shutdown",
        classes="RRef TensorPipeRpcBackendOptions WorkerInfo",
    ),
)
module(
    "distributed.tensor",
    "Tensors split over processes: refused.",
    aliases("retrograd.distributed.placements", "Partial Placement Replicate Shard"),
    refusals(
        _TENSOR,
        functions="distribute_module distribute_tensor empty full ones rand randn zeros",
        classes="DTensor",
    ),
)
module(
    "distributed._tensor",
    "The older place of `torch.distributed.tensor`.",
    same("distributed.tensor"),
)
module(
    "distributed.tensor.experimental",
    "Newer parts of split tensors: refused.",
    refusals(_TENSOR, "context_parallel implicit_replication local_map register_sharding"),
)
module(
    "distributed._tensor.experimental",
    "The older place of `torch.distributed.tensor.experimental`.",
    same("distributed.tensor.experimental"),
)
module(
    "distributed.tensor.parallel",
    "Layers split over processes: refused.",
    refusals(
        _MODEL,
        "loss_parallel parallelize_module",
        """
        ColwiseParallel ParallelStyle PrepareModuleInput PrepareModuleInputOutput
        PrepareModuleOutput RowwiseParallel SequenceParallel
        """,
    ),
)
module(
    "distributed.tensor._utils",
    "Parts of tensors that are split over processes: refused.",
    refusals(_TENSOR, "compute_local_shape_and_global_offset"),
)
module(
    "distributed.tensor.placement_types",
    "How tensors are split over processes: refused.",
    aliases("retrograd.distributed.placements", "Partial Replicate Shard"),
    refusals(_TENSOR, classes="_StridedShard"),
)
