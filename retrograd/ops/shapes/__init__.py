"""Views, copies and tensors joined or cut: the same elements in other shapes and places."""
