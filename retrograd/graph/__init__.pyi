"""The graph you can see: its states, lines, bytes and holders, for retrograd and for PyTorch.

Written by ``python -m retrograd.compat.stubs``.
"""
# fmt: off
# ruff: noqa


from retrograd.graph.budgeting import Choice as Choice
from retrograd.graph.ledgers import Entry as Entry
from retrograd.graph.states import Event as Event
from retrograd.watching.piles import Growing as Growing
from retrograd.graph.growing import GrowthWatch as GrowthWatch
from retrograd.graph.states import History as History
from retrograd.graph.holding import Holder as Holder
from retrograd.graph.holding import Holders as Holders
from retrograd.graph.ledgers import Ledger as Ledger
from retrograd.graph.recomputation import Recomputable as Recomputable
from retrograd.graph.ledgers import Row as Row
from retrograd.graph.states import State as State
from retrograd.graph.stepping import Step as Step
from retrograd.graph.stepping import Watch as Watch
from retrograd.graph.missing import Why as Why
from retrograd.graph.budgeting import budget as budget
from retrograd.graph.states import history as history
from retrograd.graph.holding import holders as holders
from retrograd.graph.strictness import is_strict as is_strict
from retrograd.graph.ledgers import ledger as ledger
from retrograd.graph.offloading import offload as offload
from retrograd.graph.recomputation import recomputable as recomputable
from retrograd.graph.recomputation import recompute as recompute
from retrograd.graph.recording import record as record
from retrograd.graph.showing import show as show
from retrograd.graph.states import state as state
from retrograd.graph.strictness import strict as strict
from retrograd.graph.unchaining import unchain as unchain
from retrograd.graph.recording import view as view
from retrograd.graph.stepping import watch as watch
from retrograd.graph.growing import watch_growth as watch_growth
from retrograd.graph.missing import why_no_grad as why_no_grad
