//! In which form a client wants an answer: what it says in `Accept-Encoding` (RFC 9110, 12.5.3).

use axum::http::{HeaderMap, header};

/// A form other than the plain one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Packing {
    Gzip,
    Brotli,
    Zstd,
}

/// What the plain form is worth to a client that does not mention it: less than anything it does mention.
const UNMENTIONED: f32 = 0.000_1;

impl Packing {
    /// As the header names it.
    pub const fn coding(self) -> &'static str {
        match self {
            Self::Gzip => "gzip",
            Self::Brotli => "br",
            Self::Zstd => "zstd",
        }
    }

    /// What is added to a file's name.
    pub const fn extension(self) -> &'static str {
        match self {
            Self::Gzip => "gz",
            Self::Brotli => "br",
            Self::Zstd => "zst",
        }
    }
}

/// Of these forms the one that the client likes best, and of two that it likes as well the first; `None`: as it is.
pub fn preferred(offered: &[Packing], headers: &HeaderMap) -> Option<Packing> {
    let said = headers.get_all(header::ACCEPT_ENCODING).iter();
    let said: Vec<&str> = said.filter_map(|value| value.to_str().ok()).collect();
    let said = said.join(",");
    let plain = quality(&said, "identity").unwrap_or(UNMENTIONED);
    offered
        .iter()
        .map(|packing| (*packing, quality(&said, packing.coding()).unwrap_or(0.0)))
        .filter(|(_, quality)| *quality > 0.0 && *quality >= plain)
        .reduce(|best, other| if other.1 > best.1 { other } else { best })
        .map(|(packing, _)| packing)
}

/// How much a client likes a coding, 0 to 1; `None` if it mentions neither it nor `*`.
fn quality(said: &str, coding: &str) -> Option<f32> {
    let of = |wanted: &str| {
        said.split(',').find_map(|one| {
            let mut parts = one.split(';');
            let name = parts.next()?.trim();
            let weight = || {
                let given = parts.find_map(|part| part.trim().strip_prefix("q="));
                given.map_or(Some(1.0), |text| text.trim().parse().ok())
            };
            // What cannot be read is not wanted.
            name.eq_ignore_ascii_case(wanted)
                .then(weight)
                .map(|weight| weight.unwrap_or(0.0))
        })
    };
    of(coding).or_else(|| of("*"))
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    const OFFERED: [Packing; 2] = [Packing::Brotli, Packing::Gzip];

    #[test]
    fn a_client_gets_what_it_likes_best() {
        for (said, expected) in [
            ("", None),
            ("gzip, deflate, br, zstd", Some(Packing::Brotli)),
            ("gzip", Some(Packing::Gzip)),
            ("GZIP;q=0.5", Some(Packing::Gzip)),
            ("br;q=0.5, gzip;q=0.8", Some(Packing::Gzip)),
            ("br;q=0, gzip", Some(Packing::Gzip)),
            ("br;q=0, gzip;q=0", None),
            ("identity", None),
            ("identity, br;q=0.5", None),
            ("identity;q=0, gzip;q=0.1", Some(Packing::Gzip)),
            ("*", Some(Packing::Brotli)),
            ("*;q=0", None),
            ("br;q=0, *", Some(Packing::Gzip)),
            ("br;q=x", None),
            ("br; q=0.9", Some(Packing::Brotli)),
            ("zstd", None),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(header::ACCEPT_ENCODING, HeaderValue::from_static(said));
            assert_eq!(preferred(&OFFERED, &headers), expected, "{said}");
        }
        assert_eq!(preferred(&OFFERED, &HeaderMap::new()), None);
    }
}
