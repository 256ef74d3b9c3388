"""Expressions about tensors as objects: how they are made, converted, stored, copied, drawn.

Each group has a setup and expressions; `torch` is PyTorch or retrograd. What PyTorch 2.13 does with
them is stored in `recorded.json` (made by `python -m tests.tensor.record`).
"""

from __future__ import annotations

# Each line is one expression.
_DATA = """
torch.tensor([[1, 2], [3]])
torch.tensor([1, [2]])
torch.tensor([[1], 2])
torch.tensor('a')
torch.tensor(['a'])
torch.tensor([None])
torch.tensor(None)
torch.tensor(object())
torch.tensor([1, 2.5, True])
torch.tensor([True, 2])
torch.tensor([True, False])
torch.tensor([1j, 2])
torch.tensor([])
torch.tensor([[], []])
torch.tensor([[[]], [[]]])
torch.tensor(())
torch.tensor(np.float32(3))
torch.tensor([np.float32(3)])
torch.tensor([np.float64(3)])
torch.tensor([np.int32(3)])
torch.tensor(np.int32(3))
torch.tensor([np.float32(3), 1.0])
torch.tensor([np.bool_(True)])
torch.tensor([np.ones(2, np.float32)])
torch.tensor([[np.float32(1.5), 2]])
torch.tensor([torch.tensor(1.), torch.tensor(2.)])
torch.tensor([torch.tensor([1.]), torch.tensor([2.])])
torch.tensor([torch.tensor(1), 2])
torch.tensor([torch.tensor(1., dtype=torch.float64), 2])
torch.tensor([torch.tensor(1.5, requires_grad=True)])
torch.tensor(torch.ones(2))
torch.tensor(torch.ones(2), dtype=torch.int64)
torch.tensor([torch.tensor([1., 3]), torch.tensor([2., 3])])
torch.tensor(2 ** 63)
torch.tensor([2 ** 64])
torch.tensor(-2 ** 63)
torch.tensor(300, dtype=torch.uint8)
torch.tensor(-1, dtype=torch.uint8)
torch.tensor(-200, dtype=torch.uint8)
torch.tensor(-300, dtype=torch.uint8)
torch.tensor(200, dtype=torch.int8)
torch.tensor(-128, dtype=torch.int8)
torch.tensor(1.5, dtype=torch.int64)
torch.tensor([1.9, -1.9], dtype=torch.int32)
torch.tensor(float('nan'), dtype=torch.int64)
torch.tensor(float('inf'), dtype=torch.int64)
torch.tensor(1e40)
torch.tensor(-1e40)
torch.tensor(1e10, dtype=torch.float16)
torch.tensor(1e10, dtype=torch.int32)
torch.tensor(1j, dtype=torch.float32)
torch.tensor(1j, dtype=torch.int64)
torch.tensor(0.1, dtype=torch.bfloat16)
torch.tensor(0.1, dtype=torch.float16)
torch.tensor([0.1, 2, -3.7], dtype=torch.bool)
torch.tensor(1 + 2j, dtype=torch.complex128)
torch.tensor([1], requires_grad=True)
torch.tensor([1.], requires_grad=True)
torch.tensor(1j, requires_grad=True)
torch.tensor([1.0], pin_memory=True)
torch.tensor(range(3))
torch.tensor((1, 2))
torch.tensor([(1, 2), [3, 4]])
torch.tensor({1, 2})
torch.tensor({1: 2})
torch.tensor(bytearray(b'abc'))
torch.tensor(b'ab')
torch.tensor(np.array(['a']))
torch.tensor(np.ones(2)[::-1])
torch.tensor(np.ones((2, 3)).T)
torch.tensor(np.ones(2), dtype=torch.float32)
torch.tensor(np.array(5))
torch.tensor([1, 2], dtype='x')
torch.tensor([1, 2], dtype=float)
torch.tensor([1, 2], dtype=int)
torch.tensor([1, 2], dtype=bool)
torch.tensor([1, 2], device='cpu')
torch.tensor([1, 2], device=torch.device('cpu'))
torch.tensor([1, 2], device='foo')
torch.tensor([[1, 2], [3, 4]]).stride()
torch.tensor(3.5).shape
torch.from_numpy([1])
torch.from_numpy(np.ones(3)[::-1])
torch.from_numpy(np.array(['a']))
torch.from_numpy(np.ones(2, '>f4'))
torch.from_numpy(np.ones(2, np.longdouble))
torch.from_numpy(np.float32(1))
torch.from_numpy(np.zeros(3, [('a', 'i1'), ('b', 'f4')])['b'])
torch.from_numpy(np.zeros(9, 'u1')[1:].view('f4'))
torch.from_numpy(np.arange(6).reshape(2, 3).T)
torch.from_numpy(np.arange(6)[::2]).stride()
torch.from_numpy(np.arange(6)[2:]).storage_offset()
torch.from_numpy(np.array(3.0, np.float16))
torch.from_numpy(np.ones(2, np.complex64))
torch.from_numpy(np.array([True]))
torch.from_numpy(np.broadcast_to(np.ones(1), 3).copy())
torch.from_numpy(np.matrix([[1.0]]))
torch.from_numpy(frozen)
torch.as_tensor(frozen)
torch.tensor(frozen)
torch.as_tensor(g) is g
torch.as_tensor(g, dtype=torch.float64)
torch.as_tensor([1, 2])
torch.as_tensor(np.float32(3))
torch.as_tensor(a).data_ptr() == a.ctypes.data
torch.as_tensor(a, dtype=torch.float32)
torch.as_tensor(a[::-1])
torch.as_tensor(2.5)
torch.as_tensor((1, 2.), dtype=torch.int8)
torch.asarray(g) is g
torch.asarray(g, requires_grad=True)
torch.asarray(g, requires_grad=False)
torch.asarray(g * 1, requires_grad=True)
torch.asarray(a, copy=True).data_ptr() == a.ctypes.data
torch.asarray(a).data_ptr() == a.ctypes.data
torch.asarray([1, 2], copy=False)
torch.asarray(x, dtype=torch.float64, copy=False)
torch.asarray(x, dtype=torch.float64)
torch.asarray(bytearray(b'abcd'))
torch.asarray(np.float64(2))
torch.asarray(3.5)
torch.asarray([1, 2], requires_grad=False)
torch.asarray([1., 2], requires_grad=True)
torch.asarray(a, dtype=torch.float32)
torch.frombuffer(bytearray(b'abcdefgh'), dtype=torch.int32)
torch.frombuffer(bytearray(b'abcdefgh'), dtype=torch.uint8, offset=2, count=3)
torch.frombuffer(b'abcdefgh', dtype=torch.uint8)
torch.frombuffer(bytearray(b'abcdefghi'), dtype=torch.int32)
torch.frombuffer(bytearray(), dtype=torch.int32)
torch.frombuffer(bytearray(b'abcd'), dtype=torch.int32, count=2)
torch.frombuffer(bytearray(b'abcd'), dtype=torch.int32, offset=5)
torch.frombuffer(3, dtype=torch.int32)
torch.frombuffer(bytearray(b'abcd'), dtype=torch.uint8, count=0)
torch.frombuffer(bytearray(b'abcd'), dtype=torch.float32, requires_grad=True)
torch.from_dlpack(np.ones(2))
torch.from_dlpack(x).data_ptr() == x.data_ptr()
torch.from_dlpack([1])
[int(n) for n in x.__dlpack_device__()]
g.__dlpack__()
np.from_dlpack(x)
torch.scalar_tensor(3)
torch.scalar_tensor(3, dtype=torch.int8)
torch.scalar_tensor(True)
"""

