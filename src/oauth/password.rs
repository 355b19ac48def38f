//! Password checks. bcrypt is slow on purpose, so they are made one at a time in each of two lanes,
//! on the threads of their requests, and the number that waits is bounded.
//!
//! ```text
//!  browser with a mark of an earlier login ──▶ lane of known browsers ──▶ bcrypt ──▶ right
//!  everybody else ───────────────────────────▶ lane of strangers ──────▶ bcrypt ──▶ wrong: the lane rests a second
//! ```
//!
//! However many strangers try, from however many addresses, they fill their own lane: the owner's
//! browser waits for no one but other known browsers, and guesses are as slow for a thousand
//! attackers together as for one. No address decides anything, because behind a proxy all clients
//! may have the same.
//!
//! The mark is a cookie, `EXPIRES.MAC`. It gives a place and no access: whoever steals it still
//! needs the password.

use super::Oauth;
use crate::clock::Moment;
use crate::limits;
use crate::quota::{Bounds, Quota};
use crate::secret;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// Logins of one lane that wait for their password to be checked; further ones are asked to try
/// again.
const PASSWORD_QUEUE: usize = 16;
/// How long a login waits at most: a full lane takes this long with the costliest common hash.
const PASSWORD_WAIT: Duration = Duration::from_secs(60);
/// How long a browser is remembered from which somebody has logged in.
const BROWSER_LIFE: Duration = Duration::from_secs(365 * 24 * 3600);
/// The cookie by which it is.
const KNOWN_BROWSER: &str = "known-browser";

/// Checks passwords, one at a time in each lane.
pub(super) struct Passwords {
    /// The cost of the costliest hash of a user; every check takes as long as one of this cost.
    cost: u32,
    known_browsers: Arc<Quota>,
    strangers: Arc<Quota>,
}

/// What a password check found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Login {
    Right,
    Wrong,
    /// Too many are waiting in its lane.
    Busy,
}

impl Passwords {
    pub(super) fn new(users: &BTreeMap<String, String>) -> Passwords {
        let lane = || Quota::new(Bounds { total: 1, per_owner: 1, waiting: PASSWORD_QUEUE });
        let cost = users.values().filter_map(|hash| cost_of(hash)).max().unwrap_or(12);
        Passwords { cost, known_browsers: lane(), strangers: lane() }
    }

    /// Checks a password against a user's hash; without a hash it is wrong, after the same time.
    pub(super) fn check(
        &self,
        hash: Option<&str>,
        password: &str,
        is_known_browser: bool,
    ) -> Login {
        let lane = if is_known_browser { &self.known_browsers } else { &self.strangers };
        let Some(permit) = lane.take("", PASSWORD_WAIT) else { return Login::Busy };
        if self.is_right(hash, password) {
            return Login::Right;
        }
        std::thread::sleep(limits::FAILED_LOGIN_PAUSE);
        drop(permit);
        Login::Wrong
    }

    /// Refuses all logins from now on, those that wait too: the server stops.
    pub(super) fn stop(&self) {
        self.known_browsers.close();
        self.strangers.close();
    }

    /// Takes the same time for every user, known or not: a hash of cost n takes 2^n steps, so that
    /// one, and then one of each cost from there to the highest, take together what one of the
    /// highest takes.
    fn is_right(&self, hash: Option<&str>, password: &str) -> bool {
        // bcrypt would truncate it, so it is wrong; what bcrypt reads of it is hashed all the same.
        let is_too_long = password.len() > limits::PASSWORD_BYTES;
        let truncated: String = password.chars().take(limits::PASSWORD_BYTES / 4).collect();
        let hashed = if is_too_long { &truncated } else { password };
        let cost = hash.and_then(cost_of);
        let is_right = hash.is_some_and(|hash| bcrypt::verify(hashed, hash).unwrap_or(false));
        let missing = cost.map_or(self.cost..=self.cost, |cost| cost..=self.cost.saturating_sub(1));
        for cost in missing {
            let _ = bcrypt::verify(hashed, &hash_of_nothing(cost));
        }
        is_right && !is_too_long
    }
}

