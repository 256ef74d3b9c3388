"""Steps that repeat, run from a plan: the design is in `program`."""
