"""What autograd does with tensors on a device, as on the CPU: the same program runs on both.

Nothing but the library is imported, so that ``python -m tests.cuda.device`` runs these functions
where no test runner is installed. In a test run without a device the fake stands for one.
"""

from __future__ import annotations

import gc
import warnings
import weakref

import retrograd as torch
from retrograd import graph
from retrograd.utils.checkpoint import checkpoint
from tests.cuda.device.comparing import close, raised, same

nn, F = torch.nn, torch.nn.functional


def numbers(device, *shape, seed=0, grad=True, dtype=torch.float32):
    """Normal numbers of the CPU's generator, on a device."""
    generator = torch.Generator().manual_seed(seed)
    made = torch.randn(*shape, generator=generator).to(dtype)
    return made.to(device).requires_grad_(grad)


def test_backward_and_grad():
    def program(device):
        x, w = numbers(device, 4, 3), numbers(device, 3, 2, seed=1)
        loss = (x @ w).tanh().pow(2).sum()
        loss.backward(retain_graph=True)
        again = torch.autograd.grad(loss, [x, w])
        assert x.grad.device.type == torch.device(device).type
        return loss, x.grad, w.grad, *again

    same(program)


def test_second_and_third_order():
    def program(device):
        x = numbers(device, 5)
        found = [(x.sin() * x).exp().sum()]
        for _ in range(3):
            found.append(torch.autograd.grad(found[-1].sum(), x, create_graph=True)[0])
        return found

    same(program)


def test_views_and_writes():
    def program(device):
        x = numbers(device, 4, 6)
        y = x * 2
        row, block = y[1], y[:, 2:4]
        row.mul_(3)
        block.add_(1)
        y.t()[0] = 5.0
        names = [type(t.grad_fn).__name__ for t in (y, row, block)]
        (y.sum() + block.exp().sum()).backward()
        return y, row, block, x.grad, names, y._version

    same(program)


def test_a_changed_saved_value_is_found():
    def program(device):
        x = numbers(device, 3)
        y = x.exp()
        y.add_(1)
        return raised(lambda: y.sum().backward())

    same(program)


def test_walking_twice_is_found():
    def program(device):
        x = numbers(device, 3)
        loss = x.exp().sum()
        loss.backward()
        return raised(lambda: loss.backward())

    same(program)


def test_hooks():
    def program(device):
        x = numbers(device, 3)
        seen = []
        x.register_hook(lambda g: seen.append(g.device.type == torch.device(device).type) or g * 2)
        y = x * 3
        y.retain_grad()
        y.register_hook(lambda g: g + 1)
        y.grad_fn.register_hook(lambda into, outof: seen.append(len(into)))
        y.grad_fn.register_prehook(lambda outof: (outof[0] * 2,))
        x.register_post_accumulate_grad_hook(lambda leaf: seen.append(tuple(leaf.grad.shape)))
        y.sum().backward()
        return x.grad, y.grad, seen

    same(program)


def test_module_hooks():
    def program(device):
        torch.manual_seed(0)
        layer = nn.Linear(3, 2).to(device)
        seen = []
        layer.register_forward_hook(lambda m, given, found: seen.append(found.shape) or found * 2)
        layer.register_full_backward_hook(lambda m, into, outof: seen.append(outof[0].shape))
        layer(numbers(device, 4, 3)).sum().backward()
        return layer.weight.grad, seen

    same(program)


class Cube(torch.autograd.Function):
    """A function of the user's."""

    @staticmethod
    def forward(ctx, x, scale):
        ctx.save_for_backward(x)
        ctx.scale = scale
        return scale * x**3

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return 3 * ctx.scale * g * x**2, None


def test_functions():
    def program(device):
        x = numbers(device, 4, dtype=torch.float64)
        y = Cube.apply(x, 2.0)
        (g,) = torch.autograd.grad(y.sum(), x, create_graph=True)
        (again,) = torch.autograd.grad(g.sum(), x)
        correct = torch.autograd.gradcheck(lambda t: Cube.apply(t, 2.0), (x,))
        return y, g, again, type(y.grad_fn).__name__, correct

    same(program)


