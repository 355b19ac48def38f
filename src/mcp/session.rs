//! Legacy sessions: what a client is known by between its messages. Cheap, bounded, expiring, and bound to one login:
//! a session id is not a credential, and with another login it is as unknown as any other word.

use super::Revision;
use super::logging::Level;
use super::running::Requests;
use super::stream::{Numbers, Replay, Stream};
use super::subscription::Subscription;
use crate::clock::Now;
use crate::limits;
use crate::lock::Unpoisoned;
use crate::principal::Principal;
use crate::secret::{self, NoRandomness};
use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

/// One session.
pub struct Session {
    /// What the client calls it.
    pub id: String,
    /// The revision that was negotiated.
    pub revision: Revision,
    /// Its requests under way.
    pub requests: Requests,
    /// What it hears of, on its standalone stream.
    pub subscription: Arc<Subscription>,
    owner: String,
    last_used: AtomicU64,
    standalone: Arc<Stream>,
    /// The streams of its requests, by number; the oldest goes first.
    streams: Mutex<BTreeMap<u64, Arc<Stream>>>,
    next_stream: AtomicU64,
    numbers: Numbers,
    log_level: Mutex<Option<Level>>,
}

impl Session {
    fn new(id: String, numbers: Numbers, principal: &Principal, revision: Revision, requests: Requests, now: Now) -> Session {
        let standalone = Arc::new(Stream::numbered(numbers.clone()));
        Session {
            id,
            revision,
            requests,
            subscription: Arc::new(Subscription::of_session(principal.clone(), Arc::clone(&standalone))),
            owner: principal.key(),
            last_used: AtomicU64::new(now.0),
            standalone,
            streams: Mutex::default(),
            next_stream: AtomicU64::new(1),
            numbers,
            log_level: Mutex::default(),
        }
    }

    /// A stream for the answer to one request, with what is said on the way to it.
    pub fn request_stream(&self) -> Arc<Stream> {
        let number = self.next_stream.fetch_add(1, Ordering::Relaxed);
        let stream = Arc::new(Stream::numbered(Numbers { stream: number, ..self.numbers.clone() }));
        let mut streams = self.streams();
        streams.insert(number, Arc::clone(&stream));
        while streams.len() > limits::REQUEST_STREAMS {
            streams.pop_first();
        }
        stream
    }

    /// The stream of this number: 0 is the standalone one, others are those of requests.
    pub fn stream(&self, number: u64) -> Option<Arc<Stream>> {
        if number == 0 { Some(Arc::clone(&self.standalone)) } else { self.streams().get(&number).cloned() }
    }

    /// Whether a client reads the standalone stream.
    pub fn is_listening(&self) -> bool {
        self.standalone.is_open()
    }

    fn is_expired(&self, now: Now) -> bool {
        now.since(Now(self.last_used.load(Ordering::Relaxed))) > limits::SESSION_IDLE && !self.is_listening()
    }

    /// Sends a message on the standalone stream, if the client listens.
    pub(super) fn send(&self, message: &str) {
        if self.is_listening() {
            self.standalone.send(message);
        }
    }

    /// The least important log messages that the client wants; none until it asks.
    pub(super) fn log_level(&self) -> Option<Level> {
        *self.log_level.lock().unpoisoned()
    }

    /// Sets [`Session::log_level`].
    pub(super) fn set_log_level(&self, level: Level) {
        *self.log_level.lock().unpoisoned() = Some(level);
    }

    fn streams(&self) -> MutexGuard<'_, BTreeMap<u64, Arc<Stream>>> {
        self.streams.lock().unpoisoned()
    }
}

/// The table of sessions.
#[derive(Default)]
pub struct Sessions {
    table: Mutex<HashMap<String, Arc<Session>>>,
    /// How many there ever were; tells their streams apart.
    count: AtomicU64,
    replay: Arc<Replay>,
}

impl Sessions {
    /// Opens a session; `requests` is where its requests are noted. Where the table, or the caller's share of it, is full, the session unused for longest ends.
    ///
    /// # Errors
    /// [`NoRandomness`].
    pub fn open(&self, principal: &Principal, revision: Revision, requests: Requests, now: Now) -> Result<Arc<Session>, NoRandomness> {
        let id = secret::new_token()?;
        let session = self.count.fetch_add(1, Ordering::Relaxed);
        let numbers = Numbers {
            owner: principal.key().into(),
            session,
            stream: 0,
            primes: revision.has_priming_events(),
            replay: Arc::clone(&self.replay),
        };
        let session = Arc::new(Session::new(id.clone(), numbers, principal, revision, requests, now));
        let mut table = self.table();
        // What an expired one holds, the names it subscribed to among it, is free again.
        table.retain(|_, session| !session.is_expired(now));
        let mine = table.values().filter(|known| known.owner == session.owner).count();
        let victim = if mine >= limits::SESSIONS_PER_PRINCIPAL {
            oldest(table.values().filter(|known| known.owner == session.owner))
        } else if table.len() >= limits::SESSIONS {
            oldest(table.values())
        } else {
            None
        };
        let evicted = victim.and_then(|id| table.remove(&id));
        table.insert(id, Arc::clone(&session));
        drop(table);
        end(evicted);
        Ok(session)
    }

