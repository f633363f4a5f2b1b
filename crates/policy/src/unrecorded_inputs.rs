//! What policies look at beside the question: of that a part is not on record, so what was decided by it cannot be decided again.
//! What none of them looks at is not made for them.

use crate::{
    cost::{Token, Tokens},
    server_context::{COMMAND, PAYLOAD, SERVER},
};

/// All that is asked and what is beside it, in a policy.
const CONTEXT: &str = "context";

/// What policies may look at of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Looks {
    pub payload: bool,
    /// At the commands of the question, which may be in the payload.
    pub command: bool,
    /// At anything that the server says, its clock or the commands.
    pub server: bool,
}

impl Looks {
    /// What a policy may look at, as far as its text tells.
    pub(crate) fn of_policy(text: &str) -> Self {
        let tokens: Vec<Token<'_>> = Tokens::new(text).collect();
        // Before that are annotations, which nobody looks at.
        let is_begin = |token: &Token<'_>| matches!(token, Token::Word("permit" | "forbid"));
        let begin = tokens.iter().position(is_begin).unwrap_or(0);
        let tokens = &tokens[begin..];
        let names = |name: &str| (0..tokens.len()).any(|at| is_named(tokens, at, name));
        let takes = |name: &str| (0..tokens.len()).any(|at| is_taken(tokens, at, name));
        let takes_all = takes(CONTEXT);
        Self {
            payload: takes_all || names(PAYLOAD),
            command: takes_all || (names(SERVER) && (names(COMMAND) || takes(SERVER))),
            server: takes_all || names(SERVER),
        }
    }

    pub(crate) fn and(self, other: Self) -> Self {
        Self {
            payload: self.payload || other.payload,
            command: self.command || other.command,
            server: self.server || other.server,
        }
    }
}

/// Whether a member, or a variable, of this name may be meant here. A text that has an escape in it may be any name.
fn is_named(tokens: &[Token<'_>], at: usize, name: &str) -> bool {
    match tokens[at] {
        Token::Word(word) => word == name,
        Token::Text(text) => {
            let is_of_member = matches!(
                before(tokens, at),
                Some(Token::Mark("[") | Token::Word("has"))
            );
            is_of_member && (text.contains('\\') || text.trim_matches('"') == name)
        }
        Token::Number | Token::Mark(_) => false,
    }
}

/// Whether it may be taken as a whole, with all that is in it: it is asked for more than a member, or whether it is there.
fn is_taken(tokens: &[Token<'_>], at: usize, name: &str) -> bool {
    let is_index = matches!(tokens[at], Token::Text(_));
    let next = tokens.get(at + 1 + usize::from(is_index)).copied();
    let is_opened = matches!(next, Some(Token::Mark("." | "[") | Token::Word("has")));
    let is_sought = before(tokens, at) == Some(Token::Word("has"));
    is_named(tokens, at, name) && !is_opened && !is_sought
}

fn before<'a>(tokens: &[Token<'a>], at: usize) -> Option<Token<'a>> {
    at.checked_sub(1).map(|before| tokens[before])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn looks(annotations: &str, condition: &str) -> (bool, bool) {
        let text = format!(
            "@id(\"payload\") {annotations} permit (principal, action, resource) when {{ {condition} }};"
        );
        let read: Result<cedar_policy::Policy, _> = text.parse();
        assert!(read.is_ok(), "{text}: {read:?}");
        let Looks {
            payload,
            command,
            server,
        } = Looks::of_policy(&text);
        assert!(server || !command, "commands are what the server says");
        (payload, command)
    }

    #[test]
    fn what_a_policy_looks_at_is_known_however_it_is_written() {
        for (condition, payload, command) in [
            ("context.payload.a == 1", true, false),
            ("context has payload", true, false),
            ("context[\"payload\"].a == 1", true, false),
            (r#"context["pay\u{6c}oad"].a == 1"#, true, true),
            (r#"context has "\x70ayload""#, true, true),
            ("context == {a: 1}", true, true),
            ("[context].contains({a: 1})", true, true),
            ("(if true then context else context).a == 1", true, true),
            ("context.server has command", false, true),
            ("context[\"server\"][\"command\"] == \"ls\"", false, true),
            (r#"context.server["comm\x61nd"] == "ls""#, true, true),
            ("context.server == {a: 1}", false, true),
            ("context[\"server\"] == {a: 1}", false, true),
        ] {
            assert_eq!(looks("", condition), (payload, command), "{condition}");
        }
    }

    #[test]
    fn what_only_sounds_like_it_is_nothing_that_a_policy_looks_at() {
        for condition in [
            "context.payloads == 1 // payload\n",
            "context.server.now > datetime(\"2026-01-01\")",
            "context has server && context.server has now",
            r#"context.path == "C:\\payload" || context.path like "*\*payload*""#,
            "context.kind == \"payload\" && context.command == \"ls\"",
        ] {
            assert_eq!(looks("", condition), (false, false), "{condition}");
        }
        let clock = "permit (principal, action, resource) when { context[\"server\"].now > x };";
        assert!(Looks::of_policy(clock).server);
        let elsewhere =
            "permit (principal, action, resource) when { context.servers == \"server\" };";
        assert!(!Looks::of_policy(elsewhere).server);
        let obliges = r#"@obligation("[{\"op\": \"remove\", \"path\": \"/payload\"}]")"#;
        assert_eq!(looks(obliges, "context.a == 1"), (false, false));
    }
}
