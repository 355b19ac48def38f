//! Password checks. bcrypt is slow on purpose, so only a few run at once, on the threads of their requests; the number that
//! waits is bounded, in all and per address. An address that has logged in before goes first, one that has failed goes
//! last, and each has one check at a time, the next only when the last failure has been answered: a flood of wrong
//! passwords delays only itself, and sending them at the same time makes it no faster.

use super::source::Source;
use super::throttle::Standing;
use crate::clock;
use crate::limits;
use crate::lock::Unpoisoned;
use std::collections::BTreeMap;
use std::sync::{Condvar, Mutex};
use std::time::{Duration, Instant};

/// Checks passwords, a few at a time.
pub(super) struct Passwords {
    /// Checked in place of a user's hash when there is no such user, so that it takes as long; the hash of no password.
    stand_in: String,
    queue: Mutex<Queue>,
    changed: Condvar,
}

#[derive(Default)]
struct Queue {
    /// The sources whose passwords are being checked.
    checking: Vec<Source>,
    /// The sources that have failed, and until when they are not checked again.
    delayed: Vec<(Source, Instant)>,
    waiting: Vec<Waiting>,
    next: u64,
}

struct Waiting {
    standing: Standing,
    number: u64,
    from: Source,
}

impl Queue {
    /// The next to be checked: the best standing first, then the first to arrive; no source that is being checked already.
    fn next(&self) -> Option<u64> {
        if self.checking.len() >= limits::PASSWORD_CHECKS {
            return None;
        }
        let now = clock::instant();
        let is_delayed = |from: &Source| self.delayed.iter().any(|(delayed, until)| delayed == from && *until > now);
        let ready = self.waiting.iter().filter(|waiting| !self.checking.contains(&waiting.from) && !is_delayed(&waiting.from));
        ready.min_by_key(|waiting| (waiting.standing, waiting.number)).map(|waiting| waiting.number)
    }

    /// Adds one more; `None` when too many wait. If the queue is full, the last of a worse standing is dropped; a source that
    /// has logged in before is not limited by others at its address.
    fn join(&mut self, standing: Standing, from: &Source) -> Option<u64> {
        let mine = self.waiting.iter().filter(|waiting| waiting.from == *from).count();
        let neighbours = self.waiting.iter().filter(|waiting| waiting.from.network == from.network).count();
        if mine >= limits::PASSWORD_QUEUE_PER_SOURCE || standing > Standing::Known && neighbours >= limits::PASSWORD_QUEUE_PER_PROXY {
            return None;
        }
        if self.waiting.len() >= limits::PASSWORD_QUEUE {
            let worst = self.waiting.iter().max_by_key(|waiting| (waiting.standing, waiting.number));
            let number = worst.filter(|worst| worst.standing > standing)?.number;
            self.waiting.retain(|waiting| waiting.number != number);
        }
        self.next += 1;
        self.waiting.push(Waiting { standing, number: self.next, from: from.clone() });
        Some(self.next)
    }
}

impl Passwords {
    pub(super) fn new(users: &BTreeMap<String, String>) -> Passwords {
        let cost = users.values().filter_map(|hash| hash.get(4..6)).max().unwrap_or("12");
        // 22 characters of salt and 31 of hash.
        Passwords { stand_in: format!("$2b${cost}${}", ".".repeat(53)), queue: Mutex::default(), changed: Condvar::new() }
    }

    /// Whether the password matches the hash; `false` without one, after the same work. `None` when too many are waiting,
    /// in all or from this source. `failed` is called on a mismatch, and says how long the source is not checked again.
    pub(super) fn check(
        &self,
        hash: Option<&str>,
        password: &str,
        standing: Standing,
        from: &Source,
        failed: impl FnOnce() -> Duration,
    ) -> Option<bool> {
        let mut queue = self.queue.lock().unpoisoned();
        let number = queue.join(standing, from)?;
        loop {
            if !queue.waiting.iter().any(|waiting| waiting.number == number) {
                return None;
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
        // A password that bcrypt would truncate is wrong, and takes as long as any other.
        let hash = hash.filter(|_| password.len() <= limits::PASSWORD_BYTES);
        let read: String = password.chars().take(limits::PASSWORD_BYTES / 4).collect();
        let checked = if hash.is_some() { password } else { &read };
        let fits = bcrypt::verify(checked, hash.unwrap_or(&self.stand_in)).unwrap_or(false);
        let fits = fits && hash.is_some();
        {
            let (mut queue, now) = (self.queue.lock().unpoisoned(), clock::instant());
            queue.checking.retain(|checking| checking != from);
            queue.delayed.retain(|(delayed, until)| delayed != from && *until > now);
            if !fits {
                queue.delayed.push((from.clone(), now + failed()));
            }
        }
        self.changed.notify_all();
        Some(fits)
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
    fn the_hash_for_unknown_users_is_valid_and_fits_nothing() {
        let hash = Passwords::new(&BTreeMap::from([("alex".to_owned(), format!("$2b$04${}", "x".repeat(53)))])).stand_in;
        assert_eq!(hash.split('$').nth(2), Some("04"));
        assert_eq!(bcrypt::verify("", &hash).ok(), Some(false));
    }
}
