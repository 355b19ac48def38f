//! Who is looking at the owner's page: sessions of a browser after the password, in memory.
//!
//! The cookie is a random token, of which the hash is remembered; it ends after 15 minutes, with
//! Log out, and with the server. Each form carries a token that is made of the cookie, so that no
//! other site can send one.

use super::Oauth;
use crate::clock::Moment;
use crate::lock::Unpoisoned;
use crate::secret::{self, SecretHash};
use std::sync::Mutex;
use std::time::Duration;

const COOKIE: &str = "account";
/// How long a session lasts.
const SESSION_LIFE: Duration = Duration::from_secs(15 * 60);
/// Sessions of one user; the oldest ends. Each needs a right password.
const SESSIONS: usize = 4;

/// The open sessions, oldest first.
#[derive(Debug, Default)]
pub(super) struct AccountSessions(Mutex<Vec<Session>>);

#[derive(Debug)]
struct Session {
    cookie: SecretHash,
    user: String,
    expires: Moment,
}

/// A browser in a session.
#[derive(Debug, Clone)]
pub struct LoggedIn {
    pub user: String,
    /// What each of its forms carries.
    pub form_token: String,
}

impl Oauth {
    /// Opens a session for a user whose password was right; gives the `Set-Cookie` header.
    pub fn open_account(&self, user: &str, now: Moment) -> String {
        let token = secret::new_token();
        let session = Session {
            cookie: SecretHash::of(&token),
            user: user.to_owned(),
            expires: now.after(SESSION_LIFE),
        };
        let mut sessions = self.account_sessions.0.lock().unpoisoned();
        sessions.retain(|session| session.expires > now);
        let own = |session: &Session| session.user == user;
        if sessions.iter().filter(|session| own(session)).count() >= SESSIONS
            && let Some(oldest) = sessions.iter().position(own)
        {
            sessions.remove(oldest);
        }
        sessions.push(session);
        self.set_cookie(COOKIE, &token, SESSION_LIFE)
    }

    /// The session that a `Cookie` header names.
    pub fn account(&self, cookies: &str, now: Moment) -> Option<LoggedIn> {
        let token = self.cookie(cookies, COOKIE)?;
        let hash = SecretHash::of(token);
        let sessions = self.account_sessions.0.lock().unpoisoned();
        let session = sessions.iter().find(|open| open.cookie == hash && open.expires > now)?;
        let form_token = secret::keyed_hash(&self.proof_key, &format!("account form {token}"));
        Some(LoggedIn { user: session.user.clone(), form_token })
    }

    /// Ends all sessions of a user; gives the `Set-Cookie` header that removes the cookie.
    pub fn close_account(&self, user: &str) -> String {
        self.account_sessions.0.lock().unpoisoned().retain(|open| open.user != user);
        self.set_cookie(COOKIE, "", Duration::ZERO)
    }
}
