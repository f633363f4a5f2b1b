//! What a policy may cost a question, told from its text: a bound that is known when the policy is saved.
//!
//! Most of Cedar takes as long as the policy is, whatever is asked. Some of it takes longer the longer the question
//! is: `like`, which compares in as many steps as pattern and text have characters, multiplied; comparisons of two
//! values that both come from the question; sets that are made of its values, or asked for one; and functions that read
//! a text of it (`ip`, `decimal`). The cost of a policy is how many steps it may take for each byte of a question.
//!
//! It is told from the text and not from what Cedar read, because Cedar shows that by recursion, which a deep policy
//! takes beyond the stack.

use crate::text_limits::{end_of_line, end_of_string, end_of_word, is_word};

/// What the policies may cost together that one question can meet. A question has 11 KiB at the most, and what
/// policies see of its payload (`payload.rs`) and of its commands (`command.rs`) 4 KiB each.
pub const COST_MAX: usize = 1_500;

/// What may have to look at all of the question: about as much as so many bytes of a pattern.
const LOOK: usize = 4;

/// Words before a bracket that call nothing that reads a text.
const NOT_CALLS: [&str; 9] = [
    "permit", "forbid", "if", "then", "else", "in", "when", "unless", "isEmpty",
];
/// Words after which a square bracket begins a set; after any other it is an index.
const BEFORE_SETS: [&str; 6] = ["in", "if", "then", "else", "like", "has"];

/// What a policy costs, and at most that much.
pub(crate) fn of(policy: &str) -> usize {
    let tokens: Vec<Token<'_>> = Tokens::new(policy).collect();
    (0..tokens.len()).map(|at| cost(&tokens, at)).sum()
}

