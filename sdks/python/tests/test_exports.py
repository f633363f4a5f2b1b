"""Every vector of the export and of the transparency log, and how a file may come."""

from __future__ import annotations

import base64
import gzip
import io
import json
from pathlib import Path
from typing import Any

import pytest

from watchbell import verify_export
from watchbell.proof.checkpoints import Checkpoint, SignedCheckpoint
from watchbell.proof.malformed import Malformed, encoded
from watchbell.proof.notes import Note, VerifierKey
from watchbell.proof.records import unix_ms
from watchbell.proof.report import Counts
from watchbell.proof.tree import Edge, Range, empty_root, leaf_hash, node_hash

LIBRARIES = Path(__file__).parents[3] / "libs"


def cases(library: str, name: str) -> list[Any]:
    vectors = json.loads((LIBRARIES / library / "vectors" / f"{name}.json").read_text(encoding="utf-8"))
    return [pytest.param(case, id=case["name"]) for case in vectors["cases"]]


def exports(name: str) -> list[Any]:
    return cases("trail-proof", name)


def log(name: str) -> list[Any]:
    return cases("transparency-log", name)


def file_of(case: dict[str, Any]) -> bytes:
    text = "".join(f"{line}\n" for line in case["lines"]) + case.get("unfinished", "")
    return bytes(text.encode())


@pytest.mark.parametrize("case", exports("proven") + exports("not_proven") + exports("cannot_be_checked"))
def test_export(case: dict[str, Any]) -> None:
    report = verify_export(io.BytesIO(file_of(case)), case["keys"], case["witnesses"], case["since"])
    expected = case["expect"]
    assert [{"line": finding.line, "code": finding.code} for finding in report.findings] == expected["findings"]
    assert report.verdict == expected["verdict"]
    assert [remark.code for remark in report.remarks] == expected["remarks"]
    if report.is_proven:
        assert report.counts == Counts(**expected["counts"])
        assert report.signed_by == expected["signed_by"]
        assert [vars(cosigned) for cosigned in report.cosigned] == expected["cosigned"]


def test_a_file_may_be_compressed_or_broken(tmp_path: Path) -> None:
    (case,) = exports("proven")[0].values
    file, read = file_of(case), list[int]()
    path = tmp_path / "export.jsonl.gz"
    path.write_bytes(gzip.compress(file))
    report = verify_export(path, case["keys"], case["witnesses"][0], progress=read.append)
    assert (report.verdict, read) == ("proven", [len(file)])
    with path.open("rb") as opened:
        assert verify_export(opened, case["keys"]).is_proven
        assert not opened.closed

    for broken in (gzip.compress(file)[:-20], b"\x28\xb5\x2f\xfd" + file):
        path.write_bytes(broken)
        report = verify_export(str(path), case["keys"])
        assert report.verdict == "cannot_be_checked"
        assert [finding.code for finding in report.findings] == ["unreadable"]

    with pytest.raises(ValueError, match="<name>"):
        verify_export(path, "key")
    with pytest.raises(OSError, match="missing"):
        verify_export(tmp_path / "missing")


def test_a_line_has_a_limit_and_so_have_findings() -> None:
    (case,) = exports("proven")[0].values
    file = file_of(case)
    header = file.split(b"\n")[0]
    report = verify_export(io.BytesIO(header + b"\n" + b"a" * (4 * 1024 * 1024 + 1) + b"\n"), case["keys"])
    assert [(finding.line, finding.code) for finding in report.findings] == [(2, "line_too_long")]
    policy = b'{"policy":{"digest":"","text":""}}\n'
    report = verify_export(io.BytesIO(header + b"\n" + policy * 150), case["keys"])
    assert (len(report.findings), report.findings_left_out, report.policies) == (100, 51, 150)
    assert str(report.findings[0]).startswith("line 2: the policies")


@pytest.mark.parametrize("case", log("hashes"))
def test_hash(case: dict[str, Any]) -> None:
    if "empty" in case:
        found = empty_root()
    elif "entry" in case:
        found = leaf_hash(base64.b64decode(case["entry"]))
    else:
        found = node_hash(base64.b64decode(case["left"]), base64.b64decode(case["right"]))
    assert encoded(found) == case["hash"]


