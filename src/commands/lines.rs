//! Log lines go to standard error, as long as it is read. A pipe that is not read would delay every
//! call that logs, because a full pipe blocks the writing thread.

use std::io::{self, Write};
use std::time::Duration;

/// How long a log line waits for the reader of the earlier ones before it is dropped and counted.
const LOG_PATIENCE: Duration = Duration::from_millis(200);
/// Bytes of a line written at once: Linux's `PIPE_BUF` (the POSIX minimum is smaller).
const LOG_PIECE_BYTES: usize = 4096;

/// The lines that go to standard error.
#[derive(Debug, Default)]
pub(super) struct Lines {
    /// Lines that were dropped since the last one that was written.
    lost: u64,
}

impl Lines {
    /// Whether stderr can be written within [`LOG_PATIENCE`]; once lines were lost, whether
    /// it can be written at once.
    fn can_write(&self) -> bool {
        use rustix::event::{PollFd, PollFlags, Timespec, poll};
        let stderr = io::stderr();
        let patience = if self.lost == 0 { LOG_PATIENCE } else { Duration::ZERO };
        let patience = Timespec::try_from(patience).ok();
        poll(&mut [PollFd::new(&stderr, PollFlags::OUT)], patience.as_ref()) != Ok(0)
    }
}

impl Write for Lines {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        if !self.can_write() {
            self.lost += 1;
            return Ok(line.len());
        }
        if self.lost > 0 {
            let lost = std::mem::take(&mut self.lost);
            io::stderr().write_all(
                format!("{lost} lines were lost here: the log was not read\n").as_bytes(),
            )?;
        }
        // A pipe that can be written takes at least one piece.
        for (number, piece) in line.chunks(LOG_PIECE_BYTES).enumerate() {
            if number > 0 && !self.can_write() {
                self.lost += 1;
                break;
            }
            io::stderr().write_all(piece)?;
        }
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