_FACTORIES = """
torch.zeros(2, dtype=float)
torch.zeros(2, dtype=int)
torch.zeros(2, dtype=bool)
torch.zeros(2, dtype=complex)
torch.zeros(2, dtype=np.float32)
torch.zeros(2, dtype='float32')
torch.zeros(2.0)
torch.zeros(-1)
torch.zeros((2, -1))
torch.zeros(2, 3.5)
torch.zeros('a')
torch.zeros()
torch.zeros(torch.tensor(3))
torch.zeros((np.int64(2), torch.tensor(3)))
torch.zeros([2, [3]])
torch.zeros(size=(2,))
torch.zeros(True)
torch.zeros(None)
torch.zeros(2, None)
torch.zeros([])
torch.zeros(())
torch.zeros(torch.Size([2]))
torch.zeros(2, foo=1)
torch.zeros((2,), 3)
torch.zeros((2, 3), (1,))
torch.zeros(2, device='foo')
torch.zeros(2, out=torch.ones(3))
torch.zeros(2, out=torch.ones(2, dtype=torch.int8))
torch.zeros(2, out=torch.ones(2, dtype=torch.int8), dtype=torch.float32)
torch.zeros(2, requires_grad=True)
torch.ones(2, requires_grad=True, dtype=torch.int8)
torch.ones(2, 0, 3)
torch.ones(2, dtype=torch.bfloat16)
torch.empty(2, 3, dtype=torch.int8).shape
torch.empty(1, 2, 3, 4, memory_format=torch.channels_last).stride()
torch.empty(2, 3, memory_format=torch.channels_last).stride()
torch.empty_strided((2, 3), (1, 2)).stride()
torch.empty_strided((2, 3), (1,))
torch.empty_strided((2, 3), (10, 2), dtype=torch.int64).dtype
torch.full((2,), 3)
torch.full((2,), True)
torch.full((2,), 3.)
torch.full((2,), 1j)
torch.full((2,), 3, dtype=torch.float64)
torch.full(2, 3)
torch.full([2], torch.tensor(3))
torch.full([2], torch.tensor([3]))
torch.full(size=(2,), fill_value=2)
torch.full((2,), 300, dtype=torch.uint8)
torch.full((2,), -1, dtype=torch.uint8)
torch.full((2,), 'a')
torch.full((2,), 2.7, dtype=torch.int64)
torch.full((2,), float('nan'))
torch.full((), 2)
torch.full((2,), 1.0, requires_grad=True)
torch.full((2,), 1, requires_grad=True)
torch.full((2,), 1e39, dtype=torch.float32)
torch.arange(5)
torch.arange(5.)
torch.arange(1, 5, 2)
torch.arange(1, 5, .5)
torch.arange(5, 1)
torch.arange(5, 1, -1)
torch.arange(0, 5, 0)
torch.arange(0, float('nan'))
torch.arange(0, float('inf'))
torch.arange(0)
torch.arange(end=3)
torch.arange(0, end=3, step=2)
torch.arange(start=1, end=3)
torch.arange(torch.tensor(3))
torch.arange(torch.tensor(3.))
torch.arange(3, dtype=torch.float32, requires_grad=True)
torch.arange(3, requires_grad=True)
torch.arange(3, dtype=torch.bool)
torch.arange(3, dtype=torch.float16)
torch.arange(3, dtype=torch.bfloat16)
torch.arange('a')
torch.arange(1j)
torch.arange(True)
torch.arange(1.5, 4)
torch.arange(1.5, 4, dtype=torch.int64)
torch.arange(0, 1, .1)
torch.arange(-1, 1, .3)
torch.arange(0, 1, .1, dtype=torch.float64)
torch.arange(10, dtype=torch.int8)
torch.arange(0, -5, -2)
torch.arange(2, 2)
torch.arange(3, out=torch.empty(0))
torch.arange(1, 40, .7)
torch.arange(0, 3, 1/3)
torch.range(1, 4)
torch.range(1, 4, .5)
torch.range(3, 1)
torch.linspace(0, 1, 5)
torch.linspace(0, 10, 1)
torch.linspace(0, 10, 0)
torch.linspace(0, 10, -1)
torch.linspace(0, 10, 4, dtype=torch.int64)
torch.linspace(-3, 7, 8, dtype=torch.int32)
torch.linspace(start=0, end=1, steps=3)
torch.linspace(0, 1j, 3)
torch.linspace(torch.tensor(0.), torch.tensor(1.), 3)
torch.linspace(torch.tensor([0., 1]), 1, 3)
torch.linspace(1 + 1j, 2, 3)
torch.linspace(0, 2, 3, dtype=torch.bool)
torch.linspace(5, -5, 7)
torch.linspace(-.3, .7, 11)
torch.linspace(-10, 10, 100)
torch.linspace(0.1, 3.7, 23, dtype=torch.float64)
torch.linspace(0.1, 3.7, 23)
torch.linspace(0, 1, 50, requires_grad=True)
torch.linspace(0, 1, 5, dtype=torch.float16)
torch.linspace(0, 1, 7, dtype=torch.bfloat16)
torch.logspace(0, 2, 3)
torch.logspace(0, 2, 3, 2)
torch.logspace(0, 2, 3, base=-2)
torch.logspace(0, 3, 4, dtype=torch.int64)
torch.logspace(-1, 1, 5, dtype=torch.float64)
torch.eye(2)
torch.eye(2, 3)
torch.eye(-1)
torch.eye(2, -1)
torch.eye(2.0)
torch.eye(0)
torch.eye(2, dtype=torch.bool)
torch.eye(3, 2, requires_grad=True)
torch.eye(n=2, m=1)
torch.zeros_like(y)
torch.zeros_like(y, memory_format=torch.contiguous_format)
torch.zeros_like(y[::2])
torch.zeros_like(torch.ones(1, 3).expand(2, 3))
torch.zeros_like([1])
torch.zeros_like(y, dtype=torch.int8, requires_grad=False)
torch.ones_like(y, requires_grad=True)
torch.ones_like(torch.zeros(2, 3, 4).permute(2, 0, 1)).stride()
torch.empty_like(y, pin_memory=True)
torch.full_like(y, 2)
torch.full_like(torch.ones(2, dtype=torch.int64), 2.5)
torch.full_like(torch.ones(2, dtype=torch.int64), 2.5, dtype=torch.float32)
y.new_zeros(2)
y.new_zeros((2,))
y.new_zeros(size=(2,))
y.new_zeros(2, 3, dtype=torch.int8, requires_grad=False)
y.new_full((2,), 3)
y.new_full((2,), 3j)
y.new_tensor([1, 2])
y.new_tensor([1, 2], dtype=torch.int8, requires_grad=False)
y.new_tensor(torch.ones(2))
y.new_tensor(np.ones(2), requires_grad=True)
y.new_empty(0)
y.new_ones(2)
y.new_ones([2, 1], requires_grad=True)
y.new_empty_strided((2, 3), (1, 2)).stride()
y.new([1, 2])
y.new(2).shape
torch.zeros(3, 0).stride()
torch.zeros(0, 3).stride()
torch.zeros(3, 1, 0, 4).stride()
torch.zeros(2, 1, 3).stride()
"""

