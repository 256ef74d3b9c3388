"""Interpolation, grids, initialisation, containers and utilities at the edges."""

from __future__ import annotations

import pytest

from tests.nn.expressions import assert_alike, lines

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch

VISION = """
    d(lambda x: F.interpolate(x, scale_factor=2), r(1, 2, 3))
    d(lambda x: F.interpolate(x, size=5, mode="linear"), r(1, 2, 3))
    d(lambda x: F.interpolate(x, size=(5, 2), mode="bilinear", align_corners=True), r(1, 1, 3, 3))
    d(lambda x: F.interpolate(x, scale_factor=(1.5, 0.7), mode="bilinear",
        recompute_scale_factor=True), r(1, 1, 4, 4))
    d(lambda x: F.interpolate(x, scale_factor=1.7, mode="bilinear"), r(1, 1, 4, 4))
    d(lambda x: F.interpolate(x, size=(2, 3), mode="bilinear", antialias=True), r(1, 1, 5, 7))
    d(lambda x: F.interpolate(x, size=(2, 9), mode="bicubic", antialias=True), r(1, 1, 5, 7))
    d(lambda x: F.interpolate(x, size=(7, 3), mode="bicubic"), r(1, 1, 5, 4))
    d(lambda x: F.interpolate(x, size=(2, 3, 4), mode="trilinear"), r(1, 1, 3, 2, 2))
    d(lambda x: F.interpolate(x, size=(2, 3), mode="area"), r(1, 1, 5, 4))
    d(lambda x: F.interpolate(x, size=7, mode="nearest-exact"), r(1, 1, 4))
    d(nn.Upsample(scale_factor=2, mode="bilinear"), r(1, 1, 2, 3))
    d(nn.UpsamplingBilinear2d(scale_factor=2), r(1, 1, 2, 3))
    nn.UpsamplingNearest2d(size=(3, 4))(r(1, 1, 2, 3))
    F.upsample(r(1, 1, 2), scale_factor=2)
    F.upsample_bilinear(r(1, 1, 2, 2), scale_factor=2)
    F.interpolate(r(1, 1, 4))
    F.interpolate(r(1, 1, 4), size=2, scale_factor=2)
    F.interpolate(r(1, 1, 4), size=(2, 2))
    F.interpolate(r(1, 1, 4), scale_factor=(2, 2))
    F.interpolate(r(1, 1, 4), size=2, mode="bilinear")
    F.interpolate(r(1, 1, 4, 4), size=2, mode="linear")
    F.interpolate(r(1, 1, 4, 4), size=2, mode="cubic")
    F.interpolate(r(1, 1, 4), size=2, align_corners=True)
    F.interpolate(r(1, 1, 4), size=2, antialias=True)
    F.interpolate(r(1, 1, 4), size=2, recompute_scale_factor=True)
    F.interpolate(r(1, 1, 4), size=0)
    F.interpolate(r(1, 1, 0), size=2)
    F.interpolate(r(0, 1, 4), size=2)
    F.interpolate(r(1, 0, 4), size=2)
    F.interpolate(r(4), size=2)
    F.interpolate(r(1, 4), size=2)
    F.interpolate(i(9, 1, 1, 4), size=2)
    F.interpolate(i(9, 1, 1, 4).to(t.uint8), size=2)
    F.interpolate(r(1, 1, 4, 4), size=2.5)
    F.interpolate(r(1, 1, 4, 4), scale_factor=0.1)
    F.interpolate(r(1, 1, 4, 4), scale_factor=-1)
    d(lambda x, g: F.grid_sample(x, g, align_corners=False), r(1, 2, 3, 3), r(1, 2, 2, 2))
    d1(lambda x, g: F.grid_sample(x, g * 2, padding_mode="reflection", align_corners=True), r(1,
        2, 3, 3), r(1, 2, 2, 2))
    d1(lambda x, g: F.grid_sample(x, g * 2, padding_mode="border", mode="bicubic",
        align_corners=False), r(1, 2, 4, 4), r(1, 2, 2, 2))
    d1(lambda x, g: F.grid_sample(x, g, mode="nearest", align_corners=False), r(1, 2, 3, 3), r(1,
        2, 2, 2))
    d1(lambda x, g: F.grid_sample(x, g, align_corners=True), r(1, 1, 2, 3, 3), r(1, 2, 2, 2, 3))
    F.grid_sample(r(1, 1, 3, 3), r(1, 2, 2, 2))
    F.grid_sample(r(1, 1, 3, 3), r(2, 2, 2, 2), align_corners=False)
    F.grid_sample(r(1, 1, 3, 3), r(1, 2, 2, 3), align_corners=False)
    F.grid_sample(r(1, 1, 3), r(1, 2, 2, 2), align_corners=False)
    F.grid_sample(r(1, 1, 3, 3), r(1, 2, 2, 2), mode="cubic", align_corners=False)
    F.grid_sample(r(1, 1, 3, 3), r(1, 2, 2, 2), padding_mode="wrap", align_corners=False)
    F.grid_sample(r(1, 1, 3, 3), f(1, 2, 2, 2), align_corners=False)
    F.grid_sample(r(1, 1, 0, 3), r(1, 2, 2, 2), align_corners=False)
    F.grid_sample(r(0, 1, 3, 3), r(0, 2, 2, 2), align_corners=False)
    F.grid_sample(r(1, 1, 3, 3), t.full((1, 1, 1, 2), float("nan")).double(), align_corners=False)
    d(lambda a: F.affine_grid(a, (1, 1, 2, 3), align_corners=True), r(1, 2, 3))
    d(lambda a: F.affine_grid(a, (1, 1, 2, 3, 2), align_corners=False), r(1, 3, 4))
    F.affine_grid(r(1, 2, 3), (1, 1, 2, 3))
    F.affine_grid(r(1, 2, 2), (1, 1, 2, 3), align_corners=False)
    F.affine_grid(r(1, 2, 3), (1, 1, 2), align_corners=False)
    F.affine_grid(r(1, 2, 3), (1, 1, 0, 3), align_corners=False)
    F.affine_grid(i(2, 1, 2, 3), (1, 1, 2, 3), align_corners=False)
"""

