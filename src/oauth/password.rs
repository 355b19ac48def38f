//! Password checks. bcrypt is slow on purpose, so only a few run at once, on the threads of their requests; the number that
//! waits is bounded, in all and per address. An address that has logged in before goes first, one that has failed goes
//! last, and each has one check at a time, the next only when the last failure has been answered, later each time: a flood of wrong
//! passwords delays only itself, and sending them at the same time makes it no faster. For an address that has logged in before there is no
//! pause between two checks, so that an attacker who shares it does not keep its owner out: there bcrypt alone limits the guesses.

use super::source::{Source, evict_oldest_if_full};
use crate::clock::{self, Moment};
use crate::limits;
use crate::lock::Unpoisoned;
use crate::quota::{Bounds, Quota};
use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

/// Checks passwords, a few at a time.
pub(super) struct Passwords {
    /// Checked in place of a user's hash when there is no such user, so that it takes as long; the hash of no password.
    dummy_hash: String,
    queue: Mutex<Queue>,
    changed: Condvar,
    /// For answers that are held back: each holds a connection.
    pub(super) delayed_answers: Arc<Quota>,
}

/// The outcome of a password check.
pub(super) enum Check {
    Right,
    /// With how long to hold back the answer.
    Wrong(Duration),
    /// Too many are waiting, in all or from this source.
    Busy,
}

/// What is known of a source that wants to log in; the best first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Standing {
    /// A login came from there before.
    Known,
    /// Neither, or both.
    New,
    /// The last attempt failed.
    Failed,
}

/// The failures of a source.
struct Failures {
    count: u32,
    last: Moment,
    /// It is not checked again before this.
    until: Instant,
}

#[derive(Default)]
struct Queue {
    /// The sources whose passwords are being checked.
    checking: Vec<Source>,
    failures: HashMap<Source, Failures>,
    waiting: Vec<Waiting>,
    last_number: u64,
}

struct Waiting {
    standing: Standing,
    number: u64,
    from: Source,
}

impl Queue {
    /// One that has logged in and failed since counts as new: others may share its address.
    fn standing(&self, is_known: bool, from: &Source, now: Moment) -> Standing {
        let has_failed = self.failures.get(from).is_some_and(|failures| now.since(failures.last) <= limits::THROTTLE_MEMORY);
        match (is_known, has_failed) {
            (true, false) => Standing::Known,
            (true, true) | (false, false) => Standing::New,
            (false, true) => Standing::Failed,
        }
    }

    /// Records a failure; gives how long to hold back its answer: a quarter second, then twice as long each time.
    fn add_failure(&mut self, is_known: bool, from: &Source, now: Moment) -> Duration {
        evict_oldest_if_full(&mut self.failures, limits::THROTTLED_SOURCES, from, |failures| failures.last);
        let failures = self.failures.entry(from.clone()).or_insert(Failures { count: 0, last: now, until: clock::instant() });
        failures.count = if now.since(failures.last) > limits::THROTTLE_MEMORY { 1 } else { failures.count.saturating_add(1) };
        let wait = (Duration::from_millis(250) * 2_u32.pow((failures.count - 1).min(8))).min(limits::THROTTLE_MAX_DELAY);
        // The user of an earlier login from there may be behind the same proxy.
        (failures.last, failures.until) = (now, clock::instant() + if is_known { Duration::ZERO } else { wait });
        // Checks of this source that wait already now come last, or like those of a new source, too.
        let standing = self.standing(is_known, from, now);
        self.waiting.iter_mut().filter(|waiting| waiting.from == *from).for_each(|waiting| waiting.standing = standing);
        wait
    }

    /// The next to be checked: the best standing first, then the first to arrive; no source that is being checked already.
    fn next(&self) -> Option<u64> {
        if self.checking.len() >= limits::PASSWORD_CHECKS {
            return None;
        }
        let now = clock::instant();
        let is_delayed = |from: &Source| self.failures.get(from).is_some_and(|failures| failures.until > now);
        let ready = self.waiting.iter().filter(|waiting| !self.checking.contains(&waiting.from) && !is_delayed(&waiting.from));
        ready.min_by_key(|waiting| (waiting.standing, waiting.number)).map(|waiting| waiting.number)
    }

    /// Adds one more; `None` when too many wait. If the queue is full, the last of a worse standing is dropped; a source that
    /// has logged in before is not limited by others at its address.
    fn join(&mut self, standing: Standing, from: &Source) -> Option<u64> {
        let mine = self.waiting.iter().filter(|waiting| waiting.from == *from).count();
        let of_network = self.waiting.iter().filter(|waiting| waiting.from.network == from.network).count();
        if mine >= limits::PASSWORD_QUEUE_PER_SOURCE || standing > Standing::Known && of_network >= limits::PASSWORD_QUEUE_PER_PROXY {
            return None;
        }
        if self.waiting.len() >= limits::PASSWORD_QUEUE {
            let worst = self.waiting.iter().max_by_key(|waiting| (waiting.standing, waiting.number));
            let number = worst.filter(|worst| worst.standing > standing)?.number;
            self.waiting.retain(|waiting| waiting.number != number);
        }
        self.last_number += 1;
        self.waiting.push(Waiting { standing, number: self.last_number, from: from.clone() });
        Some(self.last_number)
    }
}

