"""
Pretrain a character GPT. Settings are module globals; --name=value on the command line wins.

    python gpt_pretrain.py --max_steps=20 --dropout=0.0
    RANK=... WORLD_SIZE=... python gpt_pretrain.py        # data parallel, under a launcher
"""

import ast
import contextlib
import dataclasses
import inspect
import math
import os
import sys
import time

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.distributed import destroy_process_group, init_process_group
from torch.nn.parallel import DistributedDataParallel as DDP

# ---- settings ---------------------------------------------------------------
out_dir = "gpt_out"
max_steps, eval_every, eval_batches, log_every = 40, 20, 4, 5
micro_batch, accumulation = 6, 2
context, layers, heads, width = 24, 2, 2, 32
dropout, bias = 0.1, False
peak_lr, floor_lr, warmup_steps = 4e-3, 4e-4, 5
weight_decay, beta1, beta2, clip = 0.1, 0.9, 0.95, 1.0
device = "cuda" if torch.cuda.is_available() else "cpu"
dtype = "bfloat16" if device == "cuda" and torch.cuda.is_bf16_supported() else "float32"
compile = False
resume = False

settings = [
    k for k, v in list(globals().items()) if isinstance(v, (bool, int, float, str)) and k[0] != "_"
]
for argument in sys.argv[1:]:
    key, _, value = argument.removeprefix("--").partition("=")
    if key not in settings:
        raise SystemExit(f"no setting named {key}")
    kind = type(globals()[key])
    globals()[key] = value if kind is str else kind(ast.literal_eval(value))
settings = {k: globals()[k] for k in settings}

# ---- where we run -----------------------------------------------------------
distributed = "RANK" in os.environ
rank, world = int(os.environ.get("RANK", 0)), int(os.environ.get("WORLD_SIZE", 1))
if distributed:
    init_process_group(backend="nccl" if "cuda" in device else "gloo")
    accumulation //= world
leader = rank == 0
device_type = "cuda" if "cuda" in device else "cpu"
torch.manual_seed(4242 + rank)
torch.backends.cuda.matmul.allow_tf32 = True
torch.backends.cudnn.allow_tf32 = True
torch.backends.cudnn.benchmark = False
torch.set_float32_matmul_precision("highest")
precision = getattr(torch, dtype)
autocast = (
    contextlib.nullcontext()
    if precision is torch.float32
    else torch.amp.autocast(device_type=device_type, dtype=precision)
)

# ---- data: characters in a binary file, read through a memory map --------------
os.makedirs(out_dir, exist_ok=True)
verse = "".join(
    f"{a} green bottles hang on the wall, {b} may fall\n" for a in range(9, 0, -1) for b in range(a)
)
alphabet = sorted(set(verse))
tokens = np.array([alphabet.index(c) for c in verse], dtype=np.uint16)
cut = int(len(tokens) * 0.9)
for part, array in (("train", tokens[:cut]), ("val", tokens[cut:])):
    array.tofile(f"{out_dir}/{part}.bin")


def batch(part):
    memory = np.memmap(f"{out_dir}/{part}.bin", dtype=np.uint16, mode="r")
    starts = torch.randint(len(memory) - context, (micro_batch,))
    rows = np.stack([memory[s : s + context + 1] for s in starts]).astype(np.int64)
    rows = torch.from_numpy(rows)
    x, y = rows[:, :-1].contiguous(), rows[:, 1:].contiguous()
    if device_type == "cuda":
        return x.pin_memory().to(device, non_blocking=True), y.pin_memory().to(
            device, non_blocking=True
        )
    return x.to(device), y.to(device)


# ---- model ------------------------------------------------------------------
@dataclasses.dataclass
class Shape:
    vocabulary: int
    context: int
    layers: int
    heads: int
    width: int
    dropout: float
    bias: bool


class Norm(nn.Module):
    def __init__(self, width, bias):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))
        self.bias = nn.Parameter(torch.zeros(width)) if bias else None

    def forward(self, x):
        return F.layer_norm(x, self.weight.shape, self.weight, self.bias, 1e-5)


class Layer(nn.Module):
    def __init__(self, s):
        super().__init__()
        self.s = s
        self.norm1, self.norm2 = Norm(s.width, s.bias), Norm(s.width, s.bias)
        self.qkv = nn.Linear(s.width, 3 * s.width, bias=s.bias)
        self.mix = nn.Linear(s.width, s.width, bias=s.bias)
        self.up = nn.Linear(s.width, 4 * s.width, bias=s.bias)
        self.down = nn.Linear(4 * s.width, s.width, bias=s.bias)
        self.drop = nn.Dropout(s.dropout)
        if not hasattr(F, "scaled_dot_product_attention"):
            raise RuntimeError("PyTorch 2 is needed")

    def forward(self, x):
        rows, length, width = x.shape
        q, k, v = (
            t.view(rows, length, self.s.heads, -1).transpose(1, 2)
            for t in self.qkv(self.norm1(x)).split(width, dim=2)
        )
        seen = F.scaled_dot_product_attention(
            q, k, v, is_causal=True, dropout_p=self.s.dropout if self.training else 0.0
        )
        x = x + self.drop(self.mix(seen.transpose(1, 2).reshape(rows, length, width)))
        return x + self.drop(self.down(F.gelu(self.up(self.norm2(x)))))