_LEGACY = """
torch.Tensor()
torch.Tensor(2, 3).shape
torch.Tensor([1, 2])
torch.Tensor((2, 3))
torch.Tensor(torch.Size([2, 3])).shape
torch.Tensor(x) is x
torch.Tensor(x).data_ptr() == x.data_ptr()
torch.Tensor(torch.ones(2, dtype=torch.int64))
torch.Tensor(np.ones(2))
torch.Tensor(2.5)
torch.Tensor(np.int64(2)).shape
torch.Tensor([1., 2], device='cpu')
torch.Tensor([[1, 2], [3]])
torch.Tensor('a')
torch.Tensor(None)
torch.Tensor(True)
torch.Tensor(g)
torch.LongTensor([1, 2])
torch.LongTensor(2).shape
torch.LongTensor([1.5, 2])
torch.FloatTensor([1, 2])
torch.FloatTensor(np.ones(2, np.float32))
torch.FloatTensor(2, 3).dtype
torch.ByteTensor([255])
torch.ByteTensor([300])
torch.BoolTensor([1, 0])
torch.HalfTensor([1.5])
torch.BFloat16Tensor([1.5])
torch.IntTensor([[1], [2]])
torch.ShortTensor([1])
torch.CharTensor([-1])
torch.DoubleTensor([1])
torch.FloatTensor(torch.ones(2))
torch.FloatTensor.dtype
torch.FloatTensor.__name__
repr(torch.FloatTensor)
isinstance(x, torch.FloatTensor)
isinstance(x, torch.LongTensor)
isinstance(x, torch.Tensor)
isinstance(g, torch.FloatTensor)
isinstance(3, torch.FloatTensor)
torch.autograd.Variable(x, requires_grad=True)
torch.autograd.Variable(x) is x
torch.autograd.Variable(x).data_ptr() == x.data_ptr()
torch.autograd.Variable(np.ones(2))
isinstance(x, torch.autograd.Variable)
torch.set_default_tensor_type(torch.DoubleTensor)
[torch.set_default_dtype(torch.float64), torch.tensor(1.), torch.tensor(1j), torch.Tensor([1])]
[torch.set_default_dtype(torch.float16), torch.tensor(1.), torch.zeros(1), torch.get_default_dtype()]
torch.set_default_dtype(torch.int64)
torch.set_default_dtype(3)
torch.set_default_device('cpu')
torch.get_default_device()
"""

