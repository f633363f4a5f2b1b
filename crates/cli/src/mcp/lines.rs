//! Lines of JSON from one program to another: read with a bound, written by a thread that may wait for its reader.

use std::{
    io::{self, BufRead, Write as _},
    thread,
};

use bytes::Bytes;
use domain::mcp::MESSAGE_BYTES_MAX;
use tokio::{
    io::{AsyncBufRead, AsyncBufReadExt as _},
    sync::{mpsc, oneshot},
};

/// How many lines wait between the guard and the client, in either direction. Whoever sends more waits.
const LINES_MAX: usize = 4;

/// A line without its end. A carriage return is white space in JSON, and ends a line to some readers: it is a space here.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Line {
    Whole(Bytes),
    /// It is left out.
    TooLong,
}

/// The lines of our own standard input. A thread of its own reads them: it cannot be stopped, and the process must not wait for it.
pub(super) fn of_stdin() -> io::Result<mpsc::Receiver<Line>> {
    let (lines, read) = mpsc::channel(LINES_MAX);
    thread::Builder::new()
        .name("stdin".to_owned())
        .spawn(move || {
            let mut input = io::stdin().lock();
            while let Some(line) = next_of(&mut input, MESSAGE_BYTES_MAX) {
                if lines.blocking_send(line).is_err() {
                    break;
                }
            }
        })?;
    Ok(read)
}

/// Takes lines for our own standard output as long as somebody reads them; and what ends when all are written.
pub(super) fn to_stdout() -> io::Result<(mpsc::Sender<Bytes>, oneshot::Receiver<()>)> {
    let (write, mut lines) = mpsc::channel::<Bytes>(LINES_MAX);
    let (ends, ended) = oneshot::channel::<()>();
    thread::Builder::new()
        .name("stdout".to_owned())
        .spawn(move || {
            let _ends = ends;
            let mut output = io::stdout().lock();
            while let Some(mut line) = lines.blocking_recv().map(Vec::from) {
                line.push(b'\n');
                let written = output.write_all(&line).and_then(|()| output.flush());
                if written.is_err() {
                    break;
                }
            }
        })?;
    Ok((write, ended))
}

/// The next line, or none at the end. An input that fails has ended.
fn next_of(input: &mut impl BufRead, bytes_max: usize) -> Option<Line> {
    let mut gathered = Gathered::default();
    loop {
        let buffer = input.fill_buf().ok()?;
        let (used, is_whole) = gathered.take(buffer, bytes_max);
        if used == 0 {
            return gathered.at_end();
        }
        input.consume(used);
        if is_whole {
            return Some(gathered.line());
        }
    }
}

/// The same of a program that we started. The end of a line that is too long is not waited for: there may be none.
pub(super) async fn next_from(input: &mut (impl AsyncBufRead + Unpin)) -> Option<Line> {
    let mut gathered = Gathered::default();
    loop {
        let buffer = input.fill_buf().await.ok()?;
        let (used, is_whole) = gathered.take(buffer, MESSAGE_BYTES_MAX);
        if used == 0 {
            return gathered.at_end();
        }
        input.consume(used);
        if is_whole || gathered.is_too_long {
            return Some(gathered.line());
        }
    }
}

/// A line as it comes.
#[derive(Default)]
struct Gathered {
    bytes: Vec<u8>,
    is_too_long: bool,
}

impl Gathered {
    /// Takes what belongs to the line: how many bytes that were, and whether it has ended.
    fn take(&mut self, buffer: &[u8], bytes_max: usize) -> (usize, bool) {
        let end = buffer.iter().position(|byte| *byte == b'\n');
        let part = &buffer[..end.unwrap_or(buffer.len())];
        if self.bytes.len() + part.len() > bytes_max {
            self.is_too_long = true;
            self.bytes = Vec::new();
        }
        if !self.is_too_long {
            self.bytes.extend_from_slice(part);
        }
        (part.len() + usize::from(end.is_some()), end.is_some())
    }

    fn line(mut self) -> Line {
        if self.is_too_long {
            return Line::TooLong;
        }
        if self.bytes.last() == Some(&b'\r') {
            self.bytes.pop();
        }
        let returns = self.bytes.iter_mut().filter(|byte| **byte == b'\r');
        returns.for_each(|byte| *byte = b' ');
        Line::Whole(self.bytes.into())
    }

    /// What is there where the input ends without a line's end.
    fn at_end(self) -> Option<Line> {
        let is_there = self.is_too_long || !self.bytes.is_empty();
        is_there.then(|| self.line())
    }
}

#[cfg(test)]
mod tests {
    use std::io::BufReader;

    use super::*;

    #[test]
    fn lines_are_read_whole_or_skipped_however_they_arrive() {
        let text = b"{}\r\n\n0123456789\n01234567890\na\r\rb\r\nlast";
        for capacity in 1..40 {
            let mut input = BufReader::with_capacity(capacity, &text[..]);
            let lines: Vec<_> = std::iter::from_fn(|| next_of(&mut input, 10)).collect();
            let whole = |text: &'static str| Line::Whole(Bytes::from_static(text.as_bytes()));
            let expected = [
                whole("{}"),
                whole(""),
                whole("0123456789"),
                Line::TooLong,
                whole("a  b"),
                whole("last"),
            ];
            assert_eq!(lines, expected, "{capacity}");
        }
    }
}
