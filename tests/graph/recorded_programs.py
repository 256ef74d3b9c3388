"""Programs whose graphs' lives are known by hand, for either library."""

from typing import Any

Held = tuple[int, int]  # nodes that hold a saved value, bytes of the memory that the graph made


def raw_held(roots: list[Any], outside: list[Any]) -> Held:
    """What the library itself says: slots read raw, each memory once, not that of `outside`."""
    seen: set[Any] = set()
    waiting = [tensor.grad_fn for tensor in roots if tensor.grad_fn is not None]
    own = {tensor.untyped_storage().data_ptr() for tensor in outside}
    memory: dict[int, int] = {}
    nodes = 0
    while waiting:
        node = waiting.pop()
        if node in seen:
            continue
        seen.add(node)
        waiting += [following for following, _ in node.next_functions if following is not None]
        held = False
        for name in dir(node):
            if name.startswith("_raw_saved_"):
                slots = getattr(node, name)
                for slot in slots if isinstance(slots, (tuple, list)) else (slots,):
                    if slot.data is not None:
                        held = True
                        storage = slot.data.untyped_storage()
                        if storage.data_ptr() not in own:
                            memory[storage.data_ptr()] = storage.nbytes()
        nodes += held
    return nodes, sum(memory.values())


class Program:
    """A program marks moments, and says what is held then."""

    def __init__(self, torch: Any, recording: Any = None) -> None:
        self.torch = torch
        self.recording = recording
        self.truth: dict[str, Held] = {}
        self.losses: list[float] = []

    def mark(self, label: str, roots: list[Any], outside: list[Any]) -> None:
        """Note what the graphs behind the roots hold now."""
        if self.recording is not None:
            self.recording.mark(label)
        self.truth[label] = raw_held(roots, outside)


def two_losses(program: Program) -> None:
    """One trunk, two losses: the second call frees the trunk, the third fails at its own node."""
    torch = program.torch
    weight = torch.full((3, 3), 0.5, requires_grad=True)
    x = torch.ones(2, 3)
    trunk = torch.tanh(x @ weight)
    first = (trunk * trunk).sum()
    second = trunk.exp().sum()
    program.mark("made", [first, second], [weight, x])
    first.backward(retain_graph=True)
    program.mark("retained", [first, second], [weight, x])
    second.backward()
    program.mark("freed", [first, second], [weight, x])
    del first
    program.mark("dropped", [second], [weight, x])
    program.losses.append(weight.grad.sum().item())
    second.backward()


def running_loss(program: Program) -> None:
    """`total += loss` keeps every step's graph."""
    torch = program.torch
    weight = torch.full((4,), 0.5, requires_grad=True)
    total = torch.zeros(())
    for step in range(4):
        loss = (weight * weight).exp().sum()
        program.mark(f"made {step}", [loss, total], [weight])
        loss.backward()
        total = total + loss
        program.mark(f"turn {step}", [total], [weight])
    program.losses.append(total.item())


def carried_state(program: Program) -> None:
    """A recurrent state that keeps its history: the second step's call fails in the first's."""
    torch = program.torch
    weight = torch.full((3, 3), 0.1, requires_grad=True)
    state = torch.zeros(1, 3)
    for _ in range(3):
        state = torch.tanh(state @ weight + 1)
        state.sum().backward()


def detached_state(program: Program) -> None:
    """The same, cut off at every step."""
    torch = program.torch
    weight = torch.full((3, 3), 0.1, requires_grad=True)
    state = torch.zeros(1, 3)
    for step in range(3):
        before = state
        state = torch.tanh(before @ weight + 1)
        loss = state.sum()
        program.mark(f"turn {step}", [loss], [weight, before])
        loss.backward()
        state = state.detach()
    program.losses.append(weight.grad.sum().item())


def two_networks(program: Program) -> None:
    """A generator and a discriminator, trained in turns by two optimizers."""
    torch = program.torch
    torch.manual_seed(0)
    generator, critic = torch.nn.Linear(2, 4), torch.nn.Linear(4, 1)
    for parameter in (*generator.parameters(), *critic.parameters()):
        with torch.no_grad():
            parameter.fill_(0.1)
    of_critic = torch.optim.SGD(critic.parameters(), lr=0.1)
    of_generator = torch.optim.SGD(generator.parameters(), lr=0.1)
    noise = torch.ones(3, 2)
    for step in range(3):
        fake = generator(noise)
        of_critic.zero_grad()
        judged = critic(fake.detach()).sigmoid().mean()
        judged.backward()
        of_critic.step()
        of_generator.zero_grad()
        fooled = -critic(fake).sigmoid().mean()
        outside = [noise, *generator.parameters(), *critic.parameters()]
        program.mark(f"turn {step}", [fooled], outside)
        fooled.backward()
        of_generator.step()
        program.losses.append(fooled.item())


def gathered(program: Program) -> None:
    """Gradient accumulation: an optimizer step after every second backward."""
    torch = program.torch
    weight = torch.full((4,), 0.5, requires_grad=True)
    optimizer = torch.optim.SGD([weight], lr=0.1)
    for turn in range(6):
        loss = (weight * weight).sum()
        loss.backward()
        if turn % 2:
            optimizer.step()
            optimizer.zero_grad()
        program.losses.append(loss.item())


def by_hand(program: Program) -> None:
    """Descent without an optimizer, in a loop of loops; a call over several lines."""
    torch = program.torch
    weight = torch.full((4,), 0.5, requires_grad=True)
    for _ in range(2):
        for _ in range(3):
            loss = (
                weight * weight + torch.stack([weight * number for number in range(3)]).sum()
            ).sum()
            loss.backward()
            with torch.no_grad():
                weight -= 0.01 * weight.grad
                weight.grad = None
            program.losses.append(loss.item())


def second_derivative(program: Program) -> None:
    """grad with create_graph, then backward through its result."""
    torch = program.torch
    x = torch.full((3,), 2.0, requires_grad=True)
    y = (x**3).sum()
    (slope,) = torch.autograd.grad(y, x, create_graph=True)
    (slope * slope).sum().backward()
    program.losses.append(x.grad.sum().item())


def written(program: Program) -> None:
    """A saved value is written: backward fails at the node that needs it."""
    torch = program.torch
    x = torch.ones(3, requires_grad=True)
    y = x.exp()
    z = (y * 2).sum() + y.sum()
    y.mul_(2)
    z.backward()