_CONVERSIONS = """
x.to(torch.float64)
x.to('cpu') is x
x.to(torch.float32) is x
x.to(torch.float32, copy=True) is x
x.to(x) is x
g.to(torch.float32, copy=True)
g.to(torch.float64)
g.to(torch.int64)
x.to('float64')
x.to() is x
x.to(None) is x
x.to(float)
x.to(torch.ones(1, dtype=torch.int32))
x.to(device='cpu', dtype=torch.int8)
x.to(dtype=torch.int8)
x.to('cpu', torch.int8, True, True)
x.to(torch.int8, False, True)
x.t().to(torch.float64).stride()
x.t().to(torch.float64, memory_format=torch.contiguous_format).stride()
c.to(memory_format=torch.channels_last).stride()
c.to(torch.float64, memory_format=torch.channels_last).stride()
c.to(memory_format=torch.channels_last).is_contiguous(memory_format=torch.channels_last)
x.to(memory_format=torch.channels_last)
[d.dtype for d in (x.float(), x.double(), x.half(), x.bfloat16(), x.int(), x.long(), x.short(), x.char(), x.byte(), x.bool(), x.cfloat(), x.cdouble())]
g.float() is g
g.double()
x.type()
x.long().type()
x.type(torch.int32)
x.type('torch.IntTensor')
x.type('foo')
x.type(torch.IntTensor)
x.type_as(torch.ones(1, dtype=torch.int8))
torch.tensor([1 + 2j]).to(torch.float32)
torch.tensor([1 + 2j, 0j, 2j]).to(torch.bool)
g.to(torch.complex64)
torch.tensor([1 + 2j], requires_grad=True).to(torch.complex128)
torch.tensor([300.7, -1.5, -300.2, 1e12 + 5]).to(torch.uint8)
torch.tensor([300.7, -1.5, -300.2, 1e12 + 5], dtype=torch.float64).to(torch.uint8)
torch.tensor([300.7, -1.5, -300.2]).to(torch.int8)
torch.tensor([300.7, -1.5, -300.2, float('nan'), 3e9]).to(torch.int32)
torch.tensor([300.7, -1.5, -300.2, 3e9]).to(torch.int64)
torch.tensor([300.7, 0, float('nan'), 3e9]).to(torch.bool)
torch.tensor([300, -1, 2**40]).to(torch.int8)
torch.tensor([300, -1, 2**40]).to(torch.uint8)
torch.tensor([0.1, 70000., -1e-9]).to(torch.float16)
torch.tensor([0.1, 70000., 1e39]).to(torch.bfloat16)
torch.tensor([0.1, 1e300], dtype=torch.float64).to(torch.bfloat16)
torch.tensor([1.00390625, 1.0117188], dtype=torch.float64).to(torch.bfloat16)
torch.tensor([True, False]).to(torch.float16)
x.cpu() is x
x.item()
torch.ones(0).item()
torch.tensor([[2.5]]).item()
torch.tensor(3).item()
torch.tensor(True).item()
torch.tensor([1 + 2j]).item()
torch.tensor(1.5, dtype=torch.bfloat16).item()
torch.tensor(0.1, dtype=torch.float16).item()
bool(x)
bool(torch.ones(0))
bool(torch.tensor(float('nan')))
bool(torch.tensor([[0.]]))
float(x)
int(x)
float(torch.tensor(2))
float(torch.tensor(1 + 2j))
float(torch.tensor(1 + 0j))
int(torch.tensor(float('nan')))
int(torch.tensor(float('inf')))
int(torch.tensor(2.7))
int(torch.tensor(-2.7))
int(torch.tensor([[5]]))
complex(torch.tensor(2.))
[1, 2, 3][torch.tensor(1)]
[1, 2, 3][torch.tensor(1.)]
[1, 2, 3][torch.tensor([1])]
[1, 2, 3][torch.tensor([1, 2])]
[1, 2, 3][torch.tensor(True)]
float(s)
int(s)
s.item()
g.tolist()
g.numpy()
(g * 2).numpy()
np.asarray(g)
g.numpy(force=True)
g.detach().numpy()
x.numpy().flags.writeable
x.t().numpy().strides
x.numpy().ctypes.data == x.data_ptr()
torch.tensor(2.5).numpy()
torch.tensor([1.5], dtype=torch.bfloat16).tolist()
torch.tensor([1.5], dtype=torch.bfloat16).numpy()
torch.tensor([True]).numpy()
x.tolist()
torch.tensor(5).tolist()
torch.zeros(2, 0).tolist()
x.__array__(np.float64)
np.asarray(x, dtype=int)
np.array([torch.tensor(1), torch.tensor(2)])
np.sin(x)
np.add(x, 1)
np.equal(x, 1)
np.float64(2) * x
len(np.array(x))
2 in x
1 in x
torch.tensor(1.) in x
'a' in x
None in x
[1.] in x
f'{torch.tensor(2.5):.3f}'
f'{x}'
f'{torch.tensor(3):d}'
f'{x:.3f}'
f'{g}'
str(torch.tensor(2.5))
repr(g * 2)
repr(torch.tensor([1, 2], dtype=torch.int32))
torch.resolve_conj(x) is x
x.resolve_conj() is x
"""

