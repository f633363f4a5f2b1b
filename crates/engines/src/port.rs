//! Free loopback ports.

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};
use std::net::{Ipv4Addr, TcpListener};

use anyhow::bail;

/// Below the range that systems hand out to outgoing connections (Linux: from 32768). Otherwise
/// such a connection could sit on the port while a test has its server stopped, or a client that
/// keeps trying could even connect to itself.
const RANGE: std::ops::Range<u16> = 20_000..32_000;

/// How many ports are tried. Most are free on any machine; this many taken ones mean that
/// something else is wrong, such as no loopback interface.
const TRIES: usize = 200;

/// `preferred` when it is free, else any free port. Another process can still take it before the
/// server does; who starts a server tries again with another port then.
pub(crate) fn free(preferred: Option<u16>) -> anyhow::Result<u16> {
    if let Some(port) = preferred
        && is_free(port)
    {
        return Ok(port);
    }
    for _ in 0..TRIES {
        let port = random_in_range();
        if is_free(port) {
            return Ok(port);
        }
    }
    bail!("no free port found on 127.0.0.1 after {TRIES} tries")
}

fn is_free(port: u16) -> bool {
    TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_ok()
}

/// The standard library seeds each `RandomState` differently, which is all the chance we need.
fn random_in_range() -> u16 {
    let chance = RandomState::new().build_hasher().finish();
    let width = u64::from(RANGE.end - RANGE.start);
    RANGE.start + u16::try_from(chance % width).expect("the width of the range fits in 16 bits")
}
