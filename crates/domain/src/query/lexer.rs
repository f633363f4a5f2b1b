//! Takes a query's text apart: blanks, signs, words and what is in quotes.

use super::error::{Error, Span};

/// Where reading has got.
pub(super) struct Lexer<'t> {
    text: &'t str,
    at: usize,
}

/// Whether a word ends before this letter.
pub(super) fn ends_word(letter: char) -> bool {
    letter.is_whitespace() || matches!(letter, '"' | '(' | ')' | ',')
}

impl<'t> Lexer<'t> {
    pub(super) fn new(text: &'t str) -> Self {
        Self { text, at: 0 }
    }

    pub(super) fn at(&self) -> usize {
        self.at
    }

    pub(super) fn since(&self, start: usize) -> Span {
        Span::new(start, self.at)
    }

    pub(super) fn read_since(&self, start: usize) -> &'t str {
        &self.text[start..self.at]
    }

    pub(super) fn peek(&self) -> Option<char> {
        self.text[self.at..].chars().next()
    }

    /// Whether a term or a value could begin here: there is something, and it is not a blank.
    pub(super) fn is_at_blank_or_end(&self) -> bool {
        self.peek().is_none_or(char::is_whitespace)
    }

    /// The letter that is next, as a part of the text.
    pub(super) fn next_letter(&self) -> Span {
        let bytes = self.peek().map_or(0, char::len_utf8);
        Span::new(self.at, self.at + bytes)
    }

    /// Goes behind this letter if it is next.
    pub(super) fn eat(&mut self, letter: char) -> bool {
        let is_next = self.peek() == Some(letter);
        if is_next {
            self.at += letter.len_utf8();
        }
        is_next
    }

    pub(super) fn skip_blanks(&mut self) {
        self.take_until(|letter| !letter.is_whitespace());
    }

    /// The letters up to one that ends a word, or to a colon; maybe none.
    pub(super) fn name(&mut self) -> &'t str {
        self.take_until(|letter| letter == ':' || ends_word(letter))
    }

    /// The letters up to one that ends a word; maybe none. Times and many ids have colons.
    pub(super) fn word(&mut self) -> &'t str {
        self.take_until(ends_word)
    }

    /// What is in quotes, which begin here. `\"` and `\\` stand for the second letter; any other `\` for
    /// itself.
    pub(super) fn quoted(&mut self) -> Result<String, Error> {
        let start = self.at;
        let mut inside = String::new();
        let mut letters = self.text[start..].char_indices().skip(1).peekable();
        while let Some((place, letter)) = letters.next() {
            match letter {
                '"' => {
                    self.at = start + place + 1;
                    return Ok(inside);
                }
                '\\' => {
                    let escaped = letters.next_if(|(_, next)| matches!(next, '"' | '\\'));
                    inside.push(escaped.map_or('\\', |(_, letter)| letter));
                }
                letter => inside.push(letter),
            }
        }
        let detail = "This quote is not closed; write another `\"` at the end of the text.";
        Err(Error::new(Span::new(start, start + 1), detail))
    }

    fn take_until(&mut self, ends: impl Fn(char) -> bool) -> &'t str {
        let rest = &self.text[self.at..];
        let taken = &rest[..rest.find(ends).unwrap_or(rest.len())];
        self.at += taken.len();
        taken
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_keep_everything_but_their_escapes() {
        let quoted = |text| Lexer::new(text).quoted();
        for (text, inside) in [
            (r#""a b" c"#, "a b"),
            (r#""""#, ""),
            (r#""say \"hi\"""#, r#"say "hi""#),
            (r#""C:\temp\\""#, r"C:\temp\"),
            ("\"é(,:*\"", "é(,:*"),
        ] {
            assert_eq!(quoted(text).as_deref(), Ok(inside), "{text}");
        }
        for text in ["\"", r#""a\""#] {
            let error = quoted(text).expect_err("not closed");
            assert_eq!(error.span, Span::new(0, 1), "{text}");
        }
    }

    #[test]
    fn names_end_at_a_colon_and_words_do_not() {
        let mut lexer = Lexer::new("resource:invoice:7,x");
        assert_eq!(lexer.name(), "resource");
        assert!(lexer.eat(':'));
        assert_eq!(lexer.word(), "invoice:7");
        assert_eq!(lexer.next_letter(), Span::new(18, 19));
    }
}
