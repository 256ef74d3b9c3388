"""The table of names by topic: modules of PyTorch's in which nothing is computed here.

`namespaces/finder.py` lists which file describes which module; `namespaces/rows.py` has the forms.
"""
