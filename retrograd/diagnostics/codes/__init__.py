"""The codes as data, one file for each family; `catalogue.py` puts them together."""
