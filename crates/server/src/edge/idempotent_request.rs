//! A request that may be sent again: when it came first, by the mark that it left then.
//!
//! What a request makes follows from its name and from when it came first, so it makes the same however often it is sent. One
//! that is refused leaves no mark, so that it can be mended and sent again under its name: whoever handles it looks for a
//! mark, checks all that can be refused, and leaves its own then.

use domain::{
    Timestamp,
    batch::Form,
    error_code::ErrorCode,
    idempotency::{RequestName, fingerprint},
};
use journal::{Journal, dedup::RequestMark, requeue::is_recognized};

use super::Problem;

/// A request, and when it came first.
#[derive(Debug)]
pub struct Asking {
    name: Option<RequestName>,
    mark: RequestMark,
    came_before: bool,
}

impl Asking {
    /// One that is not known to have come before. `said` is what it says, and is compared with what it said then, maybe by
    /// another version of us: the same request must give the same text for ever.
    pub fn new(name: Option<RequestName>, said: &str, now: Timestamp) -> Self {
        Self {
            name,
            mark: RequestMark {
                fingerprint: fingerprint(Form::Json, false, said.as_bytes()),
                received_at: now,
            },
            came_before: false,
        }
    }

    /// Looks whether it came before, and leaves no mark.
    pub async fn look(&mut self, journal: &Journal) -> Result<(), Problem> {
        if let Some(name) = &self.name
            && let Some(before) = journal.request_mark(name).await?
        {
            self.is(before)?;
        }
        Ok(())
    }

    /// Leaves its mark, unless it came before; whether it turned out only now that it did.
    pub async fn mark(&mut self, journal: &Journal) -> Result<bool, Problem> {
        if let Some(name) = self.name.as_ref().filter(|_| !self.came_before)
            && let Some(before) = journal.mark_request(name, &self.mark).await?
        {
            self.is(before)?;
            return Ok(true);
        }
        Ok(false)
    }

    /// What its sender calls it; `None` if it cannot be sent again.
    pub fn name(&self) -> Option<&RequestName> {
        self.name.as_ref()
    }

    /// When it came first.
    pub fn at(&self) -> Timestamp {
        self.mark.received_at
    }

    pub fn came_before(&self) -> bool {
        self.came_before
    }

    /// Refuses a request that came before, so long ago that only the record tells what became of it, while the record is
    /// behind.
    pub fn check_record(&self, is_fresh: bool, now: Timestamp) -> Result<(), Problem> {
        if self.came_before && !is_fresh && !is_recognized(self.at(), now) {
            let detail = "This request was already received, but its result is not known yet, because the delivery log \
                          is behind the journal. Try again.";
            return Err(Problem::new(ErrorCode::StoreUnavailable, detail));
        }
        Ok(())
    }

    /// It is the one that left this mark, if it says the same.
    fn is(&mut self, before: RequestMark) -> Result<(), Problem> {
        if before.fingerprint != self.mark.fingerprint {
            let detail = "This `Idempotency-Key` was already used with a different body.";
            return Err(Problem::new(ErrorCode::IdempotencyMismatch, detail));
        }
        self.mark = before;
        self.came_before = true;
        Ok(())
    }
}
