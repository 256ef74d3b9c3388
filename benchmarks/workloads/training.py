"""Steps of training, as programs do them."""

import importlib
from collections.abc import Callable
from typing import Any

from benchmarks.workloads.registry import Prepared, filled, set_values, workload


@workload("MLP(10, 5, 1) + Adam step")
def mlp_adam(torch: Any) -> Prepared:
    nn = torch.nn
    model = nn.Sequential(nn.Linear(10, 5), nn.ReLU(), nn.Linear(5, 1))
    parameters = list(model.parameters())
    set_values(torch, parameters)
    inputs = torch.tensor([[((3 * i + 5 * j) % 7) / 7 for j in range(10)] for i in range(8)])
    targets = torch.tensor([[(i % 3) * 0.5] for i in range(8)])
    criterion = nn.MSELoss()
    optimizer = torch.optim.Adam(parameters, lr=0.001)

    def step() -> Any:
        optimizer.zero_grad()
        loss = criterion(model(inputs), targets)
        loss.backward()
        optimizer.step()
        return loss

    return Prepared(step, parameters)


@workload("policy network, 200 one-row inferences and one backward")
def policy(torch: Any) -> Prepared:
    nn, distributions = torch.nn, importlib.import_module(f"{torch.__name__}.distributions")
    model = nn.Sequential(nn.Linear(4, 64), nn.ReLU(), nn.Linear(64, 2))
    parameters = list(model.parameters())
    set_values(torch, parameters)
    states = [filled(torch, 4, scale=0.01 * (turn % 17 - 8)) for turn in range(200)]
    returns = filled(torch, 200)
    optimizer = torch.optim.Adam(parameters, lr=0.001)

    def step() -> Any:
        torch.manual_seed(7)
        scores = []
        for state in states:
            choice = distributions.Categorical(logits=model(state))
            scores.append(choice.log_prob(choice.sample()))
        loss = -(torch.stack(scores) * returns).sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss

    return Prepared(step, parameters)


@workload("policy network without distributions, 200 one-row inferences and one backward")
def policy_plain(torch: Any) -> Prepared:
    nn = torch.nn
    model = nn.Sequential(nn.Linear(4, 64), nn.ReLU(), nn.Linear(64, 2))
    parameters = list(model.parameters())
    set_values(torch, parameters)
    states = [filled(torch, 4, scale=0.01 * (turn % 17 - 8)) for turn in range(200)]
    returns = filled(torch, 200)
    optimizer = torch.optim.Adam(parameters, lr=0.001)

    def step() -> Any:
        scores = [
            nn.functional.log_softmax(model(state), dim=-1)[turn % 2]
            for turn, state in enumerate(states)
        ]
        loss = -(torch.stack(scores) * returns).sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss

    return Prepared(step, parameters)


@workload("LSTM(16, 32), batch of 8, 4 pieces of 25 steps, hidden state detached")
def lstm_pieces(torch: Any) -> Prepared:
    nn = torch.nn
    network, head = nn.LSTM(16, 32, batch_first=True), nn.Linear(32, 16)
    parameters = [*network.parameters(), *head.parameters()]
    set_values(torch, parameters)
    sequence, targets = filled(torch, 8, 100, 16), filled(torch, 8, 100, 16)
    optimizer = torch.optim.SGD(parameters, lr=0.01)
    criterion = nn.MSELoss()

    def step() -> Any:
        hidden = None
        for start in range(0, 100, 25):
            output, hidden = network(sequence[:, start : start + 25], hidden)
            hidden = tuple(state.detach() for state in hidden)
            loss = criterion(head(output), targets[:, start : start + 25])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        return loss

    return Prepared(step, parameters)


@workload("LSTMCell(16, 32), batch of 8, a loop of 50 steps, SGD step")
def lstm_cell(torch: Any) -> Prepared:
    nn = torch.nn
    cell, head = nn.LSTMCell(16, 32), nn.Linear(32, 16)
    parameters = [*cell.parameters(), *head.parameters()]
    set_values(torch, parameters)
    inputs, targets = filled(torch, 50, 8, 16), filled(torch, 8, 16)
    optimizer = torch.optim.SGD(parameters, lr=0.01)

    def step() -> Any:
        hidden, memory = torch.zeros(8, 32), torch.zeros(8, 32)
        for turn in range(50):
            hidden, memory = cell(inputs[turn], (hidden, memory))
        loss = nn.functional.mse_loss(head(hidden), targets)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss

    return Prepared(step, parameters)


def two_losses(torch: Any, send_back: Callable[[Any, Any], None]) -> Prepared:
    """A trunk with two heads; `send_back` gets the two losses."""
    nn, functional = torch.nn, torch.nn.functional
    trunk = nn.Sequential(nn.Linear(32, 128), nn.ReLU(), nn.Linear(128, 64), nn.ReLU())
    classes, values = nn.Linear(64, 10), nn.Linear(64, 1)
    parameters = [*trunk.parameters(), *classes.parameters(), *values.parameters()]
    set_values(torch, parameters, scale=0.05)
    inputs, wanted, labels = filled(torch, 32, 32), filled(torch, 32, 1), torch.arange(32) % 10
    optimizer = torch.optim.SGD(parameters, lr=0.01)

    def step() -> Any:
        hidden = trunk(inputs)
        first = functional.cross_entropy(classes(hidden), labels)
        second = functional.mse_loss(values(hidden), wanted)
        optimizer.zero_grad()
        send_back(first, second)
        optimizer.step()
        return first

    return Prepared(step, parameters)


