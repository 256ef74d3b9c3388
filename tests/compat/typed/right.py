"""Ordinary programs: a type checker has nothing to say."""

from __future__ import annotations

from collections.abc import Iterator

import retrograd as torch
import retrograd.nn.functional as F
from retrograd import Tensor, nn
from retrograd.utils.data import DataLoader, Dataset, TensorDataset


class Net(nn.Module):
    def __init__(self, width: int = 8) -> None:
        super().__init__()
        self.first = nn.Linear(4, width)
        self.norm = nn.BatchNorm1d(width)
        self.layers = nn.ModuleList([nn.Linear(width, width) for _ in range(2)])
        self.head = nn.Sequential(nn.ReLU(), nn.Dropout(0.1), nn.Linear(width, 3, bias=False))
        self.scale = nn.Parameter(torch.ones(1))
        self.register_buffer("steps", torch.zeros((), dtype=torch.long))

    def forward(self, x: Tensor) -> Tensor:
        h = F.gelu(self.norm(self.first(x)))
        for layer in self.layers:
            h = h + layer(h).tanh()
        out: Tensor = self.head(h) * self.scale
        return out


def train(net: Net, x: Tensor, y: Tensor) -> float:
    optimizer = torch.optim.AdamW(net.parameters(), lr=1e-3, weight_decay=0.01)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=10)
    data = TensorDataset(x, y)
    loader = DataLoader(data, batch_size=4, shuffle=True)
    total = 0.0
    for inputs, labels in loader:
        optimizer.zero_grad(set_to_none=True)
        loss = F.cross_entropy(net(inputs), labels, reduction="mean")
        loss.backward()
        torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        optimizer.step()
        total += loss.item()
    schedule.step()
    with torch.no_grad():
        accuracy: Tensor = (net(x).argmax(dim=1) == y).float().mean()
    torch.save(net.state_dict(), "net.pt")
    return total + float(accuracy)


@torch.no_grad()
def predict(net: Net, x: Tensor) -> Tensor:
    values, indices = torch.max(net(x), dim=-1)
    return indices[values > 0.5]


def shapes(x: Tensor) -> tuple[int, ...]:
    batch, features = x.shape
    flat = x.view(-1).reshape(batch, features).reshape((batch, -1)).view([batch, features])
    parts: tuple[Tensor, ...] = flat.unsqueeze(0).expand(2, -1, -1).permute(1, 0, 2).split(1, dim=1)
    joined = torch.cat([part.squeeze(1) for part in parts], dim=0)
    first: int = joined.size(0)
    stacked = torch.stack(list(parts)).flatten(1).repeat(2, 1).transpose(0, 1).contiguous()
    return (first, stacked.dim(), *stacked.size(), stacked.numel())


def creation(device: torch.device) -> list[Tensor]:
    made = [torch.zeros(2, 3), torch.zeros((2, 3), dtype=torch.float64), torch.ones([2])]
    made += [torch.randn(2, requires_grad=True), torch.rand(2, device=device), torch.eye(3)]
    made += [torch.arange(3), torch.arange(0, 1, 0.1), torch.linspace(0, 1, 5), torch.full((2,), 3)]
    made += [torch.randint(10, (3,)), torch.randint(0, 10, (3,)), torch.tensor([[1.0], [2.0]])]
    made += [torch.randperm(4), torch.empty(2).uniform_(-1, 1), torch.zeros_like(made[0])]
    made += [made[0].new_zeros(3), made[0].to(torch.int64), made[0].to("cpu"), made[0].to(made[1])]
    return made


def results(x: Tensor) -> None:
    top = x.topk(2)
    values: Tensor = top.values
    ordered, order = torch.sort(values, descending=True)
    largest: Tensor = torch.max(ordered)
    larger: Tensor = torch.max(ordered, values)
    pooled: Tensor = F.max_pool2d(x[None, None], 2)
    again, where = F.max_pool2d(pooled, 2, return_indices=True)
    only: Tensor = torch.unique(x)
    _, counts = torch.unique(x, return_counts=True)
    rows, columns = torch.where(x > 0)
    chosen: Tensor = torch.where(x > 0, x, 0.0)
    u, s, vh = torch.linalg.svd(chosen)
    q = torch.linalg.qr(u @ torch.diag(s) @ vh).Q
    spectrum: Tensor = torch.fft.rfft(q.flatten()).abs() + torch.special.erf(larger)
    index: list[int] = torch.nonzero(only).flatten().tolist()
    numbers = (largest.item(), int(counts[0]), float(rows[0]), len(columns), bool(again[0, 0]))
    print(index, numbers, where.shape, spectrum.dtype, 2 * x - 1 / x**2 + (-x) % 3, order[..., ::2])


