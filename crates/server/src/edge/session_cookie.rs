//! The cookie that carries a person's session, and the one that their browser is known by.

use std::time::Duration;

use axum::http::{HeaderMap, HeaderValue, header};
use domain::account::{SecretToken, TokenKind};

use super::known_browser::{self, BrowserMark};

/// How the cookies are named and guarded, which follows from where people reach us.
#[derive(Clone, Copy, Debug)]
pub struct SessionCookie {
    /// Browsers send it over https only, and take it from no other host or path (`__Host-`).
    secure: bool,
}

impl SessionCookie {
    /// For people who come by https, or not.
    pub fn new(secure: bool) -> Self {
        Self { secure }
    }

    fn name(self) -> &'static str {
        if self.secure {
            "__Host-watchbell_session"
        } else {
            "watchbell_session"
        }
    }

    fn mark_name(self) -> &'static str {
        if self.secure {
            "__Host-watchbell_known"
        } else {
            "watchbell_known"
        }
    }

    /// What a request carries, if it is a session's token.
    pub fn read(self, headers: &HeaderMap) -> Option<SecretToken> {
        SecretToken::parse(TokenKind::Session, value(headers, self.name())?)
    }

    /// Hands the session to the browser, hidden from scripts and from other sites' requests.
    pub fn set(self, token: &SecretToken, lasts: Duration) -> HeaderValue {
        self.write(self.name(), token.reveal(), lasts)
    }

    /// Makes the browser forget it.
    pub fn clear(self) -> HeaderValue {
        self.write(self.name(), "", Duration::ZERO)
    }

    /// The mark that a request carries, of whatever account.
    pub fn read_mark(self, headers: &HeaderMap) -> Option<BrowserMark> {
        BrowserMark::parse(value(headers, self.mark_name())?)
    }

    /// Hands a mark to the browser. It stays when the session ends.
    pub fn set_mark(self, mark: &BrowserMark) -> HeaderValue {
        self.write(self.mark_name(), &mark.reveal(), known_browser::LASTS)
    }

    fn write(self, name: &str, value: &str, lasts: Duration) -> HeaderValue {
        let seconds = lasts.as_secs();
        let secure = if self.secure { "; Secure" } else { "" };
        let text =
            format!("{name}={value}; Path=/; Max-Age={seconds}; HttpOnly; SameSite=Lax{secure}");
        HeaderValue::try_from(text).expect("tokens and marks are plain ASCII")
    }
}

/// What the first cookie of a name says. Other applications on the host may set cookies of any bytes, which must not
/// hide ours.
fn value<'h>(headers: &'h HeaderMap, name: &str) -> Option<&'h str> {
    let cookies = headers.get_all(header::COOKIE).iter();
    let mut pairs = cookies
        .flat_map(|value| value.as_bytes().split(|byte| *byte == b';'))
        .filter_map(|pair| {
            let equals = pair.iter().position(|byte| *byte == b'=')?;
            Some((pair[..equals].trim_ascii(), pair[equals + 1..].trim_ascii()))
        });
    let (_, value) = pairs.find(|(one, _)| *one == name.as_bytes())?;
    str::from_utf8(value).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(cookies: &[&[u8]]) -> Option<SecretToken> {
        let values = cookies.iter().map(|value| {
            let value = HeaderValue::from_bytes(value).expect("a header");
            (header::COOKIE, value)
        });
        SessionCookie::new(false).read(&values.collect())
    }

    #[test]
    fn the_session_is_found_whatever_other_cookies_are_there() {
        let token = SecretToken::new(TokenKind::Session, [7; 32]);
        let ours = format!("watchbell_session={}", token.reveal());
        let with = |before: &[u8], after: &[u8]| [before, ours.as_bytes(), after].concat();
        for cookies in [
            with(b"", b""),
            with(b"a=b; ", b"; c=d"),
            with(b"name=J\xfcrgen; ", b""),
            with("name=Jürgen; ".as_bytes(), "; x=ß".as_bytes()),
            with(b"\xff\xfe;;=;", b";\xff=\xff"),
            with(b"flag;\t ", b" \t;"),
            with(b"xwatchbell_session=1; ", b"; watchbell_session=later"),
        ] {
            let shown = String::from_utf8_lossy(&cookies).into_owned();
            assert_eq!(read(&[&cookies]), Some(token.clone()), "{shown}");
        }
        assert_eq!(read(&[b"a=\xff", ours.as_bytes()]), Some(token));
    }

    #[test]
    fn the_mark_of_a_browser_stands_beside_the_session() {
        let token = SecretToken::new(TokenKind::Session, [7; 32]);
        let mark = BrowserMark::new("a hash");
        let cookie = SessionCookie::new(false);
        let set = [cookie.set_mark(&mark), cookie.set(&token, Duration::ZERO)];
        let pairs = set.map(|value| {
            let text = value.to_str().expect("plain").to_owned();
            text.split(';').next().expect("a pair").to_owned()
        });
        let value = HeaderValue::try_from(pairs.join("; ")).expect("a header");
        let headers: HeaderMap = [(header::COOKIE, value)].into_iter().collect();
        assert_eq!(cookie.read(&headers), Some(token));
        assert_eq!(cookie.read_mark(&headers), Some(mark));
        assert_eq!(SessionCookie::new(true).read_mark(&headers), None);
    }

    #[test]
    fn what_is_not_exactly_a_token_is_none() {
        let token = SecretToken::new(TokenKind::Session, [7; 32]);
        let text = token.reveal();
        for cookies in [
            String::new(),
            "watchbell_session".to_owned(),
            "watchbell_session=".to_owned(),
            format!("other={text}"),
            format!("watchbell_session=\u{a0}{text}"),
            format!("\u{a0}watchbell_session={text}"),
            format!("watchbell_session=nonsense; watchbell_session={text}"),
        ] {
            assert_eq!(read(&[cookies.as_bytes()]), None, "{cookies}");
        }
        assert_eq!(read(&[]), None);
        assert_eq!(read(&[b"watchbell_session=\xff"]), None);
    }
}
