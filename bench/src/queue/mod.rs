//! What the queue of deliveries costs the bare journal, in one stream and in several: published, taken and
//! settled, held until they are due, and kept in a lane for each endpoint. The layout was chosen by these
//! figures (docs/adr/0015).

mod flow;
mod lanes;
mod later;
mod streams;

use std::time::Duration;

use crate::{Arguments, Verdict};

/// The layouts that are compared.
const LAYOUTS: [usize; 2] = [1, 8];

pub(crate) async fn measure(arguments: &Arguments) -> anyhow::Result<Verdict> {
    let each = Duration::from_secs(arguments.seconds) / 3;
    let mut verdict = Verdict::default();
    lanes::measure().await?;
    flow::measure(each).await?;
    for streams in LAYOUTS {
        later::measure(streams, arguments.pending, &mut verdict).await?;
    }
    Ok(verdict)
}
