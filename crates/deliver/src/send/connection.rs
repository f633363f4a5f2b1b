//! A connection to a receiver, and what it knows about how it was made.

use std::{
    io,
    net::SocketAddr,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll},
};

use hyper::rt::{Read, ReadBufCursor, Write};
use hyper_util::{
    client::legacy::connect::{Connected, Connection},
    rt::TokioIo,
};
use journal::record::Timings;
use rustls::ProtocolVersion;
use tokio::{net::TcpStream, time::Instant};
use tokio_rustls::client::TlsStream;

/// A connection that requests are sent over.
pub struct ReceiverConnection {
    pub(super) stream: Stream,
    pub(super) facts: Facts,
}

pub(super) enum Stream {
    Plain(TokioIo<TcpStream>),
    Secured(Box<TokioIo<TlsStream<TcpStream>>>),
}

/// What a connection knows about itself. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Facts(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    address: SocketAddr,
    tls: Option<ProtocolVersion>,
    phases: Phases,
    /// Whether a request has taken the phases for its own.
    taken: AtomicBool,
}

/// When each step of making a connection was done.
#[derive(Clone, Copy, Debug)]
pub struct Phases {
    pub began: Instant,
    pub resolved: Instant,
    pub connected: Instant,
    pub secured: Option<Instant>,
}

impl Facts {
    pub fn new(address: SocketAddr, tls: Option<ProtocolVersion>, phases: Phases) -> Self {
        Self(Arc::new(Inner {
            address,
            tls,
            phases,
            taken: AtomicBool::new(false),
        }))
    }

    pub fn address(&self) -> SocketAddr {
        self.0.address
    }

    /// `1.3`, say; `None` without TLS.
    pub fn tls(&self) -> Option<&'static str> {
        Some(match self.0.tls? {
            ProtocolVersion::TLSv1_2 => "1.2",
            ProtocolVersion::TLSv1_3 => "1.3",
            _ => "other",
        })
    }

    /// How long making this connection took, for the request that it was made for; one that found it
    /// made, or half made, waited for none of it.
    pub fn take_phases(&self, started: Instant) -> Option<Timings> {
        let phases = self.0.phases;
        if self.0.taken.swap(true, Ordering::Relaxed) || phases.began < started {
            return None;
        }
        Some(Timings {
            resolved_us: Some(micros(started, phases.resolved)),
            connected_us: Some(micros(started, phases.connected)),
            secured_us: phases.secured.map(|secured| micros(started, secured)),
            ..Timings::default()
        })
    }
}

/// Microseconds from one moment to another; an attempt takes seconds, so they fit.
pub fn micros(from: Instant, to: Instant) -> u32 {
    u32::try_from(to.duration_since(from).as_micros()).unwrap_or(u32::MAX)
}

impl Connection for ReceiverConnection {
    fn connected(&self) -> Connected {
        Connected::new().extra(self.facts.clone())
    }
}

impl Read for ReceiverConnection {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        match &mut self.stream {
            Stream::Plain(stream) => Pin::new(stream).poll_read(context, buffer),
            Stream::Secured(stream) => Pin::new(stream).poll_read(context, buffer),
        }
    }
}

impl Write for ReceiverConnection {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        match &mut self.stream {
            Stream::Plain(stream) => Pin::new(stream).poll_write(context, bytes),
            Stream::Secured(stream) => Pin::new(stream).poll_write(context, bytes),
        }
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.stream {
            Stream::Plain(stream) => Pin::new(stream).poll_flush(context),
            Stream::Secured(stream) => Pin::new(stream).poll_flush(context),
        }
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.stream {
            Stream::Plain(stream) => Pin::new(stream).poll_shutdown(context),
            Stream::Secured(stream) => Pin::new(stream).poll_shutdown(context),
        }
    }

    fn is_write_vectored(&self) -> bool {
        match &self.stream {
            Stream::Plain(stream) => stream.is_write_vectored(),
            Stream::Secured(stream) => stream.is_write_vectored(),
        }
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        match &mut self.stream {
            Stream::Plain(stream) => Pin::new(stream).poll_write_vectored(context, slices),
            Stream::Secured(stream) => Pin::new(stream).poll_write_vectored(context, slices),
        }
    }
}
