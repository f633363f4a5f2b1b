//! The few bytes we exchange with a server to see whether it serves. Not a client.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::time::Duration;

/// On loopback a server answers in microseconds or is not there.
const TIMEOUT: Duration = Duration::from_secs(2);

/// NATS names all its addresses in its first line; far less than this.
const LINE_BYTES_MAX: u64 = 64 * 1024;

/// `/jsz` of a small private server is a few kilobytes.
const ANSWER_BYTES_MAX: u64 = 4 * 1024 * 1024;

pub(crate) fn connect(port: u16) -> io::Result<TcpStream> {
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    let stream = TcpStream::connect_timeout(&address, TIMEOUT)?;
    stream.set_read_timeout(Some(TIMEOUT))?;
    stream.set_write_timeout(Some(TIMEOUT))?;
    Ok(stream)
}

/// The first line that a server sends by itself.
pub(crate) fn first_line(port: u16) -> io::Result<String> {
    let mut line = String::new();
    BufReader::new(connect(port)?.take(LINE_BYTES_MAX)).read_line(&mut line)?;
    Ok(line)
}

/// `GET path` over HTTP/1.0, which has no chunks and ends by closing: the status and the body.
pub(crate) fn http_get(port: u16, path: &str) -> io::Result<(u16, String)> {
    let mut stream = connect(port)?;
    write!(stream, "GET {path} HTTP/1.0\r\nHost: 127.0.0.1\r\n\r\n")?;
    let mut answer = String::new();
    stream.take(ANSWER_BYTES_MAX).read_to_string(&mut answer)?;
    let (head, body) = answer
        .split_once("\r\n\r\n")
        .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "no HTTP response"))?;
    let status = head
        .split(' ')
        .nth(1)
        .and_then(|status| status.parse().ok());
    let status = status
        .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "no status in the response"))?;
    Ok((status, body.to_owned()))
}
