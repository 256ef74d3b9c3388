"""fastai: a Learner fits a small network in one cycle, and a table with categories."""

import pandas as pd
import torch
import torch.nn as nn
from fastai.callback.schedule import *  # noqa: F403
from fastai.data.core import DataLoaders
from fastai.data.load import DataLoader
from fastai.learner import Learner
from fastai.losses import CrossEntropyLossFlat
from fastai.metrics import accuracy
from fastai.torch_core import set_seed
from fastai.tabular.all import (
    Categorify,
    CategoryBlock,
    Normalize,
    TabularDataLoaders,
    tabular_learner,
)

set_seed(0)


def printed(learner):
    for losses in learner.recorder.values:
        print(" ".join(f"{value:.6f}" for value in losses))


data = [(x, y) for x, y in zip(torch.randn(32, 6), torch.randint(3, (32,)))]
loaders = DataLoaders(DataLoader(data, bs=8), DataLoader(data, bs=16))
net = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.BatchNorm1d(16), nn.Linear(16, 3))
learner = Learner(loaders, net, loss_func=CrossEntropyLossFlat(), metrics=accuracy)
with learner.no_bar(), learner.no_logging():
    learner.fit_one_cycle(3, 1e-2)
printed(learner)

values = torch.randn(40).tolist()
table = pd.DataFrame(
    dict(
        kind=["a", "b", "c", "d"] * 10,
        size=values,
        answer=["yes" if v > 0 else "no" for v in values],
    )
)
loaders = TabularDataLoaders.from_df(
    table,
    procs=[Categorify, Normalize],
    cat_names=["kind"],
    cont_names=["size"],
    y_names="answer",
    y_block=CategoryBlock(),
    valid_idx=list(range(30, 40)),
    bs=10,
    seed=0,
)
learner = tabular_learner(loaders, layers=[8], metrics=accuracy)
with learner.no_bar(), learner.no_logging():
    learner.fit(2, 1e-2)
printed(learner)
