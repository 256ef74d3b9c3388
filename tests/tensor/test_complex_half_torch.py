"""complex32 beside PyTorch: what is kept, moved, converted, computed and refused."""

from __future__ import annotations

import io
import warnings
from typing import Any

import pytest

import retrograd

torch = pytest.importorskip("torch")
pytestmark = [pytest.mark.torch, pytest.mark.filterwarnings("ignore:ComplexHalf support")]

EXPRESSIONS = """
c
x
m
s
e
x.element_size()
x.type()
x.real
x.imag
torch.view_as_real(x)
torch.view_as_complex(torch.view_as_real(x))
x.tolist()
s.item()
x.numpy()
torch.zeros(2, dtype=c)
torch.ones(2, dtype=c)
torch.empty(2, dtype=c).shape
torch.full((2,), 1 + 2j, dtype=c)
torch.tensor([1, 2j], dtype=c)
torch.arange(3, dtype=c)
torch.linspace(0, 1, 3, dtype=c)
torch.eye(2, dtype=c)
torch.randn(2, dtype=c)
torch.rand(2, dtype=c)
torch.complex(h, h)
torch.polar(h, h)
x + y
x - y
x * y
x / y
x + 1
x * 2j
x + z
x + h
x * 1.0
-x
x.abs()
x.angle()
x.conj()
x.conj().resolve_conj()
x.conj_physical()
x == y
x != y
x.eq(1)
x < y
x.sum()
x.mean()
x.prod()
x.cumsum(0)
x @ y
m @ m
m @ x[:2]
torch.dot(x, y)
torch.vdot(x, y)
x.exp()
x.sqrt()
x.sin()
x.tanh()
x.log()
x.sigmoid()
x.reciprocal()
x.rsqrt()
x ** 2
x.pow(y)
x.square()
x.clone()
x.contiguous()
x.to(torch.complex64)
x.to(torch.float16)
x.to(torch.int64)
x.to(torch.bool)
h.to(c)
h.chalf()
x.chalf() is x
x.cfloat()
x.half()
x.isnan()
x.isfinite()
x.isinf()
x.isreal()
x.all()
x.any()
x.nonzero()
x.bool()
torch.cat([x, y])
torch.cat([x, z])
torch.stack([x, y])
x[1]
x[[0, 2]]
x[torch.tensor([True, False, True])]
x.index_select(0, torch.tensor([1]))
x.scatter(0, torch.tensor([1]), y)
x.index_put((torch.tensor([1]),), s)
x.masked_fill(torch.tensor([True, False, True]), 1j)
x.masked_select(torch.tensor([True, False, True]))
torch.where(torch.tensor([True, False, True]), x, y)
x.roll(1)
m.t()
m.T.contiguous()
m.mH
m.diag()
m.tril()
x.repeat(2)
x.expand(2, 3)
x.unfold(0, 2, 1)
x.unique()
x.sort()
torch.zeros_like(x)
torch.ones_like(x)
torch.full_like(x, 2)
torch.rand_like(x)
x.new_zeros(2)
x.fill_(1j)
x.zero_()
x.copy_(z)
x.add_(z)
x.mul_(2)
x.allclose(y)
torch.equal(x, y)
torch.isclose(x, y)
x.norm()
torch.linalg.norm(x)
torch.linalg.det(m)
torch.addmm(m, m, m)
torch.bmm(m[None], m[None])
torch.fft.fft(x)
torch.fft.ifft(x)
x.sgn()
x.sign()
x.positive()
x.lerp(y, 0.5)
torch.addcmul(x, x, y)
torch.addcdiv(x, x, y)
x.var()
x.std()
x.logical_not()
x.logical_and(y)
x.is_complex()
x.is_floating_point()
torch.promote_types(c, torch.float32)
torch.promote_types(c, torch.float16)
torch.promote_types(c, torch.bfloat16)
torch.promote_types(c, torch.int64)
torch.promote_types(c, torch.float64)
torch.promote_types(c, torch.complex64)
torch.result_type(x, 1j)
torch.result_type(h, 1j)
h + 1j
h * 1j
torch.result_type(x, s)
torch.can_cast(c, torch.float16)
torch.can_cast(torch.float16, c)
torch.finfo(c)
c.to_real()
torch.float16.to_complex()
torch.bfloat16.to_complex()
c.itemsize
c.is_signed
x.requires_grad_()
(x.requires_grad_() * y).sum().backward()
x.storage()
x.untyped_storage().nbytes()
x.view(torch.float16)
x.view(torch.float32)
torch.zeros(4, dtype=torch.float16).view(c)
x.view(torch.int32)
x.real.copy_(h)
bool(s)
complex(s)
abs(s)
float(torch.tensor(1.0).to(c))
x.normal_()
x.uniform_()
x.softmax(0)
x.relu()
x.diff()
x.dot(y)
x.outer(y)
torch.triu(m)
torch.kron(m, m)
torch.block_diag(m, m)
torch.tensordot(m, m)
torch.nn.functional.linear(m, m)
x.bernoulli_()
x.random_()
x.__array__()
x.to_sparse()
m.to_sparse().to_dense()
m.to_sparse_csr()
x.clamp(0, 1)
x.max()
x.argmax()
x.nan_to_num()
x.isneginf()
x.histc()
x.bincount()
x.count_nonzero()
x.addr(x, y)
m.addr(m[0], m[1])
m.trace()
m.inverse()
x.float_power(2)
x.true_divide(2)
x.floor_divide(2)
x.remainder(2)
x.logcumsumexp(0)
x.cumprod(0)
x.index_add(0, torch.tensor([1]), y[:1])
x.index_copy(0, torch.tensor([1]), y[:1])
x.index_fill(0, torch.tensor([1]), 1j)
x.scatter_add(0, torch.tensor([1]), y)
x.nansum()
x.logaddexp(y)
x.xlogy(y)
x.round()
x.ceil()
x.is_conj()
x.conj().imag
x.imag.is_neg()
torch.real(x)
torch.nn.functional.pad(x, (1, 1))
torch.nn.functional.pad(m, (1, 1), mode='reflect')
torch.nn.functional.dropout(x)
x.type('torch.ComplexHalfTensor')
torch.combinations(x)
torch.cartesian_prod(x, y)
torch.vander(x)
torch.meshgrid(x, y, indexing='ij')
torch.tensor_split(x, 2)
torch.swapaxes(m, 0, 1)
torch.testing.assert_close(x, x)
torch.testing.assert_close(x, y)
x.to_dense()
x.log2()
x.log10()
x.log1p()
x.expm1()
x.acos()
x.asinh()
x.cosh()
x.tan()
x.atan()
x.logsumexp(0)
x.amax()
x.aminmax()
torch.cross(x, y)
torch.linalg.vector_norm(x)
x.bitwise_not()
x.ldexp(y)
x.hypot(y)
x.rsub(1)
1 - x
1 / x
2 ** x
x.logit()
torch.polar(h.float(), h.float()).chalf()
x.storage().dtype
x.nelement()
x.stride()
x.backward()
torch.inner(x, y)
torch.matmul(m, x[:2])
torch.mv(m, x[:2])
torch.trapz(x)
x.select_scatter(s, 0, 0)
x.diag_embed()
x.kthvalue(1)
x.cov()
m.corrcoef()
x.renorm(1, 0, 1)
torch.nn.Linear(2, 2, dtype=c)
torch.nn.Parameter(x)
torch.randint(0, 2, (2,), dtype=c)
torch.logspace(0, 1, 3, dtype=c)
torch.range(0, 2, dtype=c)
torch.as_tensor([1j], dtype=c)
torch.scalar_tensor(1j, dtype=c)
torch.empty_strided((2,), (1,), dtype=c).shape
torch.bartlett_window(3, dtype=c)
torch.sparse_coo_tensor([[0, 1]], x[:2])
""".strip().splitlines()