/// What the token at this place brings in.
fn cost(tokens: &[Token<'_>], at: usize) -> usize {
    let before = at.checked_sub(1).map(|before| tokens[before]);
    let next = tokens.get(at + 1).copied();
    match tokens[at] {
        Token::Word("like") => match next {
            // Without its quotation marks.
            Some(Token::Text(pattern)) => pattern.len().saturating_sub(2),
            _ => 0,
        },
        // The shorter of two decides how long they are compared.
        Token::Mark("==" | "!=") | Token::Word("in") => {
            let is_bounded = before.is_some_and(Token::is_value) || is_literal(tokens, at + 1);
            if is_bounded { 0 } else { LOOK }
        }
        Token::Word("contains" | "containsAll" | "containsAny" | "hasTag" | "getTag") => LOOK,
        Token::Word(word) if next == Some(Token::Mark("(")) && !NOT_CALLS.contains(&word) => {
            let is_bounded = match (tokens.get(at + 2), tokens.get(at + 3)) {
                (Some(Token::Mark(")")), _) => true,
                (Some(argument), Some(Token::Mark(")"))) => argument.is_value(),
                _ => false,
            };
            if is_bounded { 0 } else { LOOK }
        }
        // Its items are sorted, and a value of the question may be as long as it is.
        Token::Mark("[") if !is_index(before) => LOOK * items_of_the_question(&tokens[at + 1..]),
        _ => 0,
    }
}

fn is_index(before: Option<Token<'_>>) -> bool {
    match before {
        Some(Token::Word(word)) => !BEFORE_SETS.contains(&word),
        Some(Token::Mark(mark)) => matches!(mark, ")" | "]"),
        Some(Token::Text(_)) => true,
        Some(Token::Number) | None => false,
    }
}

/// How many items of a set are not written in the policy. Begins behind its bracket.
fn items_of_the_question(tokens: &[Token<'_>]) -> usize {
    let (mut depth, mut begun, mut count) = (0_usize, 0, 0);
    for (at, token) in tokens.iter().enumerate() {
        let is_end = depth == 0 && matches!(token, Token::Mark("," | "]"));
        if is_end && begun < at {
            let end = end_of_literal(&tokens[begun..at]);
            count += usize::from(end != Some(at - begun));
        }
        match token {
            Token::Mark("(" | "[" | "{") => depth += 1,
            Token::Mark("]") if depth == 0 => break,
            Token::Mark(")" | "]" | "}") => depth = depth.saturating_sub(1),
            _ => {}
        }
        if is_end {
            begun = at + 1;
        }
    }
    count
}

/// Whether what begins here is a value that is written in the policy, and nothing of it is asked for.
fn is_literal(tokens: &[Token<'_>], at: usize) -> bool {
    let rest = tokens.get(at..).unwrap_or_default();
    end_of_literal(rest).is_some_and(|end| !matches!(rest.get(end), Some(Token::Mark("." | "["))))
}

/// Where a text, a number, an entity or a set of such ends that begins here.
fn end_of_literal(tokens: &[Token<'_>]) -> Option<usize> {
    match tokens.first()? {
        Token::Text(_) | Token::Number | Token::Word("true" | "false") => Some(1),
        Token::Mark("-") => (tokens.get(1) == Some(&Token::Number)).then_some(2),
        Token::Word(_) => {
            let mut at = 0;
            while tokens.get(at + 1) == Some(&Token::Mark("::")) {
                at += 2;
                if matches!(tokens.get(at), Some(Token::Text(_))) {
                    return Some(at + 1);
                }
            }
            None
        }
        // A set within is looked at no further: it costs little to take it for the question's.
        Token::Mark("[") => {
            let end = tokens.iter().position(|token| *token == Token::Mark("]"))?;
            let mut items = tokens[1..end].split(|token| *token == Token::Mark(","));
            let is_whole = |item: &[Token<'_>]| match item.first() {
                None => true,
                Some(Token::Mark("[")) => false,
                Some(_) => end_of_literal(item) == Some(item.len()),
            };
            items.all(is_whole).then_some(end + 1)
        }
        Token::Mark(_) => None,
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Token<'a> {
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
pub(crate) struct Tokens<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Tokens<'a> {
    pub fn new(text: &'a str) -> Self {
        Self { text, at: 0 }
    }
}

impl<'a> Iterator for Tokens<'a> {
    type Item = Token<'a>;

    fn next(&mut self) -> Option<Token<'a>> {
        let bytes = self.text.as_bytes();
        loop {
            let start = self.at;
            let letter = self.text.get(start..)?.chars().next()?;
            // Cedar takes more for space than ASCII has.
            if letter.is_whitespace() {
                self.at += letter.len_utf8();
                continue;
            }
            let (byte, then) = (bytes[start], bytes.get(start + 1).copied());
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
                _ => start + letter.len_utf8(),
            }
            .min(bytes.len());
            let token = self.text.get(start..self.at)?;
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
        let text = format!(
            "@id(\"x\") @reason(\"a like \\\"b\\\"\") permit (principal == Agent::\"a\", action in [Action::\"b\"], \
             resource) when {{ {condition} }}; // like \"comment\""
        );
        let read: Result<cedar_policy::Policy, _> = text.parse();
        assert!(read.is_ok(), "{condition}: {read:?}");
        of(&text)
    }

    #[test]
    fn what_looks_at_values_of_the_policy_costs_nothing() {
        for condition in [
            "context.amount > 5",
            "context.a == \"text\" && context.b == -5 && context.c == true",
            "resource == File::\"/etc/passwd\" || resource in Folder::\"x\"",
            "context.a == [1, -2, \"c\", Action::\"d\"]",
            "ip(\"10.0.0.0/8\").isLoopback()",
            "context has name",
            "if context has a then context.b else false",
        ] {
            assert_eq!(cost_of(condition), 0, "{condition}");
        }
    }

    #[test]
    fn a_pattern_costs_its_bytes_however_it_is_spaced() {
        assert_eq!(cost_of("context.command like \"*rm -rf*\""), 8);
        assert_eq!(
            cost_of("context.a like \"*é\" || context.b like \"*\\\"*\""),
            3 + 4
        );
        for space in ["\t", "\u{b}", "\u{a0}", "\u{2003}", " // like\n"] {
            let condition = format!("context.command like{space}\"*rm -rf*\"");
            assert_eq!(cost_of(&condition), 8, "{condition}");
        }
    }

    #[test]
    fn what_may_look_at_all_of_the_question_costs_more() {
        for condition in [
            "context.a == context.b",
            "context.a != principal.b",
            "context.a.containsAll(context.b)",
            "[\"a\", \"b\"].contains(context.tool)",
            "context.tools.containsAny([\"a\", Action::\"b\", 5])",
            "[context.a] == [context.b]",
            "context[\"a\"].contains(context.b)",
            "context.big == Agent::\"a\".big",
            "principal in Agent::\"a\".groups",
            "decimal(context.price).lessThan(decimal(\"1.0\"))",
            "if context.a then [context.b].isEmpty() else true",
            "{a: [context.b]}.a == [1]",
        ] {
            assert!(cost_of(condition) >= LOOK, "{condition}");
        }
        let many = ["context.s"; 100].join(",");
        assert!(cost_of(&format!("[{many}].isEmpty()")) >= 100 * LOOK);
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
            "[",
            "[,",
            "[[",
            "\"\\é",
        ] {
            of(text);
        }
    }
}
