"""Faults without an error: the program ends well, but learns nothing, or something else.

Each rule speaks on repeated evidence and with a line to name; healthy programs get no report.
"""

from __future__ import annotations

from retrograd.doctor.model import Diagnosis
from retrograd.doctor.rules import (
    gradients,
    growth,
    leaves,
    left_over,
    ownership,
    penalty,
    retained,
    rewrapped,
    untrained,
)
from retrograd.doctor.session import Watched


def diagnose(watched: Watched) -> list[Diagnosis]:
    """What is wrong with a program that ended without an error."""
    if watched.error is not None or watched.recorder.failure is not None:
        return []
    found = ownership.diagnose(watched)
    if not found:
        found += rewrapped.diagnose(watched) or untrained.diagnose(watched)
    cleared = gradients.diagnose(watched)
    found += cleared or left_over.diagnose(watched)
    penalties = penalty.diagnose(watched)
    found += penalties
    found += growth.diagnose(watched)
    explained = {diagnosis.fixes[0].place for diagnosis in penalties if diagnosis.fixes}
    for diagnosis in retained.diagnose(watched):
        if diagnosis.error_line not in explained:
            found.append(diagnosis)
    read = leaves.grad_of_result(watched)
    return found if read is None else [*found, read]
