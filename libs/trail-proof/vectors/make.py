#!/usr/bin/env python3
"""Writes the vectors: exports on which every verifier, in every language, must come to the same verdict.

Nothing here comes from the Rust library: hashes are hashlib's, trees are the recursive definition of RFC 6962, and keys and
notes are those of ../../transparency-log/vectors/make.py. So the two check each other.

    python3 make.py           write the files
    python3 make.py --check   fail if a file is not byte for byte what would be written
"""

import base64
import copy
import datetime
import hashlib
import importlib.util
import json
import pathlib
import sys

sys.dont_write_bytecode = True
FOLDER = pathlib.Path(__file__).resolve().parent


def of_the_log():
    """The other make.py: keys, notes, and trees."""
    folder = FOLDER.parent.parent / "transparency-log/vectors"
    sys.path.insert(0, str(folder))
    spec = importlib.util.spec_from_file_location("of_the_log", folder / "make.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


log = of_the_log()
b64, sha256, Key = log.b64, log.sha256, log.Key

ORIGIN = "watchbell.example/org_06f5e0v8x5s7b9zq2k4m6n8p0r"
LOG = Key(ORIGIN, "the trail's log")
NEXT_LOG = Key(ORIGIN, "the trail's log, next key")
STRANGER = Key(ORIGIN, "somebody with root")
WITNESS, OTHER_WITNESS = (Key(f"witness.example/{name}", f"trail witness {name}", 4) for name in ("w1", "w2"))
IMPOSTOR = Key(WITNESS.name, "says that it is the witness", 4)
MADE_AT = "2026-11-18T10:00:00.000Z"
NOW = 1_794_996_000  # 2026-11-18T10:00:00Z
START_MS = 1_794_995_200_000  # 2026-11-18T09:46:40Z
EVENT, ATTEMPT = 1, 2
NEWLINE = b"\n"


# --- records and leaves ------------------------------------------------------------------------------------------------


def record_id(kind, number, at_ms):
    """A UUID of version 7, as 26 digits of Crockford's base32 behind a prefix, and as bytes."""
    tail = int.from_bytes(sha256(f"{kind} {number}".encode())[:10], "big") & (2**76 - 1)
    tail = tail & ~(3 << 62) | 2 << 62
    value = at_ms << 80 | 7 << 76 | tail
    digits = "".join("0123456789abcdefghjkmnpqrstvwxyz"[value >> 5 * place & 31] for place in reversed(range(26)))
    return {EVENT: "evt_", ATTEMPT: "att_"}[kind] + digits, value.to_bytes(16, "big")


def rfc3339(at_ms):
    at = datetime.datetime(1970, 1, 1) + datetime.timedelta(milliseconds=at_ms)
    return at.isoformat(timespec="milliseconds") + "Z"


class Record:
    """An event or an attempt, its salt and its leaf."""

    def __init__(self, kind, number, occurred_ms, received_ms, stored):
        self.kind, self.occurred_ms, self.received_ms = kind, occurred_ms, received_ms
        self.text_id, self.id = record_id(kind, number, occurred_ms)
        self.stored = stored.replace("ID", self.text_id)
        self.salt = sha256(f"salt {kind} {number}".encode())[:16]
        self.commit()

    def commit(self):
        commitment = sha256(self.salt + self.stored.encode())
        times = b"".join(at.to_bytes(8, "big", signed=True) for at in (self.occurred_ms, self.received_ms))
        self.leaf = bytes([1, self.kind]) + self.id + times + commitment
        return self

    def line(self):
        member = {EVENT: "event", ATTEMPT: "attempt"}[self.kind]
        return dumped({"leaf": b64(self.leaf), "salt": b64(self.salt), member: self.stored})

    def changed(self, **fields):
        """Another record, committed to with what was changed."""
        other = copy.copy(self)
        other.__dict__.update(fields)
        return other.commit()


def event(number, more='"event_type":"tool_call","agent_id":"billing","action":"files.read","result":"success"', occurred_at=None, occurred_ms=None):
    received_ms = START_MS + number * 1000 + 7
    occurred_ms = received_ms - 7 if occurred_ms is None else occurred_ms
    said = occurred_at or rfc3339(occurred_ms)
    stored = f'{{"id":"ID","received_at":"{rfc3339(received_ms)}","source":"key_1","occurred_at":"{said}",{more}}}'
    return Record(EVENT, number, occurred_ms, received_ms, stored)


def attempt(number, status=200):
    started = START_MS + number * 1000
    statement = {"id": "ID", "delivery_id": "dlv_1", "number": 1, "trigger": "match", "started_at": rfc3339(started), "finished_at": rfc3339(started + 125)}
    statement.update({"url": "https://example.com/hook", "status": status, "outcome": "delivered"})
    return Record(ATTEMPT, number, started, started + 125, dumped(statement))


def erasure(number, *erased):
    ids = dumped([one.text_id for one in erased])
    return event(number, f'"event_type":"erasure","agent_id":"ada@example.com","action":"trail.erase","result":"success","metadata":{{"ids":{ids},"reason":"GDPR, article 17"}}')


def dumped(value):
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


# --- exports -----------------------------------------------------------------------------------------------------------


def root(leaves):
    """MTH of RFC 6962, section 2.1."""
    if not leaves:
        return sha256(b"")
    if len(leaves) == 1:
        return leaves[0]
    middle = log.split(len(leaves))
    return log.node(root(leaves[:middle]), root(leaves[middle:]))


def checkpoint(hashes, origin=ORIGIN):
    return f"{origin}\n{len(hashes)}\n{b64(root(hashes))}\n"


def signed(text, keys=(LOG,), witnesses=(WITNESS,)):
    cosignatures = "".join(key.cosign(text, NOW + number) for number, key in enumerate(witnesses))
    return text + "\n" + "".join(key.sign(text) for key in keys) + cosignatures


def tree(records):
    return [log.leaf(record.leaf) for record in records]


class Export:
    """A file about leaves `first` to `end`, as a list of lines that an attack may change."""

    def __init__(self, records, first=0, end=None, withheld=(), erased=None, gone=(), missing=(), policies=(), keys=(LOG,), witnesses=(WITNESS,), **header):
        hashes = tree(records)
        end = len(hashes) if end is None else end
        pieces = {"before": log.covering(0, first), "after": log.covering(end, len(hashes))}
        self.header = {
            "format": "watchbell-trail/v1", "made_at": MADE_AT, "origin": ORIGIN,
            "checkpoint": signed(checkpoint(hashes), keys, witnesses), "keys": [key.vkey for key in keys],
            "first": first, "end": end, "filter": "result=denied" if withheld else None,
            **{name: [b64(root(hashes[begin:stop])) for begin, stop in found] for name, found in pieces.items()},
            **header,
        }
        self.counts = dict.fromkeys(("leaves", "events", "attempts", "erased", "gone", "withheld"), 0)
        self.body, waiting = list(policies), []
        for index in range(first, end):
            record = records[index]
            if index in withheld:
                waiting.append(hashes[index])
                self.count("withheld")
                continue
            self.flush(waiting)
            if erased and index in erased:
                self.body.append(dumped({"leaf": b64(record.leaf), "erased": erased[index].text_id}))
                self.count("erased")
            elif index in gone:
                self.body.append(dumped({"leaf": b64(record.leaf), "gone": True}))
                self.count("gone")
            elif index in missing:
                self.body.append(dumped({"leaf": b64(record.leaf), "missing": True}))
                self.counts["leaves"] += 1
            else:
                self.body.append(record.line())
                self.count("events" if record.kind == EVENT else "attempts")
        self.flush(waiting)

    def count(self, what, number=1):
        self.counts["leaves"] += number
        self.counts[what] += number

    def flush(self, waiting):
        if waiting:
            self.body.append(dumped({"hashes": b64(b"".join(waiting))}))
            waiting.clear()

    def end(self):
        return dumped({"end": self.counts})

    def lines(self):
        return [dumped(self.header), *self.body, self.end()]


def policy(text, schema=None, digest=None):
    hashed = f"watchbell.policies.v1\n{len(text.encode())}:{text}"
    if schema is not None:
        hashed += f"{len(schema.encode())}:{schema}"
    digest = digest or "sha256:" + sha256(hashed.encode()).hex()
    return dumped({"policy": {"digest": digest, "text": text, **({} if schema is None else {"schema": schema})}})


# --- the story: what the log of the cases has ---------------------------------------------------------------------------

ERASED = event(3, '"event_type":"tool_call","agent_id":"billing","action":"mail.send","result":"success","metadata":{"to":"Ada"}')
ODD = '"event_type":"tool_call","agent_id":"bücher \U0001f4da","action":"a\\\\b\\"c","result":"success",\n\t"metadata":{"n":1e400,"deep":[[[{}]]],"nul":"\\u0000","half":"\\ud83d","line":"\u2028","del":"\x7f"}'
ERASURE = erasure(6, ERASED)
TRAIL = [
    event(0),
    event(1, ODD, "2026-11-18T11:46:41.1239+02:00", 1_794_995_201_123),
    attempt(2),
    ERASED,
    event(4, '"event_type":"decision","agent_id":"billing","action":"payments.refund","result":"denied"'),
    attempt(5, 503),
    ERASURE,
    event(7, occurred_at="2016-12-31 23:59:60z", occurred_ms=1_483_228_799_999),
    event(8, occurred_at="2026-11-18T09:46:48.5-00:30", occurred_ms=1_794_997_008_500),
    event(9, '"event_type":"tool_call","agent_id":"billing","action":"files.write","result":"success","metadata":{"id":"evt_inner","occurred_at":1}'),
    attempt(10),
]
POLICIES = [policy('permit(principal, action, resource) when { context.amount < 100 };'), policy("forbid(principal, action, resource); // é", '{"": {}}')]


def whole(**changes):
    return Export(TRAIL, erased={3: ERASURE}, **changes)


def small(**changes):
    return Export([TRAIL[0], TRAIL[2]], **changes)


def case(name, verdict, export, findings=(), remarks=(), keys=(LOG,), witnesses=(WITNESS,), since=None, **more):
    """`export` is an Export or a list of lines; a finding is (line, code)."""
    is_export = isinstance(export, Export)
    given = {"lines": export.lines() if is_export else list(export)}
    expected = {"verdict": verdict, "findings": [{"line": line, "code": code} for line, code in findings], "remarks": list(remarks)}
    if verdict == "proven":
        expected["counts"] = export.counts
        expected["signed_by"] = [key.vkey for key in (keys or (LOG,))]
        expected["cosigned"] = [{"witness": key.vkey, "unix_seconds": NOW + number} for number, key in enumerate(witnesses)]
    return {"name": name, **given, "keys": [key if isinstance(key, str) else key.vkey for key in keys],
            "witnesses": [key.vkey for key in witnesses], "since": since, **more, "expect": expected}


# --- the files ---------------------------------------------------------------------------------------------------------


def proven():
    def good(name, export, remarks=(), **given):
        return case(name, "proven", export, (), remarks, **given)

    yield good("a whole log: events, attempts and an erasure", whole())
    yield good("with the policies that decisions were made by", whole(policies=POLICIES))
    yield good("a policy between two leaves", inserted(whole(), 3, POLICIES[0]))
    yield good("a range in the middle", Export(TRAIL, 2, 9, erased={3: ERASURE}), ["part_of_log"])
    yield good("a range at the end", Export(TRAIL, 5), ["part_of_log"])
    yield good("a range at the beginning", Export(TRAIL, 0, 3), ["part_of_log"])
    yield good("a single leaf", Export(TRAIL, 4, 5), ["part_of_log"])
    yield good("a range without leaves", Export(TRAIL, 4, 4), ["part_of_log"])
    yield good("a log without leaves", Export([]))
    yield good("a filtered export withholds leaves", whole(withheld=(0, 1, 5, 8)), ["withheld"])
    yield good("everything is withheld", Export(TRAIL, withheld=range(11)), ["withheld"])
    yield good("records are past their retention", whole(gone=(0, 2)), ["gone"])
    yield good("the event that erased is outside of the range", Export(TRAIL, 0, 5, erased={3: ERASURE}), ["part_of_log", "erasures_unchecked"])
    yield good("the event that erased is withheld", whole(withheld=(6,)), ["withheld", "erasures_unchecked"])
    yield good("the event that erased is past its retention", whole(gone=(6,)), ["gone", "erasures_unchecked"])
    yield good("an attempt was erased", attempt_erased())
    yield good("a filter that withholds nothing", whole(filter='result="denied" AND\taction=é'))
    yield good("two witnesses", whole(witnesses=(WITNESS, OTHER_WITNESS)), witnesses=(WITNESS, OTHER_WITNESS))
    yield good("no witness was asked for", whole(), ["no_witness"], witnesses=())
    yield good("the key is the file's own word", whole(), ["key_from_file"], keys=())
    yield good("the log's key is being replaced", whole(keys=(LOG, NEXT_LOG)), keys=(LOG, NEXT_LOG))
    yield good("the auditor knows only the old key", whole(keys=(LOG, NEXT_LOG)))
    yield good("a key of a type that is not known is passed over", with_header(whole(), keys=[unknown_key(), LOG.vkey]), ["key_from_file"], keys=())
    yield good("it continues the checkpoint that was kept", whole(), since=kept(7))
    yield good("nothing was added since", whole(), since=kept(11))
    yield good("the checkpoint that was kept has no leaves", whole(), since=kept(0))
    yield good("a range that reaches back to the checkpoint that was kept", Export(TRAIL, 4), ["part_of_log"], since=kept(4))
    yield good("leaves that are withheld lead over the checkpoint that was kept", whole(withheld=range(4, 9)), ["withheld", "erasures_unchecked"], since=kept(7))


def kept(size, key=LOG, records=None, origin=ORIGIN):
    return signed(checkpoint(tree((records or TRAIL)[:size]), origin), (key,), ())


def attempt_erased():
    victim = attempt(20)
    eraser = erasure(21, victim)
    return Export([event(0), victim, eraser], erased={1: eraser})


def unknown_key():
    """Of signature type 6, which nobody here can verify."""
    key = b"\x06" + bytes(32)
    return f"{ORIGIN}+{sha256(ORIGIN.encode() + NEWLINE + key)[:4].hex()}+{b64(key)}"


def with_header(export, **header):
    export.header.update(header)
    return export


def inserted(export, at, line):
    """`at` counts the lines after the header from 0."""
    export.body.insert(at, line)
    return export


def edited(export, at, old, new):
    assert export.body[at].count(old) == 1, (old, export.body[at])
    export.body[at] = export.body[at].replace(old, new)
    return export


def without(export, *at):
    export.body = [line for number, line in enumerate(export.body) if number not in at]
    return export


def counted(export, **counts):
    """With an end line that somebody adjusted."""
    for what, number in counts.items():
        export.counts[what] += number
    return export


def swapped(export, one, other):
    export.body[one], export.body[other] = export.body[other], export.body[one]
    return export


def not_proven():
    def bad(name, export, *findings, **given):
        return case(name, "not_proven", export, findings, given.pop("remarks", ()), **given)

    root_wrong = (None, "root_mismatch")
    # The attacks that a file can show.
    yield bad("an event was edited", edited(whole(), 0, "files.read", "files.list"), (2, "commitment_mismatch"))
    yield bad("an attempt was edited", edited(whole(), 5, "503", "200"), (7, "commitment_mismatch"))
    recommitted = TRAIL[0].changed(stored=TRAIL[0].stored.replace("success", "failure"))
    yield bad("an event was edited and its leaf made to fit", replaced_line(whole(), 0, recommitted.line()), root_wrong)
    yield bad("a record was deleted from under the server", whole(missing=(4,)), (6, "record_missing"))
    yield bad("a salt was changed", replaced_line(whole(), 0, salted(TRAIL[0])), (2, "commitment_mismatch"))
    yield bad("one was inserted", inserted(whole(), 4, event(30).line()), (13, "leaves_surplus"))
    yield bad("one was inserted, and the numbers adjusted", with_header(counted(inserted(whole(), 4, event(30).line()), leaves=1, events=1), end=12), (1, "range_outside_tree"))
    yield bad("one was inserted in place of another", replaced_line(whole(), 4, event(30).line()), root_wrong)
    yield bad("a middle one was deleted", without(whole(), 4), (12, "counts_wrong"), (None, "leaves_missing"))
    yield bad("a middle one was deleted, and the end adjusted", counted(without(whole(), 4), leaves=-1, events=-1), (None, "leaves_missing"))
    shortened = with_header(counted(without(whole(), 4), leaves=-1, events=-1), end=10, after=[b64(log.leaf(TRAIL[10].leaf))])
    yield bad("a middle one was deleted, and end and header adjusted", shortened, root_wrong, remarks=["part_of_log"])
    yield bad("the tail was cut", whole().lines()[:-4], (None, "cut_off"))
    yield bad("only the last line was cut", whole().lines()[:-1], (None, "cut_off"))
    yield bad("everything but the header was cut", whole().lines()[:1], (None, "cut_off"))
    yield bad("the tail was cut within a line", whole().lines()[:-1], (None, "cut_off"), unfinished=whole().end()[:20])
    yield bad("the last line does not end", whole().lines()[:-1], (None, "cut_off"), unfinished=whole().end())
    yield bad("the tail was cut, with a forged end", counted(without(whole(), 9, 10), leaves=-2, events=-1, attempts=-1), (None, "leaves_missing"))
    yield bad("the tail was cut, and header and end forged", with_header(counted(without(whole(), 9, 10), leaves=-2, events=-1, attempts=-1), end=9), (1, "hash_count_wrong"))
    forged = whole()
    forged.header["checkpoint"] = forged.header["checkpoint"].replace("\n11\n", "\n9\n")
    forged = with_header(counted(without(forged, 9, 10), leaves=-2, events=-1, attempts=-1), end=9)
    yield bad("the tail was cut, and header, checkpoint and end forged", forged, (1, "signature_mismatch"), (1, "signature_mismatch"), root_wrong)
    yield bad("two were swapped", swapped(whole(), 0, 1), root_wrong)
    yield bad("an event is there twice in the file", replaced_line(whole(), 1, TRAIL[0].line()), (3, "leaf_twice"), root_wrong)
    yield bad("an event is there twice in the log", Export([*TRAIL, TRAIL[0]], erased={3: ERASURE}), (13, "leaf_twice"))
    fresh = [event(number) for number in range(40, 45)]
    yield bad("the whole log was swapped for a fresh one with another key", Export(fresh, keys=(STRANGER,)), (1, "not_signed"))
    yield bad("the whole log was swapped, signed with another key under the name and id of the log's", impostor(fresh), (1, "signature_mismatch"))
    yield bad("the whole log was swapped by who has the key, and the witness saw the old one", Export(fresh, witnesses=()), (1, "witness_missing"))
    yield bad("the whole log was swapped by who has the key, and a checkpoint was kept", Export(fresh), (None, "inconsistent"), since=kept(3))
    yield bad("the log was rewritten from the beginning", Export([event(50), *TRAIL[1:]], erased={3: ERASURE}), (None, "inconsistent"), since=kept(7))
    yield bad("the log was rewritten and is as large as before", Export([event(50), *TRAIL[1:]], erased={3: ERASURE}), (None, "inconsistent"), since=kept(11))
    yield bad("the log was rolled back", Export(TRAIL[:9], erased={3: ERASURE}), (1, "rolled_back"), since=kept(11))
    yield bad("the log was rolled back and has grown since", Export([*TRAIL[:9], *fresh], erased={3: ERASURE}), (None, "inconsistent"), since=kept(11))
    yield bad("the checkpoint that was kept is another log's", whole(), (1, "since_origin_mismatch"), since=kept(7, origin="watchbell.example/org_2"))
    yield bad("the checkpoint that was kept is not signed by the log", whole(), (1, "since_not_signed"), since=kept(7, STRANGER))
    yield bad("an attempt is claimed that is not in the tree", replaced_line(whole(), 2, attempt(60).line()), root_wrong)
    yield bad("an attempt that failed is claimed to have arrived", edited(whole(), 5, '\\"status\\":503', '\\"status\\":200'), (7, "commitment_mismatch"))
    yield bad("the witness is another with the same name", whole(), (1, "witness_missing"), witnesses=(IMPOSTOR,))
    yield bad("a witness is missing", whole(), (1, "witness_missing"), witnesses=(WITNESS, OTHER_WITNESS))
    yield bad("the witness cosigned another checkpoint", cosigned_other(), (1, "signature_mismatch"))
    yield bad("the log's key is given for a witness", whole(), (1, "witness_missing"), witnesses=(LOG,))
    nobody = event(70)
    yield bad("an erasure without an event", Export(TRAIL, erased={3: nobody}), (5, "erasure_missing"))
    yield bad("an erasure by an event that does not say so", Export(TRAIL, erased={3: TRAIL[0]}), (5, "erasure_unfounded"))
    yield bad("an erasure by an event that erased something else", Export(TRAIL, erased={4: ERASURE}), (6, "erasure_unfounded"))
    yield bad("an erasure in a range that reaches the end", Export(TRAIL, 2, erased={3: nobody}), (3, "erasure_missing"), remarks=["part_of_log"])
    attempt_names = ERASURE.changed(stored=ERASURE.stored.replace(f'["{ERASED.text_id}"]', f'"{ERASED.text_id}"'))
    yield bad("the event that erased has no list of ids", Export([*TRAIL[:6], attempt_names, *TRAIL[7:]], erased={3: attempt_names}), (5, "erasure_unfounded"))
    yield bad("a policy was changed afterwards", whole(policies=[POLICIES[0].replace("100", "900")]), (2, "policy_mismatch"))
    yield bad("the schema of a policy was left out", whole(policies=[policy("permit(principal, action, resource);", digest=json.loads(policy("permit(principal, action, resource);", "{}"))["policy"]["digest"])]), (2, "policy_mismatch"))
    # Numbers.
    for what in ("leaves", "events", "attempts", "erased", "gone", "withheld"):
        yield bad(f"the end counts {what} wrong", counted(small(), **{what: 1}), (4, "counts_wrong"))
    yield bad("the header says that the range starts later", with_header(whole(), first=1), (1, "hash_count_wrong"))
    yield bad("the header says that the range ends earlier", with_header(whole(), end=10), (1, "hash_count_wrong"))
    yield bad("the header says that the range ends before it starts", with_header(Export(TRAIL, 4, 5), first=6), (1, "range_outside_tree"))
    moved = with_header(Export(TRAIL, 4, 5), first=5, end=6, before=Export(TRAIL, 5, 6).header["before"], after=Export(TRAIL, 5, 6).header["after"])
    yield bad("the header says that the leaf is another", moved, root_wrong, remarks=["part_of_log"])
    yield bad("a hash before the range is missing", with_header(Export(TRAIL, 7), before=Export(TRAIL, 7).header["before"][1:]), (1, "hash_count_wrong"))
    yield bad("a hash before the range was changed", with_header(Export(TRAIL, 4), before=[b64(sha256(b"x"))]), root_wrong, remarks=["part_of_log"])
    yield bad("a hash after the range was changed", with_header(Export(TRAIL, 0, 10, erased={3: ERASURE}), after=[b64(sha256(b"x"))]), root_wrong, remarks=["part_of_log"])
    yield bad("a withheld hash was changed", edited_hash(whole(withheld=(0,))), root_wrong, remarks=["withheld"])
    yield bad("withheld leaves were left out", counted(without(whole(withheld=(0, 1)), 0), leaves=-2, withheld=-2), (None, "leaves_missing"))
    yield bad("the header names another log", with_header(whole(), origin="watchbell.example/org_2"), (1, "origin_mismatch"))
    yield bad("a changed checkpoint, and the key is the file's own word", with_header(whole(), checkpoint=whole().header["checkpoint"].replace("\n11\n", "\n12\n"), after=[b64(sha256(b"x"))]), (1, "signature_mismatch"), (1, "signature_mismatch"), root_wrong, remarks=["key_from_file", "part_of_log"], keys=())
    # The record is not the one that the leaf names, though the log committed to it.
    other_id = record_id(EVENT, 80, START_MS)[0]
    first = TRAIL[0]
    for name, code, old, new in [
        ("the event has another id than its leaf", "record_mismatch", first.text_id, other_id),
        ("the event has the id of an attempt", "record_mismatch", first.text_id, first.text_id.replace("evt_", "att_")),
        ("the event occurred at another time than its leaf", "record_mismatch", '"occurred_at":"2026', '"occurred_at":"2025'),
        ("the event was received at another time than its leaf", "record_mismatch", '"received_at":"2026', '"received_at":"2025'),
        ("the event's time is none", "record_mismatch", '"occurred_at":"2026-11', '"occurred_at":"2026-13'),
        ("the event has no id", "record_malformed", '"id"', '"name"'),
        ("the event has no time", "record_malformed", '"occurred_at"', '"happened_at"'),
        ("the event's id is a number", "record_malformed", f'"{first.text_id}"', "7"),
        ("the event has two ids", "record_malformed", '"source":"key_1"', f'"id":"{other_id}"'),
        ("the event's id has half a character", "record_malformed", first.text_id, first.text_id + "\\ud800"),
        ("the name of a member has half a character", "record_malformed", '"source"', '"s\\udc00"'),
        ("the event is a list", "record_malformed", first.stored, f"[{first.stored}]"),
        ("the event is not JSON", "record_malformed", first.stored, first.stored[:-1]),
        ("the event has NaN", "record_malformed", '"key_1"', "NaN"),
        ("something follows the event", "record_malformed", first.stored, first.stored + "x"),
    ]:
        assert old in first.stored, old
        yield bad(name, Export([first.changed(stored=first.stored.replace(old, new, 1))]), (2, code))
    sent = TRAIL[2]
    yield bad("the attempt started at another time than its leaf", Export([sent.changed(stored=sent.stored.replace('"started_at":"2026', '"started_at":"2025'))]), (2, "record_mismatch"))
    yield bad("the attempt ended at another time than its leaf", Export([sent.changed(stored=sent.stored.replace('"finished_at":"2026', '"finished_at":"2025'))]), (2, "record_mismatch"))
    yield bad("an event is shown as an attempt", edited(small(), 0, '"event":', '"attempt":'), (2, "kind_mismatch"), (4, "counts_wrong"))
    yield bad("several things are wrong", swapped(edited(edited(whole(), 0, "files.read", "files.list"), 5, "503", "200"), 8, 9), (2, "commitment_mismatch"), (7, "commitment_mismatch"), root_wrong)
    # Lines that are none.
    line = small().body[0]
    for name, wrong in [
        ("an empty line", ""),
        ("a space at the end", line + " "),
        ("a space between members", line.replace(",", ", ", 1)),
        ("a carriage return", line + "\r"),
        ("members in another order", dumped(dict(reversed(list(json.loads(line).items()))))),
        ("a member that is not known", line[:-1] + ',"more":1}'),
        ("a member twice", line.replace('{"leaf"', f'{{"leaf":"{b64(bytes(66))}","leaf"', 1)),
        ("a slash that is escaped", line.replace("key_1", "key\\/1")),
        ("a letter that is escaped", line.replace("key_1", "\\u006bey_1")),
        ("half a character", line.replace("key_1", "\\ud800")),
        ("a control character in another spelling", line.replace("key_1", "\\u000a")),
        ("capital digits in an escape", line.replace("key_1", "\\u001F")),
        ("a leaf that is too short", line.replace(b64(TRAIL[0].leaf), b64(TRAIL[0].leaf[:65]))),
        ("base64 whose unused bits are not zero", line.replace(b64(TRAIL[0].salt), unused_bits_set(TRAIL[0].salt))),
        ("a salt that is too long", line.replace(b64(TRAIL[0].salt), b64(TRAIL[0].salt + b"1"))),
        ("base64 for addresses", line.replace(b64(TRAIL[0].leaf), base64.urlsafe_b64encode(b"\xff" * 66).decode())),
        ("no hashes", '{"hashes":""}'),
        ("half a hash", dumped({"hashes": b64(bytes(48))})),
        ("too many hashes", dumped({"hashes": b64(bytes(32 * 1025))})),
        ("erased by what is no event", dumped({"leaf": b64(TRAIL[0].leaf), "erased": TRAIL[2].text_id})),
        ("missing, and not", dumped({"leaf": b64(TRAIL[0].leaf), "missing": False})),
        ("gone, and not", dumped({"leaf": b64(TRAIL[0].leaf), "gone": False})),
        ("an end with a number that is none", small().end().replace("2", "2.0", 1)),
        ("an end with a leading zero", small().end().replace("2", "02", 1)),
        ("an end with a negative number", small().end().replace("2", "-2", 1)),
        ("a member that has the names of two", line.replace('","salt":"', '","salt,event":"', 1).split(',"event":')[0] + "}"),
        ("an end whose member has the names of two", dumped({"end": {"leaves,events": 0, **dict.fromkeys(("attempts", "erased", "gone", "withheld"), 0)}})),
        ("another header", dumped(small().header)),
        ("not an object", "[]"),
        ("null", "null"),
    ]:
        yield bad(f"a line that is none: {name}", replaced_line(small(), 0, wrong), (2, "line_malformed"))
    nothing = json.loads(policy(""))["policy"]["digest"]
    joined = dumped({"policy": {"digest": nothing, "text,schema": "x"}})
    yield bad("a policy whose member has the names of two", inserted(small(), 1, joined), (3, "line_malformed"))
    yield bad("a line follows the end", [*small().lines(), POLICIES[0]], (5, "after_end"))
    yield bad("an empty line follows the end", [*small().lines(), ""], (5, "after_end"))
    yield bad("something without a newline follows the end", small().lines(), (5, "after_end"), unfinished=" ")
    yield bad("two files in one", [*small().lines(), *small().lines()], (5, "after_end"))


def replaced_line(export, at, line):
    export.body[at] = line
    return export


def salted(record):
    return record.line().replace(b64(record.salt), b64(bytes(16)))


def unused_bits_set(data):
    """Base64 that many decoders take for the same bytes."""
    text = b64(data)
    assert text.endswith("==")
    digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
    return text[:-3] + digits[digits.index(text[-3]) + 1] + "=="


def edited_hash(export):
    export.body[0] = dumped({"hashes": b64(bytes(32))})
    return export


def impostor(records):
    """Another key's signature where the log's should be."""
    text = checkpoint(tree(records))
    signature = log.ed25519.sign(STRANGER.seed, text.encode())
    note = text + "\n" + log.line(LOG.name, LOG.id + signature) + WITNESS.cosign(text, NOW)
    return Export(records, checkpoint=note)


def cosigned_other():
    text = checkpoint(tree(TRAIL))
    return whole(checkpoint=text + "\n" + LOG.sign(text) + WITNESS.cosign(checkpoint(tree(TRAIL[:9])), NOW))


def cannot_be_checked():
    def odd(name, export, *findings, **given):
        return case(name, "cannot_be_checked", export, findings, given.pop("remarks", ()), **given)

    good = small().lines()
    header = small().header
    yield odd("no file", [], (1, "not_an_export"))
    yield odd("an empty line", [""], (1, "not_an_export"))
    yield odd("another export", [TRAIL[0].stored], (1, "not_an_export"))
    yield odd("no header", good[1:], (1, "not_an_export"))
    yield odd("a header that does not end", [], (1, "not_an_export"), unfinished=good[0])
    yield odd("a byte order mark", ["\ufeff" + good[0], *good[1:]], (1, "not_an_export"))
    yield odd("a newer version", with_header(small(), format="watchbell-trail/v2"), (1, "version_unknown"))
    yield odd("a newer version that looks alike", with_header(small(), format="watchbell-trail/v10"), (1, "version_unknown"))
    for name, wrong in [
        ("a member is missing", {key: value for key, value in header.items() if key != "filter"}),
        ("a member that is not known", {**header, "more": 1}),
        ("the filter is an object", {**header, "filter": {}}),
        ("the first leaf is negative", {**header, "first": -1}),
        ("the end is not a whole number", {**header, "end": 2.5}),
        ("the end is 2^53", {**header, "end": 2**53}),
        ("a hash is not base64", {**header, "before": ["?"]}),
        ("a hash has 31 bytes", {**header, "before": [b64(bytes(31))]}),
        ("65 hashes", {**header, "after": [b64(bytes(32))] * 65}),
        ("17 keys", {**header, "keys": [LOG.vkey] * 17}),
    ]:
        yield odd(f"the header cannot be read: {name}", [dumped(wrong), *good[1:]], (1, "header_malformed"))
    yield odd("the header cannot be read: a space", [good[0].replace(",", ", ", 1), *good[1:]], (1, "header_malformed"))
    yield odd("the checkpoint is no note", with_header(small(), checkpoint="hello\n"), (1, "note_malformed"))
    yield odd("the checkpoint has no root", with_header(small(), checkpoint=f"{ORIGIN}\n2\n\n" + LOG.sign(f"{ORIGIN}\n2\n")), (1, "checkpoint_malformed"))
    yield odd("a key in the header cannot be read", with_header(small(), keys=["key"]), (1, "key_malformed"))
    yield odd("no key at all", with_header(small(), keys=[]), (1, "key_unsupported"), keys=(), remarks=["key_from_file"])
    yield odd("only keys of a type that is not known", with_header(small(), keys=[unknown_key()]), (1, "key_unsupported"), keys=(), remarks=["key_from_file"])
    yield odd("the key of a witness is given for the log's", small(), (1, "key_unsupported"), keys=(WITNESS,))
    newer = TRAIL[0].leaf[1:]
    yield odd("a leaf of a newer version", replaced_line(small(), 0, TRAIL[0].line().replace(b64(TRAIL[0].leaf), b64(b"\x02" + newer))), (2, "leaf_unsupported"))
    yield odd("a leaf of a kind that is not known", replaced_line(small(), 0, TRAIL[0].line().replace(b64(TRAIL[0].leaf), b64(b"\x01\x03" + newer[1:]))), (2, "leaf_unsupported"))
    yield odd("the checkpoint that was kept is before the range", Export(TRAIL, 5), (1, "since_outside"), remarks=["part_of_log"], since=kept(4))
    yield odd("the checkpoint that was kept is after the range", Export(TRAIL, 0, 5, erased={3: ERASURE}), (1, "since_outside"), remarks=["part_of_log", "erasures_unchecked"], since=kept(7))


FILES = {"proven": proven, "not_proven": not_proven, "cannot_be_checked": cannot_be_checked}


if __name__ == "__main__":
    sys.exit(log.main(FOLDER, FILES))
