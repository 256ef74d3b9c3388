"""Optimizers: update parameters from their gradients."""

from retrograd.namespaces import on_first_use

__all__, __getattr__, __dir__ = on_first_use(
    __name__,
    {
        "adadelta": "Adadelta",
        "adafactor": "Adafactor",
        "adagrad": "Adagrad",
        "adam": "Adam",
        "adamax": "Adamax",
        "adamw": "AdamW",
        "asgd": "ASGD",
        "lbfgs": "LBFGS",
        "muon": "Muon",
        "nadam": "NAdam",
        "optimizer": "Optimizer",
        "radam": "RAdam",
        "rmsprop": "RMSprop",
        "rprop": "Rprop",
        "sgd": "SGD",
        "sparse_adam": "SparseAdam",
        "stateless": "swap_in_optimizer_params_and_state",
    },
    modules="lr_scheduler swa_utils",
)
