//! Reading from a socket with a deadline, and what was read and not used yet.

use crate::clock::Deadline;
use crate::limits;
use crate::slice::Part;
use std::cell::Cell;
use std::io::{self, ErrorKind, Read};
use std::net::TcpStream;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// Bytes of answers that peers have not taken yet, of the total allowed.
pub(super) struct Held<'a> {
    total: &'a AtomicUsize,
    bytes: usize,
}

impl<'a> Held<'a> {
    /// Memory for an answer. Small ones always get it: they are bounded by the number of connections.
    pub(super) fn take(total: &'a AtomicUsize, bytes: usize) -> Option<Held<'a>> {
        let before = total.fetch_add(bytes, Ordering::AcqRel);
        let held = Held { total, bytes };
        (bytes <= limits::DISCARD_BYTES || before + bytes <= limits::ANSWERS_TOTAL_BYTES).then_some(held)
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        self.total.fetch_sub(self.bytes, Ordering::AcqRel);
    }
}

/// Reads with a time limit, and asks the kernel to change the limit only when it has to become shorter, or after it ran
/// out: requests on a kept-alive connection cost no extra system call.
pub(super) struct TimedSocket<'a> {
    socket: &'a TcpStream,
    timeout: Cell<Option<Duration>>,
}

impl<'a> TimedSocket<'a> {
    pub(super) fn new(socket: &'a TcpStream) -> TimedSocket<'a> {
        TimedSocket { socket, timeout: Cell::new(None) }
    }

    /// Reads once; `TimedOut` when the deadline has passed.
    pub(super) fn read_by(&self, into: &mut [u8], deadline: Deadline) -> io::Result<usize> {
        loop {
            let Some(left) = deadline.left() else { return Err(ErrorKind::TimedOut.into()) };
            // The kernel's limit may be shorter than what is left, from an earlier phase: then this goes round again.
            match self.read_within(into, left) {
                Err(error) if error.kind() == ErrorKind::TimedOut => {}
                other => return other,
            }
        }
    }

    /// Reads once, waiting at most about `wait`, possibly less.
    pub(super) fn read_within(&self, into: &mut [u8], wait: Duration) -> io::Result<usize> {
        if self.timeout.get().is_none_or(|current| current > wait) {
            let wait = wait.max(Duration::from_millis(1));
            self.socket.set_read_timeout(Some(wait))?;
            self.timeout.set(Some(wait));
        }
        loop {
            match (&mut &*self.socket).read(into) {
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    // The limit may be a short one of an earlier wait; the next wait sets its own.
                    self.timeout.set(None);
                    return Err(ErrorKind::TimedOut.into());
                }
                other => return other,
            }
        }
    }
}

/// Bytes read ahead of what was consumed: at most one head, or one piece of a body.
#[derive(Default)]
pub(super) struct Buffer {
    storage: Vec<u8>,
    start: usize,
    end: usize,
}

impl Buffer {
    const FIRST: usize = 4 * 1024;
    const MOST: usize = limits::HEAD_BYTES + 1024;

    pub(super) fn bytes(&self) -> &[u8] {
        self.storage.part(self.start..self.end)
    }

    pub(super) fn consume(&mut self, count: usize) {
        self.start = (self.start + count).min(self.end);
        if self.start == self.end {
            (self.start, self.end) = (0, 0);
        }
    }

    /// Reads more; the number of bytes, 0 at the end of the stream. A full buffer is never asked for more: every
    /// caller consumes, or refuses at [`limits::HEAD_BYTES`], before that.
    pub(super) fn fill(&mut self, socket: &TimedSocket<'_>, deadline: Deadline) -> io::Result<usize> {
        if self.end == self.storage.len() {
            if self.start > 0 {
                self.storage.copy_within(self.start..self.end, 0);
                (self.start, self.end) = (0, self.end - self.start);
            } else {
                let size = (self.storage.len() * 2).clamp(Buffer::FIRST, Buffer::MOST);
                self.storage.resize(size, 0);
            }
        }
        let free = self.storage.get_mut(self.end..).unwrap_or_default();
        if free.is_empty() {
            return Err(ErrorKind::OutOfMemory.into());
        }
        let count = socket.read_by(free, deadline)?;
        self.end += count;
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock;
    use std::net::TcpListener;

    /// With a short wait as the limit of all that follow, a silent event stream would be a busy loop.
    #[test]
    fn a_wait_is_as_long_as_it_was_asked_for_also_after_a_shorter_one() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let _peer = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (socket, _) = listener.accept().unwrap();
        let timed = TimedSocket::new(&socket);
        for milliseconds in [200, 5, 200, 1, 200] {
            let started = clock::instant();
            let outcome = timed.read_within(&mut [0; 8], Duration::from_millis(milliseconds));
            assert_eq!(outcome.unwrap_err().kind(), ErrorKind::TimedOut);
            assert!(started.elapsed() >= Duration::from_millis(milliseconds * 9 / 10), "{milliseconds} ms: {:?}", started.elapsed());
        }
    }
}