# each leaves its result in `r`
PROGRAMS = """
x = a.to(c).requires_grad_(); y = b.to(c).requires_grad_(); z = x * y + x.conj() * 2 - y; z.backward(torch.tensor([1 + 1j, 2, 0.5j]).to(c)); r = (x.grad, y.grad, z)
x = a.to(c).requires_grad_(); z = x.abs(); z.backward(torch.ones(3, dtype=torch.float16)); r = (x.grad, z)
x = a.requires_grad_(); z = x.to(c); z.backward(torch.ones(3, dtype=c)); r = (x.grad, z)
x = a.to(c).requires_grad_(); z = torch.view_as_real(x); z.backward(torch.ones(3, 2, dtype=torch.float16)); r = (x.grad, z)
x = torch.ones(3, 2, dtype=torch.float16).requires_grad_(); z = torch.view_as_complex(x); z.backward(torch.tensor([1 + 1j, 2, 0.5j]).to(c)); r = (x.grad, z)
x = a.to(c).requires_grad_(); z = x.real * 2 + x.imag; z.backward(torch.ones(3, dtype=torch.float16)); r = (x.grad, z)
x = h.requires_grad_(); z = x * 2j; z.backward(torch.tensor([1 + 1j, 2, 0.5j]).to(c)); r = (x.grad, z)
x = h.requires_grad_(); z = torch.complex(x, x * 2); z.backward(torch.tensor([1 + 1j, 2, 0.5j]).to(c)); r = (x.grad, z)
x = a.to(c).requires_grad_(); z = x[1:].clone(); z.backward(torch.ones(2, dtype=c)); r = (x.grad, z)
x = a.to(c).requires_grad_(); z = x.to(torch.complex64).sum().abs(); z.backward(); r = (x.grad, z)
x = a.to(c).requires_grad_(); z = x.half(); z.backward(torch.ones(3, dtype=torch.float16)); r = (x.grad, z)
x = a.to(c).requires_grad_(); z = x.to(torch.complex128).abs().sum(); z.backward(); r = (x.grad, z)
x = a.to(c).requires_grad_(); z = torch.cat([x, x]).reshape(2, 3).t(); z.backward(torch.ones(3, 2, dtype=c)); r = (x.grad, z)
x = a.to(c).requires_grad_(); z = x.clone(); z *= 2; z += x; z.backward(torch.ones(3, dtype=c)); r = (x.grad, z)
x = a.to(c); f = io.BytesIO(); torch.save({'x': x, 'p': torch.nn.Parameter(x)}, f); f.seek(0); r = torch.load(f)
x = a.to(c); x[1] = 5j; x[0] = 2; x[2:] = h[:1]; r = x
x = torch.zeros(3, dtype=torch.float32); x.copy_(a.to(c)); r = x
x = torch.zeros(3, dtype=c); x.copy_(torch.tensor([1, 2, 3])); x.real = h; x.imag.fill_(2); r = x
x = a.to(c); x += 1; x *= 2j; x -= x; r = x
r = torch.tensor([70000 + 1j, 1e-08j]).to(c)
r = torch.tensor([1.0004883, 2049.0], dtype=torch.float64).to(c)
r = (torch.tensor([float('nan'), float('inf')]).to(c).isnan(), torch.tensor([float('nan'), float('inf')]).to(c).isfinite())
r = (torch.arange(6).to(c).reshape(2, 3).t().contiguous().stride(), torch.arange(6).to(c))
r = [a.to(c).to(t) for t in (torch.uint8, torch.bfloat16, torch.bool, torch.int32, torch.float64, torch.complex128)]
r = torch.nn.Linear(2, 2).to(c).weight.dtype
torch.manual_seed(1); r = (torch.randn(20, dtype=c), torch.rand(5, dtype=c), torch.empty(3, dtype=c).normal_(0, 2))
r = (torch.full((2,), 1.5, dtype=c), torch.ones(2, 2, dtype=c).tril(), torch.zeros(2, dtype=c) + 1j)
r = (torch.result_type(a.to(c), h), torch.result_type(a.to(c), torch.tensor(1.0, dtype=torch.float64)), torch.result_type(h, torch.tensor(1j, dtype=torch.complex128)))
r = ((h * torch.tensor(1j, dtype=torch.complex128)).dtype, (h.bfloat16() * 1j).dtype, (h.bfloat16() * a.to(c)).dtype)
r = (a.to(c).std(), a.to(c).var(unbiased=False), torch.linalg.vector_norm(a.to(c), 1), a.to(c).norm(float('inf')))
r = (torch.add(a.to(c), b.to(c), alpha=2), torch.sub(a.to(c), 1j, alpha=2), torch.rsub(a.to(c), 1))
o = torch.zeros(3, dtype=c); torch.add(a, b, out=o); r = o
o = torch.zeros(3, dtype=torch.complex64); torch.mul(a.to(c), b.to(c), out=o); r = o
o = torch.zeros(3, dtype=c); o.index_put_((torch.tensor([0, 0]),), torch.tensor([1 + 1j, 2]).to(c), accumulate=True); r = o
r = (torch.kron(a.to(c), b.to(c)), torch.outer(a.to(c), b.to(c)))
r = (a.to(c).index_add(0, torch.tensor([1, 1]), b.to(c)[:2]), a.to(c).diff())
r = (torch.where(torch.tensor([True, False, True]), a.to(c), 0), torch.where(torch.tensor([True, False, True]), 1j, a.to(c)))
r = (a.to(c).view(torch.int32), a.to(c).type(), a.to(c).storage().dtype, a.to(c).element_size(), a.to(c).untyped_storage().nbytes())
r = torch.vmap(lambda t: t * 2 + t.conj())(a.to(c))
r = torch.func.jvp(lambda t: t * t, (a.to(c),), (b.to(c),))
torch.set_default_dtype(torch.float16); r = (torch.tensor([1j]), torch.tensor(2j).dtype, (torch.tensor([1]) * 1j).dtype); torch.set_default_dtype(torch.float32)
r = [torch.promote_types(c, t) for t in (torch.bool, torch.uint8, torch.int64, torch.float16, torch.bfloat16, torch.float32, torch.float64, torch.complex64, torch.complex128)]
r = [torch.can_cast(c, t) for t in (torch.bool, torch.int64, torch.float16, torch.complex64)]
r = (torch.empty_like(a.to(c)).dtype, torch.zeros_like(a, dtype=c), a.to(c).new_ones(2))
r = a.to(c).sum(dtype=torch.complex64)
r = torch.equal(a.to(c), a.to(c))
r = (a.to(c).all(), a.to(c).any(), a.to(c).bool(), a.to(c).count_nonzero(), a.to(c).nonzero())
r = (torch.chalf is c, repr(c), c.itemsize, str(torch.ones(2).chalf()))
x = a.to(c); x.requires_grad_(); x.data.mul_(2); r = x
""".strip().splitlines()  # noqa: E501