_MEMORY = """
x.stride()
x.stride(0)
x.stride(-1)
x.stride(2)
torch.tensor(1).stride()
torch.tensor(1).stride(0)
x.size()
x.size(0)
x.size(5)
x.size(dim=1)
torch.tensor(1).size(0)
x.dim()
x.ndimension()
x.ndim
x.numel()
x.nelement()
x.element_size()
x.itemsize
x.nbytes
x.storage_offset()
x[1:].storage_offset()
x[1:, 2:].storage_offset()
x[1:].detach().storage_offset()
x.t()[1:].storage_offset()
x.shape
x.shape[:1]
x.shape + (4,)
x.shape.numel()
x.is_contiguous()
x.t().is_contiguous()
x[:, :2].is_contiguous()
x[:0].is_contiguous()
torch.ones(3, 1).t().is_contiguous()
x.is_contiguous(memory_format=torch.channels_last)
x.is_contiguous(memory_format=torch.preserve_format)
c.is_contiguous(memory_format=torch.channels_last)
c.contiguous(memory_format=torch.channels_last).stride()
c.contiguous(memory_format=torch.channels_last).is_contiguous()
c.clone(memory_format=torch.channels_last).stride()
x.contiguous(memory_format=torch.channels_last)
x.contiguous() is x
x.t().contiguous()
g.expand(2, 3).contiguous()
x.t().clone().stride()
x.t().clone(memory_format=torch.contiguous_format).stride()
x[:, ::2].clone().stride()
torch.ones(1, 3).expand(2, 3).clone().stride()
torch.clone(x, memory_format=torch.channels_last)
g.clone()
torch.clone(g)
x.untyped_storage().nbytes()
x.untyped_storage().size()
len(x.untyped_storage())
x.storage().size()
x.storage()[0]
x[1:].untyped_storage().data_ptr() == x.data_ptr()
x[1:].untyped_storage().nbytes()
torch.is_storage(x.untyped_storage())
x.data_ptr() == x.detach().data_ptr()
x[1:].data_ptr() - x.data_ptr()
torch.zeros(0).data_ptr()
x.is_shared()
x.is_pinned()
x.pin_memory()
x.get_device()
x.is_cpu
x.is_cuda
x.is_sparse
x.layout
x.device
x.is_set_to(x)
x.is_set_to(x.clone())
x.is_same_size(torch.ones(2, 3))
x.is_same_size(torch.ones(3))
y.resize_(2, 2)
y.resize_((3, 2))
y.resize_(8).shape
y.resize_(8)[:6]
y[1:].resize_(6)[:5]
y.resize_(-1)
[y.resize_(2, 2), y._version][1]
y.resize_as_(torch.ones(2, 2))
g.resize_(2)
(g * 1).resize_(2)
y.set_(torch.ones(2))
y.set_().shape
y.set_(torch.ones(2, dtype=torch.int64)) if False else 0
g.set_(torch.ones(2))
torch.arange(4.).apply_(lambda v: v * 2)
g.apply_(lambda v: v * 2)
torch.arange(3.).map_(torch.ones(3), lambda a, b: a + b)
"""

_WRITES = """
x.copy_([1., 2, 3])
x.copy_(2.0)
x.copy_(torch.ones(4))
x.copy_(torch.ones(3) * 2)
x.copy_(torch.ones(2, 2, 3))
x.copy_(torch.tensor(1j))
x.copy_(torch.ones(3), True)
x.copy_(np.ones(3))
x.copy_(torch.arange(6).reshape(2, 3))
torch.zeros(3, dtype=torch.int64).copy_(torch.tensor([1.9, -1.9, 3]))
torch.zeros(3, dtype=torch.uint8).copy_(torch.tensor([1.9, -1.9, 300]))
torch.zeros(3, dtype=torch.bool).copy_(torch.tensor([1.9, 0, 300]))
torch.zeros(2, dtype=torch.complex64).copy_(torch.ones(2))
[x.copy_(torch.ones(3)), x._version]
x[:, 0].copy_(torch.tensor([5., 6]))
g.copy_(torch.ones(3))
(g * 1).copy_(torch.ones(3))
[str(f[0] and type(f[0]).__name__) for f in (g * 1).copy_(torch.ones(3)).grad_fn.next_functions]
torch.zeros(2, 3).copy_(g)
[torch.zeros(2, 3).copy_(g).sum().backward(), g.grad][1]
[torch.zeros(2, 3, dtype=torch.float64).copy_(g).sum().backward(), g.grad][1]
torch.zeros(3, dtype=torch.int64).copy_(g)
torch.zeros(2, 3)[0].copy_(g)
b.copy_(b)
b[1:].copy_(b[:-1])
b[::2].copy_(b[1::2])
torch.ones(1).expand(3).copy_(torch.ones(3))
torch.ones(1).expand(3).fill_(4)
torch.ones(1).expand(3).zero_()
x.fill_(2)
x.fill_(torch.tensor(2))
x.fill_(torch.tensor([2.]))
x.fill_('a')
x.fill_(True)
x.fill_(1j)
x.fill_(1e39)
x.fill_(float('inf'))
(g * 1).fill_(2)
(g * 1).fill_(torch.tensor(2.))
(g * 1).fill_(g.sum())
g.fill_(2)
[torch.zeros(3).fill_(g[0]).sum().backward(), g.grad][1]
torch.zeros(3, dtype=torch.int64).fill_(2.5)
torch.zeros(3, dtype=torch.int64).fill_(float('nan'))
torch.zeros(3, dtype=torch.int64).fill_(1e30)
torch.zeros(2, dtype=torch.uint8).fill_(300)
torch.zeros(2, dtype=torch.uint8).fill_(-1)
torch.zeros(2, dtype=torch.bool).fill_(3)
torch.zeros(2, dtype=torch.float16).fill_(0.1)
torch.zeros(2, dtype=torch.bfloat16).fill_(0.1)
[x.fill_(3), x._version][1]
torch.fill(torch.ones(2), 3)
torch.fill(g, 3)
torch.fill(torch.ones(2), g[0])
torch.zero_(x)
x.zero_()
(g * 1).zero_()
g.zero_()
x[0].zero_()
[x[0].fill_(7), x][1]
(g * 1)[1:].zero_()
[v := g * 1, v[1:].zero_(), v][2]
[v := g * 1, v[1:].zero_(), v.sum().backward(), g.grad][3]
"""

