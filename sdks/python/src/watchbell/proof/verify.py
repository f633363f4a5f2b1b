"""Checks an export while it is read: line by line, from the header to the end."""

from __future__ import annotations

import contextlib
import datetime
import gzip
import hashlib
import io
import os
import zlib
from collections.abc import Callable, Iterable, Iterator
from typing import BinaryIO, NoReturn, cast

from . import lines, records
from .checkpoints import Checkpoint, SignedCheckpoint
from .erasures import Erasures
from .malformed import Malformed
from .notes import LOG, VerifierKey
from .records import EVENT
from .report import Cosigned, Counts, Report
from .tree import Range, empty_root, leaf_hash

PROGRESS_EVERY_BYTES = 1024 * 1024

_GZIP = b"\x1f\x8b"
_ZSTANDARD = b"\x28\xb5\x2f\xfd"


def verify_export(
    file: str | os.PathLike[str] | BinaryIO,
    keys: str | Iterable[str] = (),
    witnesses: str | Iterable[str] = (),
    since: str | None = None,
    progress: Callable[[int], object] | None = None,
) -> Report:
    """Checks that an export of the format `bundle` is complete, unchanged and in order. Needs no server and no network.

    `file` is a path, or a file that was opened for reading bytes; it may be compressed with gzip. `keys` are the log's
    keys, which you have from somewhere else than the file; without any, those in the file are used, and the report says
    so. Each of `witnesses` must have cosigned. `since` is the text of an older checkpoint of the same log: the file's
    must continue it. `progress` is told how many bytes were read, now and then.

    Raises `ValueError` if a key, a witness or `since` cannot be read, and `OSError` if there is no such file.
    """
    check = _Check(_keys(keys), _keys(witnesses), SignedCheckpoint.parse(since) if since is not None else None)
    if isinstance(file, (str, os.PathLike)):
        with open(file, "rb") as opened:
            return check.run(opened, progress)
    return check.run(file, progress)


def _keys(given: str | Iterable[str]) -> list[VerifierKey]:
    return [VerifierKey.parse(key) for key in ([given] if isinstance(given, str) else given)]


class _Stopped(Exception):
    """What follows would mean nothing."""


