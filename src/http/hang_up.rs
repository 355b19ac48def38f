//! Whether the peer of a request in progress has hung up. Its connection is not read meanwhile, so the handler has to
//! poll it now and then.

use rustix::io::Errno;
use rustix::net::{RecvFlags, recv};
use std::net::TcpStream;
use std::sync::Arc;

/// The peer of a request in progress, as its handler sees it.
pub struct HangUp {
    socket: Arc<TcpStream>,
}

impl HangUp {
    pub(super) fn of(socket: &Arc<TcpStream>) -> HangUp {
        HangUp { socket: Arc::clone(socket) }
    }

    /// Whether the peer has closed its connection. A peer that has closed only its sending half counts as gone too: no current
    /// HTTP client does that while it waits.
    pub fn has_hung_up(&self) -> bool {
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
        let ask = || hang_up.has_hung_up();
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
