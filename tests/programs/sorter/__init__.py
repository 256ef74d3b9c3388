"""A transformer that learns to sort digits: `python -m sorter.train --trainer.steps=20`."""

from .config import Config
from .model import Transformer
from .trainer import Trainer

__all__ = ["Config", "Trainer", "Transformer"]