_COPIES = """
copy.copy(g)
copy.deepcopy(g)
copy.copy(g * 2)
copy.deepcopy(g * 2)
copy.copy(g).data_ptr() == g.data_ptr()
copy.deepcopy(g).data_ptr() == g.data_ptr()
copy.deepcopy(torch.ones(2, 3).t()).stride()
copy.deepcopy(h).grad
copy.copy(h).grad
copy.deepcopy(h).grad is h.grad
copy.deepcopy(g).foo
copy.copy(g).foo
copy.deepcopy([g, g])[0] is copy.deepcopy([g, g])[1]
[d := copy.deepcopy([g, g]), d[0] is d[1]][1]
[d := copy.deepcopy([x, x[1:]]), d[0].fill_(7), d[1]][2]
[d := copy.deepcopy([x[1:], x]), d[1].fill_(7), d[0], d[0].storage_offset()][2:]
copy.deepcopy(x[1:])
copy.deepcopy(torch.tensor(2.5))
copy.deepcopy(torch.zeros(2, 0))
copy.deepcopy(torch.ones(2, dtype=torch.bfloat16))
copy.deepcopy(g.detach()).requires_grad
[pickle.loads(pickle.dumps(g, p)) for p in range(2, 6)]
pickle.loads(pickle.dumps(torch.ones(2, 3).t())).stride()
pickle.loads(pickle.dumps(torch.arange(6).reshape(2, 3)[:, 1:]))
pickle.loads(pickle.dumps(torch.ones(2, 1, 3, dtype=torch.bfloat16)))
pickle.loads(pickle.dumps(torch.tensor(2.5)))
pickle.loads(pickle.dumps(torch.tensor([1j, 2])))
pickle.loads(pickle.dumps(g)).foo
pickle.loads(pickle.dumps(h)).grad
pickle.loads(pickle.dumps(g * 2)).requires_grad
pickle.loads(pickle.dumps(torch.float32)) is torch.float32
pickle.loads(pickle.dumps(torch.bool)) is torch.bool
pickle.loads(pickle.dumps(torch.Size([2, 3])))
pickle.loads(pickle.dumps(torch.device('cpu')))
copy.deepcopy(torch.float32) is torch.float32
pickle.loads(pickle.dumps(torch.ones(2))).add_(1)
"""

_QUESTIONS = """
torch.is_tensor(x)
torch.is_tensor(3)
torch.is_storage(3)
torch.numel(x)
torch.numel(3)
torch.result_type(x, 2j)
torch.result_type(torch.tensor(1), 1.5)
torch.result_type(torch.tensor([1]), 1.5)
torch.result_type(1, 2.5)
torch.result_type(torch.tensor([1.], dtype=torch.float16), torch.tensor(1.))
torch.can_cast(torch.float32, torch.int32)
torch.can_cast(torch.int32, torch.bool)
torch.can_cast(torch.float64, torch.float32)
torch.can_cast(torch.bool, torch.uint8)
torch.can_cast(torch.int64, torch.uint8)
torch.can_cast(torch.complex64, torch.float64)
[[torch.promote_types(a, b) for a in D] for b in D]
[torch.finfo(d) for d in D if d.is_floating_point or d.is_complex]
[(f.bits, f.eps, f.max, f.min, f.tiny, f.smallest_normal, f.resolution, f.dtype) for d in D if d.is_floating_point for f in [torch.finfo(d)]]
torch.finfo(torch.int32)
torch.finfo()
torch.finfo('a')
[torch.iinfo(d) for d in (torch.int8, torch.uint8, torch.int16, torch.int32, torch.int64)]
[(i.bits, i.max, i.min, i.dtype) for d in (torch.int8, torch.uint8, torch.int16, torch.int32, torch.int64) for i in [torch.iinfo(d)]]
torch.iinfo(torch.float32)
torch.iinfo(torch.bool)
torch.iinfo()
torch.finfo(torch.float32) == torch.finfo(torch.float32)
torch.typename(x)
torch.typename(3)
torch.typename([])
D
[d.itemsize for d in D]
[d.is_signed for d in D]
[d.is_complex for d in D]
[d.is_floating_point for d in D]
[d.to_real() for d in D]
[d.to_complex() for d in (torch.float16, torch.float32, torch.float64, torch.complex64)]
[torch.half, torch.float, torch.double, torch.short, torch.int, torch.long, torch.cfloat, torch.cdouble]
[x.to(d).is_signed() for d in D if not d.is_complex]
torch.is_floating_point(x)
x.is_floating_point()
torch.is_complex(x)
x.is_complex()
x.is_conj()
torch.is_nonzero(torch.tensor(2))
torch.is_nonzero(torch.ones(2))
torch.is_grad_enabled()
torch.is_inference_mode_enabled()
torch.device('cpu')
torch.device('cuda:1')
torch.device('cuda', 1)
torch.device('foo')
torch.device('cpu').type
torch.device('cuda:1').index
str(torch.device('cuda:1'))
torch.device('cpu') == torch.device('cpu')
torch.device('cpu') == 'cpu'
torch.device(type='cpu')
torch.Size([2, 3])
torch.Size([2, 3]).numel()
torch.Size((2, 3))[0]
torch.Size([2, 3])[:1]
torch.Size([2]) + (3,)
torch.Size([2]) * 2
torch.Size([2, 3]) == (2, 3)
tuple(torch.Size([2, 3]))
torch.Size()
torch.Size([2.5])
torch.strided
torch.contiguous_format
torch.channels_last
torch.get_default_dtype()
torch.inf
torch.nan
torch.pi
torch.e
torch.newaxis
torch.cuda.is_available()
torch.cuda.device_count()
torch.backends.cudnn.deterministic
torch.backends.mps.is_available()
torch.are_deterministic_algorithms_enabled()
torch.get_float32_matmul_precision()
"""

