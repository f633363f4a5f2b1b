// What every code is about, in sentences for the person who checks a file. The codes are the same in every language.

export const NOT_TO_BE_CHECKED: Record<string, string> = {
  not_an_export: "this is not an export that proves itself: it does not start with the header of one",
  version_unknown: "the export has a newer format than this version knows; a newer one can check it",
  header_malformed: "the header cannot be read",
  note_malformed: "the checkpoint in the header cannot be used",
  checkpoint_malformed: "the checkpoint in the header cannot be used",
  key_malformed: "a key in the header cannot be used",
  key_unsupported: "there is no key that could have signed a checkpoint: it takes an Ed25519 key of the log",
  leaf_unsupported: "the leaf has a version or a kind that this version does not know; a newer one may",
  unreadable: "the file cannot be read further",
  since_outside:
    "the file does not have the leaves that lead to the earlier checkpoint; check one that has them",
};

export const NOT_PROVEN: Record<string, string> = {
  origin_mismatch: "the header and the checkpoint name different logs",
  not_signed: "the checkpoint is not signed by the log",
  signature_mismatch: "a signature of the checkpoint does not count",
  timestamp_out_of_range: "a witness's word does not count",
  range_outside_tree: "the header's range does not fit its checkpoint",
  hash_count_wrong: "the header's range does not fit its checkpoint",
  witness_missing: "a witness did not cosign the checkpoint",
  since_origin_mismatch: "the earlier checkpoint is of another log",
  since_not_signed: "the earlier checkpoint is not signed by the log",
  rolled_back: "the log was rolled back: it has fewer leaves than at the earlier checkpoint",
  inconsistent: "the log was replaced or rewritten: it does not begin as it did at the earlier checkpoint",
  line_malformed: "the line is not one that an export has",
  line_too_long: "the line is longer than 4 MiB",
  kind_mismatch: "the leaf is of another kind than what the line shows",
  commitment_mismatch: "what is shown is not what the log committed to: it was changed, or its salt was",
  record_malformed: "what is shown is not a JSON object with the members that such a record has",
  record_mismatch: "what is shown is not what the leaf says",
  record_missing:
    "the record is in the log, and the server has lost it: somebody other than the server deleted it",
  leaf_twice: "the record is there a second time",
  leaves_surplus: "there are more leaves than the header announces",
  policy_mismatch: "the policies are not those that their digest names: a text was changed",
  cut_off: "the file was cut off: its last line is missing",
  after_end: "something follows the last line",
  counts_wrong: "the numbers in the last line are not those of the file",
  leaves_missing: "there are fewer leaves than the header announces",
  root_mismatch: "the leaves do not make the checkpoint's root: one was changed, moved, added or left out",
  erasure_unfounded: "it is said to be erased by an event that says nothing of it",
  erasure_missing: "it is said to be erased by an event that is not in the log",
};

export const REMARKS: Record<string, string> = {
  key_from_file: "the key is the file's own word: compare it with what the log's owner told you elsewhere",
  no_witness: "no witness was asked for: whoever has the log's key could show others another log",
  part_of_log: "the file has a part of the log's leaves",
  withheld: "leaves are withheld: they are in the log, and the file does not say what they are",
  gone: "records are said to be past their retention",
  erasures_unchecked: "erasures could not be checked: the events that say so are not shown in the file",
};
