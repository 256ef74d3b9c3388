"""From evidence to a cause and a fix: one module for each kind of symptom."""
