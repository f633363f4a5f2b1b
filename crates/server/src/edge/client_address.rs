//! Which address a request came from: the peer, or what a proxy that we trust says of it.
//!
//! Whoever connects can write any header, so a header counts only if the peer is a trusted proxy.
//! Then the addresses are read from the right, where each proxy adds the peer it saw: the first one
//! that is not a trusted proxy is the client. What is left of it is the client's own story.

use std::{
    convert::Infallible,
    fmt,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
    sync::Arc,
};

use axum::{
    extract::{ConnectInfo, FromRef, FromRequestParts},
    http::{Extensions, HeaderMap, HeaderName, header, request::Parts},
};
use ipnet::IpNet;

/// A chain of proxies is short; what is longer was not written by proxies.
const HOPS_MAX: usize = 32;

/// Which proxies we believe, and in which header they speak. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct ProxyTrust {
    proxies: Arc<[IpNet]>,
    header: Option<HeaderName>,
}

/// The client, as limits count it: an IPv4 address, or the /64 network of an IPv6 one, because that
/// is what one customer of a provider is given.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ClientAddress(IpAddr);

impl ProxyTrust {
    pub fn new(proxies: &[IpNet], header: Option<HeaderName>) -> Self {
        Self {
            proxies: proxies.into(),
            header,
        }
    }

    /// The client of a request that `peer` sent with these headers.
    pub fn client(&self, peer: IpAddr, headers: &HeaderMap) -> ClientAddress {
        let mut client = plain(peer);
        if let Some(name) = &self.header
            && self.trusts(client)
        {
            for hop in hops_from_the_right(name, headers).take(HOPS_MAX) {
                let Some(address) = hop else { break };
                client = plain(address);
                if !self.trusts(client) {
                    break;
                }
            }
        }
        ClientAddress(network(client))
    }

    /// Who is at the other end of a connection, unless it is a proxy that we trust.
    pub fn client_that_connects(&self, peer: IpAddr) -> Option<ClientAddress> {
        let peer = plain(peer);
        (!self.trusts(peer)).then(|| ClientAddress(network(peer)))
    }

    fn trusts(&self, address: IpAddr) -> bool {
        self.proxies
            .iter()
            .any(|proxies| proxies.contains(&address))
    }

    /// Of a request that came through our listener.
    pub fn client_of(&self, extensions: &Extensions, headers: &HeaderMap) -> ClientAddress {
        let peer = extensions.get::<ConnectInfo<SocketAddr>>();
        let peer = peer.map_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED), |peer| peer.0.ip());
        self.client(peer, headers)
    }
}

impl fmt::Display for ClientAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            IpAddr::V4(address) => write!(f, "{address}"),
            IpAddr::V6(network) => write!(f, "{network}/64"),
        }
    }
}

impl<S> FromRequestParts<S> for ClientAddress
where
    S: Send + Sync,
    ProxyTrust: FromRef<S>,
{
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Infallible> {
        Ok(ProxyTrust::from_ref(state).client_of(&parts.extensions, &parts.headers))
    }
}

/// The addresses in a header, last first; `None` for one that is not an address.
fn hops_from_the_right<'h>(
    name: &'h HeaderName,
    headers: &'h HeaderMap,
) -> impl Iterator<Item = Option<IpAddr>> + 'h {
    let address = if name == header::FORWARDED {
        forwarded_for
    } else {
        address
    };
    let mut values: Vec<&str> = headers
        .get_all(name)
        .iter()
        // Not text: an element that cannot be read, in its place.
        .map(|value| value.to_str().unwrap_or("?"))
        .collect();
    values.reverse();
    values
        .into_iter()
        .flat_map(|value| value.rsplit(','))
        .map(move |element| address(element.trim()))
}

/// `for=192.0.2.60;proto=http;by=203.0.113.43` (RFC 7239).
fn forwarded_for(element: &str) -> Option<IpAddr> {
    let mut pairs = element.split(';').filter_map(|pair| pair.split_once('='));
    let (_, node) = pairs.find(|(name, _)| name.trim().eq_ignore_ascii_case("for"))?;
    address(node.trim().trim_matches('"'))
}

/// `192.0.2.1`, `192.0.2.1:80`, `2001:db8::1`, `[2001:db8::1]`, `[2001:db8::1]:80`, `fe80::1%eth0`.
fn address(text: &str) -> Option<IpAddr> {
    if let Some(bracketed) = text.strip_prefix('[') {
        let (inside, after) = bracketed.split_once(']')?;
        let port = after.strip_prefix(':').unwrap_or("0");
        let is_port = (after.is_empty() || after.starts_with(':')) && port.parse::<u16>().is_ok();
        return is_port.then(|| without_zone(inside))?;
    }
    without_zone(text).or_else(|| {
        let (address, port) = text.split_once(':')?;
        port.parse::<u16>().ok()?;
        address.parse().ok().map(IpAddr::V4)
    })
}

fn without_zone(text: &str) -> Option<IpAddr> {
    let address = text.split_once('%').map_or(text, |(address, _)| address);
    address.parse().ok()
}

/// One address, however it is written: IPv4 mapped into IPv6 (RFC 4291) is IPv4.
fn plain(address: IpAddr) -> IpAddr {
    match address {
        IpAddr::V4(_) => address,
        IpAddr::V6(six) => six.to_ipv4_mapped().map_or(address, IpAddr::V4),
    }
}

