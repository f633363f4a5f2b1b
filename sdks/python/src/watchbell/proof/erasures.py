"""Whether what is said to be erased was: the event that did it is in the log and names it."""

from __future__ import annotations


class Erasures:
    """What a file says of erasures. Records are a byte for the kind and 16 for the id."""

    def __init__(self) -> None:
        self._claims: list[tuple[int, bytes, bytes]] = []
        self._named: set[tuple[bytes, bytes]] = set()

    def claimed(self, line: int, record: bytes, by: bytes) -> None:
        """A line says that the event `by` erased a record."""
        self._claims.append((line, record, by))

    def told(self, by: bytes, erased: list[bytes]) -> None:
        """An event says what it erased."""
        self._named.update((by, record) for record in erased)

    def judge(self, leaves: dict[bytes, bool], *, is_complete: bool) -> tuple[list[tuple[int, str, bytes]], int]:
        """What is wrong, and how many could not be checked. `leaves` says of those in the file whether each is
        shown; if it `is_complete`, the log has no others after the first."""
        findings, unchecked = [], 0
        for line, record, by in self._claims:
            is_shown = leaves.get(by)
            if is_shown and (by, record) not in self._named:
                findings.append((line, "erasure_unfounded", record))
            elif is_shown is None and is_complete:
                # An erasure comes after what it erases.
                findings.append((line, "erasure_missing", record))
            elif not is_shown:
                unchecked += 1
        return findings, unchecked
