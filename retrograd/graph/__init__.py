"""The graph you can see: its states, lines, bytes and holders, for retrograd and for PyTorch."""

from __future__ import annotations

from retrograd.namespaces import on_first_use

__all__, __getattr__, __dir__ = on_first_use(
    __name__,
    {
        "growing": "Growing GrowthWatch watch_growth",
        "budgeting": "Choice budget",
        "holding": "Holder Holders holders",
        "ledgers": "Entry Ledger Row ledger",
        "offloading": "offload",
        "missing": "Why why_no_grad",
        "recomputation": "Recomputable recomputable recompute",
        "recording": "record view",
        "showing": "show",
        "states": "Event History State history state",
        "stepping": "Step Watch watch",
        "strictness": "is_strict strict",
        "unchaining": "unchain",
    },
)
