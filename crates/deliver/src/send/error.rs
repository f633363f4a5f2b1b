//! Why there was no answer: reads the errors of the client, the connection and TLS.

use std::{error::Error, fmt::Display, io, net::SocketAddr};

use domain::delivery::diagnosis::Trouble;
use hyper_util::client::legacy;
use runtime::error_chain::chain;
use rustls::CertificateError;

use super::{connect::ConnectError, resolve::ResolveError};

/// How much is kept of what a library or a certificate says.
const DETAIL_CHARS_MAX: usize = 300;

/// What an error of the client says.
pub fn read(error: &legacy::Error) -> Trouble {
    if let Some(error) = cause::<ConnectError>(error) {
        return not_connected(error);
    }
    if let Some(error) = cause::<io::Error>(error) {
        return match error.kind() {
            io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe => Trouble::Reset,
            io::ErrorKind::UnexpectedEof => Trouble::Closed,
            _ => Trouble::Other(detail(&chain(error))),
        };
    }
    match cause::<hyper::Error>(error) {
        Some(error) if error.is_parse() => Trouble::Malformed(detail(&chain(error))),
        Some(error) if error.is_incomplete_message() || error.is_canceled() => Trouble::Closed,
        _ => Trouble::Other(detail(&chain(error))),
    }
}

/// The address that could not be connected to.
pub fn address(error: &legacy::Error) -> Option<SocketAddr> {
    cause::<ConnectError>(error)?.address()
}

fn not_connected(error: &ConnectError) -> Trouble {
    match error {
        ConnectError::Resolve { host, error } => not_resolved(host.clone(), error),
        ConnectError::Connect { address, error } => match error.kind() {
            io::ErrorKind::ConnectionRefused => Trouble::Refused(*address),
            io::ErrorKind::ConnectionReset => Trouble::Reset,
            io::ErrorKind::TimedOut => Trouble::ConnectTimeout(*address),
            io::ErrorKind::HostUnreachable
            | io::ErrorKind::NetworkUnreachable
            | io::ErrorKind::PermissionDenied => Trouble::Unreachable {
                address: *address,
                detail: detail(error),
            },
            // No file handle, no port, no memory: nothing of this is the receiver's.
            _ => Trouble::OurConnection(detail(error)),
        },
        ConnectError::ConnectTimeout { address } => Trouble::ConnectTimeout(*address),
        ConnectError::Tls { error, .. } => not_secured(error),
        ConnectError::TlsTimeout { .. } => Trouble::TlsTimeout,
        ConnectError::NoHost(_) => Trouble::Other(detail(error)),
    }
}

fn not_resolved(host: String, error: &ResolveError) -> Trouble {
    match error {
        ResolveError::NoSuchName => Trouble::NoSuchName(host),
        ResolveError::NoAddress => Trouble::NoAddress(host),
        ResolveError::Failed(said) => Trouble::Name {
            host,
            detail: detail(said),
        },
        ResolveError::Silent => Trouble::NameTimeout(host),
        ResolveError::Unanswered(said) => Trouble::NameServers {
            host,
            detail: detail(said),
        },
        ResolveError::Forbidden(refusal) => Trouble::Forbidden(refusal.to_string()),
    }
}

fn not_secured(error: &io::Error) -> Trouble {
    match cause::<rustls::Error>(error) {
        Some(rustls::Error::InvalidCertificate(certificate)) => match certificate {
            CertificateError::Expired | CertificateError::ExpiredContext { .. } => {
                Trouble::CertificateExpired
            }
            CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
                Trouble::CertificateName(detail(certificate))
            }
            CertificateError::UnknownIssuer => Trouble::CertificateIssuer,
            _ => Trouble::Certificate(detail(certificate)),
        },
        Some(error) => Trouble::Tls(detail(error)),
        None => Trouble::Tls(detail(error)),
    }
}

/// What somebody else's text says, cut to a size and in one line: a certificate may hold anything.
fn detail(said: &(impl Display + ?Sized)) -> String {
    let characters = said.to_string();
    let plain = characters.chars().take(DETAIL_CHARS_MAX);
    plain
        .map(|c| if c.is_control() { '\u{fffd}' } else { c })
        .collect()
}

/// The cause of a kind, wherever it is in the chain.
fn cause<'e, E: Error + 'static>(error: &'e (dyn Error + 'static)) -> Option<&'e E> {
    let mut current = Some(error);
    while let Some(error) = current {
        if let Some(found) = error.downcast_ref() {
            return Some(found);
        }
        // An I/O error hands on the cause of what it wraps and not the thing itself.
        let wrapped = error
            .downcast_ref::<io::Error>()
            .and_then(io::Error::get_ref);
        if let Some(found) = wrapped.and_then(|wrapped| wrapped.downcast_ref()) {
            return Some(found);
        }
        current = error.source();
    }
    None
}
