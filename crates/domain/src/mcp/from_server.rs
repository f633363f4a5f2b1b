//! What a server sends, and what a guard looks for in it.

use serde_json::Value;

use super::{
    Outcome,
    json::{self, SameName, Unreadable},
    message::{Content, Message, RequestId},
};

/// A message of a server, or several.
#[derive(Debug)]
pub struct FromServer {
    /// The answers in it. Requests and notifications of servers pass.
    pub answers: Vec<Answered>,
    /// Whether they came as one message.
    pub is_batch: bool,
}

/// A request is answered.
#[derive(Debug)]
pub struct Answered {
    pub id: RequestId,
    content: Content,
}

impl FromServer {
    /// The request that a message answers that cannot be read.
    pub fn id_of_unreadable(bytes: &[u8]) -> Option<RequestId> {
        RequestId::of_unreadable_answer(bytes)
    }

    pub fn read(bytes: &[u8]) -> Result<Self, Unreadable> {
        let (values, is_batch) = match json::read(bytes, SameName::AsSpelled)? {
            Value::Array(values) => (values, true),
            value => (vec![value], false),
        };
        let mut answers = Vec::new();
        for value in values {
            if let Message::Response {
                id: Some(id),
                content,
            } = Message::of(value)?
            {
                answers.push(Answered { id, content });
            }
        }
        Ok(Self { answers, is_batch })
    }
}

impl Answered {
    /// The result, if it is one.
    pub fn result(&self) -> Option<&Value> {
        match &self.content {
            Content::Result(result) => Some(result),
            Content::Error(_) => None,
        }
    }

    /// What came of the call that is answered.
    pub fn outcome(self) -> Outcome {
        Outcome::of(self.content)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_answers_are_looked_at_and_a_failed_call_is_an_error() {
        let outcome = |content: Value| {
            let mut message = json!({"jsonrpc": "2.0", "id": 1});
            for (name, value) in content.as_object().expect("an object") {
                message[name] = value.clone();
            }
            let read = FromServer::read(message.to_string().as_bytes()).expect("a message");
            let answer = read.answers.into_iter().next().expect("an answer");
            answer.outcome()
        };
        let ok = json!({"content": [], "isError": false});
        assert_eq!(outcome(json!({"result": ok})), Outcome::Success(ok));
        let failed = json!({"content": [], "isError": true});
        assert_eq!(
            outcome(json!({"result": failed})),
            Outcome::ToolError(failed)
        );
        let error = json!({"code": -32602, "message": "no such tool"});
        assert_eq!(
            outcome(json!({"error": error})),
            Outcome::ProtocolError(error)
        );
        let more = json!({"resultType": "input_required", "inputRequests": {}});
        assert_eq!(
            outcome(json!({"result": more})),
            Outcome::InputRequired(more)
        );

        let log = br#"{"jsonrpc":"2.0","method":"notifications/message","params":{}}"#;
        assert!(FromServer::read(log).expect("a message").answers.is_empty());
        assert!(FromServer::read(b"listening on stdio").is_err());
        let hidden = br#"{"jsonrpc":"2.0","id":1,"result":{"Tools":[{"name":"a"}]}}"#;
        assert!(FromServer::read(hidden).is_err());
        let words = br#"{"jsonrpc":"2.0","id":1,"result":{"structuredContent":{"The":1,"the":2}}}"#;
        assert!(FromServer::read(words).is_ok());
    }

    #[test]
    fn of_an_answer_that_cannot_be_read_it_is_known_what_it_answers() {
        let id = RequestId::of(&json!(3));
        for (message, expected) in [
            (r#"{"jsonrpc":"2.0","id":3,"result":{"a":1,"a":2}}"#, &id),
            (r#"{"id":3,"result":{}}"#, &id),
            (r#"{"id":3,"method":"ping","method":"ping"}"#, &None),
            ("listening", &None),
        ] {
            assert_eq!(&FromServer::id_of_unreadable(message.as_bytes()), expected);
        }
    }
}
