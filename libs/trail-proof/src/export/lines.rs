//! The lines of a file, each of bounded length.

use std::io::{self, BufRead, Read as _};

use super::LINE_BYTES_MAX;

/// Reads a file line by line, without keeping more than one.
pub struct Lines<R> {
    reader: R,
    line: Vec<u8>,
    bytes_read: u64,
}

/// What was read.
#[derive(Debug, PartialEq, Eq)]
pub enum Next<'l> {
    /// A line, without its newline.
    Line(&'l [u8]),
    /// The file ends within a line.
    Unfinished,
    TooLong,
    End,
}

impl<R: BufRead> Lines<R> {
    pub fn of(reader: R) -> Self {
        Self {
            reader,
            line: Vec::new(),
            bytes_read: 0,
        }
    }

    /// How much of the file was read.
    pub fn bytes_read(&self) -> u64 {
        self.bytes_read
    }

    pub fn next_line(&mut self) -> io::Result<Next<'_>> {
        self.line.clear();
        let limit = LINE_BYTES_MAX as u64 + 1;
        let mut bounded = self.reader.by_ref().take(limit);
        let read = bounded.read_until(b'\n', &mut self.line)?;
        self.bytes_read += read as u64;
        Ok(match self.line.split_last() {
            None => Next::End,
            Some((b'\n', line)) => Next::Line(line),
            Some(_) if self.line.len() > LINE_BYTES_MAX => Next::TooLong,
            Some(_) => Next::Unfinished,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_an_end_and_a_limit() {
        let mut lines = Lines::of(b"a\n\nb".as_slice());
        assert_eq!(lines.next_line().expect("memory"), Next::Line(b"a"));
        assert_eq!(lines.next_line().expect("memory"), Next::Line(b""));
        assert_eq!(lines.next_line().expect("memory"), Next::Unfinished);
        assert_eq!(lines.next_line().expect("memory"), Next::End);
        assert_eq!(lines.bytes_read(), 4);

        let mut file = vec![b'a'; LINE_BYTES_MAX];
        file.push(b'\n');
        let mut lines = Lines::of(file.as_slice());
        assert!(matches!(lines.next_line().expect("memory"), Next::Line(_)));
        file.insert(0, b'a');
        let mut lines = Lines::of(file.as_slice());
        assert_eq!(lines.next_line().expect("memory"), Next::TooLong);
    }
}