impl Passwords {
    pub(super) fn new(users: &BTreeMap<String, String>) -> Passwords {
        let cost = users.values().filter_map(|hash| hash.get(4..6)).max().unwrap_or("12");
        // 22 characters of salt and 31 of hash.
        let dummy_hash = format!("$2b${cost}${}", ".".repeat(53));
        let delayed_answers = Quota::new(Bounds { total: limits::THROTTLE_HELD, per_owner: usize::MAX, waiting: 0 });
        Passwords { dummy_hash, queue: Mutex::default(), changed: Condvar::new(), delayed_answers }
    }

    /// Checks a password against a hash; without a hash it is wrong. `is_known` says that a login came from this source before.
    pub(super) fn check(&self, hash: Option<&str>, password: &str, is_known: bool, from: &Source, now: Moment) -> Check {
        let mut queue = self.queue.lock().unpoisoned();
        let standing = queue.standing(is_known, from, now);
        let Some(number) = queue.join(standing, from) else { return Check::Busy };
        loop {
            if !queue.waiting.iter().any(|waiting| waiting.number == number) {
                return Check::Busy;
            }
            if queue.next() == Some(number) {
                break;
            }
            // Nothing signals that the delay of an address is over.
            queue = self.changed.wait_timeout(queue, limits::PASSWORD_POLL).unpoisoned().0;
        }
        queue.waiting.retain(|waiting| waiting.number != number);
        queue.checking.push(from.clone());
        drop(queue);
        // Another login may be next now.
        self.changed.notify_all();
        // A password that bcrypt would truncate is wrong; what it reads of it is hashed all the same, so that the answer takes as long.
        let hash = hash.filter(|_| password.len() <= limits::PASSWORD_BYTES);
        let truncated: String = password.chars().take(limits::PASSWORD_BYTES / 4).collect();
        let hashed = if hash.is_some() { password } else { &truncated };
        let is_right = bcrypt::verify(hashed, hash.unwrap_or(&self.dummy_hash)).unwrap_or(false) && hash.is_some();
        let mut queue = self.queue.lock().unpoisoned();
        queue.checking.retain(|checking| checking != from);
        let outcome = if is_right {
            queue.failures.remove(from);
            Check::Right
        } else {
            Check::Wrong(queue.add_failure(is_known, from, now))
        };
        drop(queue);
        self.changed.notify_all();
        outcome
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sources_of_earlier_logins_come_first_and_others_wait() {
        let address = |last: u16| &*Box::leak(Box::new(Source::new([203, 0, (last >> 8) as u8, last as u8].into(), false, "")));
        let mut queue = Queue::default();
        let numbers: Vec<u64> = (0..limits::PASSWORD_QUEUE as u16).map(|n| queue.join(Standing::Failed, address(n)).unwrap()).collect();
        assert_eq!(queue.next(), Some(numbers[0]));
        assert!(queue.join(Standing::Failed, address(1000)).is_none(), "full");
        let new = queue.join(Standing::New, address(1001)).unwrap();
        assert!(queue.waiting.iter().all(|waiting| waiting.number != numbers[numbers.len() - 1]), "the last of the failures was dropped");
        assert_eq!(queue.next(), Some(new));
        let known = queue.join(Standing::Known, address(1002)).unwrap();
        assert_eq!(queue.next(), Some(known));
        queue.checking.push(address(1002).clone());
        assert_eq!(queue.next(), Some(new), "one check at a time for each address");
        queue.checking.push(address(1003).clone());
        assert_eq!(queue.next(), None);
        let mut queue = Queue::default();
        let many: Vec<Option<u64>> = (0..6).map(|_| queue.join(Standing::New, address(1))).collect();
        assert_eq!(many.iter().flatten().count(), limits::PASSWORD_QUEUE_PER_SOURCE);
        let through_proxy = |user: &str| Source::new([127, 0, 0, 1].into(), true, user);
        let guesses: Vec<Option<u64>> = (0..100).map(|n| queue.join(Standing::New, &through_proxy(&format!("user {n}")))).collect();
        assert_eq!(guesses.iter().flatten().count(), limits::PASSWORD_QUEUE_PER_PROXY);
        let owner = queue.join(Standing::Known, &through_proxy("alex")).unwrap();
        assert_eq!(queue.next(), Some(owner), "a source that has logged in through the same proxy before");
    }

    #[test]
    fn failures_wait_longer_each_time_and_are_forgotten() {
        let mut queue = Queue::default();
        let source = |address: &str| Source::new(address.parse().unwrap(), false, "");
        let from = &source("203.0.113.1");
        let waits: Vec<u128> = (0..7).map(|_| queue.add_failure(false, from, Moment(100)).as_millis()).collect();
        assert_eq!(waits, [250, 500, 1000, 2000, 4000, 4000, 4000]);
        assert_eq!(queue.add_failure(false, &source("203.0.113.2"), Moment(100)).as_millis(), 250, "another address");
        let later = Moment(100 + limits::THROTTLE_MEMORY.as_secs() + 1);
        assert_eq!(queue.add_failure(false, from, later).as_millis(), 250);
        queue.failures.remove(from);
        assert_eq!(queue.add_failure(false, from, later).as_millis(), 250);
    }

    #[test]
    fn the_hash_for_unknown_users_is_valid_and_fits_nothing() {
        let hash = Passwords::new(&BTreeMap::from([("alex".to_owned(), format!("$2b$04${}", "x".repeat(53)))])).dummy_hash;
        assert_eq!(hash.split('$').nth(2), Some("04"));
        assert_eq!(bcrypt::verify("", &hash).ok(), Some(false));
    }
}