@workload("two losses on one trunk, the graph retained for the second backward")
def losses_retained(torch: Any) -> Prepared:
    def send_back(first: Any, second: Any) -> None:
        first.backward(retain_graph=True)
        second.backward()

    return two_losses(torch, send_back)


@workload("two losses on one trunk, added up for one backward")
def losses_summed(torch: Any) -> Prepared:
    return two_losses(torch, lambda first, second: (first + second).backward())


@workload("MAML: 4 tasks, 2 inner steps each, MLP(1, 40, 40, 1)")
def maml(torch: Any) -> Prepared:
    functional = torch.nn.functional
    shapes = [(40, 1), (40,), (40, 40), (40,), (1, 40), (1,)]
    weights = [filled(torch, *shape).requires_grad_() for shape in shapes]
    optimizer = torch.optim.Adam(weights, lr=0.001)
    points = filled(torch, 10, 1, scale=0.4)
    tasks = [(points, torch.sin(points + 0.5 * task)) for task in range(4)]

    def network(values: list[Any], inputs: Any) -> Any:
        hidden = torch.tanh(functional.linear(inputs, values[0], values[1]))
        hidden = torch.tanh(functional.linear(hidden, values[2], values[3]))
        return functional.linear(hidden, values[4], values[5])

    def step() -> Any:
        outer = torch.zeros(())
        for inputs, targets in tasks:
            fast = weights
            for _ in range(2):
                inner = functional.mse_loss(network(fast, inputs), targets)
                slopes = torch.autograd.grad(inner, fast, create_graph=True)
                fast = [w - 0.01 * slope for w, slope in zip(fast, slopes, strict=True)]
            outer = outer + functional.mse_loss(network(fast, inputs), targets)
        optimizer.zero_grad()
        outer.backward()
        optimizer.step()
        return outer

    return Prepared(step, weights)


@workload("MLP(784, 512, 512, 10), batch of 64, Adam step")
def mlp_mnist(torch: Any) -> Prepared:
    nn = torch.nn
    model = nn.Sequential(
        *(nn.Linear(784, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 10))
    )
    parameters = list(model.parameters())
    set_values(torch, parameters, scale=0.01)
    inputs = filled(torch, 64, 784)
    targets = torch.arange(64) % 10
    optimizer = torch.optim.Adam(parameters, lr=0.001)
    criterion = nn.CrossEntropyLoss()

    def step() -> Any:
        optimizer.zero_grad()
        loss = criterion(model(inputs), targets)
        loss.backward()
        optimizer.step()
        return loss

    return Prepared(step, parameters)


@workload("CNN of two convolutions on 16 images of 28 x 28, SGD step")
def cnn(torch: Any) -> Prepared:
    nn = torch.nn
    model = nn.Sequential(
        *(nn.Conv2d(1, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2)),
        *(nn.Conv2d(8, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2)),
        *(nn.Flatten(), nn.Linear(784, 10)),
    )
    parameters = list(model.parameters())
    set_values(torch, parameters, scale=0.03)
    # a wave would give windows of nearly equal numbers, and rounding would choose among them
    numbers = torch.arange(16 * 784)
    images = (numbers * numbers % 7919 / 7919 - 0.5).reshape(16, 1, 28, 28)
    targets = torch.arange(16) % 10
    optimizer = torch.optim.SGD(parameters, lr=0.01, momentum=0.9)

    def step() -> Any:
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(images), targets)
        loss.backward()
        optimizer.step()
        return loss

    return Prepared(step, parameters)


@workload("transformer encoder, 2 layers of width 64, 4 heads, 8 x 32 tokens, AdamW step")
def transformer(torch: Any) -> Prepared:
    nn = torch.nn
    layer = nn.TransformerEncoderLayer(64, 4, 128, dropout=0.0, batch_first=True)
    encoder, head = nn.TransformerEncoder(layer, 2), nn.Linear(64, 20)
    embedding = nn.Embedding(20, 64)
    parameters = [*embedding.parameters(), *encoder.parameters(), *head.parameters()]
    set_values(torch, parameters, scale=0.03)
    tokens = ((torch.arange(8 * 33) * 7) % 20).reshape(8, 33)
    mask = torch.triu(torch.full((32, 32), float("-inf")), diagonal=1)
    # with the usual eps, gradients near 0 would turn the last bits of float32 into whole steps
    optimizer = torch.optim.AdamW(parameters, lr=0.001, eps=1e-4)

    def step() -> Any:
        scores = head(encoder(embedding(tokens[:, :-1]), mask=mask))
        loss = nn.functional.cross_entropy(scores.reshape(-1, 20), tokens[:, 1:].reshape(-1))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss

    return Prepared(step, parameters)


@workload("gradient penalty of a critic MLP(2, 64, 64, 1), batch of 64")
def gradient_penalty(torch: Any) -> Prepared:
    nn = torch.nn
    critic = nn.Sequential(
        *(nn.Linear(2, 64), nn.LeakyReLU(0.2), nn.Linear(64, 64), nn.LeakyReLU(0.2)),
        nn.Linear(64, 1),
    )
    parameters = list(critic.parameters())
    set_values(torch, parameters)
    real, fake = filled(torch, 64, 2, scale=0.3), filled(torch, 64, 2, scale=-0.2)
    optimizer = torch.optim.RMSprop(parameters, lr=0.0005)

    def step() -> Any:
        between = (0.3 * real + 0.7 * fake).requires_grad_()
        (slope,) = torch.autograd.grad(critic(between).sum(), between, create_graph=True)
        penalty = ((slope.norm(2, dim=1) - 1) ** 2).mean()
        loss = critic(fake).mean() - critic(real).mean() + 10 * penalty
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss

    return Prepared(step, parameters)
