"""Expressions with tensors without elements, and what they give: on retrograd and on PyTorch.

`x` is 2 by 3, `s` has no dimensions, `i` are indices, `b` a mask, `m` a layer, all without
elements; `c`, `cs` and `cm` are their fellows on the CPU.
"""

from __future__ import annotations

import copy
import io
import pickle
import warnings

import numpy

EXPRESSIONS = """
x
s
m.weight
m
(x * 2).requires_grad_()
torch.empty(3, 2, device='meta', dtype=torch.bfloat16, requires_grad=True) * 2
torch.empty(0, device='meta')
str(s)
f'{s}'
format(s, '.2f')
m.state_dict()
x[torch.tensor([[True, False, True], [False, False, True]])].shape
x.item()
s.item()
s.tolist()
x.tolist()
bool(s)
bool(x)
bool(s.bfloat16())
int(s)
float(s)
complex(s)
range(10)[i[0]]
s in [1]
x.numpy()
x.numpy(force=True)
numpy.asarray(x)
x.cpu()
x.to('cpu')
c.to('meta')
c.to('meta', torch.float64)
c.to(x)
x.to('meta') is x
x.cuda()
x.is_meta, c.is_meta, x.is_cpu, x.is_cuda
x.device, x.get_device(), x.type(), x.layout
torch.empty(2, device='meta:0').device
torch.empty(2, device='meta:1').device
torch.empty(2, device=torch.device('meta')).device
x.data_ptr(), x.untyped_storage().data_ptr(), x.untyped_storage().nbytes()
x[1:].storage_offset(), x[1:].untyped_storage().nbytes(), x.element_size()
x.untyped_storage()
x.storage()
x.untyped_storage().tolist()
x.untyped_storage()[0]
x.untyped_storage().cpu()
x.untyped_storage().clone().device
torch.UntypedStorage(8, device='meta')
x.nonzero()
torch.nonzero(x, as_tuple=True)
torch.argwhere(x)
torch.unique(x)
torch.unique_consecutive(x)
torch.masked_select(x, b)
x[b]
x[i].shape
x[torch.tensor([0, 1])].shape
x[torch.tensor([True, False])].shape
x[torch.tensor([True, False]), 1:].shape
x[5]
x[:, 3]
x[..., None].shape, x[None].shape, x[0, 1].shape
x + c
c + x
c + s
c == x
x + cs
cs - x
torch.where(b, x, 1.).shape
torch.where(b, c, 1.)
torch.where(b, c, x)
torch.where(c > 0, x, x)
torch.lerp(x, c, 0.5)
torch.lerp(c, x, 0.5)
torch.addcmul(x, c, x)
torch.maximum(c, x)
torch.cat([x, c])
torch.cat([c, x])
torch.stack([x, c])
c.masked_fill(b, 1.)
x.masked_fill(c > 0, 1.)
x.copy_(c)
c.copy_(x)
c.copy_(s)
x.__setitem__(b, 1.)
x.__setitem__(i, s)
x.__setitem__(0, c[0])
c.__setitem__(0, x[0])
x.index_put_((b,), s)
x.index_fill_(0, i, s)
x.zero_()._version, x.fill_(2)._version
x.resize_(4, 5).shape
x.set_(torch.empty(3, device='meta')).shape
torch.tensor([1, 2], device='meta')
torch.tensor(x)
torch.as_tensor([1, 2], device='meta')
torch.from_numpy(numpy.ones(2)).to('meta')
torch.rand(2, device='meta')
torch.rand(2, device='meta', generator=torch.Generator())
torch.Generator('meta')
torch.randint(3, (2,), device='meta')
torch.randperm(4, device='meta')
torch.bernoulli(x)
torch.multinomial(x, 1)
torch.normal(x, x)
torch.normal(0., 1., (2,), device='meta')
x.normal_(), x.uniform_(), x.exponential_(), x.random_(3), x.bernoulli_(0.3)
torch.arange(5, device='meta')
torch.arange(0, 1, 0.3, device='meta')
torch.linspace(0, 1, 5, device='meta')
torch.logspace(0, 1, 5, device='meta')
torch.eye(3, device='meta')
torch.full((2,), 3, device='meta')
torch.tril_indices(3, 3, device='meta')
torch.zeros_like(c, device='meta')
torch.ones_like(x, device='cpu')
torch.empty_like(x, device='cpu').shape
torch.randn_like(x, device='cpu').device, torch.rand_like(c, device='meta').device
torch.empty(2, 3, 4, 5, device='meta', memory_format=torch.channels_last).stride()
x.new_zeros(3).device, x.new_tensor([1.]).device, x.new_empty(2, device='cpu').device
torch.zeros(2**40, 2**10, device='meta').sum(0).shape
torch.zeros(2**62, 4, device='meta')
x.expand(4, 2, 3).stride(), x.t().stride(), x.mT.is_contiguous(), x.contiguous() is x
x.view(4)
x.t().view(6)
x.reshape(4)
x.expand(4, 3)
x.sum(5)
(x + 1j).dtype, (i + 1.5).dtype, (i / 2).dtype, (x.half() + x).dtype
torch.result_type(x, torch.tensor(1., dtype=torch.float64))
x.sum()
x.mean(0).shape, x.median().shape, x.prod().shape, x.std(1).shape, torch.quantile(x, 0.5).shape
x.sort()
x.topk(2)
x.kthvalue(1)
x.mode()
torch.equal(x, x)
torch.allclose(x, x)
torch.isclose(x, x)
torch.is_nonzero(s)
torch.bincount(i)
torch.histc(x)
torch.repeat_interleave(i)
torch.repeat_interleave(x, i, dim=0)
torch.repeat_interleave(x, i, dim=0, output_size=5).shape
torch.nonzero_static(x, size=4).shape
torch.tensor_split(x, i)
torch.combinations(i)
torch.nn.functional.one_hot(i)
torch.nn.functional.one_hot(i, 3)
torch.nn.functional.embedding(i, x, max_norm=1.).shape
torch.nn.functional.nll_loss(x, i)
torch.nn.functional.cross_entropy(x, i, weight=torch.empty(3, device='meta'))
torch.nn.functional.dropout(x)
torch.linalg.svd(x)
torch.linalg.matrix_rank(x)
torch.linalg.pinv(x).shape
torch.linalg.lstsq(x, x)
torch.fft.fft(x)
torch.cdist(x, x)
torch.to_dlpack(x)
x.share_memory_()
x.pin_memory()
x.is_pinned(), x.is_shared()
torch.testing.assert_close(x, x)
torch.isnan(x).any()
len(x), [row.shape for row in x]
sum(row for row in x).shape
pickle.loads(pickle.dumps(x))
pickle.loads(pickle.dumps(x.t())).stride()
copy.deepcopy(x)
copy.copy(x)
copy.deepcopy(m).weight
torch.nn.Parameter(x)
saved({'a': x, 'p': m.weight})
saved({'a': x.t()})['a'].stride()
saved({'a': c}, map_location='meta')
saved({'a': x}, map_location='cpu')
saved({'a': c, 'b': c[0]}, map_location='meta')['b'].storage_offset()
loaded(cm, m)
loaded(cm, m, assign=True)
loaded(m, cm)
loaded(m, cm, assign=True)
loaded(m, m)
m.to('cpu')
m.cpu()
m.to_empty(device='cpu').weight.device
cm.to('meta').weight
cm.to_empty(device='meta').weight.shape
torch.nn.utils.skip_init(torch.nn.Linear, 3, 2).weight.device
m(x).shape, m(x).requires_grad
learned(m, x)
inside('meta', 'torch.zeros(2), torch.nn.Linear(2, 2).weight, torch.tensor([1.]), torch.eye(2)')
default('meta', 'torch.zeros(2).device, torch.nn.Linear(2, 2).bias.device')
default(None, 'torch.get_default_device(), torch.zeros(2).device')
torch.autograd.gradcheck(lambda a: a * 2, x.double().requires_grad_())
torch.nn.init.trunc_normal_(x), torch.nn.init.kaiming_uniform_(x), torch.nn.init.orthogonal_(x)
torch.nn.LSTM(3, 2, device='meta')(x[None])[0].shape
torch.nn.TransformerEncoderLayer(8, 2, device='meta')(torch.empty(4, 2, 8, device='meta')).shape
torch.nn.Conv2d(3, 4, 3, device='meta')(torch.empty(2, 3, 8, 8, device='meta')).stride()
torch.nn.BatchNorm2d(3, device='meta')(torch.empty(2, 3, 8, 8, device='meta')).shape
"""


