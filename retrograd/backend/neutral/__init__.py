"""Functions on arrays of any library, which take `xp` first: written once, for every device.

Those of `arithmetic`, `memory` and the `special` modules are called as ``xp.name`` (see
`backend.namespace`), the others by their modules.
"""
