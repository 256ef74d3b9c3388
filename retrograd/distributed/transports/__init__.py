"""What carries bytes between processes: one class for each engine, one interface for all."""

from retrograd.distributed.transports.interface import Transport

__all__ = ["Transport"]