def gradients(x: Tensor) -> Tensor:
    y = (x**2).sum()
    (slope,) = torch.autograd.grad(y, x, create_graph=True)
    if x.grad is not None:
        x.grad.zero_()
    handle = x.register_hook(lambda g: g * 2)
    slope.sum().backward(retain_graph=True)
    handle.remove()
    hessian = torch.func.jacrev(torch.func.grad(lambda z: (z**3).sum()))(x.detach())
    both: Tensor = torch.vmap(lambda row: row.sum())(hessian)
    return both


class Squares(Dataset[int]):
    def __len__(self) -> int:
        return 3

    def __getitem__(self, index: int) -> int:
        return index * index


class Double(torch.autograd.Function):
    @staticmethod
    def forward(ctx: torch.autograd.function.FunctionCtx, x: Tensor) -> Tensor:
        ctx.save_for_backward(x)
        return x * 2

    @staticmethod
    def backward(ctx: torch.autograd.function.FunctionCtx, g: Tensor) -> Tensor:
        return g * 2


def places(x: Tensor) -> torch.device:
    torch.backends.cudnn.benchmark = True
    torch.backends.cudnn.benchmark_limit = 3
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.version() is not None
    torch._inductor.config.triton.cudagraphs = True
    with torch.backends.cudnn.flags(enabled=False, deterministic=True), torch.cuda.device(-1):
        count: int = torch.cuda.device_count() + torch.xpu.memory_allocated(0)
    with torch._dynamo.config.patch(verbose=True), torch.cuda.amp.autocast(enabled=False):
        old: bool = torch.backends.mkldnn.set_flags(False)[0] and torch._dynamo.config.verbose
    scaler: torch.cuda.amp.GradScaler = torch.cuda.amp.GradScaler(enabled=False)
    loss: Tensor = scaler.scale(x.sum())
    version: str | None = torch.version.cuda
    layer: torch.nn.modules.linear.Linear = nn.Linear(count, 3)
    kind = "mps" if torch.backends.mps.is_available() or old else torch.cpu.current_device()
    counters: int = torch.cuda.memory_stats().get("allocated", 0)
    names: list[str] = torch.compiler.list_backends()
    print(loss, version, layer, counters, names, torch.accelerator.current_accelerator())
    return torch.device("cuda" if torch.cuda.is_available() else kind)


def streams(stream: torch.cuda.Stream | None, graph: torch.fx.GraphModule) -> None:
    if isinstance(stream, torch.cuda.Stream):
        stream.synchronize()
    print(graph.graph.nodes)
    if torch.cuda.is_available():
        torch.cuda.synchronize()


def processes(net: Net, x: Tensor) -> int:
    torch.distributed.init_process_group("gloo", rank=0, world_size=1)
    torch.distributed.all_reduce(x, op=torch.distributed.ReduceOp.SUM)
    rank: int = torch.distributed.get_rank()
    group: torch.distributed.ProcessGroup = torch.distributed.distributed_c10d._get_default_group()
    torch.distributed.destroy_process_group(group)
    try:
        torch.distributed.fsdp.FullyShardedDataParallel(net)
    except NotImplementedError:
        return rank
    return 1


def times(net: Net, x: Tensor) -> str:
    activities = [torch.profiler.ProfilerActivity.CPU]
    with torch.profiler.profile(activities=activities, record_shapes=True) as profiler:
        with torch.profiler.record_function("forward"):
            net(x)
        profiler.step()
    timer = torch.utils.benchmark.Timer("net(x)", globals={"net": net, "x": x})
    print(timer.timeit(3).median)
    table: str = profiler.key_averages().table(sort_by="cpu_time_total")
    return table


def chance(logits: Tensor) -> Iterator[Tensor]:
    policy = torch.distributions.Categorical(logits=logits)
    action = policy.sample()
    yield policy.log_prob(action)
    normal = torch.distributions.Normal(0.0, 1.0)
    yield normal.rsample((3,))
    yield torch.distributions.kl_divergence(normal, torch.distributions.Normal(1.0, 2.0))