_D = (
    "D = [torch.float16, torch.bfloat16, torch.float32, torch.float64, torch.complex64, "
    "torch.complex128, torch.int8, torch.int16, torch.int32, torch.int64, torch.uint8, torch.bool]"
)

_RANDOM = """
torch.rand(3)
torch.rand(2, 3)
torch.rand((2, 3))
torch.rand(size=(2,))
torch.rand(3, dtype=torch.float64)
torch.rand(3, dtype=torch.float16)
torch.rand(3, dtype=torch.bfloat16)
torch.rand(3, dtype=torch.complex64)
torch.rand(0)
torch.rand(())
torch.rand(2, dtype=torch.int64)
torch.rand(2, generator=G)
torch.rand(2, requires_grad=True)
torch.rand(3, out=torch.zeros(3))
torch.rand(3, out=torch.zeros(2))
torch.randn(3)
torch.randn(20)
torch.randn(17, dtype=torch.float64)
torch.randn(20, dtype=torch.bfloat16)
torch.randn(20, dtype=torch.float16)
torch.randn(3, dtype=torch.complex64)
torch.randn(20, dtype=torch.complex128)
torch.randn(2, dtype=torch.int64)
torch.randn(3, out=torch.zeros(3, dtype=torch.float64))
torch.randn(2, 2, generator=G, requires_grad=True)
torch.randint(5)
torch.randint(5, (2,))
torch.randint(5, [3])
torch.randint(1, 5, (2,))
torch.randint(high=5, size=(2,))
torch.randint(low=1, high=5, size=(2,))
torch.randint(-5, 5, (3, 2))
torch.randint(5, 2)
torch.randint(5, 1, (2,))
torch.randint(5, (2,), dtype=torch.float32)
torch.randint(0, 300, (2,), dtype=torch.uint8)
torch.randint(0, 2, (3,), dtype=torch.bool)
torch.randint(2 ** 40, (3,))
torch.randint(10, (3,), generator=G)
torch.randint_like(x, 5)
torch.randint_like(x, 2, 5)
torch.randint_like(torch.tensor([1]), low=2, high=5)
torch.randint_like(x, 5, dtype=torch.int64)
torch.randperm(4)
torch.randperm(40)
torch.randperm(0)
torch.randperm(4, dtype=torch.float32)
torch.randperm(-1)
torch.randperm(4.)
torch.randperm(5, generator=G)
torch.rand_like(x)
torch.rand_like(x.t())
torch.rand_like(x, dtype=torch.float64)
torch.randn_like(x)
torch.randn_like(torch.ones(4, 6).t())
torch.randn_like(torch.ones(4, 6)[:, ::2])
torch.randn_like(torch.ones(2, dtype=torch.int64))
torch.bernoulli(p)
torch.bernoulli(p.double())
torch.bernoulli(p, 0.3)
p.bernoulli()
p.bernoulli(0.5)
torch.bernoulli(torch.tensor([2.]))
torch.bernoulli(torch.tensor([1]))
torch.bernoulli(q)
[torch.bernoulli(q).sum().backward(), q.grad][1]
torch.bernoulli(p, out=torch.zeros(4))
torch.bernoulli(q, out=torch.zeros(4))
torch.bernoulli(p, generator=G)
torch.poisson(p * 10)
torch.poisson(q)
torch.multinomial(p, 2)
torch.multinomial(q, 2)
torch.multinomial(torch.ones(2, 3), 2, True)
torch.multinomial(torch.ones(2, 3), 4)
torch.multinomial(torch.ones(2, 3), 1)
torch.multinomial(p, num_samples=6, replacement=True)
torch.ones(2, 3).multinomial(2)
torch.normal(0., 1., (2,))
torch.normal(0., 1.)
torch.normal(mean=0., std=1., size=(2,))
torch.normal(2, 3, size=(2, 2))
torch.normal(p)
torch.normal(p, 2.)
torch.normal(0., p)
torch.normal(p, p)
torch.normal(mean=p, std=0.5)
torch.normal(q, 1.0)
torch.normal(0., q)
torch.normal(q, p)
torch.normal(torch.zeros(2, dtype=torch.int64), 1.0)
torch.normal(torch.zeros(2), torch.ones(3))
torch.normal(torch.zeros(2), -1.0)
torch.normal(torch.zeros(2), torch.tensor([-1., 1]))
torch.normal(torch.zeros(20, 2), torch.ones(2))
torch.normal(p, 1., generator=G)
x.uniform_()
x.uniform_(2, 5)
x.uniform_(to=2)
x.t().uniform_()
x.uniform_(2, 1)
x.uniform_(0, 1, 1)
x.normal_()
x.normal_(2, 3)
x.normal_(mean=1.)
x.normal_(0, -1)
torch.zeros(4, 6).t().normal_()
torch.zeros(4, 6)[:, ::2].normal_()
torch.zeros(20).normal_(generator=G)
x.random_()
x.random_(5)
x.random_(2, 5)
x.random_(to=3)
x.random_(5, 2)
torch.zeros(3, dtype=torch.int64).random_()
torch.zeros(3, dtype=torch.int64).random_(2, None)
torch.zeros(3, dtype=torch.uint8).random_()
torch.zeros(3, dtype=torch.bool).random_()
x.bernoulli_()
x.bernoulli_(0.3)
x.bernoulli_(2)
x.bernoulli_(torch.tensor(.5))
torch.zeros(4).bernoulli_(p)
torch.zeros(2, 4).t().bernoulli_(torch.rand(4, 2))
torch.zeros(4, dtype=torch.int64).bernoulli_(.5)
x.exponential_()
x.exponential_(2)
x.exponential_(-1)
x.geometric_(0.5)
x.cauchy_()
x.cauchy_(1, 2)
x.log_normal_()
x.log_normal_(0, 1)
x.bool().normal_()
x.long().normal_()
[x.normal_(), x._version][1]
(q * 1).normal_()
(q * 1).uniform_()
(q * 1).bernoulli_()
(q * 1).bernoulli_(p)
(q * 1).bernoulli_(q)
(q * 1).random_()
(q * 1).random_(5)
(q * 1).random_(2, 5)
(q * 1).exponential_()
(q * 1).geometric_(0.5)
(q * 1).cauchy_()
(q * 1).log_normal_()
[(q * 1).normal_().sum().backward(), q.grad][1]
[v := q * 1, v[1:].normal_(), v][2]
q.uniform_()
q[1:].uniform_()
torch.ones(1).expand(3).uniform_()
torch.manual_seed(3).initial_seed()
torch.manual_seed(3.5).initial_seed()
torch.manual_seed(np.int64(3)).initial_seed()
torch.manual_seed(-1).initial_seed()
torch.manual_seed(True).initial_seed()
torch.manual_seed(torch.tensor(3)).initial_seed()
torch.manual_seed('a')
torch.manual_seed(2 ** 70)
G.manual_seed(3.5)
G.manual_seed(np.int64(3))
G.device
G.initial_seed()
torch.Generator().initial_seed()
torch.Generator(device='cpu').device
G.get_state().shape
G.get_state().dtype
[int(n) for n in torch.get_rng_state()[:40]]
G.set_state(torch.zeros(3))
G.set_state(torch.zeros(3, dtype=torch.uint8))
G.set_state([1])
[state := torch.get_rng_state(), a := torch.rand(2), torch.set_rng_state(state), torch.rand(2).tolist() == a.tolist()][3]
torch.initial_seed()
torch.default_generator.initial_seed()
torch.random.initial_seed()
isinstance(torch.seed(), int)
"""

