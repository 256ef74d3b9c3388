"""Checkpoints of several processes in one folder, which is always whole.

Each process writes a part to files of its own; the file ``.metadata`` names them, and is put in its
place last. Who is killed at any moment leaves the checkpoint that was there before. Loading runs no
code from the files, and the number of processes may be another one.
"""

from retrograd.parallel.checkpoint.files import FileSystemReader as FileSystemReader
from retrograd.parallel.checkpoint.files import FileSystemWriter as FileSystemWriter
from retrograd.parallel.checkpoint.files import Metadata as Metadata
from retrograd.parallel.checkpoint.loading import load as load
from retrograd.parallel.checkpoint.loading import load_state_dict as load_state_dict
from retrograd.parallel.checkpoint.saving import async_save as async_save
from retrograd.parallel.checkpoint.saving import save as save
from retrograd.parallel.checkpoint.saving import save_state_dict as save_state_dict
