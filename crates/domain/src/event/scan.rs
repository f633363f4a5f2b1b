//! Reads ordinary events in one pass, which finds their fields and looks at all of `metadata`: a parser that knows
//! nothing of events looks three times at what comes in.
//!
//! Whatever is out of the ordinary (an unknown or repeated field, an escape in a name, a number with an exponent, any
//! mistake) is left to that parser ([`super::view`], [`super::metadata`]), which then says what is wrong, if anything is.
//! So this takes nothing that the parser would refuse, and need not say why it does not take something.

use super::{
    METADATA_BYTES_MAX,
    view::{EventView, Raw},
};

/// How deep `metadata` may be nested here: half of what [`super::metadata`] allows.
const DEPTH_MAX: usize = 32;
/// The longest number: with so many digits and no exponent it is far from being out of range.
const NUMBER_BYTES_MAX: usize = 64;
/// More keys than fit into `metadata`, if each has a name, a colon, a value and a comma: `"":1,`.
const KEYS_MAX: usize = METADATA_BYTES_MAX / 5;
/// An object of more keys than this has them sorted before they are compared.
const KEYS_COMPARED_MAX: usize = 16;
/// What may stand between the parts of JSON.
const BLANKS: [u8; 4] = *b" \n\r\t";

/// Reads a text from its beginning to its end. What returns `None` stands anywhere behind where it was.
pub(crate) struct Scan<'a> {
    text: &'a str,
    at: usize,
    /// The keys of the objects in `metadata` that are open, the innermost last.
    keys: Vec<&'a str>,
}

impl<'a> Scan<'a> {
    pub(crate) fn new(text: &'a str) -> Self {
        Self {
            text,
            at: 0,
            keys: Vec::new(),
        }
    }

    /// What is left of the text.
    pub(crate) fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    /// Goes on behind so many bytes of what was [`rest`](Self::rest) before.
    pub(crate) fn go_on_behind(&mut self, rest: &str, bytes: usize) {
        self.at = self.text.len() - rest.len() + bytes;
    }

    /// Whether the next byte, behind blanks, is this one: then it is read.
    pub(crate) fn take(&mut self, byte: u8) -> Option<()> {
        (self.next()? == byte).then_some(())
    }

    /// The end of the text.
    pub(crate) fn end(&mut self) -> Option<()> {
        let is_blank = |byte: &u8| BLANKS.contains(byte);
        let rest = &self.text.as_bytes()[self.at..];
        rest.iter().all(is_blank).then_some(())
    }

