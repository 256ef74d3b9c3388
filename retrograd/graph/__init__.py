"""The graph you can see: its states, lines, bytes and holders, for retrograd and for PyTorch."""