INITIALISATION = """
    nn.init.uniform_(t.empty(3), -1, 2)
    nn.init.normal_(t.empty(17), 1, 2)
    nn.init.trunc_normal_(t.empty(20), 1, 2, 0, 1.5)
    nn.init.trunc_normal_(t.empty(3), 9, 1, 0, 1.5)
    nn.init.constant_(t.empty(2), 3.0)
    nn.init.ones_(t.empty(2))
    nn.init.eye_(t.empty(2, 3))
    nn.init.eye_(t.empty(2))
    nn.init.dirac_(t.empty(4, 2, 3), 2)
    nn.init.dirac_(t.empty(3, 2, 3), 2)
    nn.init.dirac_(t.empty(2, 2))
    nn.init.xavier_uniform_(t.empty(3, 2), 2.0)
    nn.init.xavier_normal_(t.empty(3, 2, 2))
    nn.init.xavier_normal_(t.empty(3))
    nn.init.kaiming_uniform_(t.empty(3, 2), a=0.2, mode="fan_out")
    nn.init.kaiming_normal_(t.empty(3, 2), nonlinearity="relu")
    nn.init.kaiming_normal_(t.empty(3, 2), mode="fan")
    nn.init.kaiming_normal_(t.empty(3))
    nn.init.kaiming_uniform_(t.empty(3, 0))
    nn.init.kaiming_uniform_(t.empty(3, 2), nonlinearity="swish")
    nn.init.orthogonal_(t.empty(3, 2, 2), 1.5)
    nn.init.orthogonal_(t.empty(5, 3))
    nn.init.orthogonal_(t.empty(2))
    nn.init.orthogonal_(t.empty(0, 2))
    nn.init.sparse_(t.empty(5, 3), 0.4)
    nn.init.sparse_(t.empty(5), 0.4)
    nn.init.calculate_gain("leaky_relu", 0.3)
    nn.init.calculate_gain("leaky_relu", True)
    nn.init.calculate_gain("leaky_relu", "a")
    nn.init.calculate_gain("selu")
    nn.init.calculate_gain("swish")
    nn.init.uniform(t.empty(2))
    nn.init.xavier_uniform(t.empty(2, 2))
    nn.init.uniform_(t.empty(3), generator=t.Generator().manual_seed(3))
    nn.init.normal_(t.empty(3, dtype=t.float64))
    nn.init.uniform_(nn.Parameter(t.empty(3))).requires_grad
    nn.init._calculate_fan_in_and_fan_out(t.empty(3, 2, 4))
    nn.init._calculate_fan_in_and_fan_out(t.empty(3))
"""

