//! What policies see beside what the asker says: what the server says as `context.server`, its clock (`now`) and the
//! commands of the question in one form (`command`); and what the agent is about to send as `context.payload`. A question
//! that brings such a member itself is refused.

use std::sync::Arc;

use cedar_policy::{Context, RestrictedExpression};
use cedar_policy_core::ast;
use domain::{
    Timestamp,
    fault::{Fault, pointer_to},
};
use serde_json::{Map, Value};

use crate::{
    cedar_request::CedarRequest,
    fit,
    payload::SEEN_BYTES_MAX,
    value::{self, Reader, text_value},
    visible_fields::{Declared, Sees},
};

/// What the server says.
pub(crate) const SERVER: &str = "server";
/// What the agent is about to send.
pub(crate) const PAYLOAD: &str = "payload";
/// The server's clock.
const NOW: &str = "now";
/// The shell commands that the question tells of.
pub(crate) const COMMAND: &str = "command";

/// What is beside a question.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Beside<'p> {
    /// `None`: there is no clock, as in a test that names no time.
    pub now: Option<Timestamp>,
    pub payload: Option<&'p Value>,
}

/// Members of a context that are not the asker's to say. The pointers are those of a question.
pub(crate) fn faults(context: &Map<String, Value>) -> Vec<Fault> {
    let ours = [SERVER, PAYLOAD].into_iter();
    let taken = ours.filter(|name| context.contains_key(*name));
    taken
        .map(|name| {
            let pointer = format!("/context{}", pointer_to(name));
            let detail = "This name is reserved: policies see the server's facts in `context.server` and what is sent as \
                          `payload` in `context.payload`. Use another name.";
            Fault::invalid(pointer, detail)
        })
        .collect()
}

impl Beside<'_> {
    /// The context of a question with what is beside it, as far as policies see that.
    pub fn context(self, asked: &CedarRequest, sees: &Sees) -> Result<Context, String> {
        // A question of the past may have a member of the name: then that is what its policies saw.
        let said = asked.context.iter();
        let is_free = |name: &str| said.clone().all(|(taken, _)| taken != name);
        let server = sees.server.as_ref().filter(|_| is_free(SERVER));
        let server = server.map(|declared| self.server(asked, declared));
        let payload = sees.payload.as_ref().filter(|_| is_free(PAYLOAD));
        let payload = payload.and_then(|declared| self.seen_payload(declared));
        let ours = [(SERVER, server.transpose()?), (PAYLOAD, payload)];
        let ours = ours
            .into_iter()
            .filter_map(|(name, value)| Some((name.to_owned(), value?)));
        let members = said.cloned().chain(ours);
        let members = members.map(|(name, value)| (name.into(), value));
        Ok(ast::Context::Value(Arc::new(members.collect())).into())
    }

    fn server(self, asked: &CedarRequest, declared: &Declared) -> Result<ast::Value, String> {
        let now = self.now.filter(|_| declared.has(NOW)).map(|now| {
            let now = RestrictedExpression::new_datetime(now.to_string());
            value::read(&now)
        });
        let command = || asked.commands.with_payload(self.payload).seen();
        let command = declared.has(COMMAND).then(command).flatten();
        let members = [(NOW, now.transpose()?), (COMMAND, command)];
        let members = members
            .into_iter()
            .filter_map(|(name, value)| Some((name, value?)));
        Ok(ast::Value::record(members, None))
    }

    fn seen_payload(self, declared: &Declared) -> Option<ast::Value> {
        let (fitted, _) = match declared {
            Declared::Whole => fit::fitted(self.payload?, SEEN_BYTES_MAX),
            part => fit::fitted(&part.part_of(self.payload?), SEEN_BYTES_MAX),
        };
        let seen = Map::from_iter([(PAYLOAD.to_owned(), fitted?)]);
        let read = Reader::default().pairs(&seen, "").pop();
        // What fits can be read; if it could not, it must not look as if nothing were sent.
        let unread = || text_value(fit::CUT);
        Some(read.map_or_else(unread, |(_, value)| value))
    }
}
