from dataclasses import dataclass


@dataclass(frozen=True)
class DiffusionConfig:
    width: int = 32
    steps: int = 100
    batch: int = 64
    lr: float = 2e-3
    seed: int = 0
    amp: bool = True
    # the gradient penalty of the first version needed it
    retain_graph: bool = True