/// What is counted. An IPv4 host behind a NAT64 gateway (RFC 6052) is that host; it is no trusted
/// proxy, though, whatever its IPv4 address.
fn network(address: IpAddr) -> IpAddr {
    let IpAddr::V6(six) = address else {
        return address;
    };
    match six.segments() {
        [0x64, 0xff9b, 0, 0, 0, 0, high, low] => {
            let ([a, b], [c, d]) = (high.to_be_bytes(), low.to_be_bytes());
            IpAddr::V4(Ipv4Addr::new(a, b, c, d))
        }
        [a, b, c, d, ..] => IpAddr::V6(Ipv6Addr::new(a, b, c, d, 0, 0, 0, 0)),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const PROXY: &str = "10.0.0.1";

    fn trust(header: &'static str) -> ProxyTrust {
        let proxies = ["10.0.0.0/8", "fd00::/8"].map(|net| net.parse().expect("a network"));
        ProxyTrust::new(&proxies, Some(HeaderName::from_static(header)))
    }

    fn client(header: &'static str, peer: &str, values: &[&str]) -> String {
        let mut headers = HeaderMap::new();
        for value in values {
            headers.append(header, value.parse().expect("a header"));
        }
        let peer = peer.parse().expect("an address");
        trust(header).client(peer, &headers).to_string()
    }

    #[test]
    fn the_first_untrusted_address_from_the_right_is_the_client() {
        let cases: [(&str, &[&str], &str); 15] = [
            (PROXY, &[], "10.0.0.1"),
            (PROXY, &["192.0.2.1"], "192.0.2.1"),
            (PROXY, &["6.6.6.6, 192.0.2.1"], "192.0.2.1"),
            (PROXY, &["6.6.6.6", "192.0.2.1"], "192.0.2.1"),
            (PROXY, &["192.0.2.1, 10.9.9.9"], "192.0.2.1"),
            (PROXY, &["192.0.2.1:4711, [fd00::1]:80"], "192.0.2.1"),
            (PROXY, &["10.0.0.3, 10.0.0.2"], "10.0.0.3"),
            // What cannot be read ends the walk at the last good hop.
            (PROXY, &["192.0.2.1, unknown, 10.0.0.2"], "10.0.0.2"),
            (PROXY, &["192.0.2.1,"], "10.0.0.1"),
            ("::ffff:10.0.0.1", &["192.0.2.1"], "192.0.2.1"),
            (PROXY, &["2001:db8:1:2:3:4:5:6"], "2001:db8:1:2::/64"),
            (PROXY, &["::ffff:192.0.2.1"], "192.0.2.1"),
            (PROXY, &["64:ff9b::192.0.2.1"], "192.0.2.1"),
            ("64:ff9b::10.0.0.1", &["192.0.2.1"], "10.0.0.1"),
            ("203.0.113.5", &["192.0.2.1"], "203.0.113.5"),
        ];
        for (peer, values, expected) in cases {
            let found = client("x-forwarded-for", peer, values);
            assert_eq!(found, expected, "{peer} {values:?}");
        }
    }

    #[test]
    fn the_standard_header_is_read_too() {
        for (value, expected) in [
            ("for=192.0.2.1;proto=http;by=10.0.0.1", "192.0.2.1"),
            (
                r#"for=6.6.6.6, For="[2001:db8:cafe::17]:4711""#,
                "2001:db8:cafe::/64",
            ),
            ("proto=https;for=\"192.0.2.1:99\"", "192.0.2.1"),
            ("for=192.0.2.1, for=_hidden, for=10.0.0.7", "10.0.0.7"),
            ("by=10.0.0.1", "10.0.0.1"),
        ] {
            assert_eq!(client("forwarded", PROXY, &[value]), expected, "{value}");
        }
    }

    #[test]
    fn a_longer_chain_than_proxies_make_is_not_followed_to_its_end() {
        let chain = format!("192.0.2.1{}", ", 10.0.0.2".repeat(HOPS_MAX));
        assert_eq!(client("x-forwarded-for", PROXY, &[&chain]), "10.0.0.2");
    }

    proptest! {
        #[test]
        fn a_header_from_an_untrusted_peer_changes_nothing(value in "[ -~]{0,80}") {
            prop_assert_eq!(client("x-forwarded-for", "203.0.113.5", &[&value]), "203.0.113.5");
            prop_assert_eq!(client("forwarded", "203.0.113.5", &[&value]), "203.0.113.5");
        }

        #[test]
        fn what_the_client_writes_in_front_changes_nothing(story in "[ -~]{0,80}") {
            let header = format!("{story}, 192.0.2.1");
            prop_assert_eq!(client("x-forwarded-for", PROXY, &[&header]), "192.0.2.1");
        }

        #[test]
        fn an_ipv6_customer_is_one_client_whatever_address_it_uses(host: u64) {
            let address = Ipv6Addr::from((0x2001_0db8_0001_0002_u128 << 64) | u128::from(host));
            let found = client("x-forwarded-for", &address.to_string(), &[]);
            prop_assert_eq!(found, "2001:db8:1:2::/64");
        }
    }
}
