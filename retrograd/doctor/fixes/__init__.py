"""Fixes as edits of the user's files: written, tried in a process of their own, applied on request.

`propose_all` writes them as diffs, `verify_all` runs the program again with each edit laid over its
files, `apply` writes one to the disk, `offer` asks before that.
"""

from retrograd.doctor.fixes.applying import CannotApply, apply, offer
from retrograd.doctor.fixes.edits import edit_of, propose, propose_all
from retrograd.doctor.fixes.verify import VERIFIED_BELOW, Request, say_of_first, verify_all

__all__ = [
    "VERIFIED_BELOW",
    "CannotApply",
    "Request",
    "apply",
    "edit_of",
    "offer",
    "propose",
    "propose_all",
    "say_of_first",
    "verify_all",
]
