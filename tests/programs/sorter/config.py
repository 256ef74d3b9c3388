import ast
import copy
import json


class Config(dict):
    """A tree of settings, with attribute access; `update_from` takes --a.b=1 as people type it."""

    def __init__(self, **values):
        super().__init__()
        for key, value in values.items():
            self[key] = Config(**value) if type(value) is dict else value

    def __getattr__(self, key):
        try:
            return self[key]
        except KeyError:
            raise AttributeError(key) from None

    __setattr__ = dict.__setitem__

    def __deepcopy__(self, memo):
        return Config(**{k: copy.deepcopy(v, memo) for k, v in self.items()})

    def update_from(self, arguments):
        for argument in arguments:
            path, _, text = argument.lstrip("-").partition("=")
            *parents, last = path.split(".")
            node = self
            for parent in parents:
                node = node[parent]
            if last not in node:
                raise SystemExit(f"no such setting: {path}")
            try:
                node[last] = ast.literal_eval(text)
            except (ValueError, SyntaxError):
                node[last] = text
        return self

    def __str__(self):
        return json.dumps(self, indent=2, sort_keys=True)


DEFAULTS = Config(
    seed=7,
    out="sorter_out",
    task=dict(length=5, digits=4),
    model=dict(depth=2, heads=2, width=32, dropout=0.05, norm_first=True),
    trainer=dict(
        steps=40, batch_size=32, lr=2e-3, betas=(0.9, 0.95), decay=0.1, clip=1.0, log_every=10
    ),
)