CONTAINERS = """
    nn.Sequential(nn.ReLU(), None)
    nn.Sequential(3)
    nn.Sequential([nn.ReLU()])
    len(nn.Sequential(nn.ReLU(), nn.Tanh())[:1])
    type(nn.Sequential(nn.ReLU(), nn.Tanh())[-1]).__name__
    nn.Sequential(nn.ReLU())[1]
    nn.Sequential(nn.ReLU())["0"]
    repr(nn.Sequential(nn.ReLU()) + nn.Sequential(nn.Tanh()))
    repr(nn.Sequential(nn.ReLU()) * 2)
    repr(2 * nn.Sequential(nn.ReLU()))
    nn.Sequential(nn.ReLU()) * 0
    nn.Sequential(nn.ReLU()) * 1.5
    nn.Sequential(nn.ReLU()) + nn.ReLU()
    repr(nn.Sequential(nn.ReLU()).append(nn.Tanh()).insert(0, nn.ELU()).extend([nn.GELU()]))
    repr(nn.Sequential(nn.ReLU()).insert(5, nn.Tanh()))
    nn.Sequential(nn.ReLU()).insert(0, 3)
    repr(nn.Sequential(nn.ReLU(), nn.Tanh()).pop(0))
    nn.Sequential()(r(2))
    nn.Sequential(nn.Linear(1, 1))(f(1), f(1))
    (lambda s: [s.__delitem__(0), repr(s)])(nn.Sequential(nn.ReLU(), nn.Tanh(), nn.ELU()))
    (lambda s: [s.__delitem__(slice(0, 2)), repr(s)])(nn.Sequential(nn.ReLU(), nn.Tanh(), nn.ELU()))
    (lambda s: [s.__setitem__(0, nn.ELU()), repr(s)])(nn.Sequential(nn.ReLU(), nn.Tanh()))
    (lambda s: [s.__iadd__(nn.Sequential(nn.ELU())), repr(s)])(nn.Sequential(nn.ReLU()))
    (lambda s: [s.__imul__(3), repr(s)])(nn.Sequential(nn.ReLU()))
    nn.ModuleList([nn.ReLU()])[2]
    nn.ModuleList([nn.ReLU()])[-2]
    nn.ModuleList([nn.ReLU()])(r(2))
    nn.ModuleList([nn.ReLU(), 3])
    nn.ModuleList(nn.ReLU())
    repr(nn.ModuleList([nn.ReLU()]) + [nn.Tanh()])
    (lambda m: [m.insert(0, nn.Tanh()), m.pop(1), len(m), repr(m)])(nn.ModuleList([nn.ReLU(),
        nn.ELU()]))
    (lambda m: [m.__delitem__(slice(0, 2)), repr(m)])(nn.ModuleList([nn.ReLU(), nn.ELU(),
        nn.Tanh()]))
    nn.ModuleList([nn.ReLU()]).append(3)
    nn.ModuleList([nn.ReLU()]).extend(3)
    [type(m).__name__ for m in nn.ModuleList([nn.ReLU(), nn.ELU()])[::-1]]
    list(nn.ModuleDict({"a": nn.ReLU(), "b": nn.Tanh()}).keys())
    nn.ModuleDict({"a": nn.ReLU()})["b"]
    nn.ModuleDict({"a.b": nn.ReLU()})
    nn.ModuleDict({"pop": nn.ReLU()})
    nn.ModuleDict({"a": 3})
    nn.ModuleDict({1: nn.ReLU()})
    nn.ModuleDict([("a", nn.ReLU()), ("b",)])
    nn.ModuleDict(3)
    nn.ModuleDict(["a"])
    (lambda m: [m.pop("a"), "a" in m, len(m), m.clear(), len(m)])(nn.ModuleDict({"a": nn.ReLU(),
        "b": nn.ELU()}))
    (lambda m: [m.update({"b": nn.ELU()}), repr(m)])(nn.ModuleDict({"a": nn.ReLU()}))
    nn.ModuleDict({"a": nn.ReLU()})(r(2))
    repr(nn.ParameterList([r(2), r(3), 4, "x", nn.Parameter(r(2, 2))]))
    [p.requires_grad for p in nn.ParameterList([r(2), nn.Parameter(r(1), False)])]
    nn.ParameterList([r(2)])[1]
    nn.ParameterList(3)
    nn.ParameterList([r(2)]).append(r(1))
    nn.ParameterList([r(2)]).extend(r(2, 2))
    (lambda p: [p.__iadd__([r(3)]), len(p), list(p.state_dict())])(nn.ParameterList([r(2)]))
    nn.ParameterList([r(2), r(3)])[:1]
    nn.ParameterList([r(2)])(1)
    nn.ParameterDict({"a": r(2), "b": 3})
    (lambda p: [p.pop("a"), p.get("z", 4), p.setdefault("c", r(1)),
        list(p)])(nn.ParameterDict({"a": r(2), "b": r(1)}))
    (lambda p: [p.popitem()[0], list(p | {"c": r(1)})])(nn.ParameterDict({"a": r(2), "b": r(1)}))
    repr(nn.ParameterDict({"b": r(2), "a": r(1)}))
    list(nn.ParameterDict.fromkeys(nn.ParameterDict(), ["x", "y"], 1).keys())
    nn.ParameterDict({"a": r(2)})["b"]
    list(reversed(nn.ParameterDict({"a": r(2), "b": 1})))
    (lambda p: [p.copy() is p,
        list(p.copy().items())[0][1] is p["a"]])(nn.ParameterDict({"a": r(2)}))
"""

