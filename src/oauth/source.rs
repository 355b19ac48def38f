//! Where a login comes from.

use crate::clock::Moment;
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

/// Makes a table of at most `max` entries ready for one more: if it is full, and does not have that key, the oldest is removed.
pub(super) fn evict_oldest_if_full<K: Clone + Eq + Hash, T>(
    table: &mut HashMap<K, T>,
    max: usize,
    newcomer: &K,
    when: impl Fn(&T) -> Moment,
) {
    if table.len() < max || table.contains_key(newcomer) {
        return;
    }
    let oldest = table.iter().min_by_key(|(_, entry)| when(entry)).map(|(key, _)| key.clone());
    oldest.and_then(|oldest| table.remove(&oldest));
}
