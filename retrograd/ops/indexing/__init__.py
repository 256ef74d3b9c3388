"""Reading and writing chosen elements: brackets, index tensors, masks."""
