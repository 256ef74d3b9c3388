class Callback:
    def on_batch_end(self, logs):
        pass

    def on_epoch_end(self, epoch, logs):
        pass


class History(Callback):
    def __init__(self):
        self.records = []
        self.epochs = []

    def on_batch_end(self, logs):
        self.records.append(dict(logs))

    def on_epoch_end(self, epoch, logs):
        self.epochs.append(len(self.records))

    def epoch_means(self):
        start, means = 0, []
        for end in self.epochs:
            part = [record["loss"] for record in self.records[start:end]]
            means.append(float(sum(part)) / len(part))
            start = end
        return means


class BestEpoch(Callback):
    def __init__(self):
        self.best = float("inf")

    def on_epoch_end(self, epoch, logs):
        if logs["loss"] < self.best:
            self.best = logs["loss"]
            print("new best at epoch", epoch)
