"""DistributedDataParallel on both libraries: the same gradients, errors and warnings."""

import pytest

from retrograd.distributed.transports import gloo
from tests.distributed.both import assert_alike

pytest.importorskip("torch")
pytestmark = [
    pytest.mark.torch,
    pytest.mark.skipif(not gloo.is_installed(), reason="needs Gloo, by xoscar"),
]

MODULES = """
class Unused(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(3, 2), nn.Linear(3, 2)
    def forward(self, value, which="a"):
        return getattr(self, which)(value)
class Two(Unused):
    def forward(self, value):
        return {"a": [self.a(value)], "b": (self.b(value),)}
def rounds(model, *calls):
    for number, call in enumerate(calls):
        model(batch(number), *call).sum().backward()
        tell(grads(model))
"""

GRADIENTS = """
@case
def three_rounds():
    for options in ({}, {"gradient_as_bucket_view": True}, {"bucket_cap_mb": 0.00003}):
        model = DDP(net(), **options)
        for number in range(3):
            model.zero_grad(set_to_none=number != 1)
            model(batch(number)).sum().backward()
            tell(grads(model))
        model(batch()).sum().backward()  # on top of what is there
        tell(grads(model))
@case
def large_parameters_travel_alone():
    model = DDP(nn.Sequential(nn.Linear(300, 300), nn.ReLU(), nn.Linear(300, 2)))
    for number in range(3):
        model(torch.ones(2, 300) * (rank + number)).sum().backward()
        tell([grad.abs().sum() for grad in grads(model)])
@case
def parameters_start_as_the_first_process_has_them():
    torch.manual_seed(rank)
    module = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4))
    module[1].running_mean.fill_(rank + 1.0)
    model = DDP(module)
    tell([p for p in model.parameters()], [b for b in model.buffers()])
    tell(list(model.state_dict()), repr(model))
@case
def unused():
    rounds(DDP(Unused()), (), ())
@case
def unused_and_looked_for():
    rounds(DDP(Unused(), find_unused_parameters=True), (), (), ())
@case
def each_process_uses_another():
    which = "ab"[rank % 2]
    rounds(DDP(Unused(), find_unused_parameters=True), (which,), (which,), ("a",), ("b",))
@case
def all_are_used_and_looked_for():
    rounds(DDP(net(), find_unused_parameters=True), (), ())
@case
def an_output_is_unused():
    for looks in (True, False):
        model = DDP(Two(), find_unused_parameters=looks)
        for number in range(3):
            model(batch(number))["a"][0].sum().backward()
            tell(grads(model))
@case
def two_forwards_and_two_backwards():
    model = DDP(net())
    a, b = model(batch(1)), model(batch(2))
    a.sum().backward()
    tell(grads(model))
    b.sum().backward()  # as in PyTorch, each process keeps this one to itself
    tell(grads(model))
    model(batch()).sum().backward()
    tell(grads(model))
@case
def two_forwards_and_one_backward():
    model = DDP(net())
    (model(batch(1)).sum() + model(batch(2)).sum()).backward()
    tell(grads(model))
@case
def backward_twice():
    model = DDP(net())
    loss = model(batch()).sum()
    loss.backward(retain_graph=True)
    tell(grads(model))
    loss.backward()
    tell(grads(model))
@case
def no_sync():
    model = DDP(net())
    for _ in range(2):
        with model.no_sync():
            model(batch(1)).sum().backward()
            tell(grads(model))
            model(batch(3)).sum().backward()
        model(batch(2)).sum().backward()
        tell(grads(model))
        model.zero_grad()
    loss = model(batch(1)).sum()
    with model.no_sync():
        loss.backward()  # the forward counts
    tell(grads(model))
@case
def gradients_asked_for():
    model = DDP(net())
    tell(torch.autograd.grad(model(batch()).sum(), list(model.parameters())), grads(model))
    model(batch()).sum().backward()
    tell(grads(model))
@case
def gradient_penalty():
    model, value = DDP(net()), batch().requires_grad_()
    (slope,) = torch.autograd.grad(model(value).pow(2).sum(), value, create_graph=True)
    slope.pow(2).sum().backward()
    tell(grads(model))
@case
def gradients_with_a_history():
    model = DDP(net())
    model(batch()).pow(2).sum().backward(create_graph=True)
@case
def identity():
    for view in (False, True):
        model = DDP(net(), gradient_as_bucket_view=view)
        p = model.module[0].weight
        model(batch()).sum().backward()
        before = p.grad
        model(batch()).sum().backward()
        tell(view or (p.grad is before), p.grad.storage_offset(),
             p.grad.untyped_storage().nbytes())
@case
def static_graphs():
    rounds(DDP(Unused(), static_graph=True), (), (), ())
    rounds(DDP(net(), static_graph=True), (), ())
    rounds(DDP(Unused(), static_graph=True), ("a",), ("a",), ("b",))
@case
def a_static_graph_uses_less():
    class Some(Unused):
        def forward(self, value, which):
            return self.a(value) + (self.b(value) if which == "both" else 0)
    rounds(DDP(Some(), static_graph=True), ("both",), ("both",), ("a",), ("a",))
@case
def buffers():
    module = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4))
    model = DDP(module)
    for number in range(2):
        model(batch(number) * torch.tensor([[1.0], [2.0]])).sum().backward()
        tell(module[1].running_mean, module[1].num_batches_tracked)
    with torch.no_grad():
        model(batch())
    tell(module[1].running_mean)
    model.eval()
    with torch.no_grad():
        model(batch())
    tell(module[1].running_mean)
@case
def own_buffers():
    module = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4))
    model = DDP(module, broadcast_buffers=False)
    for number in range(2):
        model(batch(number) * torch.tensor([[1.0], [2.0]])).sum().backward()
        tell(module[1].running_mean)
"""

