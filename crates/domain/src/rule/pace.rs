//! What becomes of a match: an alert, one more towards a threshold, or kept back.
