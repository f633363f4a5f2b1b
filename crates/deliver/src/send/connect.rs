//! Makes a connection: resolves the host, connects to a vetted address, and secures it, each within a
//! deadline of its own.

use std::{
    future::Future,
    io,
    net::{IpAddr, SocketAddr},
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use anyhow::{Context as _, ensure};
use hyper::{Uri, http::uri::Scheme};
use hyper_util::rt::TokioIo;
use rustls::{ClientConfig, RootCertStore, pki_types::ServerName};
use tokio::{
    net::TcpStream,
    time::{Instant, timeout},
};
use tokio_rustls::{TlsConnector, client::TlsStream};
use tower::Service;

use super::{
    connection::{Facts, Phases, ReceiverConnection, Stream},
    resolve::{ResolveError, Resolver},
};

/// For all addresses of a receiver together.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(3);
/// So many of them are tried, each with an equal share of the time that is left.
const ADDRESSES_MAX: usize = 3;
const TLS_TIMEOUT: Duration = Duration::from_secs(5);

/// Connects to receivers. Cheap to clone.
#[derive(Clone)]
pub struct Connector {
    resolver: Arc<Resolver>,
    tls: TlsConnector,
}

/// Why there is no connection, and to which address there is none.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    #[error("{host}: {error}")]
    Resolve { host: String, error: ResolveError },
    #[error("{address}: {error}")]
    Connect {
        address: SocketAddr,
        error: io::Error,
    },
    #[error("{address} did not accept a connection in time")]
    ConnectTimeout { address: SocketAddr },
    #[error("{address}: {error}")]
    Tls {
        address: SocketAddr,
        error: io::Error,
    },
    #[error("{address} did not finish the TLS handshake in time")]
    TlsTimeout { address: SocketAddr },
    #[error("cannot connect to {0}")]
    NoHost(Uri),
}

impl ConnectError {
    /// The address that was tried last.
    pub fn address(&self) -> Option<SocketAddr> {
        match self {
            Self::Resolve { .. } | Self::NoHost(_) => None,
            Self::Connect { address, .. }
            | Self::ConnectTimeout { address }
            | Self::Tls { address, .. }
            | Self::TlsTimeout { address } => Some(*address),
        }
    }
}

impl Connector {
    pub fn new(resolver: Resolver) -> anyhow::Result<Self> {
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .context("choose TLS versions")?
            .with_root_certificates(authorities()?)
            .with_no_client_auth();
        Ok(Self {
            resolver: Arc::new(resolver),
            tls: TlsConnector::from(Arc::new(config)),
        })
    }

    async fn connect(self, uri: Uri) -> Result<ReceiverConnection, ConnectError> {
        let Some(host) = uri.host() else {
            return Err(ConnectError::NoHost(uri));
        };
        let is_https = uri.scheme() == Some(&Scheme::HTTPS);
        let port = uri.port_u16().unwrap_or(if is_https { 443 } else { 80 });
        let began = Instant::now();
        let addresses = self.resolver.addresses(host).await;
        let addresses = addresses.map_err(|error| ConnectError::Resolve {
            host: host.to_owned(),
            error,
        })?;
        let resolved = Instant::now();
        let (stream, address) = connect_to_any(&addresses, port).await?;
        let mut phases = Phases {
            began,
            resolved,
            connected: Instant::now(),
            secured: None,
        };
        if !is_https {
            return Ok(ReceiverConnection {
                stream: Stream::Plain(TokioIo::new(stream)),
                facts: Facts::new(address, None, phases),
            });
        }
        let stream = self.secure(stream, host, address).await?;
        phases.secured = Some(Instant::now());
        let version = stream.get_ref().1.protocol_version();
        Ok(ReceiverConnection {
            stream: Stream::Secured(Box::new(TokioIo::new(stream))),
            facts: Facts::new(address, version, phases),
        })
    }

    async fn secure(
        &self,
        stream: TcpStream,
        host: &str,
        address: SocketAddr,
    ) -> Result<TlsStream<TcpStream>, ConnectError> {
        let failed = |error| ConnectError::Tls { address, error };
        let bare = host.trim_matches(['[', ']']).trim_end_matches('.');
        let name = ServerName::try_from(bare.to_owned());
        let name = name.map_err(|error| failed(io::Error::other(error)))?;
        timeout(TLS_TIMEOUT, self.tls.connect(name, stream))
            .await
            .map_err(|_| ConnectError::TlsTimeout { address })?
            .map_err(failed)
    }
}

/// The authorities that this system believes.
fn authorities() -> anyhow::Result<RootCertStore> {
    let mut authorities = RootCertStore::empty();
    let found = rustls_native_certs::load_native_certs();
    let (usable, _) = authorities.add_parsable_certificates(found.certs);
    ensure!(
        usable > 0,
        "this system has no CA certificates (install ca-certificates, or name a file with SSL_CERT_FILE): {:?}",
        found.errors
    );
    Ok(authorities)
}

/// A connection to the first address that accepts one.
async fn connect_to_any(
    addresses: &[IpAddr],
    port: u16,
) -> Result<(TcpStream, SocketAddr), ConnectError> {
    let deadline = Instant::now() + CONNECT_TIMEOUT;
    let tried = addresses.len().min(ADDRESSES_MAX);
    let mut last = None;
    for (number, address) in addresses.iter().take(tried).enumerate() {
        let address = SocketAddr::new(*address, port);
        let left = deadline.saturating_duration_since(Instant::now());
        let others = u32::try_from(tried - number).expect("a handful");
        match timeout(left / others, TcpStream::connect(address)).await {
            Ok(Ok(stream)) => {
                // A delivery is one small write; it must not wait for another.
                let _ = stream.set_nodelay(true);
                return Ok((stream, address));
            }
            Ok(Err(error)) => last = Some(ConnectError::Connect { address, error }),
            Err(_) => last = Some(ConnectError::ConnectTimeout { address }),
        }
    }
    Err(last.expect("the resolver never hands out nothing"))
}

impl Service<Uri> for Connector {
    type Response = ReceiverConnection;
    type Error = ConnectError;
    type Future = Pin<Box<dyn Future<Output = Result<ReceiverConnection, ConnectError>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), ConnectError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, uri: Uri) -> Self::Future {
        Box::pin(self.clone().connect(uri))
    }
}
