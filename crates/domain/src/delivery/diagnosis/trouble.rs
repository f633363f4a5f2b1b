//! Why there was no answer, and what to do about it.

use std::net::SocketAddr;

use crate::delivery::Outcome;

/// Why a request got no answer. The text of an error is what happened; [`Trouble::explain`] adds what
/// to do. Details come from libraries and from the receiver: whoever makes one bounds and cleans it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Trouble {
    /// The address is not one that may be sent to; the text says which and why.
    #[error("{0}")]
    Forbidden(String),
    #[error("Our name servers gave no answer about {host}. ({detail})")]
    NameServers { host: String, detail: String },
    #[error("The name {0} does not exist.")]
    NoSuchName(String),
    #[error("The name {0} has no address.")]
    NoAddress(String),
    #[error("The name servers of {host} failed. ({detail})")]
    Name { host: String, detail: String },
    #[error("The name servers of {0} did not answer within 2 s.")]
    NameTimeout(String),
    #[error("No connection to the receiver: {0} refused it.")]
    Refused(SocketAddr),
    #[error("No connection to the receiver: {0} did not accept one within 3 s.")]
    ConnectTimeout(SocketAddr),
    #[error("No connection to the receiver: {address} cannot be reached. ({detail})")]
    Unreachable { address: SocketAddr, detail: String },
    /// We have no file handle, no port, no memory left.
    #[error("We could not open a connection. ({0})")]
    OurConnection(String),
    #[error("The receiver's certificate has expired.")]
    CertificateExpired,
    #[error("The receiver's certificate is for another name. ({0})")]
    CertificateName(String),
    #[error("The receiver's certificate was not issued by an authority we trust.")]
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
    #[error("The receiver gave no valid HTTP answer. ({0})")]
    Malformed(String),
    #[error("The receiver did not answer within 10 s.")]
    NoAnswer,
    /// All the time was gone before the request was out.
    #[error("The receiver could not be reached within 10 s.")]
    NotSent,
    #[error("The receiver gave no answer. ({0})")]
    Other(String),
}

impl Trouble {
    /// What happened, and what to do.
    pub fn explain(&self) -> String {
        format!("{self} {}", self.advice())
    }

    pub fn outcome(&self) -> Outcome {
        match self {
            Self::Forbidden(_) => Outcome::Blocked,
            Self::NameServers { .. } | Self::OurConnection(_) => Outcome::OurFault,
            Self::NoSuchName(_)
            | Self::NoAddress(_)
            | Self::Name { .. }
            | Self::NameTimeout(_)
            | Self::Refused(_)
            | Self::ConnectTimeout(_)
            | Self::Unreachable { .. }
            | Self::CertificateExpired
            | Self::CertificateName(_)
            | Self::CertificateIssuer
            | Self::Certificate(_)
            | Self::TlsTimeout
            | Self::Tls(_)
            | Self::Reset
            | Self::Closed
            | Self::Malformed(_)
            | Self::NoAnswer
            | Self::NotSent
            | Self::Other(_) => Outcome::Transient,
        }
    }

    /// Whether the receiver was too slow.
    pub fn is_timeout(&self) -> bool {
        matches!(
            self,
            Self::NameTimeout(_)
                | Self::ConnectTimeout(_)
                | Self::TlsTimeout
                | Self::NoAnswer
                | Self::NotSent
        )
    }

    fn advice(&self) -> &'static str {
        match self {
            Self::Forbidden(_) => {
                "Use a receiver with a public address; if this is your own network, the operator can \
                 allow it."
            }
            Self::NameServers { .. } => {
                "This is not held against the receiver. There is nothing to do unless it persists: then the operator \
                 should check the name servers that this service uses."
            }
            Self::NoSuchName(_) => "Correct the rule's URL, or create the name in your DNS.",
            Self::NoAddress(_) => "Add an A or AAAA record for it to your DNS.",
            Self::NameTimeout(_) => {
                "Check that your domain's name servers are running and can be reached."
            }
            Self::Name { .. } => "Check your domain's name servers and its DNSSEC signatures.",
            Self::Refused(_) => {
                "Check that the receiver is running and listening on that port, and that the rule's URL has the right \
                 port."
            }
            Self::ConnectTimeout(_) => {
                "Check that the receiver is running and that no firewall drops our packets."
            }
            Self::Unreachable { .. } => {
                "Check that the address in your DNS is right and that its network is up."
            }
            Self::OurConnection(_) => {
                "This is not held against the receiver. There is nothing to do unless it persists: then the operator \
                 should check the limits of this service."
            }
            Self::CertificateExpired => {
                "Renew it, and find out why that did not happen automatically."
            }
            Self::CertificateName(_) => {
                "Install a certificate for the host of the rule's URL, or correct the URL."
            }
            Self::CertificateIssuer => {
                "Use a certificate from a public authority, and have the receiver send the intermediate certificates \
                 with it."
            }
            Self::Certificate(_) => {
                "Replace it; testing the URL with any TLS checker tells you more."
            }
            Self::TlsTimeout => {
                "Check that the receiver speaks TLS on that port and is not overloaded."
            }
            Self::Tls(_) => "Check that the receiver speaks TLS 1.2 or 1.3 on that port.",
            Self::Reset | Self::Closed => {
                "Check its log at the time of this attempt: it may have crashed or restarted, or a proxy in front of \
                 it may have cut the connection."
            }
            Self::Malformed(_) => "Check that a web server is listening on that port.",
            Self::NoAnswer => {
                "Have it answer 200 first and do its work afterwards; check that it is not \
                 overloaded."
            }
            Self::NotSent => {
                "Check your DNS, the network and the load on the receiver: each is slow."
            }
            Self::Other(_) => "Check its log at the time of this attempt.",
        }
    }
}
