//! What one address may do: how long a failed login waits for its answer, and how many registrations are taken.

use crate::clock::Now;
use crate::limits;
use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// What counts as one address: an IPv4 address, or the 64 bits of an IPv6 one that a subscriber gets.
pub(super) fn source(from: IpAddr) -> IpAddr {
    match from.to_canonical() {
        IpAddr::V6(address) => Ipv6Addr::from_bits(address.to_bits() & !u128::from(u64::MAX)).into(),
        v4 => v4,
    }
}

/// Failures by address.
#[derive(Default)]
pub(super) struct Throttle {
    failures: Mutex<HashMap<IpAddr, (u32, Now)>>,
}

impl Throttle {
    /// Notes a failure; how long its answer is to be held back: a quarter second, then twice as long each time.
    pub(super) fn failed(&self, from: IpAddr, now: Now) -> Duration {
        let mut failures = self.failures.lock().unwrap_or_else(PoisonError::into_inner);
        let forgotten = |last: Now| now.since(last) > limits::THROTTLE_MEMORY;
        if failures.len() >= limits::THROTTLED_SOURCES {
            failures.retain(|_, (_, last)| !forgotten(*last));
        }
        if failures.len() >= limits::THROTTLED_SOURCES {
            return limits::THROTTLE_LONGEST;
        }
        let (count, last) = failures.entry(source(from)).or_insert((0, now));
        *count = if forgotten(*last) { 1 } else { count.saturating_add(1) };
        *last = now;
        (Duration::from_millis(250) * 2_u32.pow((*count - 1).min(8))).min(limits::THROTTLE_LONGEST)
    }

    /// Forgets the failures of an address.
    pub(super) fn succeeded(&self, from: IpAddr) {
        self.failures.lock().unwrap_or_else(PoisonError::into_inner).remove(&source(from));
    }
}

/// Registrations by address: how many since when.
#[derive(Default)]
pub(super) struct Registrations(Mutex<HashMap<IpAddr, (u32, Now)>>);

impl Registrations {
    /// Counts one; whether it may be taken.
    pub(super) fn may_register(&self, from: IpAddr, now: Now) -> bool {
        let mut sources = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        sources.retain(|_, (_, since)| now.since(*since) < limits::CLIENT_GRACE && *since <= now);
        if sources.len() >= limits::THROTTLED_SOURCES {
            return false;
        }
        let (count, _) = sources.entry(source(from)).or_insert((0, now));
        *count = count.saturating_add(1);
        *count <= limits::REGISTRATIONS_PER_SOURCE
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_wait_longer_each_time_and_are_forgotten() {
        let throttle = Throttle::default();
        let from: IpAddr = "203.0.113.1".parse().unwrap();
        let waits: Vec<u128> = (0..7).map(|_| throttle.failed(from, Now(100)).as_millis()).collect();
        assert_eq!(waits, [250, 500, 1000, 2000, 4000, 4000, 4000]);
        assert_eq!(throttle.failed("203.0.113.2".parse().unwrap(), Now(100)).as_millis(), 250, "another address");
        let later = Now(100 + limits::THROTTLE_MEMORY.as_secs() + 1);
        assert_eq!(throttle.failed(from, later).as_millis(), 250);
        throttle.succeeded(from);
        assert_eq!(throttle.failed(from, later).as_millis(), 250);
    }
}
