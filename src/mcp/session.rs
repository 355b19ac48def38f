//! Legacy sessions: what a client is known by between its messages. Cheap, bounded, expiring, and bound to one login:
//! a session id is not a credential, and with another login it is as unknown as any other word.

use super::Revision;
use crate::clock::Now;
use crate::limits;
use crate::principal::Principal;
use crate::rpc::Id;
use crate::secret::{self, NoRandomness};
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// Somebody who wants to hear of changes: an event stream, or the client at the other end of stdio.
pub trait Listener: Send + Sync {
    /// Sends a message; whether the listener is still there.
    fn send(&self, message: &str) -> bool;
    /// Whether the listener is still there.
    fn is_open(&self) -> bool;
    /// Ends the stream, where there is one.
    fn end(&self);
}

/// One session.
pub struct Session {
    /// What the client calls it.
    pub id: String,
    /// The revision that was negotiated.
    pub revision: Revision,
    owner: String,
    last_used: AtomicU64,
    listener: Mutex<Option<Arc<dyn Listener>>>,
    running: Mutex<HashMap<Id, Arc<AtomicBool>>>,
}

impl Session {
    fn new(id: String, principal: &Principal, revision: Revision, now: Now) -> Session {
        Session {
            id,
            revision,
            owner: principal.key(),
            last_used: AtomicU64::new(now.0),
            listener: Mutex::new(None),
            running: Mutex::new(HashMap::new()),
        }
    }

    /// Gives the session the listener that hears of changes. An older one is ended: its connection may be long dead.
    pub fn listen(&self, listener: Arc<dyn Listener>) {
        let before = self.listener.lock().unwrap_or_else(PoisonError::into_inner).replace(listener);
        if let Some(before) = before {
            before.end();
        }
    }

    /// Whether somebody hears of changes at the moment.
    pub fn is_listening(&self) -> bool {
        self.listener().is_some()
    }

    fn listener(&self) -> Option<Arc<dyn Listener>> {
        self.listener.lock().unwrap_or_else(PoisonError::into_inner).clone().filter(|listener| listener.is_open())
    }

    /// Notes that a request is under way, so that it can be cancelled.
    pub(super) fn begin(&self, id: &Id) -> Running<'_> {
        let cancelled = Arc::new(AtomicBool::new(false));
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        if running.len() < limits::RUNNING_PER_SESSION {
            running.insert(id.clone(), Arc::clone(&cancelled));
        }
        Running { session: self, id: id.clone(), cancelled }
    }

    /// Cancels a request, if it is under way.
    pub fn cancel(&self, id: &Id) {
        if let Some(cancelled) = self.running.lock().unwrap_or_else(PoisonError::into_inner).get(id) {
            cancelled.store(true, Ordering::Release);
        }
    }
}

/// A request under way.
pub(super) struct Running<'a> {
    session: &'a Session,
    id: Id,
    cancelled: Arc<AtomicBool>,
}

impl Running<'_> {
    pub(super) fn is_cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Acquire)
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        let mut running = self.session.running.lock().unwrap_or_else(PoisonError::into_inner);
        // A client may use an id twice; only our own note is taken off.
        if running.get(&self.id).is_some_and(|noted| Arc::ptr_eq(noted, &self.cancelled)) {
            running.remove(&self.id);
        }
    }
}

/// The table of sessions.
#[derive(Default)]
pub struct Sessions {
    table: Mutex<HashMap<String, Arc<Session>>>,
    /// Places taken by event streams, by owner.
    places: Arc<Mutex<HashMap<String, usize>>>,
}

/// A place among the event streams, given back when dropped.
pub struct StreamPlace {
    places: Arc<Mutex<HashMap<String, usize>>>,
    owner: String,
}

impl Drop for StreamPlace {
    fn drop(&mut self) {
        let mut places = self.places.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = places.get_mut(&self.owner) {
            *count -= 1;
            if *count == 0 {
                places.remove(&self.owner);
            }
        }
    }
}

