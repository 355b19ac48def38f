//! Whether the peer of a request in progress has hung up. Its connection is not read meanwhile, so the handler has to
//! poll it now and then.

use crate::clock;
use crate::limits;
use rustix::io::Errno;
use rustix::net::{RecvFlags, recv};
use std::cell::Cell;
use std::net::TcpStream;
use std::sync::Arc;
use std::time::Instant;

/// The peer of a request in progress, as its handler sees it.
pub struct HangUp {
    socket: Arc<TcpStream>,
    polled: Cell<Instant>,
    seen: Cell<bool>,
}

impl HangUp {
    pub(super) fn of(socket: &Arc<TcpStream>) -> HangUp {
        HangUp { socket: Arc::clone(socket), polled: Cell::new(clock::instant()), seen: Cell::new(false) }
    }

    /// Whether the peer has closed its connection. Cheap to ask often: the socket is polled only every
    /// [`limits::HANG_UP_EVERY`]. A peer that has closed only its sending half counts as gone too: no current HTTP
    /// client does that while it waits.
    pub fn has_hung_up(&self) -> bool {
        if !self.seen.get() && self.polled.get().elapsed() >= limits::HANG_UP_EVERY {
            self.polled.set(clock::instant());
            self.seen.set(self.poll());
        }
        self.seen.get()
    }

    fn poll(&self) -> bool {
        // Unread bytes are a pipelined request.
        match recv(&*self.socket, &mut [0_u8; 1], RecvFlags::PEEK | RecvFlags::DONTWAIT) {
            Ok((_, count)) => count == 0,
            Err(error) => error != Errno::AGAIN && error != Errno::INTR,
        }
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
        let mut peer = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let socket = Arc::new(listener.accept().unwrap().0);
        let hang_up = HangUp::of(&socket);
        let ask = || {
            std::thread::sleep(limits::HANG_UP_EVERY + limits::HANG_UP_EVERY / 5);
            hang_up.has_hung_up()
        };
        assert!(!ask(), "silent");
        peer.write_all(b"x").unwrap();
        assert!(!ask(), "sends ahead");
        let (peer, other) = (socket, peer);
        drop(other);
        let mut byte = [0];
        std::io::Read::read_exact(&mut &*peer, &mut byte).unwrap();
        assert!(ask());
    }
}