class _Check:
    def __init__(self, keys: list[VerifierKey], witnesses: list[VerifierKey], since: SignedCheckpoint | None) -> None:
        self.keys, self.witnesses, self.kept = keys, witnesses, since
        self.report = Report()
        self.counts = dict.fromkeys(("leaves", "events", "attempts", "erased", "gone", "withheld"), 0)
        self.line = 0
        self.has_ended = False
        self.leaves: dict[bytes, bool] = {}
        """Kind and id of every leaf that is not withheld, and whether what it commits to is shown."""
        self.erasures = Erasures()
        self.latest_gone_ms: int | None = None

    def run(self, file: BinaryIO, progress: Callable[[int], object] | None) -> Report:
        try:
            self._read(file, progress or (lambda _: None))
            self._judge()
        except _Stopped:
            pass
        except (OSError, EOFError, zlib.error) as error:
            self.report.found(None, "unreadable", str(error))
        self.report.counts = Counts(**self.counts)
        return self.report

    def _read(self, file: BinaryIO, progress: Callable[[int], object]) -> None:
        read = told = 0
        with _unpacked(file) as reader:
            while line := reader.readline(lines.LINE_BYTES_MAX + 1):
                read += len(line)
                self._next(line)
                if read - told >= PROGRESS_EVERY_BYTES:
                    told = read
                    progress(read)
        progress(read)
        if not self.line:
            self._stop("not_an_export", line=1)

    def _next(self, line: bytes) -> None:
        self.line += 1
        is_whole = line.endswith(b"\n")
        if self.line == 1:
            if not is_whole:
                self._stop("not_an_export")
            self._header(line[:-1])
        elif self.has_ended:
            self._stop("after_end")
        elif is_whole:
            self._body(line[:-1])
        elif len(line) > lines.LINE_BYTES_MAX:
            self._stop("line_too_long")
        else:
            self._stop("cut_off", line=None)

    # --- the header ---

    def _header(self, line: bytes) -> None:
        try:
            header = lines.Header.read(line)
            claimed = header.checkpoint.claimed
            self.report.made_at, self.report.filter = header.made_at, header.filter
            self.report.origin, self.report.size, self.report.root = claimed.origin, claimed.size, claimed.root
            self.report.first, self.report.end = header.first, header.end
            self._believe(header)
            self.range = Range(header.first, header.end, claimed.size)
            self._continue_since(claimed)
            self.range.check_after(header.after)
            self.edge = self.range.start(header.before)
        except Malformed as malformed:
            self._stop(malformed.code, str(malformed))
        self.after, self.root = header.after, claimed.root
        self._watch()

    def _believe(self, header: lines.Header) -> None:
        from_file = _usable(header.keys)
        if not self.keys:
            self.report.remark("key_from_file")
            self.keys = from_file
        # A witness's key signs something else.
        self.keys = [key for key in self.keys if key.type == LOG]
        if not self.keys:
            raise Malformed("key_unsupported", "")
        if header.origin != header.checkpoint.claimed.origin:
            self._found("origin_mismatch", f"{header.origin}, {header.checkpoint.claimed.origin}")
        try:
            self.report.signed_by = [str(key) for key in header.checkpoint.note.verify(self.keys)]
        except Malformed as malformed:
            self._found(malformed.code, str(malformed))
        if not self.witnesses:
            self.report.remark("no_witness")
        for witness in self.witnesses:
            self._ask(witness, header.checkpoint)

    def _ask(self, witness: VerifierKey, checkpoint: SignedCheckpoint) -> None:
        try:
            cosigned = checkpoint.cosigned_by([witness])
        except Malformed as malformed:
            self._found(malformed.code, str(malformed))
            return
        if witness in cosigned:
            self.report.cosigned.append(Cosigned(str(witness), cosigned[witness]))
        else:
            self._found("witness_missing", witness.name)

    def _continue_since(self, now: Checkpoint) -> None:
        """What the earlier checkpoint asks of the leaves: their root at its size."""
        self.since: Checkpoint | None = None
        self.since_root: bytes | None = None
        try:
            self.since = self._kept(now)
        except Malformed as malformed:
            self._found(malformed.code, str(malformed))
        if self.since is None:
            return
        # The whole tree and the empty one need no leaves.
        if self.since.size == now.size:
            self.since_root = now.root
        elif self.since.size == 0:
            self.since_root = empty_root()

    def _kept(self, now: Checkpoint) -> Checkpoint | None:
        if self.kept is None:
            return None
        kept = self.kept.claimed
        if kept.origin != now.origin:
            raise Malformed("since_origin_mismatch", kept.origin)
        try:
            self.kept.note.verify(self.keys)
        except Malformed as malformed:
            raise Malformed("since_not_signed", str(malformed)) from None
        if kept.size > now.size:
            raise Malformed("rolled_back", f"{kept.size} then, {now.size} now")
        if kept.size not in (0, now.size) and not self.range.begin <= kept.size <= self.range.end:
            raise Malformed("since_outside", f"it has {kept.size} leaves")
        return kept

    # --- the lines after it ---

    def _body(self, line: bytes) -> None:
        try:
            said = lines.read(line)
        except ValueError:
            self._stop("line_malformed")
        match said:
            case lines.Record():
                self.counts["events" if said.kind == EVENT else "attempts"] += 1
                self._leaf(said.leaf, is_shown=True)
                self._record(said)
            case lines.Erased():
                self.counts["erased"] += 1
                self._leaf(said.leaf, is_shown=False)
                self.erasures.claimed(self.line, said.leaf[1:18], said.by)
            case lines.Gone():
                self.counts["gone"] += 1
                self._leaf(said.leaf, is_shown=False)
                received_ms = int.from_bytes(said.leaf[26:34], "big", signed=True)
                self.latest_gone_ms = max(received_ms, self.latest_gone_ms or received_ms)
            case lines.Missing():
                self._leaf(said.leaf, is_shown=False)
                self._found("record_missing")
            case lines.Withheld():
                self.counts["withheld"] += len(said.hashes)
                for hashed in said.hashes:
                    self._append(hashed)
            case lines.Policy():
                self.report.policies += 1
                if said.digest != policy_digest(said.text, said.schema):
                    self._found("policy_mismatch")
            case lines.End():
                if said.counts != tuple(self.counts.values()):
                    self._found("counts_wrong")
                self.has_ended = True

    def _record(self, said: lines.Record) -> None:
        if said.leaf[1] != said.kind:
            self._found("kind_mismatch")
        elif hashlib.sha256(said.salt + said.stored.encode()).digest() != said.leaf[34:]:
            self._found("commitment_mismatch")
        else:
            try:
                self.erasures.told(said.leaf[1:18], records.check(said.leaf, said.stored))
            except Malformed as malformed:
                self._found(malformed.code, str(malformed))

    def _leaf(self, leaf: bytes, *, is_shown: bool) -> None:
        if leaf[0] != 1 or leaf[1] not in (records.EVENT, records.ATTEMPT):
            self._stop("leaf_unsupported")
        self._append(leaf_hash(leaf))
        record = leaf[1:18]
        if record in self.leaves:
            self._found("leaf_twice", records.encode_id(record))
        else:
            self.leaves[record] = is_shown

    def _append(self, leaf: bytes) -> None:
        self.counts["leaves"] += 1
        if self.edge.size == self.range.end:
            self._stop("leaves_surplus")
        self.edge.append(leaf)
        self._watch()

    def _watch(self) -> None:
        """Remembers the root if the tree is as large as it was at the earlier checkpoint."""
        if self.since is not None and self.since_root is None and self.edge.size == self.since.size:
            self.since_root = self.edge.root()

    # --- the end ---

    def _judge(self) -> None:
        if not self.has_ended:
            self._stop("cut_off", line=None)
        expected, found = self.range.end - self.range.begin, self.counts["leaves"]
        if found < expected:
            self._stop("leaves_missing", f"{expected} announced, {found} found", line=None)
        if self.range.finish(self.edge, self.after) != self.root:
            self._found("root_mismatch", line=None)
        if self.since is not None and self.since_root != self.since.root:
            self._found("inconsistent", line=None)
        is_complete = self.range.end == self.range.size and not self.counts["withheld"]
        findings, unchecked = self.erasures.judge(self.leaves, is_complete=is_complete)
        for line, code, erased in findings:
            self._found(code, records.encode_id(erased), line=line)
        self._remark(unchecked)

    def _remark(self, erasures_unchecked: int) -> None:
        whole = self.range
        if whole.begin > 0 or whole.end < whole.size:
            self.report.remark("part_of_log", f"{whole.begin} to {whole.end} of {whole.size}")
        if self.counts["withheld"]:
            self.report.remark("withheld", str(self.counts["withheld"]))
        if self.latest_gone_ms is not None:
            self.report.remark("gone", f"{self.counts['gone']}, the latest of {_date(self.latest_gone_ms)}")
        if erasures_unchecked:
            self.report.remark("erasures_unchecked", str(erasures_unchecked))

    def _found(self, code: str, detail: str = "", *, line: int | None = -1) -> None:
        """In the line that is being read, unless told otherwise."""
        self.report.found(self.line if line == -1 else line, code, detail)

    def _stop(self, code: str, detail: str = "", *, line: int | None = -1) -> NoReturn:
        self._found(code, detail, line=line)
        raise _Stopped