    /// The session of this id, if it is the caller's and has not expired.
    pub fn get(&self, id: &str, principal: &Principal, now: Now) -> Option<Arc<Session>> {
        let mut table = self.table();
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
        let mut table = self.table();
        let known = table.get(id).is_some_and(|session| session.owner == principal.key());
        let ended = if known { table.remove(id) } else { None };
        drop(table);
        end(ended);
        known
    }

    fn table(&self) -> MutexGuard<'_, HashMap<String, Arc<Session>>> {
        self.table.lock().unpoisoned()
    }
}

fn oldest<'a>(sessions: impl Iterator<Item = &'a Arc<Session>>) -> Option<String> {
    // One that only listens is in use too.
    sessions.min_by_key(|session| (session.is_listening(), session.last_used.load(Ordering::Relaxed))).map(|session| session.id.clone())
}

fn end(session: Option<Arc<Session>>) {
    if let Some(session) = session {
        session.standalone.finish();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mcp::Listener;
    use crate::principal::Access;

    fn login(name: &str) -> Principal {
        Principal { subject: name.into(), client: "c".into(), login: name.into(), access: Access::Write, folders: None }
    }

    #[test]
    fn a_session_is_only_its_owners() {
        let sessions = Sessions::default();
        let session = sessions.open(&login("a"), Revision::V2025_11_25, Requests::default(), Now(0)).unwrap();
        assert!(sessions.get(&session.id, &login("a"), Now(1)).is_some());
        assert!(sessions.get(&session.id, &login("b"), Now(1)).is_none());
        assert!(!sessions.close(&session.id, &login("b")));
        assert!(sessions.close(&session.id, &login("a")) && !sessions.close(&session.id, &login("a")));
    }

    struct TestListener;
    impl Listener for TestListener {
        fn send(&self, _: Option<&str>, _: &str) -> bool {
            true
        }
        fn prime(&self, _: &str) {}
        fn is_open(&self) -> bool {
            true
        }
        fn end(&self) {}
    }

    /// One that only listened was the oldest, and its stream was ended for a newcomer.
    #[test]
    fn a_session_that_listens_is_evicted_last() {
        let sessions = Sessions::default();
        let open = |at: u64| sessions.open(&login("a"), Revision::V2025_11_25, Requests::default(), Now(at)).unwrap();
        let listening = open(0);
        listening.stream(0).unwrap().attach(Arc::new(TestListener), None);
        let idle = open(1);
        (0..limits::SESSIONS_PER_PRINCIPAL as u64).for_each(|n| drop(open(2 + n)));
        assert!(sessions.get(&listening.id, &login("a"), Now(999)).is_some());
        assert!(sessions.get(&idle.id, &login("a"), Now(999)).is_none());
    }

    #[test]
    fn sessions_expire_and_the_oldest_are_evicted() {
        let sessions = Sessions::default();
        let first = sessions.open(&login("a"), Revision::V2025_11_25, Requests::default(), Now(0)).unwrap();
        let expired = Now(limits::SESSION_IDLE.as_secs() + 1);
        let second = sessions.open(&login("a"), Revision::V2025_11_25, Requests::default(), expired).unwrap();
        assert_eq!(sessions.table().keys().collect::<Vec<_>>(), [&second.id], "the first has gone at the next opening");
        assert!(sessions.get(&first.id, &login("a"), expired).is_none());
        assert!(sessions.get(&second.id, &login("a"), Now(expired.0 * 3)).is_none(), "not opened anew, but unused for too long");
        let other = sessions.open(&login("b"), Revision::V2025_11_25, Requests::default(), Now(0)).unwrap();
        let first = sessions.open(&login("a"), Revision::V2025_11_25, Requests::default(), Now(1)).unwrap();
        for n in 0..limits::SESSIONS_PER_PRINCIPAL {
            sessions.open(&login("a"), Revision::V2025_11_25, Requests::default(), Now(2 + n as u64)).unwrap();
        }
        assert!(sessions.get(&first.id, &login("a"), Now(999)).is_none(), "a's oldest was evicted");
        assert!(sessions.get(&other.id, &login("b"), Now(999)).is_some(), "b's is untouched");
        for n in 0..limits::SESSIONS {
            sessions.open(&login(&format!("user {n}")), Revision::V2025_11_25, Requests::default(), Now(2000)).unwrap();
        }
        assert_eq!(sessions.table().len(), limits::SESSIONS);
    }
}
