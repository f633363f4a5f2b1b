//! Where a webhook may go: the URL is checked when a rule is made and again at every send, and the
//! address behind its name is checked for every new connection.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use domain::{delivery::Host as HostKey, rule::definition::URL_MAX};
use hyper::Uri;
use ipnet::IpNet;
use url::{Host, Url};

use super::address::is_public;

/// Names that mean the machine itself, wherever they are asked for; so does everything below the first.
const OWN_NAMES: [&str; 4] = [
    "localhost",
    "localhost.localdomain",
    "ip6-localhost",
    "ip6-loopback",
];

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
    #[error("`url` must not contain a user name or password.")]
    Credentials,
    #[error(
        "{0} is not a public address, so nothing is sent there; the operator can allow its network with delivery.allow_cidrs."
    )]
    Forbidden(IpAddr),
    /// Which it is, is not for the owner of the rule to know: names of our own network may be asked for.
    #[error(
        "The name resolves to an address that is not public, so nothing is sent there; the operator can allow its network with delivery.allow_cidrs."
    )]
    ForbiddenName,
    #[error(
        "{0} is the server itself, so nothing is sent there; the operator can allow 127.0.0.1 and ::1 with delivery.allow_cidrs."
    )]
    Ourselves(String),
}

/// The host that a URL is of: its name, in one spelling, and its port. What is no URL, and so is never sent to,
/// is a host of its own.
pub fn host(text: &str) -> HostKey {
    let authority = Url::parse(text).ok().and_then(|url| {
        let name = url.host_str()?.trim_end_matches('.').to_owned();
        Some(format!("{name}:{}", url.port_or_known_default()?))
    });
    HostKey::named(authority.as_deref().unwrap_or(text))
}

impl TargetPolicy {
    pub fn new(allow_http: bool, allow_cidrs: Vec<IpNet>) -> Self {
        Self {
            allow_http,
            allow_cidrs,
        }
    }

    /// The address to send to, if a webhook may go there as far as the text tells. The parser also sees
    /// through decimal, octal and hexadecimal spellings of an address, and through encoded ones.
    pub fn parse(&self, text: &str) -> Result<Uri, Refusal> {
        if text.len() > URL_MAX {
            return Err(Refusal::TooLong);
        }
        // The parser drops or rewrites them, and what is stored must be what is checked.
        if text.contains(|c: char| c.is_control() || c.is_whitespace() || c == '\\') {
            let what = "it has spaces, backslashes or control characters";
            return Err(Refusal::NotAUrl(what.to_owned()));
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
            Some(Host::Domain(name)) if !name.is_empty() => self.vet_name(name)?,
            Some(Host::Domain(_)) | None => {
                return Err(Refusal::NotAUrl("it has no host".to_owned()));
            }
        }
        Uri::try_from(url.as_str()).map_err(|error| Refusal::NotAUrl(error.to_string()))
    }

    /// A name is vetted by its addresses when it is sent to. Those that mean this machine are known
    /// without asking, and whoever makes the rule is told at once.
    fn vet_name(&self, name: &str) -> Result<(), Refusal> {
        let name = name.trim_end_matches('.');
        let is_own = OWN_NAMES.contains(&name) || name.ends_with(".localhost");
        let loopback = [
            IpAddr::V4(Ipv4Addr::LOCALHOST),
            IpAddr::V6(Ipv6Addr::LOCALHOST),
        ];
        if is_own
            && loopback
                .into_iter()
                .any(|address| self.vet(address).is_err())
        {
            return Err(Refusal::Ourselves(name.to_owned()));
        }
        Ok(())
    }

    /// Whether an address may be sent to.
    pub fn vet(&self, address: IpAddr) -> Result<(), Refusal> {
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
    fn urls_of_one_machine_are_of_one_host_however_they_are_spelled() {
        let one = host("https://example.com/hooks?x=1");
        for url in [
            "https://EXAMPLE.com:443/",
            "https://example.com./other",
            "http://example.com:443/",
        ] {
            assert_eq!(host(url), one, "{url}");
        }
        assert_eq!(host("https://2130706433/"), host("https://127.0.0.1/"));
        for url in ["https://example.com:8443/", "https://a.example.com/", ""] {
            assert_ne!(host(url), one, "{url}");
        }
    }

    #[test]
    fn the_operator_can_allow_a_network_and_only_that() {
        let policy = TargetPolicy::new(true, vec!["127.0.0.0/8".parse().expect("CIDR")]);
        assert!(policy.parse("http://127.0.0.1:9000/").is_ok());
        assert!(policy.parse("http://10.0.0.1/").is_err());
    }
}