def policy_digest(text: str, schema: str | None) -> str:
    """Names the texts of a version of the policies. Each has its length in front."""
    hashed = hashlib.sha256(b"watchbell.policies.v1\n")
    for part in (text, schema):
        if part is not None:
            data = part.encode()
            hashed.update(b"%d:" % len(data) + data)
    return f"sha256:{hashed.hexdigest()}"


def _usable(keys: list[str]) -> list[VerifierKey]:
    """Those of an unknown type are passed over, as their signatures are."""
    return [key for key in map(_supported, keys) if key is not None]


def _supported(key: str) -> VerifierKey | None:
    try:
        return VerifierKey.parse(key)
    except Malformed as malformed:
        if malformed.code == "key_unsupported":
            return None
        raise


@contextlib.contextmanager
def _unpacked(file: BinaryIO) -> Iterator[BinaryIO]:
    buffered = io.BufferedReader(cast(io.RawIOBase, file))
    try:
        start = buffered.peek(4)
        if start.startswith(_ZSTANDARD):
            raise OSError("it is compressed with Zstandard; unpack it first: zstd -d FILE")
        if start.startswith(_GZIP):
            with gzip.GzipFile(fileobj=buffered) as unpacked:
                yield cast(BinaryIO, unpacked)
        else:
            yield buffered
    finally:
        # Otherwise the caller's file would be closed with it.
        buffered.detach()


def _date(unix_ms: int) -> str:
    try:
        at = datetime.datetime(1970, 1, 1) + datetime.timedelta(milliseconds=unix_ms)
    except OverflowError:
        return f"{unix_ms} ms since 1970"
    return at.isoformat(timespec="milliseconds") + "Z"
