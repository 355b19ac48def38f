//! Who is at the other end: the peer, or the client that a trusted proxy names.

use super::head::Head;
use crate::network::Network;
use std::net::IpAddr;
use std::sync::Once;

/// Addresses of an `X-Forwarded-For` chain that are examined, from the right.
const FORWARDED_HOPS: usize = 16;

/// The client's address, for the log: the peer's, unless the peer is a trusted proxy; then the last
/// address of `X-Forwarded-For` that is not a trusted proxy itself. Whatever is to the left of that
/// was written by the client and proves nothing.
pub fn client_address(peer: IpAddr, head: &Head, trusted: &[Network]) -> IpAddr {
    let is_trusted = |address: IpAddr| trusted.iter().any(|network| network.contains(address));
    let mut address = peer.to_canonical();
    if !is_trusted(address) {
        static WARNED: Once = Once::new();
        if head.all("x-forwarded-for").next().is_some() {
            WARNED.call_once(|| {
                log::warn!(
                    "{address} sends X-Forwarded-For and is not in TRUSTED_PROXIES: if it is your \
                     proxy, the log shows its address in place of its clients'"
                );
            });
        }
        return address;
    }
    let values: Vec<&str> =
        head.all("x-forwarded-for").filter_map(|value| std::str::from_utf8(value).ok()).collect();
    let hops = values.iter().rev().flat_map(|value| value.rsplit(','));
    for hop in hops.take(FORWARDED_HOPS) {
        let Some(named) = parse(hop.trim()) else { return address };
        address = named;
        if !is_trusted(address) {
            break;
        }
    }
    address
}

/// An address as proxies write it: bare, with a port, or bracketed.
fn parse(hop: &str) -> Option<IpAddr> {
    let bare = hop.parse::<IpAddr>().ok();
    let with_port = || hop.parse::<std::net::SocketAddr>().ok().map(|address| address.ip());
    let bracketed = || hop.strip_prefix('[')?.strip_suffix(']')?.parse::<IpAddr>().ok();
    bare.or_else(with_port).or_else(bracketed).map(|address| address.to_canonical())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_trusted_proxy_is_believed_and_only_its_own_word() {
        let proxy: Network = "127.0.0.1".parse().unwrap();
        let second: Network = "10.0.0.0/8".parse().unwrap();
        for (peer, header, trusted, expected) in [
            ("127.0.0.1", "X-Forwarded-For: 203.0.113.9", vec![proxy], "203.0.113.9"),
            ("127.0.0.1", "X-Forwarded-For: 203.0.113.9", vec![], "127.0.0.1"),
            ("198.51.100.1", "X-Forwarded-For: 203.0.113.9", vec![proxy], "198.51.100.1"),
            ("127.0.0.1", "X-Forwarded-For: 1.1.1.1, 203.0.113.9", vec![proxy], "203.0.113.9"),
            (
                "127.0.0.1",
                "X-Forwarded-For: 1.1.1.1, 203.0.113.9, 10.0.0.2",
                vec![proxy, second],
                "203.0.113.9",
            ),
            (
                "127.0.0.1",
                "X-Forwarded-For: 1.1.1.1\r\nX-Forwarded-For: 203.0.113.9",
                vec![proxy],
                "203.0.113.9",
            ),
            ("127.0.0.1", "X-Forwarded-For: 203.0.113.9:1234", vec![proxy], "203.0.113.9"),
            ("127.0.0.1", "X-Forwarded-For: [2001:db8::1]:1234", vec![proxy], "2001:db8::1"),
            ("127.0.0.1", "X-Forwarded-For: nonsense", vec![proxy], "127.0.0.1"),
            ("::ffff:127.0.0.1", "X-Forwarded-For: 203.0.113.9", vec![proxy], "203.0.113.9"),
            ("127.0.0.1", "X-Other: 1", vec![proxy], "127.0.0.1"),
        ] {
            let (head, _) =
                Head::parse(format!("GET / HTTP/1.1\r\nHost: a\r\n{header}\r\n\r\n").as_bytes())
                    .unwrap()
                    .unwrap();
            let found = client_address(peer.parse().unwrap(), &head, &trusted);
            assert_eq!(found, expected.parse::<IpAddr>().unwrap(), "{peer} {header}");
        }
    }
}