# elements are only moved: PyTorch has no kernel for these, here they work
MOVES = (
    "x.gather(0, torch.tensor([1]))", "x.flip(0)", "x.take(torch.tensor([0]))", "m.rot90()",
    "x.masked_scatter(torch.tensor([True, False, True]), y)", "x.put(torch.tensor([1]), s)",
)  # fmt: skip


def names(library: Any, kind: Any) -> dict[str, Any]:
    def made(values: Any) -> Any:
        return library.tensor(values).to(kind)

    return {
        "torch": library,
        "io": io,
        "c": kind,
        "x": made([1 + 2j, 3 - 4j, 0.5j]),
        "y": made([2 - 1j, 1 + 1j, 3]),
        "m": made([[1 + 2j, 3j], [4, 5 - 1j]]),
        "s": made(1 + 1j),
        "e": library.zeros(0, dtype=kind),
        "h": library.tensor([1.0, 2.0, 3.0], dtype=library.float16),
        "z": library.tensor([1 + 2j, 3 - 4j, 0.5j]),
        "a": library.tensor([1 + 2j, 3 - 4j, 0.5j]),
        "b": library.tensor([2 - 1j, 1.3 + 1j, 3]),
    }


def outcome(library: Any, program: str) -> str:
    """What a program leaves in `r` as it is printed, or its error's first line."""
    library.manual_seed(0)
    found = names(library, library.complex32)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            exec(program, found)
    except Exception as error:
        text = f"{type(error).__name__}: {error}".splitlines()[0]
    else:
        text = repr(found["r"])
    finally:
        library.set_default_dtype(library.float32)
    return text.replace("retrograd.", "torch.")


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_an_expression(expression: str) -> None:
    assert outcome(retrograd, f"r = {expression}") == outcome(torch, f"r = {expression}")


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_program(program: str) -> None:
    assert outcome(retrograd, program) == outcome(torch, program)