/// The cost in a bcrypt hash such as `$2b$12$…`.
fn cost_of(hash: &str) -> Option<u32> {
    hash.get(4..6)?.parse().ok()
}

/// A valid hash that no password has: 22 characters of salt and 31 of hash.
fn hash_of_nothing(cost: u32) -> String {
    format!("$2b${cost:02}${}", ".".repeat(53))
}

impl Oauth {
    /// Checks a person's password. This takes as long for a user name that does not exist as for a
    /// wrong password.
    pub fn log_in(&self, user: &str, password: &str, is_known_browser: bool) -> Login {
        let hash = self.logins.users.get(user).map(String::as_str);
        self.passwords.check(hash, password, is_known_browser)
    }

    /// The cookie that marks a browser from which somebody has logged in, as a `Set-Cookie` header.
    pub fn browser_cookie(&self, now: Moment) -> String {
        let expires = now.after(BROWSER_LIFE);
        let mark = format!("{}.{}", expires.0, self.browser_mac(expires));
        self.set_cookie(KNOWN_BROWSER, &mark, BROWSER_LIFE)
    }

    /// Whether a `Cookie` header has the mark of an earlier login.
    pub fn is_known_browser(&self, cookies: &str, now: Moment) -> bool {
        let mark = self.cookie(cookies, KNOWN_BROWSER).and_then(|mark| mark.split_once('.'));
        let Some((expires, mac)) = mark else { return false };
        let Ok(expires) = expires.parse().map(Moment) else { return false };
        expires > now && secret::equal(mac, &self.browser_mac(expires))
    }

    /// A cookie that is sent back to this server's own pages alone, as a `Set-Cookie` header.
    pub(super) fn set_cookie(&self, name: &str, value: &str, life: Duration) -> String {
        let secure = if self.is_https() { " Secure;" } else { "" };
        let (prefix, seconds) = (self.cookie_prefix(), life.as_secs());
        format!(
            "{prefix}{name}={value}; Path=/; Max-Age={seconds};{secure} HttpOnly; SameSite=Strict"
        )
    }

    /// The value of such a cookie in a `Cookie` header.
    pub(super) fn cookie<'a>(&self, cookies: &'a str, wanted: &str) -> Option<&'a str> {
        let pairs = cookies.split(';').map(|cookie| cookie.trim_matches([' ', '\t']));
        let mut pairs = pairs.filter_map(|cookie| cookie.split_once('='));
        let is_wanted = |name: &str| name.strip_prefix(self.cookie_prefix()) == Some(wanted);
        pairs.find(|(name, _)| is_wanted(name)).map(|(_, value)| value)
    }

    /// Browsers take the prefix, which binds a cookie to this host and path, over https alone.
    fn cookie_prefix(&self) -> &'static str {
        if self.is_https() { "__Host-" } else { "" }
    }

    fn is_https(&self) -> bool {
        self.origin.starts_with("https:")
    }

    fn browser_mac(&self, expires: Moment) -> String {
        secret::keyed_hash(&self.store.state().key, &format!("browser {}", expires.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hash_of_nothing_is_valid_and_fits_nothing() {
        for cost in [4, 5] {
            assert_eq!(bcrypt::verify("", &hash_of_nothing(cost)).ok(), Some(false));
        }
    }

    #[test]
    fn a_password_is_right_or_wrong_whatever_it_costs() {
        let hash = |password: &str, cost: u32| bcrypt::hash(password, cost).unwrap();
        let users =
            BTreeMap::from([("cheap".to_owned(), hash("a", 4)), ("dear".to_owned(), hash("b", 7))]);
        let passwords = Passwords::new(&users);
        assert_eq!(passwords.cost, 7);
        for (user, password, expected) in [
            ("cheap", "a", true),
            ("cheap", "b", false),
            ("dear", "b", true),
            ("nobody", "a", false),
        ] {
            assert_eq!(
                passwords.is_right(users.get(user).map(String::as_str), password),
                expected,
                "{user} {password}"
            );
        }
        let long = "x".repeat(limits::PASSWORD_BYTES);
        let hash = hash(&long, 4);
        assert!(
            passwords.is_right(Some(&hash), &long)
                && !passwords.is_right(Some(&hash), &format!("{long}x"))
        );
    }
}
