//! Reading from a socket with a deadline, and the buffer of what is not used yet.

use crate::clock::Deadline;
use crate::slice::Part;
use std::io::{self, ErrorKind, Read};
use std::net::TcpStream;
use std::time::Duration;

/// Reads once; `TimedOut` when the deadline has passed.
pub(super) fn read_by(
    socket: &TcpStream,
    into: &mut [u8],
    deadline: Deadline,
) -> io::Result<usize> {
    loop {
        let Some(left) = deadline.left() else { return Err(ErrorKind::TimedOut.into()) };
        // Zero would be no limit.
        socket.set_read_timeout(Some(left.max(Duration::from_millis(1))))?;
        match (&mut &*socket).read(into) {
            Err(error)
                if matches!(error.kind(), ErrorKind::Interrupted | ErrorKind::WouldBlock) => {}
            other => return other,
        }
    }
}

/// Bytes read ahead of what was consumed: at most one head, or one piece of a body, and what came
/// with it.
#[derive(Default)]
pub(super) struct Buffer(Vec<u8>);

impl Buffer {
    /// Bytes per read.
    const PIECE: usize = 16 * 1024;

    pub(super) fn bytes(&self) -> &[u8] {
        &self.0
    }

    pub(super) fn consume(&mut self, count: usize) {
        self.0.drain(..count.min(self.0.len()));
    }

    /// Reads more; gives the number of bytes, 0 at the end of the stream. Callers consume, or
    /// refuse at [`crate::limits::HEAD_BYTES`], so it never holds more than that and a piece.
    pub(super) fn fill(&mut self, socket: &TcpStream, deadline: Deadline) -> io::Result<usize> {
        let mut piece = [0; Buffer::PIECE];
        let count = read_by(socket, &mut piece, deadline)?;
        self.0.extend_from_slice(piece.part(..count));
        Ok(count)
    }
}