def test_roots() -> None:
    (expected,) = zip(*(case.values for case in log("roots")), strict=True)
    by_size = {case["size"]: case for case in expected}
    edge = Edge()
    for size in range(max(by_size) + 1):
        if size in by_size:
            assert encoded(edge.root()) == by_size[size]["root"]
            assert [encoded(root) for root in edge.roots] == by_size[size]["edge"]
        edge.append(leaf_hash(str(size).encode()))


@pytest.mark.parametrize("case", log("ranges"))
def test_range(case: dict[str, Any]) -> None:
    def root() -> bytes:
        before, leaves, after = (
            [base64.b64decode(one) for one in case[name]] for name in ("before", "leaves", "after")
        )
        whole = Range(*(int(case[name]) for name in ("begin", "end", "size")))
        edge = whole.start(before)
        for leaf in leaves:
            edge.append(leaf)
        found = whole.finish(edge, after)
        if encoded(found) != case["root"]:
            raise Malformed("root_mismatch", "")
        return found

    assert outcome(case, root) is not None or not case["accepted"]


@pytest.mark.parametrize("case", log("keys"))
def test_key(case: dict[str, Any]) -> None:
    key = outcome(case, lambda: VerifierKey.parse(case["vkey"]))
    if key is not None:
        assert str(key) == case["vkey"]
        assert (key.name, key.type, encoded(key.public)) == (case["key_name"], case["type"], case["public"])


@pytest.mark.parametrize("case", log("notes"))
def test_note(case: dict[str, Any]) -> None:
    text = case.get("note_prefix", "") * case.get("note_prefix_count", 0) + case["note"]
    keys = [VerifierKey.parse(key) for key in case["keys"]]
    signed = outcome(case, lambda: Note.parse(text).verify(keys))
    if signed is not None:
        assert Note.parse(text).text == case["text"]
        assert [str(key) for key in signed] == case["signed_by"]


@pytest.mark.parametrize("case", log("checkpoints"))
def test_checkpoint(case: dict[str, Any]) -> None:
    checkpoint = outcome(case, lambda: Checkpoint.parse(case["text"]))
    if checkpoint is not None:
        found = (checkpoint.origin, checkpoint.size, encoded(checkpoint.root), checkpoint.extensions)
        assert found == (case["origin"], int(case["size"]), case["root"], case["extensions"])


@pytest.mark.parametrize("case", log("cosignatures"))
def test_cosignature(case: dict[str, Any]) -> None:
    witnesses = [VerifierKey.parse(key) for key in case["witnesses"]]
    cosigned = outcome(case, lambda: SignedCheckpoint.parse(case["checkpoint"]).cosigned_by(witnesses))
    if cosigned is not None:
        found = [{"key": str(key), "timestamp": timestamp} for key, timestamp in cosigned.items()]
        expected = [{**one, "timestamp": int(one["timestamp"])} for one in case["cosigned"]]
        assert found == expected


def outcome(case: dict[str, Any], do: Any) -> Any:
    """What comes out, or `None` if the case is refused as it should be."""
    if case["accepted"]:
        return do()
    with pytest.raises(Malformed) as refused:
        do()
    assert refused.value.code == case["error"]
    return None


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1970-01-01T00:00:00Z", 0),
        ("1969-12-31T23:59:59.9999z", -1),
        ("2026-11-18T11:46:41.1239+02:00", 1_794_995_201_123),
        ("0000-01-01T00:00:00Z", -62_167_219_200_000),
        ("9999-12-31T23:59:59.999Z", 253_402_300_799_999),
        ("9999-12-31T23:59:60Z", 253_402_300_799_999),
        ("2016-12-31T22:59:60.5-01:00", 1_483_228_799_999),
        ("2016-12-30T23:59:60Z", None),
        ("2026-02-29T00:00:00Z", None),
        ("2026-01-01T24:00:00Z", None),
        ("2026-01-01T00:00:00+24:00", None),
        ("2026-01-01T00:00:00", None),
        ("2026-01-01T00:00:00.Z", None),
        ("2026-01-01T00:00:00Z\n", None),
        ("\uff12026-01-01T00:00:00Z", None),
    ],
)
def test_time(text: str, expected: int | None) -> None:
    assert unix_ms(text) == expected
