"""Anomaly detection: which forward call made the node whose backward failed or gave a nan.

While it is on, every node keeps the stack that made it, and every gradient is searched for nans. As
in PyTorch it is one setting for all threads.
"""

from __future__ import annotations

import warnings

from retrograd.engine.state import ANOMALY, AnomalyBlock, set_anomaly
from retrograd.lifecycle.site import user_level

__all__ = ["detect_anomaly", "set_detect_anomaly"]


def is_anomaly_enabled() -> bool:
    """Whether anomaly detection is on.

    >>> torch.is_anomaly_enabled()
    False
    """
    return ANOMALY.enabled


def is_anomaly_check_nan_enabled() -> bool:
    """Whether anomaly detection, when it is on, looks for nans.

    >>> torch.is_anomaly_check_nan_enabled()
    True
    """
    return ANOMALY.check_nan


def set_anomaly_enabled(enabled: bool, check_nan: bool = True) -> None:
    """Turn anomaly detection on or off.

    >>> torch.set_anomaly_enabled(False)
    """
    _check(enabled, check_nan)
    set_anomaly(enabled, check_nan)


def _check(enabled: bool, check_nan: bool) -> None:
    for position, (name, value) in enumerate((("enabled", enabled), ("check_nan", check_nan))):
        if not isinstance(value, bool):
            raise TypeError(
                f"set_anomaly_enabled(): argument '{name}' (position {position + 1}) must be "
                f"bool, not {type(value).__name__}"
            )


class detect_anomaly(AnomalyBlock):
    """``with detect_anomaly():`` errors of backward name the forward call; a nan is an error.

    >>> import warnings
    >>> x = torch.zeros(1, requires_grad=True)
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore")
    ...     try:
    ...         with torch.autograd.detect_anomaly():
    ...             (x / x).backward()
    ...     except RuntimeError as error:
    ...         print(error)
    Function 'DivBackward0' returned nan values in its 1th output.
    """

    def __init__(self, check_nan: bool = True) -> None:
        self.check_nan = check_nan
        warnings.warn(
            "Anomaly Detection has been enabled. This mode will increase the runtime and should "
            "only be enabled for debugging.",
            stacklevel=user_level(),
        )

    def _inside(self) -> dict[str, object]:
        _check(True, self.check_nan)
        return {"enabled": True, "check_nan": self.check_nan}


class set_detect_anomaly(AnomalyBlock):
    """Turn anomaly detection on or off: at once, and until the end of a ``with`` block if given.

    >>> with torch.autograd.set_detect_anomaly(True):
    ...     torch.is_anomaly_enabled()
    True
    >>> torch.is_anomaly_enabled()
    False
    """

    def __init__(self, mode: bool, check_nan: bool = True) -> None:
        self._before = ({"enabled": ANOMALY.enabled, "check_nan": ANOMALY.check_nan}, None)
        set_anomaly_enabled(mode, check_nan)

    def __enter__(self) -> None:
        pass
