//! A connection, as the rest of the server sees it.

use crate::limits;
use std::net::{IpAddr, Shutdown, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// What a connection is doing; decides which is closed when the table is full.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Activity {
    /// Between requests: closing it costs the peer nothing.
    Idle,
    /// Waiting for the rest of a request.
    Reading,
    /// In a handler.
    Serving,
    /// Being answered; its time counts from the last progress.
    Writing,
    /// An event stream.
    Streaming,
    /// Closed from outside; for good.
    Closed,
}

/// One connection, as the rest of the server sees it.
pub(super) struct Peer {
    pub(super) socket: Arc<TcpStream>,
    pub(super) address: IpAddr,
    /// It has sent a whole request head.
    pub(super) has_head: AtomicBool,
    /// It has sent a request that belongs to a login.
    pub(super) is_authenticated: AtomicBool,
    pub(super) activity: AtomicU8,
    pub(super) since_us: AtomicU64,
    pub(super) started: Instant,
}

/// Activities in which a connection may be closed for another, those first that cost the peer least.
pub(super) const CLOSABLE: [Activity; 3] = [Activity::Idle, Activity::Reading, Activity::Writing];

impl Peer {
    /// Sets the activity, unless the connection was closed from outside; returns whether it did. If not, the caller must not
    /// begin anything: its answer could not be sent. Where that is ignored, the next read or write fails.
    pub(super) fn set(&self, activity: Activity) -> bool {
        self.since_us.store(self.started.elapsed().as_micros() as u64, Ordering::Relaxed);
        let unless_closed = |now| (now != Activity::Closed as u8).then_some(activity as u8);
        self.activity.fetch_update(Ordering::AcqRel, Ordering::Acquire, unless_closed).is_ok()
    }

    /// Notes that a whole head has come, and whether its request belongs to a login.
    pub(super) fn note_head(&self, is_authenticated: bool) {
        self.has_head.store(true, Ordering::Relaxed);
        self.is_authenticated.fetch_or(is_authenticated, Ordering::Relaxed);
    }

    /// Closes the connection if this is still its activity; returns whether it was.
    pub(super) fn close(&self, expected: Activity) -> bool {
        let was = self.activity.compare_exchange(expected as u8, Activity::Closed as u8, Ordering::AcqRel, Ordering::Acquire).is_ok();
        if was {
            let _ = self.socket.shutdown(Shutdown::Both);
        }
        was
    }

    pub(super) fn is(&self, activity: Activity) -> bool {
        self.activity.load(Ordering::Acquire) == activity as u8
    }

    /// Whether this is its activity, and it is idle or has been slow with its request or its answer for long enough.
    pub(super) fn is_closable(&self, expected: Activity) -> bool {
        self.is(expected) && (expected == Activity::Idle || self.time_in_activity() >= limits::EVICT_READING_AFTER)
    }

    /// Whether its thread has had time to read what came with the connection.
    pub(super) fn is_old_enough(&self) -> bool {
        self.started.elapsed() >= limits::EVICT_MIN_AGE
    }

    pub(super) fn time_in_activity(&self) -> Duration {
        self.started.elapsed().saturating_sub(Duration::from_micros(self.since_us.load(Ordering::Relaxed)))
    }
}
