"""How many launches a training step takes, and which arrays it casts, counted without a device."""

from __future__ import annotations

from contextlib import nullcontext

import pytest

import retrograd as torch
from benchmarks.device_models import Model, make_inputs, make_model
from tests.cuda.fake.launches import HALVES, launching

F = torch.nn.functional
MODELS = {
    "mlp": Model("MLP", "mlp", False, (64, 128, 128, 8), 64),
    "gpt": Model("GPT", "gpt", False, (64, 16, 32, 4, 2), 4),
}


class Step:
    """A step of a benchmark's model, its launches counted forward and backward."""

    def __init__(self, model, seen, half):
        torch.manual_seed(0)
        self.seen, self.half = seen, half
        self.module = make_model(torch, model).cuda()
        self.x, self.target = (torch.from_numpy(value).cuda() for value in make_inputs(model))
        self.optimizer = torch.optim.Adam(self.module.parameters(), lr=1e-3)
        for _ in range(2):
            self.run()  # state is made, kernels are found

    def run(self):
        self.seen.clear()
        self.optimizer.zero_grad()
        with torch.autocast("cuda", torch.bfloat16) if self.half else nullcontext():
            found = self.module(self.x)
            self.logits = found.numel()
            loss = F.cross_entropy(found.reshape(-1, found.shape[-1]), self.target)
        self.forward = [*self.seen.launches]
        loss.backward()
        self.optimizer.step()

    def sizes_of_parameters(self):
        return {p.numel() for p in self.module.parameters()}


def widened(launches):
    return [x for x in launches if x.source in HALVES and x.target not in HALVES]


def rounded(launches):
    return [x for x in launches if x.target in HALVES and x.source not in (None, *HALVES)]


def test_an_mlp_in_float32():
    with launching() as seen:
        step = Step(MODELS["mlp"], seen, half=False)
        step.run()
        # 3 products with a bias each; 3 + 2 products and 3 sums backward; 2 activations both ways;
        # the loss with its start in 7; the optimizer
        assert seen.by_name() == {
            "cublas matmul": 8,
            "own add": 3,
            "own across": 3,
            "own relu": 2,
            "own the rule of relu": 2,
            "own log_softmax_1": 1,
            "own nll": 1,
            "cupy full": 1,
            "own nll_total": 1,
            "own nll_slopes": 1,
            "own log_softmax_gradient_1": 1,
            "own adam": 1,
        }
        assert seen.waits == []


def test_an_mlp_under_autocast():
    with launching() as seen:
        step = Step(MODELS["mlp"], seen, half=True)
        step.run()
        assert seen.count() == 40
        # down: the input and the parameters, once each. Up: the parameters' gradients and, since
        # the loss is one of float32, the logits; their gradient comes down again
        assert len(rounded(step.forward)) == 7 and len(widened(step.forward)) == 1
        backward = seen.launches[len(step.forward) :]
        assert len(widened(backward)) == 6 and len(rounded(backward)) == 1
        assert {x.size for x in widened(backward)} <= step.sizes_of_parameters()
        assert seen.waits == []


def test_a_gpt_under_autocast():
    with launching() as seen:
        step = Step(MODELS["gpt"], seen, half=True)
        step.run()
        # forward no activation is widened but the logits, for the loss
        assert [x.size for x in widened(step.forward)] == [step.logits]
        backward = seen.launches[len(step.forward) :]
        # backward only what was cast down comes up: weights, biases and what the norms gave
        assert sorted(x.size for x in widened(backward)) == sorted(
            x.size for x in rounded(step.forward)
        )
        # and comes down what met float32: the logits, and 4 branches beside the residual stream
        assert len(rounded(backward)) == 5
        assert seen.waits == []


def test_autocast_adds_nothing_but_casts():
    counts = []
    for half in (False, True):
        with launching() as seen:
            step = Step(MODELS["gpt"], seen, half)
            step.run()
            casts = len(seen.casts())
            counts.append((seen.count() - casts, casts))
    (own, none), (own_of_half, casts) = counts
    assert own == own_of_half and none == 0 and casts == 22 + 1 + 22 + 5


class Mixed(torch.nn.Module):
    """Layers and functions of many kinds."""

    def __init__(self):
        super().__init__()
        nn = torch.nn
        self.words, self.first, self.second = (
            nn.Embedding(20, 16),
            nn.Linear(16, 32),
            nn.Linear(32, 32),
        )
        self.norm, self.batch, self.groups = (
            nn.LayerNorm(32),
            nn.BatchNorm1d(32),
            nn.GroupNorm(4, 32),
        )
        self.batch.track_running_stats = False
        self.batch.running_mean = self.batch.running_var = None
        self.last = nn.Linear(32, 7)

    def forward(self, x):
        x = F.gelu(self.first(self.words(x)))
        x = self.batch(F.silu(self.second(self.norm(x))) * 0.3 + 0.5)
        x = F.relu(x) / (1 + x.abs()) + torch.tanh(x) * torch.sigmoid(x) - x.exp() * 1e-3
        x = F.softmax(x, -1) + x.mean(-1, keepdim=True) + x.sum(0)
        x = torch.cat([x[:, :16], x[:, 16:]], 1).clamp(-1, 1)
        x = F.leaky_relu(x) + torch.where(x > 0, x, -x) + x.pow(2) + x.transpose(0, 1).t()
        return self.last(x)


@pytest.mark.parametrize("kind", ["bfloat16", "float16"])
def test_a_model_in_half_precision_widens_nothing(kind):
    with launching() as seen:
        module = Mixed().to(getattr(torch, kind)).cuda()
        x, target = torch.arange(16).cuda(), (torch.arange(16) % 7).cuda()
        optimizer = torch.optim.AdamW(module.parameters(), lr=1e-3)
        for _ in range(2):
            seen.clear()
            optimizer.zero_grad()
            F.cross_entropy(module(x), target).backward()
            optimizer.step()
        assert seen.widened() == []
        # gradients of the norms' weights and biases, and of the table: kept in float32 until then
        assert sorted(x.size for x in seen.casts()) == [32, 32, 32, 32, 320]


def test_a_rule_is_one_launch():
    functions = {
        "tanh": torch.tanh,
        "div": lambda x: x / 3.5,
        "silu": F.silu,
        "pow": lambda x: x**3.5,
        "softplus": F.softplus,
        "clamp": lambda x: x.clamp(-0.5, 0.5),
        "where": lambda x: torch.where(x > 0, x, 0.5),
        "logsigmoid": F.logsigmoid,
    }
    with launching() as seen:
        for name, function in functions.items():
            for kind in ("float32", "bfloat16", "float16"):
                x = torch.ones(40, dtype=getattr(torch, kind), device="cuda", requires_grad=True)
                result = function(x)
                start = torch.ones_like(result)
                seen.clear()
                result.backward(start)
                assert [launch.by for launch in seen.launches] == ["own"], (name, kind, seen)
                assert x.grad.dtype is x.dtype


def test_autocast_takes_the_usual_way(monkeypatch):
    """No op comes to the general path but casts, which change the type."""
    from retrograd.ops.calling import on_device

    general = []
    with launching() as seen:
        step = Step(MODELS["mlp"], seen, half=True)
        dispatch_generally = on_device.HOT["dispatch_generally"]

        def noted(op, *rest):
            general.append(op.name)
            return dispatch_generally(op, *rest)

        monkeypatch.setitem(on_device.HOT, "dispatch_generally", noted)
        step.run()
    assert set(general) <= {"_to_dtype"}
