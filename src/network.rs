//! Networks: an address with the number of its bits that all hosts of the network share.

use std::net::IpAddr;
use std::str::FromStr;

/// A network such as `172.16.0.0/12`, or one address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Network {
    address: IpAddr,
    prefix: u8,
}

impl Network {
    /// Whether an address belongs to it. An IPv4 address counts as such also where it is written as
    /// an IPv6 one.
    pub fn contains(&self, address: IpAddr) -> bool {
        bits(address.to_canonical(), self.prefix) == bits(self.address, self.prefix)
    }
}

/// The family and the first bits of an address.
fn bits(address: IpAddr, prefix: u8) -> (bool, u128) {
    let (all, width) = match address {
        IpAddr::V4(address) => (u128::from(address.to_bits()), 32),
        IpAddr::V6(address) => (address.to_bits(), 128),
    };
    (address.is_ipv4(), all.checked_shr(width - u32::from(prefix).min(width)).unwrap_or(0))
}

impl FromStr for Network {
    type Err = ();

    fn from_str(text: &str) -> Result<Network, ()> {
        let (address, prefix) =
            text.split_once('/').map_or((text, None), |(address, prefix)| (address, Some(prefix)));
        let address: IpAddr = address.parse::<IpAddr>().map_err(drop)?.to_canonical();
        let width = if address.is_ipv4() { 32 } else { 128 };
        let prefix = prefix.map_or(Ok(width), |prefix| prefix.parse().map_err(drop))?;
        if prefix > width { Err(()) } else { Ok(Network { address, prefix }) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_network_holds_its_addresses() {
        for (network, inside, outside) in [
            ("127.0.0.1", "127.0.0.1", "127.0.0.2"),
            ("172.16.0.0/12", "172.31.255.255", "172.32.0.0"),
            ("172.18.0.5/16", "172.18.9.9", "172.19.0.5"),
            ("10.0.0.0/8", "::ffff:10.1.2.3", "11.0.0.0"),
            ("fd00::/8", "fdff::1", "fe80::1"),
            ("::1", "::1", "::2"),
            ("0.0.0.0/0", "203.0.113.9", "2001:db8::1"),
        ] {
            let read: Network = network.parse().unwrap();
            assert!(read.contains(inside.parse().unwrap()), "{network} {inside}");
            assert!(!read.contains(outside.parse().unwrap()), "{network} {outside}");
        }
        for wrong in ["", "proxy", "10.0.0.0/33", "::/129", "10.0.0.0/", "10.0.0.0/-1", "10.0/8"] {
            assert!(wrong.parse::<Network>().is_err(), "{wrong}");
        }
    }
}
