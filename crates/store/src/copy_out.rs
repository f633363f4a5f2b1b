//! Reads ids, each with a text or none, that PostgreSQL sends by COPY in its binary form.

use std::ops::ControlFlow;

use futures::TryStreamExt as _;
use sqlx::{PgPool, Postgres, pool::PoolConnection};
use uuid::Uuid;

use crate::{Error, copy::SIGNATURE};

/// The signature, 32 flags, and how many bytes of something else follow.
const HEADER_BYTES: usize = SIGNATURE.len() + 4 + 4;
/// Flags from here on change what follows; we know none of them.
const FLAGS_THAT_MATTER: u32 = 0xffff_0000;
/// In place of a row's number of fields.
const END: i16 = -1;
/// In place of a field's length.
const NULL: i32 = -1;
/// An id and a text.
const FIELDS: i16 = 2;

/// Runs a `COPY (…) TO STDOUT (FORMAT binary)` of a uuid and a text, and shows `row` one after the
/// other. If `row` breaks, what else PostgreSQL has to send is not read.
pub(crate) async fn copy_out(
    pool: &PgPool,
    statement: &str,
    mut row: impl FnMut(Uuid, Option<&[u8]>) -> ControlFlow<()>,
) -> Result<ControlFlow<()>, Error> {
    let mut lent = Lent(Some(pool.acquire().await?));
    let mut decoder = Decoder::default();
    let mut messages = lent.connection().copy_out_raw(statement).await?;
    while let Some(message) = messages.try_next().await? {
        if decoder.read(&message, &mut row)?.is_break() {
            return Ok(ControlFlow::Break(()));
        }
    }
    drop(messages);
    decoder.finish()?;
    lent.give_back();
    Ok(ControlFlow::Continue(()))
}

/// A connection that a COPY runs on. It goes back to the pool only when all was read: a COPY cannot be
/// stopped, and whoever had the connection next would be sent the rest of it. Otherwise it is closed,
/// also if whoever was reading is dropped.
struct Lent(Option<PoolConnection<Postgres>>);

impl Lent {
    fn connection(&mut self) -> &mut PoolConnection<Postgres> {
        self.0.as_mut().expect("it is there until it is given back")
    }

    fn give_back(mut self) {
        self.0.take();
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        if let Some(connection) = self.0.take() {
            drop(connection.detach());
        }
    }
}

/// Finds the rows in a stream of bytes, wherever it is cut into messages. Usually a message is a row,
/// and is read where it is.
#[derive(Default)]
struct Decoder {
    /// The start of a row, or of the header, whose end has not come.
    rest: Vec<u8>,
    has_header: bool,
    has_ended: bool,
}

impl Decoder {
    fn read(
        &mut self,
        message: &[u8],
        row: &mut impl FnMut(Uuid, Option<&[u8]>) -> ControlFlow<()>,
    ) -> Result<ControlFlow<()>, Error> {
        if self.rest.is_empty() {
            let (flow, read) = self.rows(message, row)?;
            self.rest.extend_from_slice(&message[read..]);
            return Ok(flow);
        }
        let mut bytes = std::mem::take(&mut self.rest);
        bytes.extend_from_slice(message);
        let (flow, read) = self.rows(&bytes, row)?;
        bytes.drain(..read);
        self.rest = bytes;
        Ok(flow)
    }

    /// Nothing is missing and nothing is left.
    fn finish(self) -> Result<(), Error> {
        if self.has_ended && self.rest.is_empty() {
            Ok(())
        } else {
            Err(malformed("it ends in the middle of a row"))
        }
    }

    /// Takes what is complete from the front, and says how many bytes that was.
    fn rows(
        &mut self,
        bytes: &[u8],
        row: &mut impl FnMut(Uuid, Option<&[u8]>) -> ControlFlow<()>,
    ) -> Result<(ControlFlow<()>, usize), Error> {
        let mut left = bytes;
        if !self.has_header {
            let Some(behind) = header(left)? else {
                return Ok((ControlFlow::Continue(()), 0));
            };
            self.has_header = true;
            left = behind;
        }
        let mut flow = ControlFlow::Continue(());
        while flow.is_continue() && !left.is_empty() {
            if self.has_ended {
                return Err(malformed("data follows its end"));
            }
            match next(left)? {
                Next::Cut => break,
                Next::Row(id, text, behind) => {
                    flow = row(id, text);
                    left = behind;
                }
                Next::End(behind) => {
                    self.has_ended = true;
                    left = behind;
                }
            }
        }
        Ok((flow, bytes.len() - left.len()))
    }
}

/// What is next in a stream, and the bytes behind it.
enum Next<'b> {
    Row(Uuid, Option<&'b [u8]>, &'b [u8]),
    End(&'b [u8]),
    /// Its end has not come.
    Cut,
}

/// What is behind the header; `None` if its end has not come.
fn header(bytes: &[u8]) -> Result<Option<&[u8]>, Error> {
    let Some((header, behind)) = bytes.split_at_checked(HEADER_BYTES) else {
        return Ok(None);
    };
    let Some((flags, behind_flags)) = header
        .strip_prefix(SIGNATURE)
        .and_then(<[u8]>::split_first_chunk)
    else {
        return Err(malformed("it is not in the binary format"));
    };
    if u32::from_be_bytes(*flags) & FLAGS_THAT_MATTER != 0 {
        return Err(malformed("it has unknown flags"));
    }
    let extension = behind_flags.first_chunk().copied().map(u32::from_be_bytes);
    Ok(extension.and_then(|length| behind.get(length as usize..)))
}

