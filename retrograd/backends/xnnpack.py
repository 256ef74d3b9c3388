"""XNNPACK: absent."""

enabled = False
