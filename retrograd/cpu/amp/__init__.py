"""The older forms of `torch.amp` for the CPU."""

from retrograd.cpu.amp.autocast_mode import autocast as autocast
from retrograd.cpu.amp.grad_scaler import GradScaler as GradScaler
