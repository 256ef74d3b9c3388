"""The doctor: runs a PyTorch program, explains its autograd mistakes, and tries its own advice.

On the command line: ``retrograd doctor train.py``. Around a piece of a program::

    import retrograd.doctor

    with retrograd.doctor.watch() as report:
        train()
    print(report)

In a notebook: ``%load_ext retrograd.doctor`` and ``%%doctor`` on top of a cell. In tests:
``pytest --autograd-doctor``.
"""

from __future__ import annotations

from retrograd.namespaces import on_first_use

__all__ = ["Report", "load_ipython_extension", "watch"]


def load_ipython_extension(shell: object) -> None:
    """What `%load_ext retrograd.doctor` calls: it defines the cell magic `%%doctor`."""
    from retrograd.doctor.notebook import load

    load(shell)


# The processes that the doctor starts import parts of it; they need not have all of it.
__getattr__ = on_first_use(__name__, {"library": "Report watch"})[1]
