"""Signed notes and their keys: a text, an empty line, and one line for each signature (C2SP signed-note)."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass

from . import ed25519
from .malformed import Malformed, decoded, encoded

LOG, WITNESS = 1, 4
"""Signature types: Ed25519 of a note's text, and of a checkpoint and a time (C2SP tlog-cosignature)."""

NOTE_BYTES_MAX = 1_000_000
SIGNATURES_MAX = 100
NAME_BYTES_MAX = 255
TIMESTAMP_MAX = 2**63 - 1


@dataclass(frozen=True)
class VerifierKey:
    """A public key with its name: `<name>+<id>+<key>`."""

    name: str
    id: bytes
    type: int
    public: bytes

    @classmethod
    def parse(cls, vkey: str) -> VerifierKey:
        try:
            name, key_id, key = vkey.split("+", 2)
            data = decoded(key)
        except ValueError:
            raise Malformed("key_malformed", "the key is not <name>+<id>+<key>") from None
        if data and data[0] not in (LOG, WITNESS):
            raise Malformed("key_unsupported", f"keys of signature type {data[0]} are not supported: only Ed25519")
        expected = hashlib.sha256(name.encode(errors="replace") + b"\n" + data).digest()[:4]
        if not is_name(name) or key_id != expected.hex() or not ed25519.is_public_key(data[1:]):
            raise Malformed("key_malformed", "the key is not an Ed25519 public key with its name and id")
        return cls(name, expected, data[0], data[1:])

    def __str__(self) -> str:
        return f"{self.name}+{self.id.hex()}+{encoded(bytes([self.type]) + self.public)}"


@dataclass(frozen=True)
class Signature:
    """One line below a note: who claims to have signed, and the signature."""

    name: str
    key_id: bytes
    data: bytes

    @classmethod
    def parse(cls, line: str) -> Signature:
        dash, _, rest = line.partition(" ")
        name, _, text = rest.partition(" ")
        try:
            data = decoded(text)
        except ValueError:
            data = b""
        if dash != "—" or not is_name(name) or len(data) <= 4:
            raise Malformed("note_malformed", "a line of the note is no signature: — <name> <base64>")
        return cls(name, data[:4], data[4:])

    def verify(self, key: VerifierKey, text: str) -> int | None:
        """The time in a cosignature."""
        message, signature, timestamp = text, self.data, None
        if key.type == WITNESS:
            timestamp, signature = int.from_bytes(self.data[:8], "big"), self.data[8:]
            if len(self.data) >= 8 and timestamp > TIMESTAMP_MAX:
                raise Malformed("timestamp_out_of_range", "a cosignature's time must be below 2^63")
            message = f"cosignature/v1\ntime {timestamp}\n{text}"
        if not ed25519.verify(key.public, message.encode(), signature):
            why = f"the signature of {key.name} does not match: the text was changed, or somebody else signed it"
            raise Malformed("signature_mismatch", why)
        return timestamp


@dataclass(frozen=True)
class Note:
    """A text and its signatures. Nothing is verified until `verify` says so."""

    text: str
    signatures: list[Signature]

    @classmethod
    def parse(cls, note: str) -> Note:
        if len(note.encode(errors="replace")) > NOTE_BYTES_MAX or has_control_characters(note):
            raise Malformed("note_malformed", "the note is too long, or has a control character")
        # The text may have empty lines; the last one is where the signatures start.
        before, separator, after = note.rpartition("\n\n")
        lines = after.split("\n")
        if not separator or lines.pop() or not 1 <= len(lines) <= SIGNATURES_MAX:
            raise Malformed("note_malformed", "the note has no text, or not 1 to 100 signatures")
        return cls(before + "\n", [Signature.parse(line) for line in lines])

    def verify(self, keys: Iterable[VerifierKey]) -> dict[VerifierKey, int | None]:
        signed = self.signed_by(keys)
        if not signed:
            raise Malformed("not_signed", "none of the given keys signed this")
        return signed

    def signed_by(self, keys: Iterable[VerifierKey]) -> dict[VerifierKey, int | None]:
        """Who signed, and a witness's latest time. One wrong signature by a known key refuses the note."""
        known: dict[tuple[str, bytes], VerifierKey] = {}
        for key in keys:
            known.setdefault((key.name, key.id), key)
        signed: dict[VerifierKey, int | None] = {}
        for signature in self.signatures:
            claimed = known.get((signature.name, signature.key_id))
            if claimed is not None:
                timestamp, earlier = signature.verify(claimed, self.text), signed.get(claimed)
                signed[claimed] = timestamp if earlier is None or timestamp is None else max(earlier, timestamp)
        return signed


def is_name(name: str) -> bool:
    forbidden = any(char.isspace() or char == "+" or char < " " for char in name)
    return 0 < len(name.encode(errors="replace")) <= NAME_BYTES_MAX and not forbidden


def has_control_characters(text: str) -> bool:
    return any(char < " " and char != "\n" for char in text)