fn next(bytes: &[u8]) -> Result<Next<'_>, Error> {
    let Some((fields, behind)) = bytes.split_first_chunk() else {
        return Ok(Next::Cut);
    };
    match i16::from_be_bytes(*fields) {
        END => return Ok(Next::End(behind)),
        FIELDS => {}
        _ => return Err(malformed("a row does not have two fields")),
    }
    let Some((id, behind)) = field(behind)? else {
        return Ok(Next::Cut);
    };
    let Some((text, behind)) = field(behind)? else {
        return Ok(Next::Cut);
    };
    let id = id.and_then(|id| Uuid::from_slice(id).ok());
    let id = id.ok_or_else(|| malformed("a row does not start with an id"))?;
    Ok(Next::Row(id, text, behind))
}

/// A field, which may be NULL, and what is behind it; `None` if its end has not come.
#[expect(
    clippy::type_complexity,
    reason = "a field and a rest, both plain; a name for the pair would hide that"
)]
fn field(bytes: &[u8]) -> Result<Option<(Option<&[u8]>, &[u8])>, Error> {
    let Some((length, behind)) = bytes.split_first_chunk() else {
        return Ok(None);
    };
    match i32::from_be_bytes(*length) {
        NULL => Ok(Some((None, behind))),
        length => {
            let length =
                usize::try_from(length).map_err(|_| malformed("a field has a negative length"))?;
            let whole = behind.split_at_checked(length);
            Ok(whole.map(|(field, behind)| (Some(field), behind)))
        }
    }
}

fn malformed(problem: &str) -> Error {
    Error::Inconsistent {
        what: "the output of COPY",
        problem: problem.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::copy::Rows;

    type Row = (Uuid, Option<String>);

    fn encoded(rows: &[Row]) -> Vec<u8> {
        let mut bytes = Rows::new(FIELDS);
        for (id, text) in rows {
            bytes.row().uuid(*id).text_or_null(text.as_deref());
        }
        bytes.finish()
    }

    /// The rows in these messages, and how the stream ended.
    fn decoded<'m>(messages: impl IntoIterator<Item = &'m [u8]>) -> (Vec<Row>, Result<(), Error>) {
        let mut rows = Vec::new();
        let mut decoder = Decoder::default();
        for message in messages {
            let read = decoder.read(message, &mut |id, text: Option<&[u8]>| {
                let text = text.map(|text| String::from_utf8(text.to_vec()).expect("UTF-8"));
                rows.push((id, text));
                ControlFlow::Continue(())
            });
            if let Err(error) = read {
                return (rows, Err(error));
            }
        }
        (rows, decoder.finish())
    }

    fn two_rows() -> Vec<Row> {
        vec![
            (Uuid::from_u128(7), Some("{\"a\":1}".to_owned())),
            (Uuid::from_u128(6), None),
        ]
    }

    proptest! {
        #[test]
        fn rows_are_the_same_wherever_messages_are_cut(
            rows in prop::collection::vec(
                (any::<u128>().prop_map(Uuid::from_u128), prop::option::of(".{0,40}")),
                0..8,
            ),
            cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..12),
        ) {
            let bytes = encoded(&rows);
            let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(bytes.len())).collect();
            cuts.extend([0, bytes.len()]);
            cuts.sort_unstable();
            let (read, end) = decoded(cuts.windows(2).map(|cut| &bytes[cut[0]..cut[1]]));
            prop_assert_eq!(read, rows);
            prop_assert!(end.is_ok());
        }

        #[test]
        fn nothing_makes_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..80)) {
            let headed = [&encoded(&[])[..HEADER_BYTES], &bytes].concat();
            let _ = decoded([bytes.as_slice()]);
            let _ = decoded([headed.as_slice()]);
        }
    }

    #[test]
    fn a_stream_that_is_cut_off_is_noticed_wherever_that_is() {
        let bytes = encoded(&two_rows());
        for length in 0..bytes.len() {
            let (rows, end) = decoded([&bytes[..length]]);
            assert!(end.is_err(), "{length}");
            assert!(two_rows().starts_with(&rows), "{length}");
        }
    }

    #[test]
    fn what_is_not_such_a_stream_is_refused() {
        let good = encoded(&two_rows());
        let changed = |place: usize, byte: u8| {
            let mut bytes = good.clone();
            bytes[place] = byte;
            bytes
        };
        let first_row = HEADER_BYTES;
        for (what, bytes) in [
            ("signature", changed(0, b'p')),
            ("flags", changed(SIGNATURE.len(), 1)),
            ("fields", changed(first_row + 1, 3)),
            ("id", changed(first_row + 5, 15)),
            ("length", changed(first_row + 2 + 4 + 16, 0x80)),
            ("end", [good.as_slice(), b"x"].concat()),
        ] {
            assert!(decoded([bytes.as_slice()]).1.is_err(), "{what}");
        }
    }

    #[test]
    fn an_extension_of_the_header_is_skipped() {
        let mut bytes = encoded(&two_rows());
        bytes[HEADER_BYTES - 1] = 3;
        bytes.splice(HEADER_BYTES..HEADER_BYTES, *b"abc");
        let (rows, end) = decoded(bytes.chunks(1));
        assert_eq!(rows, two_rows());
        assert!(end.is_ok());
    }

    #[test]
    fn a_reader_that_has_enough_is_shown_no_more() {
        let bytes = encoded(&two_rows());
        let mut seen = 0;
        let flow = Decoder::default().read(&bytes, &mut |_, _: Option<&[u8]>| {
            seen += 1;
            ControlFlow::Break(())
        });
        assert!(flow.expect("rows").is_break());
        assert_eq!(seen, 1);
    }
}
