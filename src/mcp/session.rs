//! Legacy sessions, which tie a client's messages together. Bounded in number, expiring, and bound
//! to one login: a session id is not a credential, and with another login it is unknown.

use super::Revision;
use super::running::Requests;
use super::subscription::Subscription;
use crate::clock::Moment;
use crate::limits;
use crate::lock::Unpoisoned;
use crate::principal::Principal;
use crate::secret;
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Legacy sessions of one login, so that a client in a loop only evicts itself.
const SESSIONS_PER_PRINCIPAL: usize = 500;
/// A session unused for this long expires; the client gets 404 and initializes again.
const SESSION_IDLE: Duration = Duration::from_secs(24 * 3600);

/// One session.
pub struct Session {
    /// Its id on the wire.
    pub id: String,
    /// The revision that was negotiated.
    pub revision: Revision,
    /// Its requests in progress.
    pub requests: Requests,
    /// What it is notified of, on the stream of its GET request.
    pub subscription: Arc<Subscription>,
    owner: String,
    last_used: AtomicU64,
}

impl Session {
    fn is_expired(&self, now: Moment) -> bool {
        now.since(Moment(self.last_used.load(Ordering::Relaxed))) > SESSION_IDLE
            && !self.subscription.is_open()
    }
}

/// The table of sessions.
#[derive(Default)]
pub struct Sessions {
    table: Mutex<HashMap<String, Arc<Session>>>,
}

impl Sessions {
    /// Opens a session. Where the table, or the caller's share of it, is full, the session unused
    /// for longest ends.
    pub fn open(&self, principal: &Principal, revision: Revision, now: Moment) -> Arc<Session> {
        let id = secret::new_token();
        let session = Arc::new(Session {
            id: id.clone(),
            revision,
            requests: Requests::default(),
            subscription: Arc::new(Subscription::of_session(principal.clone())),
            owner: principal.key(),
            last_used: AtomicU64::new(now.0),
        });
        let mut table = self.table.lock().unpoisoned();
        // Frees what expired sessions hold, such as the resources they subscribed to.
        table.retain(|_, session| !session.is_expired(now));
        let is_mine = |known: &&Arc<Session>| known.owner == session.owner;
        let is_share_full = table.values().filter(is_mine).count() >= SESSIONS_PER_PRINCIPAL;
        // A session that only listens is in use too.
        let order = |known: &&Arc<Session>| {
            (known.subscription.is_open(), known.last_used.load(Ordering::Relaxed))
        };
        let oldest = || {
            table
                .values()
                .filter(|known| !is_share_full || is_mine(known))
                .min_by_key(order)
                .map(|known| known.id.clone())
        };
        let victim = if is_share_full || table.len() >= limits::SESSIONS { oldest() } else { None };
        let evicted = victim.and_then(|id| table.remove(&id));
        table.insert(id, Arc::clone(&session));
        drop(table);
        evicted.iter().for_each(|session| session.subscription.end());
        session
    }

    /// The session of this id, if it is the caller's and has not expired.
    pub fn get(&self, id: &str, principal: &Principal, now: Moment) -> Option<Arc<Session>> {
        let mut table = self.table.lock().unpoisoned();
        let session = table.get(id).filter(|session| session.owner == principal.key()).cloned()?;
        if session.is_expired(now) {
            table.remove(id);
            return None;
        }
        session.last_used.store(now.0, Ordering::Relaxed);
        Some(session)
    }

    /// Ends a session; whether there was one of the caller's.
    pub fn close(&self, id: &str, principal: &Principal) -> bool {
        let mut table = self.table.lock().unpoisoned();
        let known = table.get(id).is_some_and(|session| session.owner == principal.key());
        let ended = if known { table.remove(id) } else { None };
        drop(table);
        ended.iter().for_each(|session| session.subscription.end());
        known
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mcp::Listener;
    use crate::principal::Access;

    fn login(name: &str) -> Principal {
        Principal {
            subject: name.into(),
            client: "c".into(),
            login: name.into(),
            access: Access::Write,
            folders: None,
        }
    }

    #[test]
    fn a_session_is_only_its_owners() {
        let sessions = Sessions::default();
        let session = sessions.open(&login("a"), Revision::V2025_11_25, Moment(0));
        assert!(sessions.get(&session.id, &login("a"), Moment(1)).is_some());
        assert!(sessions.get(&session.id, &login("b"), Moment(1)).is_none());
        assert!(!sessions.close(&session.id, &login("b")));
        assert!(
            sessions.close(&session.id, &login("a")) && !sessions.close(&session.id, &login("a"))
        );
    }

    struct TestListener;
    impl Listener for TestListener {
        fn send(&self, _: &str) -> bool {
            true
        }
        fn is_open(&self) -> bool {
            true
        }
        fn end(&self) {}
    }

    /// A session that only listened counted as the oldest, and its stream was ended for a new
    /// session.
    #[test]
    fn a_session_that_listens_is_evicted_last() {
        let sessions = Sessions::default();
        let open = |at: u64| sessions.open(&login("a"), Revision::V2025_11_25, Moment(at));
        let listening = open(0);
        listening.subscription.attach(Arc::new(TestListener));
        let idle = open(1);
        (0..SESSIONS_PER_PRINCIPAL as u64).for_each(|n| drop(open(2 + n)));
        assert!(sessions.get(&listening.id, &login("a"), Moment(999)).is_some());
        assert!(sessions.get(&idle.id, &login("a"), Moment(999)).is_none());
    }

    #[test]
    fn sessions_expire_and_the_oldest_are_evicted() {
        let sessions = Sessions::default();
        let first = sessions.open(&login("a"), Revision::V2025_11_25, Moment(0));
        let expired = Moment(SESSION_IDLE.as_secs() + 1);
        let second = sessions.open(&login("a"), Revision::V2025_11_25, expired);
        assert_eq!(
            sessions.table.lock().unpoisoned().keys().collect::<Vec<_>>(),
            [&second.id],
            "the first has gone at the next opening"
        );
        assert!(sessions.get(&first.id, &login("a"), expired).is_none());
        assert!(
            sessions.get(&second.id, &login("a"), Moment(expired.0 * 3)).is_none(),
            "not opened anew, but unused for too long"
        );
        let other = sessions.open(&login("b"), Revision::V2025_11_25, Moment(0));
        let first = sessions.open(&login("a"), Revision::V2025_11_25, Moment(1));
        for n in 0..SESSIONS_PER_PRINCIPAL {
            sessions.open(&login("a"), Revision::V2025_11_25, Moment(2 + n as u64));
        }
        assert!(
            sessions.get(&first.id, &login("a"), Moment(999)).is_none(),
            "a's oldest was evicted"
        );
        assert!(sessions.get(&other.id, &login("b"), Moment(999)).is_some(), "b's is untouched");
        for n in 0..limits::SESSIONS {
            sessions.open(&login(&format!("user {n}")), Revision::V2025_11_25, Moment(2000));
        }
        assert_eq!(sessions.table.lock().unpoisoned().len(), limits::SESSIONS);
    }
}
