//! The cookie that carries a person's session.

use std::time::Duration;

use axum::http::{HeaderMap, HeaderValue, header};
use domain::account::{SecretToken, TokenKind};

/// How the session's cookie is named and guarded, which follows from where people reach us.
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

    /// What a request carries, if it is a session's token.
    pub fn read(self, headers: &HeaderMap) -> Option<SecretToken> {
        let cookies = headers.get_all(header::COOKIE).iter();
        let mut pairs = cookies
            .filter_map(|value| value.to_str().ok())
            .flat_map(|value| value.split(';'))
            .filter_map(|pair| pair.split_once('='));
        let (_, token) = pairs.find(|(name, _)| name.trim() == self.name())?;
        SecretToken::parse(TokenKind::Session, token.trim())
    }

    /// Hands the session to the browser, hidden from scripts and from other sites' requests.
    pub fn set(self, token: &SecretToken, lasts: Duration) -> HeaderValue {
        self.write(token.reveal(), lasts)
    }

    /// Makes the browser forget it.
    pub fn clear(self) -> HeaderValue {
        self.write("", Duration::ZERO)
    }

    fn write(self, value: &str, lasts: Duration) -> HeaderValue {
        let (name, seconds) = (self.name(), lasts.as_secs());
        let secure = if self.secure { "; Secure" } else { "" };
        let text =
            format!("{name}={value}; Path=/; Max-Age={seconds}; HttpOnly; SameSite=Lax{secure}");
        HeaderValue::try_from(text).expect("a token is plain ASCII")
    }
}