_MODES = """
[torch.zeros(2).is_inference(), t.is_inference()]
t
t.add_(1)
t.requires_grad_()
t.clone().is_inference()
t[0].is_inference()
t + g
t * g
t._version
copy.deepcopy(t).is_inference()
"""

_SHAPED = "x = torch.arange(6.).reshape(2, 3)\n"
_GRADED = "g = torch.tensor([1., 2., 3.], requires_grad=True)\n"

GROUPS: dict[str, tuple[str, str]] = {
    "data": (
        "x = torch.ones(4)\na = np.ones(2)\nfrozen = np.ones(2)\nfrozen.flags.writeable = False\n"
        + _GRADED,
        _DATA,
    ),
    "factories": ("y = torch.ones(2, 3, dtype=torch.float64).t()\n", _FACTORIES),
    "legacy": ("x = torch.ones(4)\n" + _GRADED, _LEGACY),
    "conversions": (
        _SHAPED
        + _GRADED
        + "c = torch.arange(24.).reshape(1, 2, 3, 4)\ns = torch.tensor([1.5], requires_grad=True)\n",
        _CONVERSIONS,
    ),
    "memory": (
        _SHAPED + _GRADED + "c = torch.arange(24.).reshape(1, 2, 3, 4)\ny = torch.arange(6.)\n",
        _MEMORY,
    ),
    "writes": (_SHAPED + _GRADED + "b = torch.arange(6.)\n", _WRITES),
    "copies": (
        _GRADED + "g.foo = 3\nh = g.detach().requires_grad_()\nh.grad = torch.ones(3)\n"
        "x = torch.arange(4.)\n",
        _COPIES,
    ),
    "questions": ("x = torch.ones(4)\n" + _D, _QUESTIONS),
    "random": (
        _SHAPED + "p = torch.tensor([.1, .5, .9, .3])\nq = torch.tensor([.1, .5, .9, .3], "
        "requires_grad=True)\nG = torch.Generator().manual_seed(5)\n",
        _RANDOM,
    ),
    "modes": (_GRADED + "with torch.inference_mode():\n    t = torch.ones(3)\n", _MODES),
}


def cases() -> list[tuple[str, str, str]]:
    """(group, setup, expression) of every case."""
    return [
        (group, setup, line)
        for group, (setup, text) in GROUPS.items()
        for line in text.strip().splitlines()
    ]
