//! Where a login comes from.

use crate::clock::Now;
use crate::limits;
use std::collections::HashMap;
use std::fmt;
use std::hash::Hash;
use std::net::{IpAddr, Ipv6Addr};

/// Where a login comes from.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Source {
    /// The network.
    pub network: IpAddr,
    /// The user name, where the address is that of a proxy which is not trusted to name its clients: they all share it.
    pub user: Option<String>,
}

impl Source {
    /// The source of a login as `user`. `is_shared`: the address is that of a proxy which is not in `TRUSTED_PROXIES`.
    pub fn new(address: IpAddr, is_shared: bool, user: &str) -> Source {
        let name = || user.chars().filter(|c| !c.is_control()).take(limits::CLIENT_NAME_CHARS).collect();
        Source { network: network_of(address), user: is_shared.then(name) }
    }
}

/// What counts as one address: an IPv4 address, or the 56-bit prefix that an IPv6 subscriber gets for all networks.
pub(super) fn network_of(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => Ipv6Addr::from_bits(address.to_bits() & !((1 << 72) - 1)).into(),
        v4 => v4,
    }
}

/// As it is stored.
impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.user {
            None => write!(f, "{}", self.network),
            Some(user) => write!(f, "{} {user}", self.network),
        }
    }
}

/// Makes a table ready for one more source: if it is full, and does not have that source, the entry seen longest ago is removed.
pub(super) fn evict_oldest_if_full<K: Clone + Eq + Hash, T>(sources: &mut HashMap<K, T>, newcomer: &K, when: impl Fn(&T) -> Now) {
    if sources.len() < limits::THROTTLED_SOURCES || sources.contains_key(newcomer) {
        return;
    }
    let oldest = sources.iter().min_by_key(|(_, about)| when(about)).map(|(source, _)| source.clone());
    oldest.and_then(|oldest| sources.remove(&oldest));
}
