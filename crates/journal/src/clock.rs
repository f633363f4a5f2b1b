//! The server's clock: it says when what waits for its time is handed out.

use async_nats::jetstream::response::Response;
use domain::Timestamp;
use serde::Deserialize;
use tokio::time::Instant;

use crate::{Error, Journal};

/// What the server's clock said between two moments of ours.
#[derive(Clone, Copy, Debug)]
pub struct Reading {
    pub time: Timestamp,
    pub asked: Instant,
    pub answered: Instant,
}

/// Every answer about a stream has it, since NATS 2.10.
#[derive(Deserialize)]
struct Answered {
    ts: String,
}

impl Journal {
    /// Reads the server's clock: on a cluster, that of the server which leads the turns.
    pub async fn read_clock(&self) -> Result<Reading, Error> {
        let doing = "read the server's clock";
        let subject = format!("STREAM.INFO.{}", self.names.turns_stream());
        let asked = Instant::now();
        let response = self.context.request(subject, &()).await;
        let answered = Instant::now();
        let said = match response.map_err(|source| Error::unavailable(doing, source))? {
            Response::Ok(Answered { ts }) => ts,
            Response::Err { error } => return Err(Error::unavailable(doing, error)),
        };
        let time = Timestamp::parse(&said)
            .ok_or_else(|| Error::unavailable(doing, format!("`{said}` is no time")))?;
        Ok(Reading {
            time,
            asked,
            answered,
        })
    }
}
