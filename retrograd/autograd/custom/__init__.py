"""The parts of custom Functions: context, node, outputs, forward mode."""
