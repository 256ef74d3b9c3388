"""What cannot run on a device that is not the CPU, each with the reason."""

CANNOT: dict[str, str] = {}
