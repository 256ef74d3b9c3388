"""Processes that a launcher starts: here there is one."""