REST = """
@case
def hooks_of_parameters_see_what_this_process_has():
    module = net()
    for when in ("before", "after"):
        module[0].weight.register_post_accumulate_grad_hook(lambda p, w=when: tell(w, p.grad))
        model = module if when == "after" else DDP(module)
    model = DDP(net())
    model.module[0].weight.register_hook(lambda grad: grad * 2)
    rounds(model, (), ())
@case
def arguments():
    for options in ({"device_ids": [0]}, {"device_ids": [0, 1]}, {"bucket_cap_mb": 0},
                    {"delay_all_reduce_named_params": []}):
        try:
            DDP(net(), **options)
            tell("fine")
        except Exception as error:
            tell(type(error).__name__, str(error))
    for module in (nn.ReLU(), net().requires_grad_(False), nn.LazyLinear(3)):
        try:
            DDP(module)
        except Exception as error:
            tell(type(error).__name__, str(error))
@case
def warnings_of_arguments():
    for options in ({"broadcast_buffers": False}, {"check_reduction": True},
                    {"broadcast_buffers": True, "forward_sync_buffers": False},
                    {"static_graph": True, "find_unused_parameters": True}):
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            model = DDP(net(), **options)
        tell([[w.category.__name__, str(w.message)] for w in told], model.broadcast_buffers)
@case
def wrong_hooks():
    model = DDP(net())
    def number(state, bucket: int): pass
    def returns(state, bucket) -> int: pass
    for hook in (3, lambda s, b: None, number, returns):
        try:
            model.register_comm_hook(None, hook)
        except Exception as error:
            tell(type(error).__name__, str(error))
@case
def buckets_as_hooks_see_them():
    model = DDP(net(), bucket_cap_mb=0.00003)
    def hook(state, bucket):
        tell(state, bucket.index(), bucket.buffer(), bucket.is_last(),
             [list(g.shape) for g in bucket.gradients()],
             [list(p.shape) for p in bucket.parameters()], type(bucket).__name__)
        done = torch.futures.Future()
        done.set_result(bucket.buffer() * 3)
        return done
    model.register_comm_hook("state", hook)
    rounds(model, (), (), ())
    model.register_comm_hook(None, hook)
@case
def default_hooks():
    hooks = part("distributed.algorithms.ddp_comm_hooks.default_hooks")
    found = [hooks.allreduce_hook]
    if size == 2:  # float16 rounds sums of more by their order
        found += [hooks.fp16_compress_hook, hooks.fp16_compress_wrapper(hooks.allreduce_hook)]
    for hook in found:
        model = DDP(net())
        model.register_comm_hook(None, hook)
        rounds(model, (), ())
@case
def join():
    for mean_of_all in (True, False):
        for looks in (False, True):
            model = DDP(nn.Sequential(nn.BatchNorm1d(3), net()), find_unused_parameters=looks)
            with model.join(divide_by_initial_world_size=mean_of_all):
                for number in range(2 + rank):
                    model.zero_grad()
                    model(batch(number) * torch.tensor([[1.0], [3.0]])).pow(2).sum().backward()
                    tell(grads(model))
            tell([b for b in model.buffers()])
@case
def join_without_a_batch():
    model = DDP(net())
    with model.join():
        for number in range(rank):
            model(batch(number)).sum().backward()
            tell(grads(model))
@case
def join_throws():
    model = DDP(net())
    with model.join(throw_on_early_termination=True):
        for number in range(2 + rank):
            model(batch(number)).sum().backward()
@case
def an_error_in_forward():
    model = DDP(net())
    try:
        model(torch.ones(2, 5))
    except Exception as error:
        tell(type(error).__name__)
    rounds(model, ())
@case
def only_some_inputs():
    model = DDP(net())
    model(batch()).sum().backward(inputs=[model.module[0].weight])
    model(batch())
@case
def frozen_later():
    model = DDP(net())
    model.module[0].weight.requires_grad_(False)
    rounds(model, (), ())
@case
def checkpoints():
    class Checkpointed(nn.Module):
        def __init__(self, reentrant):
            super().__init__()
            self.net, self.reentrant = net(), reentrant
        def forward(self, value):
            run = part("utils.checkpoint").checkpoint
            return run(self.net, value.requires_grad_(), use_reentrant=self.reentrant)
    for reentrant in (False, True):
        rounds(DDP(Checkpointed(reentrant)), (), ())
        rounds(DDP(Checkpointed(reentrant), static_graph=True), (), (), ())
@case
def checkpoints_of_one_part():
    class Twice(nn.Module):
        def __init__(self):
            super().__init__()
            self.net, self.back = net(), nn.Linear(2, 3)
        def forward(self, value):
            run = part("utils.checkpoint").checkpoint
            value = run(self.net, value.requires_grad_(), use_reentrant=True)
            return run(self.net, self.back(value), use_reentrant=True)
    rounds(DDP(Twice(), static_graph=True), (), (), ())
    rounds(DDP(Twice()), ())
@case
def shared():
    module = net()
    module.append(nn.Linear(2, 3))
    module.append(module[0])
    rounds(DDP(module), (), ())
@case
def sparse():
    model = DDP(nn.Embedding(5, 2, sparse=True))
    for number in range(3):
        model.zero_grad()
        model(torch.tensor([rank, 3, 3])).sum().backward()
        grad = model.module.weight.grad
        tell(grad.is_coalesced(), grad.to_dense())
@case
def several_dtypes():
    class Mixed(nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.b = nn.Linear(3, 3).double(), nn.Linear(3, 3)
        def forward(self, value):
            return self.b(self.a(value.double()).float())
    rounds(DDP(Mixed()), (), (), ())
@case
def ignored():
    module = net()
    DDP._set_params_and_buffers_to_ignore_for_model(module, ["0.weight"])
    rounds(DDP(module), (), ())
@case
def of_a_subgroup():
    some = dist.new_group([0, 1])
    if rank < 2:
        rounds(DDP(net(), process_group=some), (), ())
@case
def copies():
    import copy, io
    model = copy.deepcopy(DDP(net()))
    rounds(model, (), ())
    file = io.BytesIO()
    torch.save(model.state_dict(), file)
    file.seek(0)
    other = DDP(net())
    tell(str(other.load_state_dict(torch.load(file))))
    tell(other.module.state_dict()["0.weight"])
@case
def training():
    for optimizer in ("SGD", "Adam", "AdamW"):
        model = DDP(net())
        steps = getattr(torch.optim, optimizer)(model.parameters(), lr=0.1)
        for number in range(6):
            steps.zero_grad()
            loss = (model(batch(number)) - rank).pow(2).mean()
            loss.backward()
            steps.step()
            tell(loss)
"""


@pytest.mark.parametrize("size", [2, 4])
def test_gradients(size: int) -> None:
    assert_alike(MODULES + GRADIENTS, size)


@pytest.mark.parametrize("size", [2, 3])
def test_hooks_and_joins_and_models(size: int) -> None:
    assert_alike(MODULES + REST, size)
