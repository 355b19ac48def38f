//! What one address may do: how long a failed login waits for its answer, and how many registrations are taken.

use crate::clock::Now;
use crate::limits;
use std::collections::{HashMap, VecDeque};
use std::net::{IpAddr, Ipv6Addr};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// What counts as one address: an IPv4 address, or the 56 bits of an IPv6 one that a subscriber gets for all networks.
pub(super) fn source(from: IpAddr) -> IpAddr {
    match from.to_canonical() {
        IpAddr::V6(address) => Ipv6Addr::from_bits(address.to_bits() & !((1 << 72) - 1)).into(),
        v4 => v4,
    }
}

/// What is known of an address that wants to log in; the best first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Standing {
    /// Somebody has logged in from there.
    Known,
    /// Nothing.
    New,
    /// The last try was wrong.
    Failed,
}

/// Failures by address, and the addresses from which somebody has logged in.
#[derive(Default)]
pub(super) struct Throttle {
    failures: Mutex<HashMap<IpAddr, (u32, Now)>>,
    held: AtomicUsize,
    known: Mutex<VecDeque<IpAddr>>,
}

impl Throttle {
    /// Notes a failure; how long its answer is to be held back: a quarter second, then twice as long each time.
    pub(super) fn failed(&self, from: IpAddr, now: Now) -> Duration {
        let mut failures = self.failures.lock().unwrap_or_else(PoisonError::into_inner);
        let forgotten = |last: Now| now.since(last) > limits::THROTTLE_MEMORY;
        make_room(&mut failures, source(from), |(_, last)| *last);
        let (count, last) = failures.entry(source(from)).or_insert((0, now));
        *count = if forgotten(*last) { 1 } else { count.saturating_add(1) };
        *last = now;
        (Duration::from_millis(250) * 2_u32.pow((*count - 1).min(8))).min(limits::THROTTLE_LONGEST)
    }

    /// A place among the answers that are held back, until what is returned is dropped; `None` when there are too many.
    pub(super) fn hold(&self) -> Option<Held<'_>> {
        let held = Held(&self.held);
        (self.held.fetch_add(1, Ordering::AcqRel) < limits::THROTTLE_HELD).then_some(held)
    }

    /// Forgets the failures of an address, and remembers that it is somebody's.
    pub(super) fn succeeded(&self, from: IpAddr) {
        let from = source(from);
        self.failures.lock().unwrap_or_else(PoisonError::into_inner).remove(&from);
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.retain(|address| *address != from);
        if known.len() >= limits::KNOWN_SOURCES {
            known.pop_front();
        }
        known.push_back(from);
    }

    /// Whether somebody has logged in from an address.
    pub(super) fn is_known(&self, from: IpAddr) -> bool {
        self.known.lock().unwrap_or_else(PoisonError::into_inner).contains(&source(from))
    }

    /// How an address stands. One with failures after a login is a neighbour's who tries: it stands as a new one.
    pub(super) fn standing(&self, from: IpAddr, now: Now) -> Standing {
        let from = source(from);
        let failed = self.failures.lock().unwrap_or_else(PoisonError::into_inner).get(&from).copied();
        let failed = failed.is_some_and(|(_, last)| now.since(last) <= limits::THROTTLE_MEMORY);
        match (self.is_known(from), failed) {
            (true, false) => Standing::Known,
            (true, true) | (false, false) => Standing::New,
            (false, true) => Standing::Failed,
        }
    }
}

/// An answer that is held back.
pub(super) struct Held<'a>(&'a AtomicUsize);

impl Drop for Held<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}

/// Room for one more address: the one that was heard of longest ago goes.
fn make_room<T>(sources: &mut HashMap<IpAddr, T>, newcomer: IpAddr, when: impl Fn(&T) -> Now) {
    if sources.len() < limits::THROTTLED_SOURCES || sources.contains_key(&newcomer) {
        return;
    }
    let oldest = sources.iter().min_by_key(|(_, about)| when(about)).map(|(source, _)| *source);
    oldest.and_then(|oldest| sources.remove(&oldest));
}

/// Registrations by address: how many since when, and who made which.
#[derive(Default)]
pub(super) struct Registrations {
    counted: Mutex<HashMap<IpAddr, (u32, Now)>>,
    made: Mutex<VecDeque<(String, IpAddr)>>,
    /// How many were refused since that was said, and when.
    refused: Mutex<(u64, Option<Now>)>,
}

impl Registrations {
    /// Counts a refusal; how many there were since this was said last, where it is time to say it again: strangers decide how
    /// often they ask, and must not fill the log.
    pub(super) fn refused(&self, now: Now) -> Option<u64> {
        let mut refused = self.refused.lock().unwrap_or_else(PoisonError::into_inner);
        refused.0 += 1;
        if refused.1.is_some_and(|last| now.since(last) < limits::REFUSALS_TOLD_EVERY) {
            return None;
        }
        refused.1 = Some(now);
        Some(std::mem::take(&mut refused.0))
    }

    /// Notes who made a registration.
    pub(super) fn registered(&self, client: &str, from: IpAddr) {
        let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        if made.len() >= limits::CLIENTS {
            made.pop_front();
        }
        made.push_back((client.to_owned(), source(from)));
    }

    /// Notes that a registration is no more.
    pub(super) fn forgotten(&self, client: &str) {
        self.made.lock().unwrap_or_else(PoisonError::into_inner).retain(|(known, _)| known != client);
    }

    /// How many of the newest registrations are from the same address, for each of them.
    pub(super) fn crowds(&self) -> HashMap<String, usize> {
        let made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        let mut by_source: HashMap<IpAddr, usize> = HashMap::new();
        made.iter().for_each(|(_, from)| *by_source.entry(*from).or_default() += 1);
        made.iter().map(|(client, from)| (client.clone(), by_source.get(from).copied().unwrap_or(0))).collect()
    }

    /// Counts one; whether it may be taken.
    pub(super) fn may_register(&self, from: IpAddr, now: Now) -> bool {
        let mut sources = self.counted.lock().unwrap_or_else(PoisonError::into_inner);
        sources.retain(|_, (_, since)| now.since(*since) < limits::REGISTRATIONS_OVER && *since <= now);
        make_room(&mut sources, source(from), |(_, since)| *since);
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
