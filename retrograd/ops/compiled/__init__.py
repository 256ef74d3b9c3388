"""What the compiled core is told of the ops and the engine."""
