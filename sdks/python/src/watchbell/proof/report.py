"""What a check has to say."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

Verdict = Literal["proven", "not_proven", "cannot_be_checked"]

FINDINGS_MAX = 100
"""What is wrong with a file is clear before; the rest is counted."""

NOT_TO_BE_CHECKED = {
    "not_an_export": "this is not an export that proves itself: it does not start with the header of one",
    "version_unknown": "the export has a newer format than this version knows; a newer one can check it",
    "header_malformed": "the header cannot be read",
    "note_malformed": "the checkpoint in the header cannot be used",
    "checkpoint_malformed": "the checkpoint in the header cannot be used",
    "key_malformed": "a key in the header cannot be used",
    "key_unsupported": "there is no key that could have signed a checkpoint: it takes an Ed25519 key of the log",
    "leaf_unsupported": "the leaf has a version or a kind that this version does not know; a newer one may",
    "unreadable": "the file cannot be read further",
    "since_outside": "the file does not have the leaves that lead to the earlier checkpoint; check one that has them",
}
NOT_PROVEN = {
    "origin_mismatch": "the header and the checkpoint name different logs",
    "not_signed": "the checkpoint is not signed by the log",
    "signature_mismatch": "a signature of the checkpoint does not count",
    "timestamp_out_of_range": "a witness's word does not count",
    "range_outside_tree": "the header's range does not fit its checkpoint",
    "hash_count_wrong": "the header's range does not fit its checkpoint",
    "witness_missing": "a witness did not cosign the checkpoint",
    "since_origin_mismatch": "the earlier checkpoint is of another log",
    "since_not_signed": "the earlier checkpoint is not signed by the log",
    "rolled_back": "the log was rolled back: it has fewer leaves than at the earlier checkpoint",
    "inconsistent": "the log was replaced or rewritten: it does not begin as it did at the earlier checkpoint",
    "line_malformed": "the line is not one that an export has",
    "line_too_long": "the line is longer than 4 MiB",
    "kind_mismatch": "the leaf is of another kind than what the line shows",
    "commitment_mismatch": "what is shown is not what the log committed to: it was changed, or its salt was",
    "record_malformed": "what is shown is not a JSON object with the members that such a record has",
    "record_mismatch": "what is shown is not what the leaf says",
    "record_missing": "the record is in the log, and the server has lost it: somebody other than the server deleted it",
    "leaf_twice": "the record is there a second time",
    "leaves_surplus": "there are more leaves than the header announces",
    "policy_mismatch": "the policies are not those that their digest names: a text was changed",
    "cut_off": "the file was cut off: its last line is missing",
    "after_end": "something follows the last line",
    "counts_wrong": "the numbers in the last line are not those of the file",
    "leaves_missing": "there are fewer leaves than the header announces",
    "root_mismatch": "the leaves do not make the checkpoint's root: one was changed, moved, added or left out",
    "erasure_unfounded": "it is said to be erased by an event that says nothing of it",
    "erasure_missing": "it is said to be erased by an event that is not in the log",
}
"""What every code is about."""

REMARKS = {
    "key_from_file": "the key is the file's own word: compare it with what the log's owner told you elsewhere",
    "no_witness": "no witness was asked for: whoever has the log's key could show others another log",
    "part_of_log": "the file has a part of the log's leaves",
    "withheld": "leaves are withheld: they are in the log, and the file does not say what they are",
    "gone": "records are said to be past their retention",
    "erasures_unchecked": "erasures could not be checked: the events that say so are not shown in the file",
}


@dataclass(frozen=True)
class Finding:
    """Something is wrong."""

    line: int | None
    """From 1; `None` if it is not in one line."""
    code: str
    """Stable, and the same in every language's verifier."""
    message: str

    def __str__(self) -> str:
        return f"line {self.line}: {self.message}" if self.line else self.message


@dataclass(frozen=True)
class Remark:
    """Something to know beside the verdict. Nothing is wrong."""

    code: str
    message: str


@dataclass(frozen=True)
class Counts:
    """How many leaves there are of each kind; `leaves` is all of them."""

    leaves: int = 0
    events: int = 0
    attempts: int = 0
    erased: int = 0
    gone: int = 0
    withheld: int = 0


@dataclass(frozen=True)
class Cosigned:
    """A witness's word, and when it gave it, in seconds since 1970."""

    witness: str
    unix_seconds: int


@dataclass
class Report:
    """The outcome of a check. Everything but the verdict and the findings is as far as the check came."""

    verdict: Verdict = "proven"
    findings: list[Finding] = field(default_factory=list)
    """In the order in which they were found; at most 100."""
    findings_left_out: int = 0
    remarks: list[Remark] = field(default_factory=list)
    origin: str | None = None
    """Which log."""
    first: int = 0
    end: int = 0
    """The leaves from `first` up to, not including, `end`."""
    size: int = 0
    root: bytes = b""
    counts: Counts = field(default_factory=Counts)
    policies: int = 0
    signed_by: list[str] = field(default_factory=list)
    """The keys that signed the checkpoint, out of those that are trusted."""
    cosigned: list[Cosigned] = field(default_factory=list)
    made_at: str | None = None
    """When the file says that it was made. Nothing vouches for it."""
    filter: str | None = None
    """What the file says was asked for. Nothing vouches for it."""

    @property
    def is_proven(self) -> bool:
        return self.verdict == "proven"

    def found(self, line: int | None, code: str, detail: str = "") -> None:
        """A file of which something is wrong for certain is not proven, whatever else could not be checked."""
        unchecked = NOT_TO_BE_CHECKED.get(code)
        if self.verdict != "not_proven":
            self.verdict = "cannot_be_checked" if unchecked else "not_proven"
        message = unchecked or NOT_PROVEN[code]
        if len(self.findings) < FINDINGS_MAX:
            self.findings.append(Finding(line, code, f"{message} ({detail})" if detail else message))
        else:
            self.findings_left_out += 1

    def remark(self, code: str, detail: str = "") -> None:
        message = REMARKS[code]
        self.remarks.append(Remark(code, f"{message} ({detail})" if detail else message))
