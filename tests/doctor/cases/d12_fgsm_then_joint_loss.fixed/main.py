from trainer import RobustTrainer

if __name__ == "__main__":
    trainer = RobustTrainer(eps=0.1, seed=4)
    for epoch in range(2):
        print("epoch", epoch, "loss %.4f" % trainer.epoch())
