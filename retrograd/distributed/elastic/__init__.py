"""Processes that come and go: here there is one."""
