//! Why there was no answer: reads the errors of the client, the connection and TLS.

use std::{error::Error, io, net::SocketAddr};

use domain::delivery::Outcome;
use hyper_util::client::legacy;
use rustls::CertificateError;

use super::{connect::ConnectError, resolve::ResolveError, target::Refusal};
use crate::error_chain::chain;

/// Why a request got no answer.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum Trouble {
    #[error("{0}")]
    Forbidden(Refusal),
    #[error("Our name servers gave no answer about {host}. ({detail})")]
    NameServers { host: String, detail: String },
    #[error("There is no such name as {0}.")]
    NoSuchName(String),
    #[error("The name {0} has no address.")]
    NoAddress(String),
    #[error("The name servers of {host} failed. ({detail})")]
    Name { host: String, detail: String },
    #[error("No connection to the receiver: {0} refused it.")]
    Refused(SocketAddr),
    #[error("No connection to the receiver: {0} did not accept one within 3 s.")]
    ConnectTimeout(SocketAddr),
    #[error("No connection to the receiver: {address} cannot be reached. ({detail})")]
    Unreachable { address: SocketAddr, detail: String },
    #[error("We could not open a connection. ({0})")]
    OurConnection(String),
    #[error("The receiver's certificate has expired.")]
    CertificateExpired,
    #[error("The receiver's certificate is for another name. ({0})")]
    CertificateName(String),
    #[error("The receiver's certificate was issued by nobody we know.")]
    CertificateIssuer,
    #[error("The receiver's certificate is not valid. ({0})")]
    Certificate(String),
    #[error("The TLS handshake with the receiver did not finish within 5 s.")]
    TlsTimeout,
    #[error("The TLS handshake with the receiver failed. ({0})")]
    Tls(String),
    #[error("The receiver gave no answer: it reset the connection.")]
    Reset,
    #[error("The receiver gave no answer: it closed the connection.")]
    Closed,
    #[error("The receiver gave no answer that is HTTP. ({0})")]
    Malformed(String),
    #[error("The receiver did not answer within 10 s.")]
    NoAnswer,
    #[error("The receiver could not be reached within 10 s.")]
    NotSent,
    #[error("The receiver gave no answer. ({0})")]
    Other(String),
}

impl Trouble {
    pub fn outcome(&self) -> Outcome {
        match self {
            Self::Forbidden(_) => Outcome::Blocked,
            Self::NameServers { .. } | Self::OurConnection(_) => Outcome::OurFault,
            _ => Outcome::Transient,
        }
    }

    /// Whether the receiver was too slow.
    pub fn is_timeout(&self) -> bool {
        matches!(
            self,
            Self::ConnectTimeout(_) | Self::TlsTimeout | Self::NoAnswer | Self::NotSent
        )
    }
}

/// What an error of the client says.
pub fn read(error: &legacy::Error) -> Trouble {
    if let Some(error) = cause::<ConnectError>(error) {
        return not_connected(error);
    }
    if let Some(error) = cause::<io::Error>(error) {
        return match error.kind() {
            io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe => Trouble::Reset,
            io::ErrorKind::UnexpectedEof => Trouble::Closed,
            _ => Trouble::Other(chain(error)),
        };
    }
    match cause::<hyper::Error>(error) {
        Some(error) if error.is_parse() => Trouble::Malformed(chain(error)),
        Some(error) if error.is_incomplete_message() || error.is_canceled() => Trouble::Closed,
        _ => Trouble::Other(chain(error)),
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
                detail: error.to_string(),
            },
            // No file handle, no port, no memory: nothing of this is the receiver's.
            _ => Trouble::OurConnection(error.to_string()),
        },
        ConnectError::ConnectTimeout { address } => Trouble::ConnectTimeout(*address),
        ConnectError::Tls { error, .. } => not_secured(error),
        ConnectError::TlsTimeout { .. } => Trouble::TlsTimeout,
        ConnectError::NoHost(_) => Trouble::Other(error.to_string()),
    }
}

fn not_resolved(host: String, error: &ResolveError) -> Trouble {
    match error {
        ResolveError::NoSuchName => Trouble::NoSuchName(host),
        ResolveError::NoAddress => Trouble::NoAddress(host),
        ResolveError::Failed(detail) => Trouble::Name {
            host,
            detail: detail.clone(),
        },
        ResolveError::Unanswered(detail) => Trouble::NameServers {
            host,
            detail: detail.clone(),
        },
        ResolveError::Forbidden(refusal) => Trouble::Forbidden(refusal.clone()),
    }
}

fn not_secured(error: &io::Error) -> Trouble {
    match cause::<rustls::Error>(error) {
        Some(rustls::Error::InvalidCertificate(certificate)) => match certificate {
            CertificateError::Expired | CertificateError::ExpiredContext { .. } => {
                Trouble::CertificateExpired
            }
            CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
                Trouble::CertificateName(certificate.to_string())
            }
            CertificateError::UnknownIssuer => Trouble::CertificateIssuer,
            _ => Trouble::Certificate(certificate.to_string()),
        },
        Some(error) => Trouble::Tls(error.to_string()),
        None => Trouble::Tls(error.to_string()),
    }
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
