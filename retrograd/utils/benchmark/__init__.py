"""Measuring: `Timer` runs a statement many times, and its `Measurement` tells how long it took."""

from retrograd.namespaces import from_table
from retrograd.utils.benchmark.measurement import Measurement as Measurement
from retrograd.utils.benchmark.measurement import TaskSpec as TaskSpec
from retrograd.utils.benchmark.measurement import select_unit as select_unit
from retrograd.utils.benchmark.measurement import unit_to_english as unit_to_english
from retrograd.utils.benchmark.timer import Timer as Timer
from retrograd.utils.benchmark.timer import timer as timer

from_table(__name__)
