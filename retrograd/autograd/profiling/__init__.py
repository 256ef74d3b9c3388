"""The parts of the profiler: recording, tables, counts of operations."""
