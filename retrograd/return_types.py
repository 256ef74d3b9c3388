"""Results with several named fields, such as what `max(dim)` and `sort` return.

They are tuples whose fields also have names, and they print one field per line:

>>> import retrograd as torch
>>> torch.tensor([1.0, 3.0, 2.0]).max(0)
torch.return_types.max(
values=tensor(3.),
indices=tensor(1))
>>> values, indices = torch.tensor([1.0, 3.0, 2.0]).max(0)
"""

from __future__ import annotations

import operator
from typing import Any, ClassVar


class NamedResult(tuple[Any, ...]):
    """A tuple of tensors whose fields have names; made from a sequence or from the fields."""

    __slots__ = ()
    __match_args__: ClassVar[tuple[str, ...]] = ()
    n_fields: ClassVar[int] = 0
    n_sequence_fields: ClassVar[int] = 0
    n_unnamed_fields: ClassVar[int] = 0

    def __new__(cls, *fields: Any) -> NamedResult:
        values = tuple(fields[0]) if len(fields) == 1 else fields
        if len(values) != cls.n_fields:
            raise TypeError(
                f"torch.return_types.{cls.__name__}() takes a {cls.n_fields}-sequence "
                f"({len(values)}-sequence given)"
            )
        return super().__new__(cls, values)

    def __repr__(self) -> str:
        fields = ",\n".join(
            f"{name}={value!r}" for name, value in zip(self.__match_args__, self, strict=True)
        )
        return f"torch.return_types.{type(self).__name__}(\n{fields})"

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (tuple(self),)


def _result(name: str, *fields: str, **others: str) -> type[NamedResult]:
    """A class of results: the fields that are tensors, then those of another type."""
    types = dict.fromkeys(fields, "Tensor") | others
    fields = tuple(types)
    space: dict[str, Any] = {
        "__annotations__": types,
        "__slots__": (),
        "__module__": __name__,
        "__doc__": f"What `{name}` returns: ({', '.join(fields)}).",
        "__match_args__": fields,
        "n_fields": len(fields),
        "n_sequence_fields": len(fields),
    }
    for position, field in enumerate(fields):
        space[field] = property(operator.itemgetter(position))
    return type(name, (NamedResult,), space)


max = _result("max", "values", "indices")
min = _result("min", "values", "indices")
aminmax = _result("aminmax", "min", "max")
median = _result("median", "values", "indices")
nanmedian = _result("nanmedian", "values", "indices")
mode = _result("mode", "values", "indices")
kthvalue = _result("kthvalue", "values", "indices")
cummax = _result("cummax", "values", "indices")
cummin = _result("cummin", "values", "indices")
sort = _result("sort", "values", "indices")
topk = _result("topk", "values", "indices")
histogram = _result("histogram", "hist", "bin_edges")
histogramdd = _result("histogramdd", "hist", bin_edges="tuple[Tensor, ...]")
frexp = _result("frexp", "mantissa", "exponent")
geqrf = _result("geqrf", "a", "tau")
qr = _result("qr", "Q", "R")
svd = _result("svd", "U", "S", "V")
slogdet = _result("slogdet", "sign", "logabsdet")
triangular_solve = _result("triangular_solve", "solution", "cloned_coefficient")
lu_unpack = _result("lu_unpack", "P", "L", "U")
linalg_cholesky_ex = _result("linalg_cholesky_ex", "L", "info")
linalg_eig = _result("linalg_eig", "eigenvalues", "eigenvectors")
linalg_eigh = _result("linalg_eigh", "eigenvalues", "eigenvectors")
linalg_inv_ex = _result("linalg_inv_ex", "inverse", "info")
linalg_ldl_factor = _result("linalg_ldl_factor", "LD", "pivots")
linalg_ldl_factor_ex = _result("linalg_ldl_factor_ex", "LD", "pivots", "info")
linalg_lstsq = _result("linalg_lstsq", "solution", "residuals", "rank", "singular_values")
linalg_lu = _result("linalg_lu", "P", "L", "U")
linalg_lu_factor = _result("linalg_lu_factor", "LU", "pivots")
linalg_lu_factor_ex = _result("linalg_lu_factor_ex", "LU", "pivots", "info")
linalg_qr = _result("linalg_qr", "Q", "R")
linalg_slogdet = _result("linalg_slogdet", "sign", "logabsdet")
linalg_solve_ex = _result("linalg_solve_ex", "result", "info")
linalg_svd = _result("linalg_svd", "U", "S", "Vh")

# What the same functions return when they write into ``out=``.
for _kind in list(NamedResult.__subclasses__()):
    _written = _result(f"{_kind.__name__}_out", **_kind.__annotations__)
    globals()[_written.__name__] = _written
del _kind, _written

all_return_types = [kind for kind in globals().values() if isinstance(kind, type)]
all_return_types = [kind for kind in all_return_types if NamedResult in kind.__bases__]


def pytree_register_structseq(cls: type[Any]) -> None:
    """Nothing to do: nested structures of these are seen as tuples."""
