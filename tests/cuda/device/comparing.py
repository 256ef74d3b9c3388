"""The same program on the device and on the CPU: what comes out is compared."""

from __future__ import annotations

import numpy as np

import retrograd as torch


def raised(function):
    """The first line of what a call raises; None if it raises nothing."""
    try:
        function()
    except Exception as error:
        return f"{type(error).__name__}: {str(error).splitlines()[0]}"
    return None


def close(found, expected, loose=2e-5, where="result"):
    """Nested results are the same: numbers to some distance, everything else exactly."""
    if isinstance(found, torch.Tensor):
        expected = torch.as_tensor(expected)
        a, b = (t.detach().cpu() for t in (found, expected))
        assert a.shape == b.shape, f"{where}: {tuple(a.shape)}, not {tuple(b.shape)}"
        if a.dtype is not torch.float64:
            a, b = a.float(), b.float()
        far = loose if a.dtype is not torch.float64 else min(loose, 1e-8)
        np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=far, atol=far, err_msg=where)
    elif isinstance(found, (list, tuple)):
        assert len(found) == len(expected), f"{where}: {len(found)} parts, not {len(expected)}"
        for i, (a, b) in enumerate(zip(found, expected, strict=True)):
            close(a, b, loose, f"{where}[{i}]")
    elif isinstance(found, float):
        np.testing.assert_allclose(found, expected, rtol=loose, atol=loose, err_msg=where)
    else:
        assert found == expected, f"{where}: {found!r}, not {expected!r}"


def same(program, loose=2e-5):
    """A program gives on the device what it gives on the CPU."""
    close(program("cuda"), program("cpu"), loose)