def results(torch):
    """What every expression gives on a library: the text, or the error's type and first line."""
    found = {}
    for expression in filter(None, map(str.strip, EXPRESSIONS.splitlines())):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                found[expression] = repr(eval(expression, _names(torch)))
            except Exception as error:
                found[expression] = f"{type(error).__name__}: {str(error).splitlines()[0]}"
    return found


def _names(torch):
    def saved(value, **options):
        file = io.BytesIO()
        torch.save(value, file)
        file.seek(0)
        return torch.load(file, **options)

    def loaded(source, target, **options):
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            keys = target.load_state_dict(source.state_dict(), **options)
        kinds = [(type(p).__name__, p.device.type) for p in target.parameters()]
        return keys, kinds, [str(warning.message) for warning in said]

    def learned(layer, inputs):
        optimizer = torch.optim.AdamW(layer.parameters(), lr=0.1)
        layer(inputs).pow(2).mean().backward()
        norm = torch.nn.utils.clip_grad_norm_(layer.parameters(), 1.0)
        optimizer.step()
        return norm.device, [(p.grad.device, p.grad.shape) for p in layer.parameters()]

    def inside(device, text):
        with torch.device(device):
            return eval(text, {"torch": torch})

    def default(device, text):
        torch.set_default_device(device)
        try:
            return eval(text, {"torch": torch})
        finally:
            torch.set_default_device(None)

    return {
        **{"torch": torch, "numpy": numpy, "pickle": pickle, "copy": copy, "saved": saved},
        **{"loaded": loaded, "learned": learned, "inside": inside, "default": default},
        "x": torch.empty(2, 3, device="meta"),
        "s": torch.empty((), device="meta"),
        "i": torch.zeros(2, dtype=torch.int64, device="meta"),
        "b": torch.zeros(2, 3, dtype=torch.bool, device="meta"),
        "m": torch.nn.Linear(3, 2, device="meta"),
        "c": torch.ones(2, 3),
        "cs": torch.tensor(1.0),
        "cm": torch.nn.Linear(3, 2),
    }