UTILITIES = """
    nn.utils.clip_grad_norm_([], 1.0)
    (lambda p: [p.sum().backward(), nn.utils.clip_grad_norm_(p, 1.0), p.grad])(nn.Parameter(r(3)))
    (lambda p: [p.sum().backward(), nn.utils.clip_grad_norm_([p], 1.0, float("inf")),
        p.grad])(nn.Parameter(r(3)))
    (lambda p: [(p * float("nan")).sum().backward(), nn.utils.clip_grad_norm_([p], 1.0,
        error_if_nonfinite=True)])(nn.Parameter(r(3)))
    (lambda p: [p.sum().backward(), nn.utils.clip_grad_norm_((q for q in [p]), 1.0, 0.5),
        p.grad])(nn.Parameter(r(3)))
    (lambda p: [p.sum().backward(), nn.utils.clip_grad_value_(p, 0.2), p.grad])(nn.Parameter(r(3)))
    (lambda p: [p.sum().backward(), nn.utils.clip_grads_with_norm_(p, 1.0, t.tensor(4.0)),
        p.grad])(nn.Parameter(r(3)))
    nn.utils.get_total_norm([r(3), r(2, 2)], 3.0)
    nn.utils.get_total_norm([])
    nn.utils.clip_grad_norm([nn.Parameter(r(2))], 1.0)
    nn.utils.parameters_to_vector([r(2), r(2, 2)])
    (lambda p: [nn.utils.vector_to_parameters(r(3), [p]), p])(nn.Parameter(r(3) * 2))
    nn.utils.vector_to_parameters([1.0], [])
    nn.utils.fuse_conv_bn_eval(nn.Conv2d(1, 2, 1).eval(), nn.BatchNorm2d(2).eval())(f(1, 1, 2, 2))
    nn.utils.fuse_conv_bn_eval(nn.Conv2d(1, 2, 1), nn.BatchNorm2d(2))
    nn.utils.fuse_linear_bn_eval(nn.Linear(2, 2).eval(), nn.BatchNorm1d(2).eval())(f(1, 2))
    nn.utils.skip_init(nn.Linear, 2, 3).weight.shape
    nn.utils.skip_init(nn.ReLU)
    list(nn.utils.weight_norm(nn.Linear(2, 3)).state_dict())
    d(nn.utils.weight_norm(nn.Linear(2, 3).double(), dim=None), r(1, 2))
    nn.utils.weight_norm(nn.Linear(2, 3), "other")
    nn.utils.remove_weight_norm(nn.Linear(2, 3))
    list(nn.utils.remove_weight_norm(nn.utils.weight_norm(nn.Linear(2, 3))).state_dict())
    d(nn.utils.spectral_norm(nn.Linear(2, 3).double()), r(1, 2))
    nn.utils.spectral_norm(nn.Linear(2, 3), n_power_iterations=0)
    list(nn.utils.spectral_norm(nn.Conv2d(2, 3, 1)).state_dict())
    nn.utils.remove_spectral_norm(nn.Linear(2, 3))
    d(nn.utils.parametrizations.weight_norm(nn.Linear(2, 3).double()), r(1, 2))
    d(nn.utils.parametrizations.spectral_norm(nn.Linear(2, 3).double()), r(1, 2))
    d(nn.utils.parametrizations.orthogonal(nn.Linear(3, 3).double(), orthogonal_map="cayley"),
        r(1, 3))
    nn.utils.parametrizations.orthogonal(nn.Linear(3, 2))(f(1, 3))
    nn.utils.parametrizations.orthogonal(nn.Linear(3, 2), orthogonal_map="other")
    nn.utils.parametrizations.orthogonal(nn.Linear(3, 2), "missing")
    nn.utils.parametrizations.orthogonal(nn.Linear(3, 2), "bias")
    nn.utils.parametrizations.spectral_norm(nn.Linear(3, 2), eps=0.0)
    list(nn.utils.parametrizations.spectral_norm(nn.Linear(2, 3)).state_dict())
    repr(nn.utils.parametrizations.weight_norm(nn.Linear(2, 3)))
    t.func.functional_call(nn.Linear(2, 1), {"weight": t.ones(1, 2)}, f(2), strict=True)
    t.func.functional_call(nn.Linear(2, 1), {"other": t.ones(1, 2)}, f(2), strict=True)
    t.func.functional_call(nn.Linear(2, 1), {"weight": t.ones(1, 2)}, f(2))
    t.func.functional_call(nn.Linear(2, 1), {"weight": 3}, f(2))
    nn.utils.stateless.functional_call(nn.Linear(2, 1), {"bias": t.ones(1)}, f(2))
"""

TABLES = {
    "vision": VISION,
    "initialisation": INITIALISATION,
    "containers": CONTAINERS,
    "utilities": UTILITIES,
}
CASES = [pytest.param(line, id=line) for topic in TABLES for line in lines(TABLES[topic])]


@pytest.mark.parametrize("text", CASES)
def test_expression(text):
    assert_alike(torch, text)
