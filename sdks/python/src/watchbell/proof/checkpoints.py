"""Checkpoints: what a log says its tree is, and signs (C2SP tlog-checkpoint)."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from .malformed import Malformed, decoded
from .notes import Note, VerifierKey, has_control_characters
from .tree import SIZE_MAX

_NUMBER = re.compile(r"0|[1-9][0-9]{0,18}")


@dataclass(frozen=True)
class Checkpoint:
    """Which log, how many leaves, and their root."""

    origin: str
    size: int
    root: bytes
    extensions: list[str]

    @classmethod
    def parse(cls, text: str) -> Checkpoint:
        lines = text.split("\n")
        if lines.pop() or len(lines) < 3 or not all(lines) or has_control_characters(text):
            raise Malformed(
                "checkpoint_malformed", "the checkpoint has not three lines or more, each with something in it"
            )
        origin, number, root = lines[:3]
        size = int(number) if _NUMBER.fullmatch(number) else -1
        if not 0 <= size <= SIZE_MAX:
            raise Malformed("checkpoint_malformed", "the checkpoint's size is not a number")
        try:
            data = decoded(root)
        except ValueError:
            data = b""
        if len(data) != 32:
            raise Malformed("checkpoint_malformed", "the checkpoint's root is not a hash in base64")
        return cls(origin, size, data, lines[3:])


@dataclass(frozen=True)
class SignedCheckpoint:
    """A checkpoint with its signatures. What it says is a claim until `note.verify` says who signed."""

    claimed: Checkpoint
    note: Note

    @classmethod
    def parse(cls, text: str) -> SignedCheckpoint:
        note = Note.parse(text)
        return cls(Checkpoint.parse(note.text), note)

    def cosigned_by(self, witnesses: Iterable[VerifierKey]) -> dict[VerifierKey, int]:
        """Who of them cosigned, and when. One that is given under two names counts once."""
        cosigned: dict[VerifierKey, int] = {}
        for key, timestamp in self.note.signed_by(witnesses).items():
            counted = any(key.public == other.public for other in cosigned)
            if timestamp is not None and not counted:
                cosigned[key] = timestamp
        return cosigned
