"""Parts of a model in several processes: refused, see `fsdp`."""