impl Sessions {
    /// Opens a session. Where the table, or the caller's share of it, is full, the session unused for longest ends.
    ///
    /// # Errors
    /// [`NoRandomness`].
    pub fn open(&self, principal: &Principal, revision: Revision, now: Now) -> Result<Arc<Session>, NoRandomness> {
        let id = secret::new_token()?;
        let session = Arc::new(Session::new(id.clone(), principal, revision, now));
        let mut table = self.table();
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
        let unused = now.since(Now(session.last_used.load(Ordering::Relaxed)));
        if unused > limits::SESSION_IDLE && session.listener().is_none() {
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

    /// Everyone who listens at the moment.
    pub fn listeners(&self) -> Vec<Arc<dyn Listener>> {
        self.table().values().filter_map(|session| session.listener()).collect()
    }

    /// Takes a place for an event stream; `None` when all are taken, or all that this caller may have. `instead` of an
    /// older stream, which is about to end, there is always one.
    pub fn take_stream_place(&self, principal: &Principal, instead: bool) -> Option<StreamPlace> {
        let owner = principal.key();
        let mut places = self.places.lock().unwrap_or_else(PoisonError::into_inner);
        let all: usize = places.values().sum();
        let mine = places.get(&owner).copied().unwrap_or_default();
        if !instead && (all >= limits::STREAMS || mine >= limits::STREAMS_PER_PRINCIPAL) {
            return None;
        }
        places.insert(owner.clone(), mine + 1);
        Some(StreamPlace { places: Arc::clone(&self.places), owner })
    }

    fn table(&self) -> std::sync::MutexGuard<'_, HashMap<String, Arc<Session>>> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn oldest<'a>(sessions: impl Iterator<Item = &'a Arc<Session>>) -> Option<String> {
    sessions.min_by_key(|session| session.last_used.load(Ordering::Relaxed)).map(|session| session.id.clone())
}

fn end(session: Option<Arc<Session>>) {
    if let Some(listener) = session.and_then(|session| session.listener()) {
        listener.end();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::principal::Access;

    fn login(name: &str) -> Principal {
        Principal { subject: name.into(), client: "c".into(), access: Access::Write }
    }

    #[test]
    fn a_session_is_only_its_owners() {
        let sessions = Sessions::default();
        let session = sessions.open(&login("a"), Revision::V2025_11_25, Now(0)).unwrap();
        assert!(sessions.get(&session.id, &login("a"), Now(1)).is_some());
        assert!(sessions.get(&session.id, &login("b"), Now(1)).is_none());
        assert!(!sessions.close(&session.id, &login("b")));
        assert!(sessions.close(&session.id, &login("a")) && !sessions.close(&session.id, &login("a")));
    }

    #[test]
    fn sessions_expire_and_the_oldest_make_room() {
        let sessions = Sessions::default();
        let first = sessions.open(&login("a"), Revision::V2025_11_25, Now(0)).unwrap();
        assert!(sessions.get(&first.id, &login("a"), Now(limits::SESSION_IDLE.as_secs() + 1)).is_none());
        let other = sessions.open(&login("b"), Revision::V2025_11_25, Now(0)).unwrap();
        let first = sessions.open(&login("a"), Revision::V2025_11_25, Now(1)).unwrap();
        for n in 0..limits::SESSIONS_PER_PRINCIPAL {
            sessions.open(&login("a"), Revision::V2025_11_25, Now(2 + n as u64)).unwrap();
        }
        assert!(sessions.get(&first.id, &login("a"), Now(999)).is_none(), "a's oldest made room");
        assert!(sessions.get(&other.id, &login("b"), Now(999)).is_some(), "b's is untouched");
        for n in 0..limits::SESSIONS {
            sessions.open(&login(&format!("user {n}")), Revision::V2025_11_25, Now(2000)).unwrap();
        }
        assert_eq!(sessions.table().len(), limits::SESSIONS);
    }

    #[test]
    fn cancelling_reaches_the_request_under_way_and_no_other() {
        let session = Sessions::default().open(&login("a"), Revision::V2025_11_25, Now(0)).unwrap();
        let id = Id::Text("one".into());
        let one = session.begin(&id);
        let two = session.begin(&Id::Text("two".into()));
        session.cancel(&id);
        session.cancel(&Id::Text("unknown".into()));
        assert!(one.is_cancelled() && !two.is_cancelled());
        drop(one);
        assert!(!session.begin(&id).is_cancelled(), "a new request of the same id is not cancelled");
    }
}
