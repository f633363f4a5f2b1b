//! Finds the addresses behind a host and hands out vetted ones only.

use std::{
    net::{IpAddr, SocketAddr},
    sync::Arc,
    time::Duration,
};

use anyhow::Context as _;
use hickory_resolver::{
    TokioResolver,
    config::{
        ConnectionConfig, LookupIpStrategy, NameServerConfig, ResolveHosts, ResolverConfig,
        ResolverOpts,
    },
    net::{DnsError, NetError, runtime::TokioRuntimeProvider},
};
use tokio::time::timeout;

use super::target::{Refusal, TargetPolicy};

/// How long a name may take to resolve.
const RESOLVE_TIMEOUT: Duration = Duration::from_secs(2);
/// A question may get lost on its way, so it is asked twice within that time.
const QUESTION_TIMEOUT: Duration = Duration::from_millis(900);
const QUESTION_REPEATS: usize = 1;
/// How long "there is no such name" is believed: whoever mends it should not have to wait for us.
const NEGATIVE_TTL_MAX: Duration = Duration::from_secs(5);
/// Answers kept, each for as long as it says.
const CACHE_ENTRIES: u64 = 8_192;

/// Resolves and vets. Asked for every new connection, so an answer that changes is vetted again.
pub struct Resolver {
    names: TokioResolver,
    policy: Arc<TargetPolicy>,
}

/// Why a host gave no address to connect to.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ResolveError {
    #[error("there is no such name")]
    NoSuchName,
    #[error("the name has no address")]
    NoAddress,
    /// A name server answered, and could not say.
    #[error("its name servers failed: {0}")]
    Failed(String),
    /// Our name servers did not answer.
    #[error("our name servers did not answer: {0}")]
    Unanswered(String),
    #[error(transparent)]
    Forbidden(#[from] Refusal),
}

impl Resolver {
    /// Asks these name servers, or the system's if there are none.
    pub fn new(nameservers: &[SocketAddr], policy: Arc<TargetPolicy>) -> anyhow::Result<Self> {
        let mut builder = if nameservers.is_empty() {
            TokioResolver::builder_tokio().context("read the system's DNS configuration")?
        } else {
            let servers = nameservers.iter().copied().map(name_server).collect();
            let config = ResolverConfig::from_name_servers(servers);
            TokioResolver::builder_with_config(config, TokioRuntimeProvider::default())
        };
        options(builder.options_mut());
        let names = builder.build().context("prepare the resolver")?;
        Ok(Self { names, policy })
    }

    /// Every address behind a host of a URL, all of them allowed.
    pub async fn addresses(&self, host: &str) -> Result<Vec<IpAddr>, ResolveError> {
        let found = match literal(host) {
            Some(address) => vec![address],
            None => self.look_up(host).await?,
        };
        for address in &found {
            // One forbidden address is enough: whoever answers so is not to be trusted.
            self.policy.vet(*address)?;
        }
        Ok(found)
    }

    async fn look_up(&self, name: &str) -> Result<Vec<IpAddr>, ResolveError> {
        // Absolute: a search domain of this machine must not turn a public name into a local one.
        let absolute = format!("{}.", name.trim_end_matches('.'));
        let found = timeout(RESOLVE_TIMEOUT, self.names.lookup_ip(absolute))
            .await
            .map_err(|_| ResolveError::Unanswered("no answer within 2 s".to_owned()))?
            .map_err(|error| ResolveError::from(&error))?;
        let addresses: Vec<IpAddr> = found.iter().collect();
        if addresses.is_empty() {
            return Err(ResolveError::NoAddress);
        }
        Ok(addresses)
    }
}

/// The address, if the host is one. Other spellings of an address than these do not get here: the
/// parser of URLs has rewritten them.
fn literal(host: &str) -> Option<IpAddr> {
    let bare = host
        .strip_prefix('[')
        .and_then(|rest| rest.strip_suffix(']'));
    bare.unwrap_or(host).parse().ok()
}

fn name_server(address: SocketAddr) -> NameServerConfig {
    let connections = [ConnectionConfig::udp(), ConnectionConfig::tcp()];
    let connections = connections.map(|mut connection| {
        connection.port = address.port();
        connection
    });
    NameServerConfig::new(address.ip(), true, connections.into())
}

fn options(options: &mut ResolverOpts) {
    options.timeout = QUESTION_TIMEOUT;
    options.attempts = QUESTION_REPEATS;
    // Both kinds are asked for, because both are vetted.
    options.ip_strategy = LookupIpStrategy::Ipv4AndIpv6;
    // The names in it are this machine's own business, and no customer's.
    options.use_hosts_file = ResolveHosts::Never;
    options.negative_max_ttl = Some(NEGATIVE_TTL_MAX);
    options.cache_size = CACHE_ENTRIES;
}

impl From<&NetError> for ResolveError {
    fn from(error: &NetError) -> Self {
        match error {
            _ if error.is_nx_domain() => Self::NoSuchName,
            _ if error.is_no_records_found() => Self::NoAddress,
            NetError::Dns(DnsError::ResponseCode(code)) => Self::Failed(code.to_string()),
            NetError::Dns(_) | NetError::Proto(_) => Self::Failed(error.to_string()),
            _ => Self::Unanswered(error.to_string()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_told_from_a_name() {
        for host in ["127.0.0.1", "[::1]", "::1", "[2606:4700::1111]"] {
            assert!(literal(host).is_some(), "{host}");
        }
        for host in ["example.com", "[::1", "127.1", "0x7f.0.0.1", "1.1.1.1.", ""] {
            assert_eq!(literal(host), None, "{host}");
        }
    }
}