class CharGPT(nn.Module):
    def __init__(self, s):
        super().__init__()
        self.s = s
        self.token = nn.Embedding(s.vocabulary, s.width)
        self.place = nn.Embedding(s.context, s.width)
        self.drop = nn.Dropout(s.dropout)
        self.layers = nn.ModuleList(Layer(s) for _ in range(s.layers))
        self.norm = Norm(s.width, s.bias)
        self.head = nn.Linear(s.width, s.vocabulary, bias=False)
        self.token.weight = self.head.weight  # tied
        self.apply(self.start)
        for name, p in self.named_parameters():
            if name.endswith(("mix.weight", "down.weight")):
                nn.init.normal_(p, std=0.02 / math.sqrt(2 * s.layers))

    @staticmethod
    def start(module):
        if isinstance(module, (nn.Linear, nn.Embedding)):
            nn.init.normal_(module.weight, std=0.02)
        if getattr(module, "bias", None) is not None:
            nn.init.zeros_(module.bias)

    def forward(self, x, y=None):
        h = self.drop(self.token(x) + self.place(torch.arange(x.size(1), device=x.device)))
        for layer in self.layers:
            h = layer(h)
        h = self.norm(h)
        if y is None:
            return self.head(h[:, [-1], :]), None
        logits = self.head(h)
        return logits, F.cross_entropy(logits.flatten(0, 1), y.flatten(), ignore_index=-1)

    def configure_optimizers(self):
        trained = {n: p for n, p in self.named_parameters() if p.requires_grad}
        groups = [
            {"params": [p for p in trained.values() if p.dim() >= 2], "weight_decay": weight_decay},
            {"params": [p for p in trained.values() if p.dim() < 2], "weight_decay": 0.0},
        ]
        for g in groups:
            print(
                f"decay {g['weight_decay']}: {len(g['params'])} tensors, {sum(p.numel() for p in g['params']):,} numbers"
            )
        has_fused = "fused" in inspect.signature(torch.optim.AdamW).parameters
        extra = {"fused": True} if has_fused and device_type == "cuda" else {}
        print(f"fused AdamW: there {has_fused}, used {bool(extra)}")
        return torch.optim.AdamW(groups, lr=peak_lr, betas=(beta1, beta2), **extra)

    @torch.no_grad()
    def sample(self, x, count, top_k):
        for _ in range(count):
            logits, _ = self(x[:, -self.s.context :])
            logits = logits[:, -1]
            lowest = logits.topk(top_k).values[:, [-1]]
            logits[logits < lowest] = -float("inf")
            x = torch.cat((x, torch.multinomial(logits.softmax(-1), 1)), dim=1)
        return x


# ---- training ---------------------------------------------------------------
shape = Shape(len(alphabet), context, layers, heads, width, dropout, bias)
model = CharGPT(shape).to(device)
scaler = torch.amp.GradScaler(device_type, enabled=dtype == "float16")
optimizer = model.configure_optimizers()
step, best = 0, float("inf")
if resume:
    checkpoint = torch.load(f"{out_dir}/checkpoint.pt", map_location=device)
    model.load_state_dict({k.removeprefix("_orig_mod."): v for k, v in checkpoint["model"].items()})
    optimizer.load_state_dict(checkpoint["optimizer"])
    step, best = checkpoint["step"], checkpoint["best"]
plain = model
if compile:
    model = torch.compile(model)
if distributed:
    model = DDP(model)


def get_lr(step):
    if step < warmup_steps:
        return peak_lr * (step + 1) / (warmup_steps + 1)
    progress = min(1.0, (step - warmup_steps) / max(1, max_steps - warmup_steps))
    return floor_lr + 0.5 * (peak_lr - floor_lr) * (1 + math.cos(math.pi * progress))


@torch.no_grad()
def evaluate():
    model.eval()
    result = {}
    for part in ("train", "val"):
        losses = torch.zeros(eval_batches)
        for i in range(eval_batches):
            with autocast:
                losses[i] = model(*batch(part))[1].item()
        result[part] = losses.mean()
    model.train()
    return result


x, y = batch("train")
began = time.perf_counter()
while step <= max_steps:
    lr = get_lr(step)
    for group in optimizer.param_groups:
        group["lr"] = lr

    if step % eval_every == 0 and leader:
        found = evaluate()
        print(f"step {step}: train {found['train']:.4f} val {found['val']:.4f}")
        if found["val"] < best:
            best = found["val"]
            torch.save(
                {
                    "model": plain.state_dict(),
                    "optimizer": optimizer.state_dict(),
                    "step": step,
                    "best": best,
                    "settings": settings,
                    "shape": dataclasses.asdict(shape),
                },
                f"{out_dir}/checkpoint.pt",
            )

    for micro in range(accumulation):
        if distributed:
            model.require_backward_grad_sync = micro == accumulation - 1
        with autocast:
            _, loss = model(x, y)
            loss = loss / accumulation
        x, y = batch("train")  # the next one, while the device is busy
        scaler.scale(loss).backward()
    if clip:
        scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(model.parameters(), clip)
    scaler.step(optimizer)
    scaler.update()
    optimizer.zero_grad(set_to_none=True)

    if step % log_every == 0 and leader:
        print(f"step {step}: loss {loss.item() * accumulation:.4f} lr {lr:.6f}")
    step += 1

print(f"{sum(p.numel() for p in plain.parameters()):,} parameters", file=sys.stderr)
print(f"{time.perf_counter() - began:.1f} s", file=sys.stderr)
checkpoint = torch.load(f"{out_dir}/checkpoint.pt", map_location=device, weights_only=True)
plain.load_state_dict(checkpoint["model"])
plain.eval()
start = torch.tensor([[alphabet.index("9")]], device=device)
print(repr("".join(alphabet[i] for i in plain.sample(start, 12, top_k=2)[0].tolist())))
print(f"best val loss {checkpoint['best']:.4f} at step {checkpoint['step']}")
if distributed:
    destroy_process_group()