def test_forward_mode():
    def program(device):
        x, v = numbers(device, 4, grad=False), numbers(device, 4, seed=1, grad=False)
        with torch.autograd.forward_ad.dual_level():
            dual = torch.autograd.forward_ad.make_dual(x, v)
            found = torch.autograd.forward_ad.unpack_dual((dual.sin() * dual).exp())
        out, tangent = torch.func.jvp(lambda t: F.softmax(t, 0) @ t, (x,), (v,))
        return found.primal, found.tangent, out, tangent

    same(program)


def test_vmap_and_jacobians():
    def program(device):
        x = numbers(device, 5, 3, grad=False)
        w = numbers(device, 3, seed=1, grad=False)
        rows = torch.vmap(torch.func.grad(lambda row: (row * w).tanh().sum()))(x)
        jacobian = torch.func.jacrev(lambda t: (t * w).sin())(x[0])
        hessian = torch.func.hessian(lambda t: (t**3 * w).sum())(x[0])
        forward = torch.func.jacfwd(lambda t: t.exp() * w)(x[0])
        return rows, jacobian, hessian, forward

    same(program)


def test_checkpoint():
    def program(device):
        torch.manual_seed(0)
        layers = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 2)).to(device)
        found = []
        for reentrant in (False, True):
            x = numbers(device, 3, 4)
            checkpoint(layers, x, use_reentrant=reentrant).pow(2).sum().backward()
            found.append(x.grad)
        return *found, [p.grad for p in layers.parameters()]

    same(program)


def test_checkpoint_drops_the_same_elements():
    torch.manual_seed(5)
    x = torch.ones(64, device="cuda", requires_grad=True)
    y = checkpoint(lambda t: F.dropout(t, 0.5), x, use_reentrant=False)
    y.sum().backward()
    assert torch.equal(x.grad, y.detach()) and 0 < int((y == 0).sum()) < 64


def test_saved_tensor_hooks():
    def program(device):
        x = numbers(device, 4)
        kept = []

        def pack(t):
            kept.append(t.device.type == torch.device(device).type)
            return t.cpu()

        with torch.autograd.graph.saved_tensors_hooks(pack, lambda t: t.to(device)):
            y = (x.exp() * x).sum()
        y.backward()
        return x.grad, kept

    same(program)


def test_save_on_cpu():
    def program(device):
        x = numbers(device, 4)
        with torch.autograd.graph.save_on_cpu():
            y = (x.exp() * x).sum()
        y.backward()
        return x.grad

    same(program)


def test_offload_and_budget():
    def program(device):
        found = []
        for context in (graph.offload, lambda: graph.budget(1 << 16)):
            x = numbers(device, 64, 64)
            with context():
                y = x
                for _ in range(4):
                    y = (y * 1.1).tanh().exp()
                y.sum().backward()
            found.append(x.grad)
        return found

    same(program)


def test_retained_parts_and_recomputing():
    def program(device):
        found = []
        x = numbers(device, 8)
        h = x.exp()
        (h * 2).sum().backward(retain_graph=[h])
        (h * 3).sum().backward()
        found.append(x.grad)
        x = numbers(device, 8)
        loss = x.exp().sin().sum()
        loss.backward(retain_graph="recompute")
        loss.backward()
        return *found, x.grad

    same(program)


def test_graph_tools():
    def program(device):
        x = numbers(device, 8)
        h = x.exp()
        y = (h * 2).sum()
        before = graph.state(y)
        with graph.watch():
            y.backward()
        after = str(graph.state(y)).partition(" by backward")[0]  # these are numbered
        return str(before), after, [type(y.grad_fn).__name__]

    same(program)


def test_the_ledger_counts_what_lies_on_the_device():
    def program(device):
        x = numbers(device, 256)
        y = x.exp().sin().sum()
        found = graph.ledger(y)
        del y
        return getattr(found, "total", None)

    same(program)


def test_reports_of_errors():
    def program(device):
        carried = numbers(device, 3)
        w = numbers(device, 3, seed=1)
        state = carried * w
        found = []
        for _ in range(2):
            state = (state * w).tanh()
            error = raised(lambda s=state: s.sum().backward())
            found.append(error and error.splitlines()[0])
        return found

    same(program)


def test_no_gradient_is_explained():
    def program(device):
        x = numbers(device, 3)
        y = (x * 2).detach() * 3
        return raised(lambda: y.sum().backward())

    same(program)