    /// A name and the colon behind it.
    pub(crate) fn name(&mut self) -> Option<&'a str> {
        self.take(b'"')?;
        let start = self.at;
        let has_escapes = self.finish_string()?;
        let name = &self.text[start..self.at - 1];
        self.take(b':')?;
        (!has_escapes).then_some(name)
    }

    /// An event, and the text that it is.
    pub(crate) fn event(&mut self) -> Option<(&'a str, EventView<'a>)> {
        self.take(b'{')?;
        let start = self.at - 1;
        // Of an event before, if it was left to the parser.
        self.keys.clear();
        let mut view = EventView::default();
        loop {
            let name = self.name()?;
            let value = if name == "metadata" {
                view.has_sound_metadata = true;
                self.metadata()?
            } else {
                self.scalar()?
            };
            let slot = view.slot(name)?;
            if slot.replace(value).is_some() {
                return None;
            }
            if self.is_last(b'}')? {
                return Some((&self.text[start..self.at], view));
            }
        }
    }

    fn scalar(&mut self) -> Option<Raw<'a>> {
        let first = self.next()?;
        let start = self.at - 1;
        match first {
            b'"' => self.finish_string().map(drop),
            _ => self.finish_number(first),
        }?;
        Some(Raw::new(&self.text[start..self.at]))
    }

    fn metadata(&mut self) -> Option<Raw<'a>> {
        self.take(b'{')?;
        let start = self.at - 1;
        self.finish_object(1)?;
        Some(Raw::new(&self.text[start..self.at]))
    }

    /// Any value inside `metadata`, in so many objects and lists.
    fn value(&mut self, depth: usize) -> Option<()> {
        match self.next()? {
            b'"' => self.finish_string().map(drop),
            b'{' if depth < DEPTH_MAX => self.finish_object(depth + 1),
            b'[' if depth < DEPTH_MAX => self.finish_list(depth + 1),
            b't' => self.finish_word("true"),
            b'f' => self.finish_word("false"),
            b'n' => self.finish_word("null"),
            first => self.finish_number(first),
        }
    }

    fn finish_object(&mut self, depth: usize) -> Option<()> {
        if self.is_empty(b'}') {
            return Some(());
        }
        let first = self.keys.len();
        loop {
            let name = self.name()?;
            (self.keys.len() < KEYS_MAX).then(|| self.keys.push(name))?;
            self.value(depth)?;
            if self.is_last(b'}')? {
                break;
            }
        }
        let are_different = are_different(&mut self.keys[first..]);
        self.keys.truncate(first);
        are_different.then_some(())
    }

    fn finish_list(&mut self, depth: usize) -> Option<()> {
        if self.is_empty(b']') {
            return Some(());
        }
        loop {
            self.value(depth)?;
            if self.is_last(b']')? {
                return Some(());
            }
        }
    }

    /// Whether what has begun ends at once.
    fn is_empty(&mut self, end: u8) -> bool {
        let start = self.at;
        let is_empty = self.take(end).is_some();
        if !is_empty {
            self.at = start;
        }
        is_empty
    }

    /// Whether what was read is followed by `end`, and not by more of its kind.
    pub(crate) fn is_last(&mut self, end: u8) -> Option<bool> {
        let next = self.next()?;
        (next == end || next == b',').then_some(next == end)
    }

    /// A word whose first letter was read.
    fn finish_word(&mut self, word: &str) -> Option<()> {
        let rest = &word[1..];
        self.rest().starts_with(rest).then(|| self.at += rest.len())
    }

    fn finish_number(&mut self, mut first: u8) -> Option<()> {
        let start = self.at;
        if first == b'-' {
            first = self.peek()?;
            self.at += 1;
        }
        match first {
            b'0' => {}
            b'1'..=b'9' => self.skip_digits(),
            _ => return None,
        }
        if self.peek() == Some(b'.') {
            self.at += 1;
            self.peek()?.is_ascii_digit().then_some(())?;
            self.skip_digits();
        }
        let has_exponent = matches!(self.peek(), Some(b'e' | b'E'));
        (!has_exponent && self.at - start < NUMBER_BYTES_MAX).then_some(())
    }

    fn skip_digits(&mut self) {
        while self.peek().is_some_and(|byte| byte.is_ascii_digit()) {
            self.at += 1;
        }
    }

    /// The rest of a string, with its quote; whether it has escapes.
    fn finish_string(&mut self) -> Option<bool> {
        let mut has_escapes = false;
        loop {
            self.skip_plain();
            let special = self.peek()?;
            self.at += 1;
            match special {
                b'"' => return Some(has_escapes),
                b'\\' => self.finish_escape()?,
                _ => return None,
            }
            has_escapes = true;
        }
    }

    /// Goes to the next byte that may not stand in a string as it is: a quote, a backslash, a control character. Eight
    /// bytes at a time, because most of an event are strings.
    fn skip_plain(&mut self) {
        const ONES: u64 = u64::MAX / 255;
        const QUOTES: u64 = ONES * b'"' as u64;
        const BACKSLASHES: u64 = ONES * b'\\' as u64;
        let (words, _) = self.text.as_bytes()[self.at..].as_chunks();
        for word in words {
            let word = u64::from_le_bytes(*word);
            // What is subtracted borrows the highest bit of a byte that is less: of the first such, and of some behind it.
            // In a part of a letter beyond ASCII that bit is set before.
            let less = word.wrapping_sub(ONES * u64::from(b' '))
                | (word ^ QUOTES).wrapping_sub(ONES)
                | (word ^ BACKSLASHES).wrapping_sub(ONES);
            let special = less & !word & (ONES << 7);
            if special != 0 {
                self.at += special.trailing_zeros() as usize / 8;
                return;
            }
            self.at += 8;
        }
        while let Some(b' '..=b'!' | b'#'..=b'[' | b']'..) = self.peek() {
            self.at += 1;
        }
    }

    fn finish_escape(&mut self) -> Option<()> {
        let kind = self.peek()?;
        self.at += 1;
        match kind {
            b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => Some(()),
            b'u' => match self.code_unit()? {
                // The first half of a character, and the other one.
                0xd800..0xdc00 => {
                    self.rest().strip_prefix("\\u")?;
                    self.at += 2;
                    (0xdc00..0xe000).contains(&self.code_unit()?).then_some(())
                }
                0xdc00..0xe000 => None,
                _ => Some(()),
            },
            _ => None,
        }
    }

    /// Four hexadecimal digits.
    fn code_unit(&mut self) -> Option<u32> {
        let digits = self.text.as_bytes().get(self.at..self.at + 4)?;
        self.at += 4;
        digits.iter().try_fold(0, |unit, digit| {
            Some(unit * 16 + char::from(*digit).to_digit(16)?)
        })
    }

    /// Reads the next byte that is not blank.
    fn next(&mut self) -> Option<u8> {
        loop {
            let byte = self.peek()?;
            self.at += 1;
            if !BLANKS.contains(&byte) {
                return Some(byte);
            }
        }
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }
}

fn are_different(keys: &mut [&str]) -> bool {
    if keys.len() > KEYS_COMPARED_MAX {
        keys.sort_unstable();
        return keys.array_windows().all(|[one, next]| one != next);
    }
    (1..keys.len()).all(|place| !keys[..place].contains(&keys[place]))
}

#[cfg(test)]
mod tests;
