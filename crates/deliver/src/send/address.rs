//! Which addresses are public: a webhook must not reach into the network it is sent from.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Whether anybody on the internet may be behind this address. Everything special is not: loopback,
/// private and shared ranges, link-local (cloud metadata lives there), documentation, multicast,
/// and every IPv6 form that smuggles an IPv4 address.
pub fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(v4) => is_public_v4(v4),
        IpAddr::V6(v6) => is_public_v6(v6),
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    let [a, b, c, _] = address.octets();
    let special = matches!(
        (a, b, c),
        (0 | 10 | 127 | 224..=255, _, _)      // this network, private, loopback, multicast, reserved
            | (100, 64..=127, _)              // shared by carriers (CGNAT)
            | (169, 254, _)                   // link-local
            | (172, 16..=31, _)               // private
            | (192, 0, 0 | 2)                 // protocol assignments, documentation
            | (192, 31, 196)                  // AS112
            | (192, 52, 193)                  // AMT
            | (192, 88, 99)                   // 6to4 relays
            | (192, 168, _)                   // private
            | (192, 175, 48)                  // AS112
            | (198, 18 | 19, _)               // benchmarks
            | (198, 51, 100)                  // documentation
            | (203, 0, 113) // documentation
    );
    // The metadata and DNS address of one large cloud, although it looks public.
    let disguised = address == Ipv4Addr::new(168, 63, 129, 16);
    !special && !disguised
}

fn is_public_v6(address: Ipv6Addr) -> bool {
    let [first, second, third, _, fifth, sixth, ..] = address.segments();
    // Only 2000::/3 is global unicast; v4-mapped, NAT64, unique-local, link-local, site-local and
    // multicast all lie outside it.
    let global_unicast = first & 0xe000 == 0x2000;
    let special = matches!(
        (first, second),
        (0x2001, 0x0000..=0x01ff | 0x0db8)  // Teredo, protocol assignments, documentation
            | (0x2002, _)                   // 6to4: an IPv4 address in disguise
            | (0x3fff, 0x0000..=0x0fff) // documentation
    );
    let as112 = (first, second, third) == (0x2620, 0x004f, 0x8000);
    // Within any network: an IPv4 address behind a tunnel.
    let isatap = matches!((fifth, sixth), (0x0000 | 0x0200, 0x5efe));
    global_unicast && !special && !as112 && !isatap
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn public_addresses_are_public() {
        for text in [
            "1.1.1.1",
            "8.8.8.8",
            "93.184.216.34",
            "172.15.0.1",
            "172.32.0.1",
            "2606:4700::1111",
            "2a00:1450::1",
        ] {
            assert!(is_public(text.parse().expect("address")), "{text}");
        }
    }

    #[test]
    fn everything_special_is_not() {
        for text in [
            "0.0.0.0",
            "10.0.0.1",
            "100.64.0.1",
            "127.0.0.1",
            "127.255.255.255",
            "168.63.129.16",
            "100.100.100.200",
            "169.254.169.254",
            "172.16.0.1",
            "172.31.255.255",
            "192.0.0.8",
            "192.0.0.192",
            "192.0.2.1",
            "192.88.99.1",
            "192.168.1.1",
            "198.18.0.1",
            "198.19.255.255",
            "198.51.100.7",
            "203.0.113.1",
            "224.0.0.1",
            "240.0.0.1",
            "255.255.255.255",
            "::",
            "::1",
            "::127.0.0.1",
            "::ffff:127.0.0.1",
            "::ffff:8.8.8.8",
            "64:ff9b::7f00:1",
            "64:ff9b:1::1",
            "100::1",
            "2001::1",
            "2001:db8::1",
            "2002:7f00:1::",
            "2606:4700::5efe:a00:1",
            "2606:4700::200:5efe:a00:1",
            "2620:4f:8000::1",
            "3fff::1",
            "5f00::1",
            "fc00::1",
            "fd00:ec2::254",
            "fe80::1",
            "fec0::1",
            "ff02::1",
        ] {
            assert!(!is_public(text.parse().expect("address")), "{text}");
        }
    }
}
