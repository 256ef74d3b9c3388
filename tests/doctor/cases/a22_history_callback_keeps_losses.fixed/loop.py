class Trainer:
    def __init__(self, model, loss_fn, optimizer, callbacks=()):
        self.model, self.loss_fn, self.optimizer = model, loss_fn, optimizer
        self.callbacks = list(callbacks)

    def emit(self, event, *args):
        for callback in self.callbacks:
            getattr(callback, event)(*args)

    def train_step(self, x, y):
        self.optimizer.zero_grad()
        logits = self.model(x)
        loss = self.loss_fn(logits, y)
        loss.backward()
        self.optimizer.step()
        accuracy = (logits.argmax(1) == y).float().mean().item()
        return {"loss": loss.item(), "accuracy": accuracy}

    def fit(self, batches, epochs):
        for epoch in range(epochs):
            total = 0.0
            for x, y in batches:
                logs = self.train_step(x, y)
                total += logs["loss"]
                self.emit("on_batch_end", logs)
            self.emit("on_epoch_end", epoch, {"loss": total / len(batches)})
