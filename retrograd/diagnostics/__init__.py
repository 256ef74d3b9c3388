"""Errors as data: a catalogue of codes, structured exceptions, reports, a page for each code."""
