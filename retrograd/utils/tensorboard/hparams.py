"""Hyperparameters of a run with the metrics that it reached."""

from __future__ import annotations

from typing import Any

from retrograd.tensor import Tensor
from retrograd.utils.tensorboard.arrays import to_array
from retrograd.utils.tensorboard.package import part, proto


def hparams(
    hparam_dict: dict[str, object],
    metric_dict: dict[str, object],
    hparam_domain_discrete: dict[str, list[object]] | None = None,
) -> tuple[object, object, object]:
    """The three messages of a run: what it is about, its start, its end."""
    api = part("tensorboard.plugins.hparams.api_pb2")
    metadata = part("tensorboard.plugins.hparams.metadata")
    data = part("tensorboard.plugins.hparams.plugin_data_pb2")
    choices = hparam_domain_discrete or {}
    _check_choices(hparam_dict, choices)
    start = data.SessionStartInfo()
    described = []
    for name, value in hparam_dict.items():
        if value is None:
            continue
        number, kind = _number_or_text(value)
        setattr(start.hparams[name], kind, number)
        described.append(
            api.HParamInfo(
                name=name,
                type=api.DataType.Value(_TYPES[kind]),
                domain_discrete=_values(kind, choices.get(name)),
            )
        )
    names = [api.MetricInfo(name=api.MetricName(tag=name)) for name in metric_dict]
    experiment = api.Experiment(hparam_infos=described, metric_infos=names)
    end = data.SessionEndInfo(status=api.Status.Value("STATUS_SUCCESS"))

    def message(tag: str, **content: object) -> object:
        whole = data.HParamsPluginData(version=metadata.PLUGIN_DATA_VERSION, **content)
        kinds = proto("summary")
        plugin = kinds.SummaryMetadata.PluginData(
            plugin_name=metadata.PLUGIN_NAME, content=whole.SerializeToString()
        )
        about = kinds.SummaryMetadata(plugin_data=plugin)
        return kinds.Summary(value=[kinds.Summary.Value(tag=tag, metadata=about)])

    return (
        message(metadata.EXPERIMENT_TAG, experiment=experiment),
        message(metadata.SESSION_START_INFO_TAG, session_start_info=start),
        message(metadata.SESSION_END_INFO_TAG, session_end_info=end),
    )


_TYPES = {"number_value": "DATA_TYPE_FLOAT64", "string_value": "DATA_TYPE_STRING"}


def _number_or_text(value: object) -> tuple[object, str]:
    """The value and the field that it goes to; a bool is a number, as in PyTorch's logs."""
    if isinstance(value, int | float):
        return value, "number_value"
    if isinstance(value, str):
        return value, "string_value"
    if isinstance(value, Tensor):
        return to_array(value.reshape(-1))[0], "number_value"
    raise ValueError("value should be one of int, float, str, bool, or torch.Tensor")


def _values(kind: str, choices: list[object] | None) -> Any:
    if choices is None:
        return None
    structs = part("google.protobuf.struct_pb2")
    return structs.ListValue(values=[structs.Value(**{kind: choice}) for choice in choices])


def _check_choices(given: dict[str, object], choices: object) -> None:
    if not isinstance(choices, dict):
        raise TypeError("parameter: hparam_domain_discrete should be a dictionary, nothing logged.")
    for name, values in choices.items():
        if (
            name not in given
            or not isinstance(values, list)
            or not all(isinstance(value, type(given[name])) for value in values)
        ):
            raise TypeError(
                f"parameter: hparam_domain_discrete[{name}] should be a list of same type as "
                f"hparam_dict[{name}]."
            )
