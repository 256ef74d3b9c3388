"""No op computes wrong numbers from a sparse operand: the dense result, or an error."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import retrograd as torch
from retrograd.ops.registry import COMPOSITES, OPS
from tests.ops.compare import build, cases, flatten, function_of

# what depends on the layout and not on elements, on chance, or on memory that nobody wrote
_SKIPPED = {
    "torch.is_nonzero",
    "empty_like",
    "dropout",
}


# what takes a sparse operand in some sample; all others refuse each
_TAKEN = set(
    """
    None.reshape_as None.view_as abs add addmm any asin asinh atan atanh cat ceil deg2rad erf
    erfinv expm1 floor frac index_select isinf isnan isneginf isposinf linalg.matrix_power log1p
    mm mul mv neg nn.functional.alpha_dropout nn.functional.feature_alpha_dropout
    nn.functional.gaussian_nll_loss nn.functional.kl_div nn.functional.l1_loss
    nn.functional.linear nn.functional.linear_cross_entropy nn.functional.margin_ranking_loss
    nn.functional.multi_head_attention_forward nn.functional.poisson_nll_loss nn.functional.relu
    nn.functional.tanh nn.functional.tanhshrink nn.functional.triplet_margin_loss
    nn.functional.triplet_margin_with_distance_loss rad2deg relu sgn sign signbit sin sinh sqrt
    stack sub t tan tanh torch._weight_norm torch.atleast_1d torch.atleast_2d torch.atleast_3d
    torch.chain_matmul torch.clone torch.column_stack torch.conj torch.conj_physical torch.diff
    torch.div torch.dstack torch.gru torch.gru_cell torch.hstack torch.inner torch.is_same_size
    torch.lstm torch.lstm_cell torch.matmul torch.matrix_power torch.native_dropout torch.norm
    torch.pairwise_distance torch.positive torch.real torch.repeat_interleave torch.rnn_relu
    torch.rnn_relu_cell torch.rnn_tanh torch.rnn_tanh_cell torch.round torch.select torch.square
    torch.sum torch.svd_lowrank torch.triplet_margin_loss torch.true_divide torch.zero_
    transpose trunc unbind unsqueeze
    """.split()
)


def _names() -> list[str]:
    found: dict[str, None] = {}
    for name, _ in cases():
        found.setdefault(name)
    return list(found)


def _dense(value: Any) -> Any:
    return value.to_dense() if isinstance(value, torch.Tensor) else value


def _sparse_versions(args: list[Any], layout: str) -> list[tuple[str, list[Any]]]:
    """The arguments with one tensor made sparse, for each that can be."""
    found = []
    for place, value in enumerate(args):
        if isinstance(value, torch.Tensor) and value.ndim == 2:
            made = value.detach().to_sparse() if layout == "coo" else value.to_sparse_csr()
            found.append((f"{layout} {place}", [*args[:place], made, *args[place + 1 :]]))
        elif isinstance(value, (list, tuple)) and any(isinstance(x, torch.Tensor) for x in value):
            if all(isinstance(x, torch.Tensor) and x.ndim == 2 for x in value):
                items = [x.to_sparse() if layout == "coo" else x.to_sparse_csr() for x in value]
                found.append((f"{layout} {place}", [*args[:place], items, *args[place + 1 :]]))
    return found


def _run(function: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
    torch.manual_seed(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return function(*args, **kwargs)


def _same(one: Any, two: Any) -> bool:
    if isinstance(one, torch.Tensor) and isinstance(two, torch.Tensor):
        one, two = _dense(one), _dense(two)
        if one.shape != two.shape:
            return False
        left, right = (x.detach().to(torch.complex128).numpy() for x in (one, two))
        return bool(np.allclose(left, right, rtol=1e-6, atol=1e-8, equal_nan=True))
    return bool(one == two) if not isinstance(one, torch.Tensor) else False


@pytest.mark.parametrize("name", _names())
def test_sparse_operands_give_the_dense_numbers_or_raise(name: str) -> None:
    declared: Any = OPS.get(name) or COMPOSITES[name]
    if declared.name in _SKIPPED or name in _SKIPPED:
        pytest.skip("nothing to compare")
    function = function_of(name, torch)
    tried = taken = 0
    for _, sample in [case for case in cases_of(name)][:6]:
        if sample.error is not None:
            continue
        for layout in ("coo", "csr"):
            count = len(_sparse_versions(build(sample, torch, "float64", False, False)[0], layout))
            for number in range(count):
                args, kwargs, _ = build(sample, torch, "float64", False, False)
                label, sparse = _sparse_versions(args, layout)[number]
                try:
                    expected = _run(function, args, kwargs)
                except Exception:
                    continue
                tried += 1
                try:
                    found = _run(function, sparse, kwargs)
                except (NotImplementedError, RuntimeError, TypeError, IndexError, ValueError) as e:
                    assert str(e), f"{name} {label}: an error without a word"
                    continue
                taken += 1
                wrong = [
                    (one, two)
                    for one, two in zip(flatten(expected), flatten(found), strict=True)
                    if not _same(one, two)
                ]
                assert not wrong, f"{name}({sample!r}) with {label}"
    if not tried:
        pytest.skip("no sample that could be sparse")
    assert (taken > 0) == (name in _TAKEN)


_BY_NAME: dict[str, list[Any]] = {}


def cases_of(name: str) -> list[Any]:
    """The samples of one op."""
    if not _BY_NAME:
        for case in cases():
            _BY_NAME.setdefault(case[0], []).append(case)
    return _BY_NAME[name]
