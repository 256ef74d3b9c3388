"""Convolution layers by themselves."""

from __future__ import annotations

import pytest

import retrograd as torch


def test_a_layer_equals_its_function():
    layer = torch.nn.Conv2d(2, 3, (3, 2), stride=(1, 2), padding=1)
    x = torch.randn(2, 2, 5, 6)
    wanted = torch.nn.functional.conv2d(x, layer.weight, layer.bias, (1, 2), 1)
    assert torch.equal(layer(x), wanted)


def test_initial_values_stay_within_their_bound():
    layer = torch.nn.Conv2d(4, 64, 3, groups=2)
    bound = (2 * 9) ** -0.5
    for parameter in layer.parameters():
        assert parameter.abs().max() <= bound
        assert parameter.abs().max() > 0.8 * bound


def test_a_subclass_may_change_the_weight():
    class Standardized(torch.nn.Conv1d):
        def forward(self, input):
            return self._conv_forward(input, self.weight - self.weight.mean(), self.bias)

    layer = Standardized(1, 1, 2, bias=False, padding=1, padding_mode="replicate")
    constant = layer(torch.full((1, 1, 5), 3.0))
    assert torch.allclose(constant, torch.zeros(1, 1, 6), atol=1e-6)


def test_parameters_have_the_dtype_asked_for():
    layer = torch.nn.ConvTranspose3d(1, 1, 2, dtype=torch.float64)
    assert {p.dtype for p in layer.parameters()} == {torch.float64}


def test_output_size_out_of_reach_names_the_reach():
    layer = torch.nn.ConvTranspose1d(1, 1, 3, stride=2)
    with pytest.raises(ValueError, match=r"valid sizes range from \[9\] to \[10\]"):
        layer(torch.zeros(1, 1, 4), output_size=[11])


def test_training_a_small_network_lowers_its_loss():
    torch.manual_seed(0)
    net = torch.nn.Sequential(
        torch.nn.Conv2d(1, 4, 3),
        torch.nn.BatchNorm2d(4),
        torch.nn.ReLU(),
        torch.nn.AdaptiveAvgPool2d(1),
    )
    x, target = torch.randn(8, 1, 6, 6), torch.randn(8, 4, 1, 1)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    losses = []
    for _ in range(30):
        loss = torch.nn.MSELoss()(net(x), target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < 0.8 * losses[0]
