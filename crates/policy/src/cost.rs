//! What a policy may cost a question, told from its text: a bound that is known when the policy is saved.
//!
//! Most of Cedar takes as long as the policy is, whatever is asked. Some of it takes longer the longer the question
//! is: `like`, which compares in as many steps as pattern and text have characters, multiplied; comparisons of two
//! values that both come from the question; and functions that read a text of it (`ip`, `decimal`). The cost of a
//! policy is how many steps it may take for each byte of a question.

use crate::bounds::{end_of_line, end_of_string, end_of_word, is_word};

/// What the policies may cost together that one question can meet. A question has 11 KiB at the most.
pub const COST_MAX: usize = 1_500;

/// A comparison or a call that may have to look at all of the question: about as much as so many bytes of a pattern.
const LOOK: usize = 4;

/// Words before a bracket that are no functions that read a text.
const NOT_READING: [&str; 8] = [
    "permit", "forbid", "if", "then", "else", "isEmpty", "hasTag", "getTag",
];
/// Operators written as methods, whose argument stands in the bracket that follows.
const METHODS: [&str; 3] = ["contains", "containsAll", "containsAny"];

/// What a policy costs, and at most that much.
pub(crate) fn of(policy: &str) -> usize {
    let tokens: Vec<Token<'_>> = Tokens::new(policy).collect();
    let token = |at: usize| tokens.get(at).copied();
    let mut cost = 0;
    for (at, one) in tokens.iter().copied().enumerate() {
        let next = token(at + 1);
        cost += match one {
            Token::Word("like") => match next {
                // Without its quotation marks.
                Some(Token::Text(pattern)) => pattern.len().saturating_sub(2),
                _ => 0,
            },
            Token::Mark("==" | "!=") | Token::Word("in") => {
                let is_before = at
                    .checked_sub(1)
                    .and_then(token)
                    .is_some_and(Token::is_value);
                look_unless(is_before || is_literal(&tokens[at + 1..]))
            }
            Token::Word(word) if METHODS.contains(&word) => look_unless(
                is_set_before(&tokens[..at])
                    || is_literal(tokens.get(at + 2..).unwrap_or_default()),
            ),
            Token::Word(word) if next == Some(Token::Mark("(")) && !NOT_READING.contains(&word) => {
                look_unless(token(at + 2).is_some_and(Token::is_value))
            }
            _ => 0,
        };
    }
    cost
}

fn look_unless(is_bounded: bool) -> usize {
    if is_bounded { 0 } else { LOOK }
}

