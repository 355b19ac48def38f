//! A connection, as the rest of the server sees it.

use crate::clock;
use crate::lock::Unpoisoned;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::{RecvFlags, recv};
use std::cmp::Reverse;
use std::io::Write;
use std::net::{IpAddr, Shutdown, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// How long a peer that has closed its sending half is left alone before something is sent to find
/// whether it is still there.
const HALF_CLOSED_PROBED_AFTER: Duration = Duration::from_millis(500);
/// An answer that has made no progress for less than this is not given up for another connection:
/// its call was carried out, and is to be answered.
const STALLED_AFTER: Duration = Duration::from_secs(1);

/// What a connection is doing; those first that cost its peer least if it is closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub(super) enum Activity {
    /// Between requests: closing it costs the peer nothing.
    Idle,
    /// Waiting for a new connection's first request, or for the rest of a request.
    Reading,
    /// Being answered; its time counts from the last progress.
    Writing,
    /// In a handler.
    Serving,
    /// An event stream.
    Streaming,
    /// Closed from outside; for good.
    Closed,
}

/// Sends something that the answer may contain at this point, and that a closed connection answers
/// with a reset.
pub(super) type Probe = Box<dyn FnOnce() + Send>;

/// One connection, as the rest of the server and the handlers of its requests see it.
pub struct Peer {
    pub(super) socket: TcpStream,
    pub(super) address: IpAddr,
    /// It has sent a request that belongs to a login.
    has_login: AtomicBool,
    probe: Mutex<Option<Probe>>,
    activity: AtomicU8,
    /// Since when it is at its activity: microseconds after `started`.
    since_us: AtomicU64,
    started: Instant,
}

/// Activities in which a connection may be closed for another.
const CLOSABLE: [Activity; 3] = [Activity::Idle, Activity::Reading, Activity::Writing];

/// Which connection is closed for another: the lowest rank. One with a login costs its peer most;
/// then it depends on the activity; of equals the one that has been at it for longest is closed.
pub(super) type EvictionRank = (bool, Activity, Reverse<Duration>);

impl Peer {
    pub(super) fn new(socket: TcpStream, address: IpAddr) -> Peer {
        Peer {
            socket,
            address,
            has_login: AtomicBool::new(false),
            probe: Mutex::default(),
            activity: AtomicU8::new(Activity::Reading as u8),
            since_us: AtomicU64::new(0),
            started: clock::instant(),
        }
    }

    /// Whether the peer of a request in progress has closed its connection, or reset it. One that
    /// has closed only its sending half (`nc -N`) still waits for its answer. The two look alike
    /// until something is sent, so after a while the probe is.
    pub fn has_hung_up(&self) -> bool {
        let mut polled = [PollFd::new(&self.socket, PollFlags::empty())];
        let _ = poll(&mut polled, Some(&Timespec::default()));
        if polled.iter().any(|polled| polled.revents().intersects(PollFlags::HUP | PollFlags::ERR))
        {
            return true;
        }
        // Unread bytes are a pipelined request.
        let is_half_closed = matches!(
            recv(&self.socket, &mut [0_u8; 1], RecvFlags::PEEK | RecvFlags::DONTWAIT),
            Ok((_, 0))
        );
        if is_half_closed && self.time_in_activity() >= HALF_CLOSED_PROBED_AFTER {
            let probe = self.probe.lock().unpoisoned().take();
            if let Some(probe) = probe {
                probe();
            }
        }
        false
    }

    /// What [`Peer::has_hung_up`] may send, once; `None` where nothing may be.
    pub(super) fn set_probe(&self, probe: Option<Probe>) {
        *self.probe.lock().unpoisoned() = probe;
    }

    /// An interim response: not for HTTP/1.0, and only until the answer begins.
    pub(super) fn interim_response(self: &Arc<Self>) -> Probe {
        let peer = Arc::clone(self);
        Box::new(move || drop((&peer.socket).write_all(b"HTTP/1.1 102 Processing\r\n\r\n")))
    }

    /// Sets the activity, unless the connection was closed from outside; returns whether it did. If
    /// not, the caller must not begin anything: its answer could not be sent. Where that is
    /// ignored, the next read or write fails.
    pub(super) fn set(&self, activity: Activity) -> bool {
        self.since_us.store(self.started.elapsed().as_micros() as u64, Ordering::Relaxed);
        let unless_closed = |now| (now != Activity::Closed as u8).then_some(activity as u8);
        self.activity.fetch_update(Ordering::AcqRel, Ordering::Acquire, unless_closed).is_ok()
    }

    /// Notes that it has sent a request that belongs to a login.
    pub(super) fn note_login(&self) {
        self.has_login.store(true, Ordering::Relaxed);
    }

    /// Closes the connection if this is still its activity; returns whether it was.
    pub(super) fn close(&self, expected: Activity) -> bool {
        let was = self
            .activity
            .compare_exchange(
                expected as u8,
                Activity::Closed as u8,
                Ordering::AcqRel,
                Ordering::Acquire,
            )
            .is_ok();
        if was {
            let _ = self.socket.shutdown(Shutdown::Both);
        }
        was
    }

    pub(super) fn is(&self, activity: Activity) -> bool {
        self.activity.load(Ordering::Acquire) == activity as u8
    }

    /// Its rank among those that may be closed for another; `None` if it may not be.
    pub(super) fn eviction_rank(&self) -> Option<EvictionRank> {
        let activity = CLOSABLE.into_iter().find(|&activity| self.is(activity))?;
        let has_login = self.has_login.load(Ordering::Relaxed);
        let time = self.time_in_activity();
        let is_due = activity != Activity::Writing || time >= STALLED_AFTER;
        is_due.then_some((has_login, activity, Reverse(time)))
    }

    fn time_in_activity(&self) -> Duration {
        self.started
            .elapsed()
            .saturating_sub(Duration::from_micros(self.since_us.load(Ordering::Relaxed)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    #[test]
    fn a_peer_that_sends_ahead_or_has_stopped_sending_is_open_and_one_that_closed_is_not() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut other = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (socket, address) = listener.accept().unwrap();
        let peer = Arc::new(Peer::new(socket, address.ip()));
        assert!(!peer.has_hung_up(), "silent");
        other.write_all(b"x").unwrap();
        assert!(!peer.has_hung_up(), "sends ahead");
        let mut byte = [0];
        std::io::Read::read_exact(&mut &peer.socket, &mut byte).unwrap();
        other.shutdown(Shutdown::Write).unwrap();
        std::thread::sleep(HALF_CLOSED_PROBED_AFTER);
        assert!(!peer.has_hung_up(), "waits for its answer, and nothing may be sent before it");
        peer.set_probe(Some(peer.interim_response()));
        assert!(!peer.has_hung_up());
        let mut seen = [0; 16];
        std::io::Read::read_exact(&mut other, &mut seen).unwrap();
        assert!(seen.starts_with(b"HTTP/1.1 102 "));
        peer.set_probe(Some(peer.interim_response()));
        drop(other);
        while !peer.has_hung_up() {
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}
