"""Data for training: datasets, samplers and the loader that makes batches of them.

>>> import retrograd as torch
>>> data = torch.utils.data.TensorDataset(torch.arange(4.0), torch.arange(4))
>>> for x, y in torch.utils.data.DataLoader(data, batch_size=3):
...     print(x, y)
tensor([0., 1., 2.]) tensor([0, 1, 2])
tensor([3.]) tensor([3])
"""

from retrograd.namespaces import on_first_use

__all__, __getattr__, __dir__ = on_first_use(
    __name__,
    {
        "dataloader": "DataLoader default_collate default_convert",
        "dataset": """
            ChainDataset ConcatDataset Dataset IterableDataset StackDataset Subset TensorDataset
            random_split
        """,
        "distributed": "DistributedSampler",
        "fetch": "_DatasetKind",
        "information": "get_worker_info",
        "sampler": """
            BatchSampler RandomSampler Sampler SequentialSampler SubsetRandomSampler
            WeightedRandomSampler
        """,
    },
    modules="_utils",
)
