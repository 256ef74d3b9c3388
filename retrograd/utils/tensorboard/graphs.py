"""The graph of a model for TensorBoard: the functions that one call of it runs, by module."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from retrograd.engine.grad_mode import no_grad
from retrograd.nn.module import Module
from retrograd.overrides import TorchFunctionMode
from retrograd.tensor import Tensor
from retrograd.utils.tensorboard.package import proto


def graph(model: object, inputs: object) -> Any:
    """The graph of one call of a model, in evaluation mode and without gradients."""
    if not isinstance(model, Module):
        raise TypeError(f"add_graph() needs a Module, not {type(model).__name__}")
    arguments = tuple(inputs) if isinstance(inputs, (tuple, list)) else (inputs,)
    tracer = _Tracer(model, arguments)
    training = [module for module in model.modules() if module.training]
    hooks = tracer.watch(model)
    try:
        model.eval()
        with no_grad(), tracer:
            result = model(*arguments)
    finally:
        for hook in hooks:
            hook.remove()
        for module in training:
            module.training = True
    for number, output in enumerate(_tensors(result), 1):
        tracer.add(f"output/output.{number}", "IO Node", [tracer.name_of(output)], output)
    versions = proto("versions").VersionDef(producer=22)
    return proto("graph").GraphDef(node=tracer.nodes, versions=versions)


class _Tracer(TorchFunctionMode):
    """Makes a node of each function that returns tensors, named after the module it runs in."""

    def __init__(self, model: Module, arguments: tuple[object, ...]) -> None:
        self.nodes: list[object] = []
        self.scopes: list[str] = []
        self.known: dict[int, str] = {}  # the node that made a tensor, by the tensor's id
        self.kept: list[Tensor] = []  # so that ids stay theirs
        self.names: dict[str, int] = {}
        for number, tensor in enumerate(_tensors(arguments), 1):
            self.made(tensor, self.add(f"input/input.{number}", "IO Node", [], tensor))
        for path, module in _scopes(model):
            for name, parameter in module._parameters.items():
                if parameter is not None and id(parameter) not in self.known:
                    label = self.add(f"{path}/{name}", "prim::GetAttr", [], parameter)
                    self.made(parameter, label)

    def watch(self, model: Module) -> list[Any]:
        """Follow which module is running; returns the hooks that do."""
        hooks: list[object] = []
        for path, module in _scopes(model):

            def begin(*_: object, path: str = path) -> None:
                self.scopes.append(path)

            def end(*_: object) -> None:
                self.scopes.pop()

            hooks.append(module.register_forward_pre_hook(begin, prepend=True))
            hooks.append(module.register_forward_hook(end, always_call=True))
        return hooks

    def __torch_function__(
        self, func: Any, types: Any, args: Any = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        options = kwargs or {}
        result = func(*args, **options)
        outputs = list(_tensors(result))
        if outputs:
            name = getattr(func, "__name__", "function")
            sources = [
                self.known[id(tensor)]
                for tensor in _tensors([*args, *options.values()])
                if id(tensor) in self.known
            ]
            scope = self.scopes[-1] if self.scopes else "model"
            label = self.add(f"{scope}/{name}", f"aten::{name}", sources, *outputs)
            for output in outputs:
                self.made(output, label)
        return result

    def made(self, tensor: Tensor, label: str) -> None:
        """Note which node a tensor comes from."""
        self.known[id(tensor)] = label
        self.kept.append(tensor)

    def name_of(self, tensor: Tensor) -> str:
        """The node that a tensor comes from."""
        return self.known.get(id(tensor)) or self.add("constant", "prim::Constant", [], tensor)

    def add(self, name: str, operation: str, sources: list[str], *outputs: Tensor) -> str:
        """Add a node under a name that no other has, and return the name."""
        self.names[name] = self.names.get(name, 0) + 1
        if self.names[name] > 1:
            name = f"{name}_{self.names[name]}"
        values, shapes = proto("attr_value").AttrValue, proto("tensor_shape").TensorShapeProto
        sizes = [shapes(dim=[shapes.Dim(size=size) for size in output.shape]) for output in outputs]
        facts = {
            "attr": values(s=b"{}"),
            "_output_shapes": values(list=values.ListValue(shape=sizes)),
        }
        node = proto("node_def").NodeDef(name=name, op=operation, input=sources, attr=facts)
        self.nodes.append(node)
        return name


def _scopes(model: Module) -> Iterator[tuple[str, Module]]:
    """Every module and its place: ``Sequential/Linear[0]``."""
    places = {"": type(model).__name__}
    for path, module in model.named_modules():
        if path:
            parent, _, name = path.rpartition(".")
            places[path] = f"{places[parent]}/{type(module).__name__}[{name}]"
        yield places[path], module


def _tensors(value: object) -> Iterator[Tensor]:
    """The tensors in a value, also inside tuples, lists and dictionaries."""
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, (tuple, list)):
        for item in value:
            yield from _tensors(item)
    elif isinstance(value, dict):
        yield from _tensors(list(value.values()))