/// Whether a value begins here that is written in the policy: a text, a number, an entity, or a set of such.
fn is_literal(tokens: &[Token<'_>]) -> bool {
    match tokens {
        [
            Token::Text(_) | Token::Number | Token::Word("true" | "false"),
            ..,
        ]
        | [Token::Mark("-"), Token::Number, ..]
        | [Token::Word(_), Token::Mark("::"), ..] => true,
        [Token::Mark("["), rest @ ..] => {
            let end = rest.iter().position(|token| *token == Token::Mark("]"));
            let items = &rest[..end.unwrap_or(rest.len())];
            items
                .split(|token| *token == Token::Mark(","))
                .all(|item| item.is_empty() || is_literal(item) && item[0] != Token::Mark("["))
        }
        _ => false,
    }
}

/// Whether a method is called on a set that is written in the policy: `["a", "b"].contains`.
fn is_set_before(tokens: &[Token<'_>]) -> bool {
    let [set @ .., Token::Mark("]"), Token::Mark(".")] = tokens else {
        return false;
    };
    let Some(open) = set.iter().rposition(|token| *token == Token::Mark("[")) else {
        return false;
    };
    // `context["a"]` is no set.
    let is_index = matches!(
        set[..open].last(),
        Some(Token::Word(_) | Token::Mark(")" | "]"))
    );
    !is_index && is_literal(&tokens[open..])
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Token<'a> {
    /// With its quotation marks.
    Text(&'a str),
    Number,
    Word(&'a str),
    /// Any other character, or two that belong together.
    Mark(&'a str),
}

impl Token<'_> {
    fn is_value(self) -> bool {
        matches!(self, Self::Text(_) | Self::Number)
    }
}

/// The tokens of a text that Cedar could read.
struct Tokens<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Tokens<'a> {
    fn new(text: &'a str) -> Self {
        Self { text, at: 0 }
    }
}

impl<'a> Iterator for Tokens<'a> {
    type Item = Token<'a>;

    fn next(&mut self) -> Option<Token<'a>> {
        let bytes = self.text.as_bytes();
        loop {
            let (start, byte) = (self.at, *bytes.get(self.at)?);
            let then = bytes.get(start + 1).copied();
            if byte.is_ascii_whitespace() {
                self.at += 1;
                continue;
            }
            if byte == b'/' && then == Some(b'/') {
                self.at = end_of_line(bytes, start);
                continue;
            }
            self.at = match (byte, then) {
                (b'"', _) => end_of_string(bytes, start + 1),
                (b'=' | b'!' | b'<' | b'>', Some(b'='))
                | (b':', Some(b':'))
                | (b'&', Some(b'&'))
                | (b'|', Some(b'|')) => start + 2,
                _ if is_word(byte) => end_of_word(bytes, start),
                // Outside of texts Cedar knows ASCII only; anything else is one mark.
                _ => start + self.text[start..].chars().next().map_or(1, char::len_utf8),
            }
            .min(bytes.len());
            let token = &self.text[start..self.at];
            return Some(match byte {
                b'"' => Token::Text(token),
                b'0'..=b'9' => Token::Number,
                _ if is_word(byte) => Token::Word(token),
                _ => Token::Mark(token),
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cost_of(condition: &str) -> usize {
        of(&format!(
            "@id(\"x\") @reason(\"a like \\\"b\\\"\") permit (principal == Agent::\"a\", action in [Action::\"b\"], \
             resource) when {{ {condition} }}; // like \"comment\""
        ))
    }

    #[test]
    fn what_looks_at_values_of_the_policy_costs_nothing() {
        for condition in [
            "context.amount > 5",
            "context.a == \"text\" && context.b == -5 && context.c == true",
            "[\"a\", \"b\"].contains(context.tool) == false",
            "context.a && [1, 2].containsAll(context.b)",
            "context.tools.containsAny([\"a\", Action::\"b\", 5])",
            "resource == File::\"/etc/passwd\" || resource in Folder::\"x\"",
            "ip(\"10.0.0.0/8\").isEmpty()",
            "context has name",
        ] {
            assert_eq!(cost_of(condition), 0, "{condition}");
        }
    }

    #[test]
    fn a_pattern_costs_its_bytes() {
        assert_eq!(cost_of("context.command like \"*rm -rf*\""), 8);
        assert_eq!(
            cost_of("context.a like \"*é\" || context.b like \"*\\\"*\""),
            3 + 4
        );
    }

    #[test]
    fn what_may_look_at_all_of_the_question_costs_more() {
        for condition in [
            "context.a == context.b",
            "context.a != principal.b",
            "context.a.containsAll(context.b)",
            "[context.a] == [context.b]",
            "context.a == [context.b]",
            "context.a == [[1], 2]",
            "context[\"a\"].contains(context.b)",
            "[context.a].contains(context.b)",
            "decimal(context.price).lessThan(decimal(\"1.0\"))",
        ] {
            assert!(cost_of(condition) >= LOOK, "{condition}");
        }
    }

    #[test]
    fn no_text_is_too_odd() {
        for text in [
            "",
            "\"",
            "é==",
            "like",
            "in",
            "contains",
            "contains(",
            "==[",
            "\"\\",
            "//",
            "a::",
        ] {
            of(text);
        }
    }
}