def test_anomaly_mode():
    def program(device):
        x = torch.tensor([-1.0, 4.0]).to(device).requires_grad_()

        def run():
            with warnings.catch_warnings(), torch.autograd.detect_anomaly():
                warnings.simplefilter("ignore")
                x.sqrt().sum().backward()

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return raised(run)

    same(program)


def test_grad_modes():
    def program(device):
        x = numbers(device, 3)
        with torch.no_grad():
            a = x * 2
        with torch.inference_mode():
            b = x * 2
        found = [a.requires_grad, b.is_inference(), a, b.clone()]
        return *found, raised(lambda: (b * x).sum().backward())

    same(program)


def test_freed_means_freed():
    x = torch.ones(1000, device="cuda", requires_grad=True)
    y = x.exp()
    node, held = weakref.ref(y.grad_fn), weakref.ref(y)
    gc.disable()
    try:
        y.sum().backward()
        del y
        assert held() is None and node() is None
    finally:
        gc.enable()


def test_copies_across_devices_have_gradients():
    x = torch.ones(3, requires_grad=True)
    y = (x.cuda() * 2).cpu() * x
    y.sum().backward()
    close(x.grad, [4.0, 4.0, 4.0])
    assert y.device.type == "cpu" and x.grad.device.type == "cpu"


def test_mixed_devices_are_refused():
    there, here = torch.ones(2, device="cuda"), torch.ones(2)
    found = raised(lambda: there + here)
    assert found is not None and "Expected all tensors to be on the same device" in found
    close(there + torch.tensor(2.0), [3.0, 3.0])  # a number of the CPU goes along


def test_numpy_refuses():
    found = raised(lambda: torch.ones(2, device="cuda").numpy())
    assert found is not None and "Use Tensor.cpu() to copy" in found


def test_optimizers():
    names = "SGD Adam AdamW RMSprop Adagrad NAdam RAdam Adamax Adadelta Rprop ASGD".split()

    def program(device, name):
        w = numbers(device, 6, 3)
        optimizer = getattr(torch.optim, name)([w], lr=0.05)
        x = numbers(device, 5, 6, seed=1, grad=False)
        for _ in range(4):
            optimizer.zero_grad()
            (x @ w).tanh().pow(2).sum().backward()
            optimizer.step()
        return w

    for name in names:
        same(lambda device, name=name: program(device, name))


def test_clipping_and_scaling():
    def program(device):
        torch.manual_seed(0)
        layer = nn.Linear(4, 3).to(device)
        optimizer = torch.optim.SGD(layer.parameters(), lr=0.1)
        scaler = torch.amp.GradScaler(device, enabled=True)
        for _ in range(2):
            optimizer.zero_grad()
            loss = layer(numbers(device, 5, 4, grad=False)).pow(2).mean()
            scaler.scale(loss).backward()
            scaler.unscale_(optimizer)
            norm = nn.utils.clip_grad_norm_(layer.parameters(), 0.5)
            scaler.step(optimizer)
            scaler.update()
        return norm, layer.weight, scaler.get_scale()

    same(program)


def test_autocast():
    def program(device):
        torch.manual_seed(0)
        layer = nn.Linear(4, 3).to(device)
        with torch.autocast(device, torch.bfloat16):
            y = layer(numbers(device, 5, 4))
        y.float().sum().backward()
        return str(y.dtype), y.float(), layer.weight.grad

    same(program, loose=3e-2)


def test_state_dicts():
    def program(device):
        torch.manual_seed(0)
        first, second = (nn.Linear(3, 2).to(device) for _ in range(2))
        second.load_state_dict(first.state_dict())
        return second.weight, second.bias, [v.device.type for v in first.state_dict().values()]

    one, two = program("cuda"), program("cpu")
    close(one[0], two[0])
    assert one[2] == ["cuda", "cuda"]


def test_batch_norm_keeps_its_averages():
    def program(device):
        torch.manual_seed(0)
        layer = nn.BatchNorm2d(3).to(device)
        y = layer(numbers(device, 4, 3, 5, 5))
        y.pow(3).mean().backward()
        layer.eval()
        return y, layer.running_mean, layer.running_var, layer.weight.grad, layer(y.detach())

    same(program)
