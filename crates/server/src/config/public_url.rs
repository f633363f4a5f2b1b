//! Where people reach the server: what links in mails start with, and whether cookies are secure.

use anyhow::{Context as _, ensure};
use serde::{Deserialize, Serialize};
use url::{Host, Url};

/// `http.public_url`, checked.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(try_from = "String", into = "String")]
pub struct PublicUrl {
    url: Url,
    /// Without a slash at its end.
    text: String,
}

impl PublicUrl {
    pub fn parse(text: &str) -> anyhow::Result<Self> {
        let url = Url::parse(text).context("http.public_url is not a URL")?;
        ensure!(
            ["http", "https"].contains(&url.scheme()) && url.host().is_some(),
            "http.public_url must start with http:// or https://"
        );
        ensure!(
            url.query().is_none() && url.fragment().is_none() && url.username().is_empty(),
            "http.public_url may have a scheme, a host, a port and a path, nothing else"
        );
        let text = url.as_str().trim_end_matches('/').to_owned();
        Ok(Self { url, text })
    }

    pub fn is_https(&self) -> bool {
        self.url.scheme() == "https"
    }

    /// Whether only this machine can reach it, so that nobody listens in.
    pub fn is_loopback(&self) -> bool {
        match self.url.host() {
            Some(Host::Ipv4(address)) => address.is_loopback(),
            Some(Host::Ipv6(address)) => address.is_loopback(),
            Some(Host::Domain(name)) => name == "localhost",
            None => false,
        }
    }

    /// As browsers write it in `Origin`.
    pub fn origin(&self) -> String {
        self.url.origin().ascii_serialization()
    }

    /// Without its scheme: what names of transparency logs begin with.
    pub fn without_scheme(&self) -> &str {
        self.text
            .split_once("://")
            .map_or(&self.text, |(_, rest)| rest)
    }

    /// The address of a path, which begins with a slash.
    pub fn to(&self, path: &str) -> String {
        format!("{}{path}", self.text)
    }

    /// A link that carries a secret in its fragment, which browsers keep to themselves: no proxy
    /// and no log of a server ever sees it.
    pub fn link(&self, page: &str, secret: &str) -> String {
        format!("{}/{page}#token={secret}", self.text)
    }
}

impl TryFrom<String> for PublicUrl {
    type Error = anyhow::Error;

    fn try_from(text: String) -> anyhow::Result<Self> {
        Self::parse(&text)
    }
}

impl From<PublicUrl> for String {
    fn from(url: PublicUrl) -> Self {
        url.text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_and_origins_follow_from_the_url() {
        for (text, link, origin) in [
            (
                "https://wb.example.com",
                "https://wb.example.com/p#token=x",
                "https://wb.example.com",
            ),
            (
                "https://wb.example.com:443/",
                "https://wb.example.com/p#token=x",
                "https://wb.example.com",
            ),
            (
                "http://[::1]:8080",
                "http://[::1]:8080/p#token=x",
                "http://[::1]:8080",
            ),
            (
                "https://example.com/wb/",
                "https://example.com/wb/p#token=x",
                "https://example.com",
            ),
        ] {
            let url = PublicUrl::parse(text).expect(text);
            assert_eq!(
                (url.link("p", "x").as_str(), url.origin().as_str()),
                (link, origin)
            );
        }
    }

    #[test]
    fn what_people_cannot_open_is_refused() {
        for text in [
            "",
            "wb.example.com",
            "ftp://a",
            "https://a?b",
            "https://a#b",
            "https://u@a",
        ] {
            assert!(PublicUrl::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn only_this_machine_counts_as_loopback() {
        for (text, expected) in [
            ("http://127.0.0.1:8080", true),
            ("http://[::1]", true),
            ("http://localhost:1", true),
            ("http://localhost.example.com", false),
            ("http://10.0.0.1", false),
        ] {
            let url = PublicUrl::parse(text).expect(text);
            assert_eq!(url.is_loopback(), expected, "{text}");
        }
    }
}