@pytest.mark.parametrize("expression", MOVES)
def test_what_only_moves_works(expression: str) -> None:
    assert outcome(torch, f"r = {expression}").endswith("not implemented for 'ComplexHalf'")
    half = eval(expression, names(retrograd, retrograd.complex32))
    whole = eval(expression, names(retrograd, retrograd.complex64))
    assert half.dtype is retrograd.complex32
    assert half.tolist() == whole.tolist()


@pytest.mark.parametrize("writer", [torch, retrograd])
@pytest.mark.parametrize("reader", [torch, retrograd])
def test_files(writer: Any, reader: Any) -> None:
    x = writer.tensor([1 + 2j, 3j]).to(writer.complex32)
    file = io.BytesIO()
    writer.save({"x": x, "tail": x[1:]}, file)
    file.seek(0)
    loaded = reader.load(file)
    assert loaded["x"].dtype is reader.complex32
    assert loaded["x"].tolist() == [1 + 2j, 3j] and loaded["tail"].tolist() == [3j]
    loaded["tail"].zero_()
    assert loaded["x"].tolist() == [1 + 2j, 0]


def test_the_gradient_of_sgn_is_that_of_complex64() -> None:
    def gradient(kind: Any) -> Any:
        x = retrograd.tensor([1 + 2j, 3 - 4j, 0.5j]).to(kind).requires_grad_()
        x.sgn().backward(retrograd.ones(3, dtype=kind))
        return x.grad.to(retrograd.complex64)

    half, whole = gradient(retrograd.complex32), gradient(retrograd.complex64)
    assert retrograd.allclose(half, whole, rtol=2e-3)


def test_optimizers_refuse_it() -> None:
    p = retrograd.nn.Parameter(retrograd.ones(2, dtype=retrograd.complex32))
    p.grad = retrograd.ones(2, dtype=retrograd.complex32)
    with pytest.raises(NotImplementedError, match="parameters of complex32 in optimizers"):
        retrograd.optim.SGD([p], 0.1).step()
