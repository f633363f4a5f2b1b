//! Where a webhook may go: the URL is checked when a rule is made and again at every send, and the
//! address behind its name is checked for every new connection.

use std::{
    future::Future,
    net::{IpAddr, SocketAddr},
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use domain::rule::definition::URL_MAX;
use hickory_resolver::TokioResolver;
use hyper_util::client::legacy::connect::dns::Name;
use ipnet::IpNet;
use tokio::time::timeout;
use tower::Service;
use url::{Host, Url};

use super::address::is_public;

/// How long a name may take to resolve.
const RESOLVE_TIMEOUT: Duration = Duration::from_secs(2);

/// What the operator allows beyond public https.
#[derive(Debug, Default)]
pub struct TargetPolicy {
    allow_http: bool,
    allow_cidrs: Vec<IpNet>,
}

/// Why a webhook may not go there. The text is for the rule's owner.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    #[error("`url` must be an absolute URL such as https://example.com/hooks ({0}).")]
    NotAUrl(String),
    #[error("`url` is longer than {URL_MAX} bytes.")]
    TooLong,
    #[error("`url` must be https, or http where the operator allows it (delivery.allow_http).")]
    Scheme,
    #[error("`url` must not carry a user name or password.")]
    Credentials,
    #[error(
        "{0} is not a public address, so nothing is sent there; the operator can allow its network by delivery.allow_cidrs."
    )]
    Forbidden(IpAddr),
}

impl TargetPolicy {
    pub fn new(allow_http: bool, allow_cidrs: Vec<IpNet>) -> Self {
        Self {
            allow_http,
            allow_cidrs,
        }
    }

    /// The URL, if a webhook may go there as far as its text tells. The parser also sees through
    /// decimal, octal and hexadecimal spellings of an address.
    pub fn parse(&self, text: &str) -> Result<Url, Refusal> {
        if text.len() > URL_MAX {
            return Err(Refusal::TooLong);
        }
        // The parser drops them, and what is stored must be what is checked.
        if text.contains(char::is_control) {
            return Err(Refusal::NotAUrl("it has control characters".to_owned()));
        }
        let url = Url::parse(text).map_err(|error| Refusal::NotAUrl(error.to_string()))?;
        let scheme_allowed = url.scheme() == "https" || (url.scheme() == "http" && self.allow_http);
        if !scheme_allowed {
            return Err(Refusal::Scheme);
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(Refusal::Credentials);
        }
        match url.host() {
            Some(Host::Ipv4(address)) => self.vet(IpAddr::V4(address))?,
            Some(Host::Ipv6(address)) => self.vet(IpAddr::V6(address))?,
            Some(Host::Domain(name)) if !name.is_empty() => {}
            Some(Host::Domain(_)) | None => {
                return Err(Refusal::NotAUrl("it names no host".to_owned()));
            }
        }
        Ok(url)
    }

    fn vet(&self, address: IpAddr) -> Result<(), Refusal> {
        if is_public(address)
            || self
                .allow_cidrs
                .iter()
                .any(|network| network.contains(&address))
        {
            Ok(())
        } else {
            Err(Refusal::Forbidden(address))
        }
    }
}

/// Resolves names for the HTTP client and hands it vetted addresses only. The client skips it for
/// addresses written as such; [`TargetPolicy::parse`] has seen those.
#[derive(Clone)]
pub struct VettedResolver {
    resolver: Arc<TokioResolver>,
    policy: Arc<TargetPolicy>,
}

impl VettedResolver {
    pub fn new(resolver: Arc<TokioResolver>, policy: Arc<TargetPolicy>) -> Self {
        Self { resolver, policy }
    }

    async fn resolve(self, name: Name) -> Result<std::vec::IntoIter<SocketAddr>, ResolveError> {
        // Absolute: a search domain of this machine must not turn a public name into a local one.
        let absolute = format!("{}.", name.as_str().trim_end_matches('.'));
        let found = timeout(RESOLVE_TIMEOUT, self.resolver.lookup_ip(absolute))
            .await
            .map_err(|_| ResolveError::TooSlow)?
            .map_err(|error| ResolveError::Failed(error.to_string()))?;
        let mut addresses = Vec::new();
        for address in found.iter() {
            // One forbidden address is enough: whoever answers so is not to be trusted.
            self.policy.vet(address)?;
            addresses.push(SocketAddr::new(address, 0));
        }
        if addresses.is_empty() {
            return Err(ResolveError::Failed("the name has no address".to_owned()));
        }
        Ok(addresses.into_iter())
    }
}

/// Why a name gave no address to connect to.
#[derive(Debug, thiserror::Error)]
pub enum ResolveError {
    #[error("the name did not resolve within 2 s")]
    TooSlow,
    #[error("the name did not resolve: {0}")]
    Failed(String),
    #[error(transparent)]
    Forbidden(#[from] Refusal),
}

impl Service<Name> for VettedResolver {
    type Response = std::vec::IntoIter<SocketAddr>;
    type Error = ResolveError;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, ResolveError>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), ResolveError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, name: Name) -> Self::Future {
        Box::pin(self.clone().resolve(name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn by_default_only_public_https_is_allowed() {
        let policy = TargetPolicy::default();
        assert!(policy.parse("https://example.com/hooks?x=1").is_ok());
        assert!(policy.parse("https://1.1.1.1/").is_ok());
        let cases = [
            ("http://example.com/", Refusal::Scheme),
            ("ftp://example.com/", Refusal::Scheme),
            ("https://user:pass@example.com/", Refusal::Credentials),
            (
                "https://127.0.0.1/",
                Refusal::Forbidden([127, 0, 0, 1].into()),
            ),
            (
                "https://2130706433/",
                Refusal::Forbidden([127, 0, 0, 1].into()),
            ),
            ("https://0x7f.1/", Refusal::Forbidden([127, 0, 0, 1].into())),
            (
                "https://0177.0.0.1/",
                Refusal::Forbidden([127, 0, 0, 1].into()),
            ),
            (
                "https://169.254.169.254/latest",
                Refusal::Forbidden([169, 254, 169, 254].into()),
            ),
        ];
        for (url, refusal) in cases {
            assert_eq!(policy.parse(url), Err(refusal), "{url}");
        }
        for url in [
            "",
            "example.com",
            "/hooks",
            "https://",
            "https://[::ffff:127.0.0.1]/",
            "https://[::1]:8080/",
            "https://example.com/\0",
            "\thttps://example.com/",
        ] {
            assert!(policy.parse(url).is_err(), "{url}");
        }
        assert_eq!(
            policy.parse(&format!("https://example.com/{}", "x".repeat(3_000))),
            Err(Refusal::TooLong)
        );
    }

    #[test]
    fn the_operator_can_allow_a_network_and_only_that() {
        let policy = TargetPolicy::new(true, vec!["127.0.0.0/8".parse().expect("CIDR")]);
        assert!(policy.parse("http://127.0.0.1:9000/").is_ok());
        assert!(policy.parse("http://10.0.0.1/").is_err());
    }
}
