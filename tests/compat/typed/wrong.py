"""Mistakes: a type checker has something to say about each marked line, and about no other."""

# ruff: noqa

from __future__ import annotations

import retrograd as torch
import retrograd.nn.functional as F
from retrograd import nn

t = torch.zeros(3)
net = nn.Linear(3, 4)

# names that are not there
torch.zeroes(3)  # wrong
t.foo()  # wrong
t.shap  # wrong
F.reluu(t)  # wrong
nn.Liner(3, 4)  # wrong
torch.optim.Adamm(net.parameters())  # wrong
torch.linalg.sdv(t)  # wrong
torch.fft.fftt(t)  # wrong
torch.special.erff(t)  # wrong
torch.autograd.gradd(t, t)  # wrong
torch.utils.chekpoint  # wrong
torch.utils.data.Loader(t)  # wrong
torch.sparse.mmm(t, t)  # wrong
torch.cuda.is_avaliable()  # wrong
torch.cuda.amp.autocst()  # wrong
torch.cuda.memory.allocated()  # wrong
torch.cpu.amp.GradScalar()  # wrong
torch.mps.is_avaliable()  # wrong
torch.backends.cuddn  # wrong
torch.backends.cudnn.benchmrk = True  # wrong
torch.backends.cuda.matmul.allow_tf33 = True  # wrong
torch._dynamo.rest()  # wrong
torch._dynamo.config.supress_errors = True  # wrong
torch.compiler.disabled(t)  # wrong
torch.distributed.init_proces_group("gloo")  # wrong
torch.distributed.fsdp.FullySharded(net)  # wrong
torch.distributed.distributed_c10d.get_default_group()  # wrong
torch.profiler.profil()  # wrong
torch.autograd.profiler.profle()  # wrong
torch.onnx.exprt(net)  # wrong
torch.ao.quantization.quantise(net)  # wrong
torch.nn.modules.linear.Liner(3, 4)  # wrong
torch.jit.scirpt(net)  # wrong
torch.library.custom_opp("a::b")  # wrong
torch.utils.benchmark.Tmer("x")  # wrong
torch.utils.checkpoint.checkpont(net)  # wrong
torch.version.cudaa  # wrong
torch.hub.laod("a", "b")  # wrong

# results
x: int = t.sum()  # wrong
y: float = t.mean()  # wrong
z: str = t.size(0)  # wrong
n: int = t.shape  # wrong
a, b, c = t.max(0)  # wrong
d, e = torch.linalg.svd(t)  # wrong
f, g, h = F.max_pool2d(t, 2, return_indices=True)  # wrong
t.topk(2).value  # wrong
t.backward().item()  # wrong
t.tolist().mean()  # wrong
i: torch.Tensor = t.grad  # wrong
j: str = torch.cuda.is_available()  # wrong
k: int = torch.backends.cudnn.version()  # wrong
torch.cuda.device_count().real_count  # wrong
torch.distributed.get_rank().upper()  # wrong

# arguments
nn.Linear("3", 4)  # wrong
nn.Linear(3)  # wrong
nn.Dropout(p="a")  # wrong
torch.optim.Adam(lr=0.1)  # wrong
torch.optim.Adam(net.parameters(), lr="a")  # wrong
torch.optim.SGD(net.parameters(), learning_rate=0.1)  # wrong
torch.optim.SGD(0.1)  # wrong
torch.zeros(3, dtyp=torch.float32)  # wrong
torch.zeros("3")  # wrong
torch.randn(3, dtype="float32")  # wrong
torch.relu(3)  # wrong
torch.add(t, "a")  # wrong
torch.cat(t, t)  # wrong
torch.arange("a")  # wrong
t + "a"  # wrong
t @ 3  # wrong
t.sum(dims=0)  # wrong
t.view("a")  # wrong
t.reshape(2.5)  # wrong
t.transpose(0)  # wrong
t.to(3.5)  # wrong
t.size("a")  # wrong
t.backward(1, 2, 3, 4, 5)  # wrong
t.requires_grad_("yes", 3)  # wrong
F.softmax(t, axis=1)  # wrong
F.cross_entropy(t)  # wrong
F.conv2d(t, t, stride="a")  # wrong
torch.manual_seed()  # wrong
torch.distributions.Normal(scale=1.0)  # wrong
torch.autograd.grad(t)  # wrong
torch.backends.cudnn.benchmark = "yes"  # wrong
torch.backends.cuda.matmul.allow_tf32 = "yes"  # wrong
torch.backends.cudnn.flags(speed=True)  # wrong
torch.backends.cuda.enable_flash_sdp("yes")  # wrong
torch.cuda.amp.autocast(enabled="yes")  # wrong
torch.distributed.init_process_group(world="1")  # wrong
torch.profiler.profile(shapes=True)  # wrong
torch.profiler.schedule(wait=1, active="a")  # wrong
