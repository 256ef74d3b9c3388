"""Fused steps that are told of a scale and of gradients lost, beside PyTorch's."""

import pytest

pytestmark = pytest.mark.torch

KINDS = [("SGD", {}), ("Adam", {}), ("AdamW", {"amsgrad": True}), ("Adagrad", {})]


def _state(optimizer, parameter):
    step = optimizer.state[parameter].get("step")
    return parameter.tolist(), parameter.grad.tolist(), None if step is None else float(step)


def _told(t, name, options):
    """A step with inf found, one with a scale, then two with a scaler."""
    parameter = t.nn.Parameter(t.ones(3))
    optimizer = getattr(t.optim, name)([parameter], lr=0.1, fused=True, **options)
    parameter.grad = t.full((3,), 2.0)
    seen = [optimizer._step_supports_amp_scaling]
    for found in (1.0, 0.0):
        optimizer.found_inf, optimizer.grad_scale = t.tensor(found), t.tensor(4.0)
        optimizer.step()
        seen.append(_state(optimizer, parameter))
    del optimizer.found_inf, optimizer.grad_scale
    scaler = t.amp.GradScaler("cpu", init_scale=8.0)
    for factor in (2.0, float("inf")):
        optimizer.zero_grad()
        scaler.scale((parameter * factor).sum()).backward()
        scaler.step(optimizer)
        scaler.update()
        seen.append((_state(optimizer, parameter), scaler.get_scale()))
    return seen


@pytest.mark.parametrize(("name", "options"), KINDS)
def test_a_fused_step_unscales_and_passes_over_lost_gradients(name, options):
    import torch

    import retrograd

    [first, *ours], [expected_first, *expected] = (
        _told(t, name, options) for t in (retrograd, torch)
    )
    assert first is expected_first is True
    assert _flat(ours) == pytest.approx(_flat(expected), rel=1e-6)


def _flat(value):
    if isinstance(value, (list, tuple)):
        return [number for item in value for number in _flat(item)]
    return [0.0 if value is None else value]


@pytest.mark.parametrize("name", ["SGD", "Adam", "Adagrad"])
def test_other_steps_refuse_a_scale(name):
    import torch

    import retrograd

    for t in (retrograd, torch):
        parameter = t.nn.Parameter(t.ones(3))
        optimizer = getattr(t.optim, name)([parameter])
        parameter.grad = t.ones(3)
        optimizer.found_inf = t.tensor(1.0)
        with pytest.raises(AssertionError, match="Expected grad_scale and found_inf to be None"):
            optimizer.step()
        assert parameter.tolist() == [1.0] * 3
