//! A network of addresses: `10.0.0.0/8`, `2001:db8::/32`.

use std::{fmt, net::IpAddr};

/// All addresses that begin with the same bits.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Network {
    first: IpAddr,
    bits: u8,
}

impl Network {
    /// Parses `cidr`, or says what to write instead.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let Some((address, bits)) = text.split_once('/') else {
            return Err(match text.parse::<IpAddr>() {
                Ok(address) => format!(
                    "A network needs a prefix length: for this one address, write \
                     \"{address}/{}\".",
                    width(address)
                ),
                Err(_) => "Write a network as \"10.0.0.0/8\" or \"2001:db8::/32\".".to_owned(),
            });
        };
        let Ok(address) = address.parse::<IpAddr>() else {
            let detail =
                "The part before the `/` (from character 1) is not an IPv4 or IPv6 address.";
            return Err(detail.to_owned());
        };
        let place = address_chars(text);
        let length = bits.parse::<u8>().ok().filter(|_| !bits.starts_with('+'));
        let Some(bits) = length.filter(|bits| *bits <= width(address)) else {
            return Err(format!(
                "The part after the `/` (from character {place}) must be a number from 0 to {}.",
                width(address)
            ));
        };
        if address.to_canonical() != address {
            return Err(
                "Write the network as IPv4; such addresses are treated as IPv4.".to_owned(),
            );
        }
        let network = Self {
            first: masked(address, bits),
            bits,
        };
        if network.first != address {
            return Err(format!(
                "{address} is inside the network, but is not its first address: write \
                 \"{network}\"."
            ));
        }
        Ok(network)
    }

    pub(super) fn holds(&self, address: IpAddr) -> bool {
        let address = address.to_canonical();
        address.is_ipv4() == self.first.is_ipv4() && masked(address, self.bits) == self.first
    }
}

impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.first, self.bits)
    }
}

/// Where the length of the network starts, counted from 1.
fn address_chars(text: &str) -> usize {
    text.chars().take_while(|letter| *letter != '/').count() + 2
}

/// How many bits an address of this kind has.
fn width(address: IpAddr) -> u8 {
    if address.is_ipv4() { 32 } else { 128 }
}

/// The address with all but its first bits cleared.
fn masked(address: IpAddr, bits: u8) -> IpAddr {
    let cleared = u32::from(width(address) - bits);
    match address {
        IpAddr::V4(address) => {
            let mask = u32::MAX.checked_shl(cleared).unwrap_or(0);
            IpAddr::V4((address.to_bits() & mask).into())
        }
        IpAddr::V6(address) => {
            let mask = u128::MAX.checked_shl(cleared).unwrap_or(0);
            IpAddr::V6((address.to_bits() & mask).into())
        }
    }
}
