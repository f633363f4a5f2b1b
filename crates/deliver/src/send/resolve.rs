//! Finds the addresses behind a host and hands out vetted ones only.

use std::{
    net::{IpAddr, SocketAddr},
    pin::pin,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use anyhow::Context as _;
use futures::FutureExt as _;
use hickory_resolver::{
    TokioResolver,
    config::{
        ConnectionConfig, LookupIpStrategy, NameServerConfig, ResolveHosts, ResolverConfig,
        ResolverOpts,
    },
    net::{DnsError, NetError, runtime::TokioRuntimeProvider},
};
use tokio::time::{Instant, timeout};

use super::target::{Refusal, TargetPolicy};

/// How long a name may take to resolve.
const RESOLVE_TIMEOUT: Duration = Duration::from_secs(2);
/// A question may get lost on its way, so it is asked twice within that time.
const QUESTION_TIMEOUT: Duration = Duration::from_millis(900);
const QUESTION_REPEATS: usize = 1;
/// Name servers that answered something within this time are there; what they do not answer then is the
/// name's fault. Short, because when ours fail every name is blamed for as long.
const HEARD_RECENTLY: Duration = Duration::from_secs(30);
/// How long "there is no such name" is believed: whoever mends it should not have to wait for us.
const NEGATIVE_TTL_MAX: Duration = Duration::from_secs(5);
/// Answers kept, each for as long as it says.
const CACHE_ENTRIES: u64 = 8_192;

/// Resolves and vets. Asked for every new connection, so an answer that changes is vetted again.
pub struct Resolver {
    names: TokioResolver,
    heard: Heard,
    policy: Arc<TargetPolicy>,
}

/// When our name servers were heard last. A name whose own servers are silent must not pass for our fault,
/// which is held against nobody.
struct Heard {
    began: Instant,
    /// Milliseconds from the beginning; 0 if never.
    last_ms: AtomicU64,
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
    /// Our name servers answer, but not about this name: they wait for its own.
    #[error("its name servers did not answer")]
    Silent,
    /// Our name servers answer nothing.
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
        Ok(Self {
            names,
            heard: Heard::nothing_yet(Instant::now()),
            policy,
        })
    }

    /// Every address behind a host of a URL, all of them allowed.
    pub async fn addresses(&self, host: &str) -> Result<Vec<IpAddr>, ResolveError> {
        if let Some(address) = literal(host) {
            self.policy.vet(address)?;
            return Ok(vec![address]);
        }
        let found = self.look_up(host).await?;
        // One forbidden address is enough: whoever answers so is not to be trusted.
        if let Some(address) = found.iter().find(|found| self.policy.vet(**found).is_err()) {
            tracing::debug!(%host, %address, "name resolves to an address that is not public");
            return Err(Refusal::ForbiddenName.into());
        }
        Ok(found)
    }

    async fn look_up(&self, name: &str) -> Result<Vec<IpAddr>, ResolveError> {
        // Absolute: a search domain of this machine must not turn a public name into a local one.
        let absolute = format!("{}.", name.trim_end_matches('.'));
        let mut asking = pin!(self.names.lookup_ip(absolute));
        // What is known at once is from the cache, and no sign that anybody answers.
        let (found, is_known) = match asking.as_mut().now_or_never() {
            Some(found) => (Ok(found), true),
            None => (timeout(RESOLVE_TIMEOUT, asking).await, false),
        };
        let found = found
            .map_err(|_| ResolveError::Unanswered("no answer within 2 s".to_owned()))
            .and_then(|found| found.map_err(|error| ResolveError::from(&error)));
        let now = Instant::now();
        match &found {
            Err(ResolveError::Unanswered(_)) if self.heard.is_recent(now) => {
                return Err(ResolveError::Silent);
            }
            Err(ResolveError::Unanswered(_)) => {}
            _ if is_known => {}
            _ => self.heard.note(now),
        }
        let addresses: Vec<IpAddr> = found?.iter().collect();
        if addresses.is_empty() {
            return Err(ResolveError::NoAddress);
        }
        Ok(addresses)
    }
}

impl Heard {
    fn nothing_yet(began: Instant) -> Self {
        Self {
            began,
            last_ms: AtomicU64::new(0),
        }
    }

    fn note(&self, now: Instant) {
        // At least 1, because 0 is never.
        self.last_ms
            .fetch_max(self.millis(now).max(1), Ordering::Relaxed);
    }

    fn is_recent(&self, now: Instant) -> bool {
        let last = self.last_ms.load(Ordering::Relaxed);
        let ago = Duration::from_millis(self.millis(now).saturating_sub(last));
        last > 0 && ago <= HEARD_RECENTLY
    }

    fn millis(&self, now: Instant) -> u64 {
        u64::try_from((now - self.began).as_millis()).unwrap_or(u64::MAX)
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
    fn silence_is_ours_only_if_nothing_was_heard_for_a_while() {
        let began = Instant::now();
        let at = |seconds| began + Duration::from_secs(seconds);
        let heard = Heard::nothing_yet(began);
        assert!(!heard.is_recent(at(0)), "never");
        heard.note(at(100));
        assert!(heard.is_recent(at(100)));
        assert!(heard.is_recent(at(130)), "the name's");
        assert!(!heard.is_recent(at(131)), "ours");
        heard.note(at(90));
        assert!(heard.is_recent(at(130)), "the latest counts");
        heard.note(at(200));
        assert!(heard.is_recent(at(201)), "they are back");
    }

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
