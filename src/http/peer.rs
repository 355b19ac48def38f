//! A connection, as the rest of the server sees it.

use crate::clock;
use crate::limits;
use rustix::io::Errno;
use rustix::net::{RecvFlags, recv};
use std::net::{IpAddr, Shutdown, TcpStream};
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

/// One connection, as the rest of the server and the handlers of its requests see it.
pub struct Peer {
    pub(super) socket: TcpStream,
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
    pub(super) fn new(socket: TcpStream, address: IpAddr) -> Peer {
        Peer {
            socket,
            address,
            has_head: AtomicBool::new(false),
            is_authenticated: AtomicBool::new(false),
            activity: AtomicU8::new(Activity::Idle as u8),
            since_us: AtomicU64::new(0),
            started: clock::instant(),
        }
    }

    /// Whether the peer of a request in progress has closed its connection, which is not read meanwhile. A peer that has closed only its
    /// sending half counts as gone too: no current HTTP client does that while it waits.
    pub fn has_hung_up(&self) -> bool {
        // Unread bytes are a pipelined request.
        match recv(&self.socket, &mut [0_u8; 1], RecvFlags::PEEK | RecvFlags::DONTWAIT) {
            Ok((_, count)) => count == 0,
            Err(error) => error != Errno::AGAIN && error != Errno::INTR,
        }
    }

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
        self.is(expected) && (expected == Activity::Idle || self.time_in_activity() >= limits::EVICT_STALLED_AFTER)
    }

    /// Whether its thread has had time to read what came with the connection.
    pub(super) fn is_old_enough(&self) -> bool {
        self.started.elapsed() >= limits::EVICT_MIN_AGE
    }

    pub(super) fn time_in_activity(&self) -> Duration {
        self.started.elapsed().saturating_sub(Duration::from_micros(self.since_us.load(Ordering::Relaxed)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::net::TcpListener;

    #[test]
    fn a_peer_that_sends_ahead_is_open_and_one_that_closed_is_not() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut other = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (socket, address) = listener.accept().unwrap();
        let peer = Peer::new(socket, address.ip());
        assert!(!peer.has_hung_up(), "silent");
        other.write_all(b"x").unwrap();
        assert!(!peer.has_hung_up(), "sends ahead");
        drop(other);
        let mut byte = [0];
        std::io::Read::read_exact(&mut &peer.socket, &mut byte).unwrap();
        assert!(peer.has_hung_up());
    }
}
