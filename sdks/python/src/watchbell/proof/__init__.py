"""Checking an export of the trail offline, with nothing but the standard library.

`tree` is the Merkle tree of RFC 6962, `notes` and `checkpoints` are C2SP's formats, `ed25519` is RFC 8032. `lines`
reads a file, `records` what an event says of itself; `verify` brings them together and `report` is what comes out.
"""
