//! Who we are to the server: what stands before the `@` of its address.

use async_nats::{ConnectOptions, ServerAddr};
use percent_encoding::percent_decode_str;

/// Options with the name and the password of `nats://name:password@host`, or the token of `nats://token@host`; the client
/// library takes no notice of them there. Servers of one deployment know the same people: the first address that has
/// some speaks for all.
pub(crate) fn options(servers: &[ServerAddr]) -> ConnectOptions {
    let said = servers
        .iter()
        .find_map(|server| Some((server.username()?, server.password())));
    let plain = |text: &str| percent_decode_str(text).decode_utf8_lossy().into_owned();
    match said {
        Some((name, Some(password))) => {
            ConnectOptions::with_user_and_password(plain(name), plain(password))
        }
        Some((token, None)) => ConnectOptions::with_token(plain(token)),
        None => ConnectOptions::new(),
    }
}
