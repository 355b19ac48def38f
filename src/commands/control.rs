//! The control socket, through which the owner's commands reach the server that is using a state
//! folder. It is in that folder, which only the server's user can open, and knows one command.

use crate::clock::Moment;
use crate::disk;
use crate::limits;
use crate::oauth::Oauth;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// Bytes of a message on the control socket, sent by one of the owner's commands.
const CONTROL_BYTES: u64 = 1024;
/// How long either side of the control socket waits for the other.
const CONTROL_WAIT: Duration = Duration::from_secs(10);

const SOCKET: &str = "control.sock";

/// The socket's path; with `/proc` short enough for a socket address (about 100 bytes) however deep
/// the folder is.
fn socket_path(folder: &Path) -> io::Result<(File, PathBuf)> {
    let open = File::open(folder)?;
    let short = PathBuf::from(format!("/proc/self/fd/{}/{SOCKET}", open.as_raw_fd()));
    let path = if Path::new("/proc/self/fd").is_dir() { short } else { folder.join(SOCKET) };
    Ok((open, path))
}

/// Listens in the server's own state folder, on a thread that ends with the process.
pub(super) fn listen(folder: &Path, oauth: Arc<Oauth>) {
    let listening = socket_path(folder).and_then(|(_open, path)| {
        // Whoever made an existing one is gone: we hold the lock on the folder.
        disk::discard(&folder.join(SOCKET));
        let listener = UnixListener::bind(&path)?;
        // Whatever the umask: only the server's user may end logins.
        disk::set_mode(&path, 0o600)?;
        std::thread::Builder::new().name("control".into()).spawn(move || {
            for stream in listener.incoming() {
                match stream {
                    Ok(stream) => drop(answer(&stream, &oauth)),
                    Err(_) => std::thread::sleep(limits::ACCEPT_PAUSE),
                }
            }
        })
    });
    if let Err(error) = listening {
        log::warn!(
            "no control socket ({}): revoke works only while the server is stopped",
            error.kind()
        );
    }
}

fn answer(mut stream: &UnixStream, oauth: &Oauth) -> io::Result<()> {
    stream.set_read_timeout(Some(CONTROL_WAIT))?;
    stream.set_write_timeout(Some(CONTROL_WAIT))?;
    let mut line = String::new();
    BufReader::new(stream.take(CONTROL_BYTES)).read_line(&mut line)?;
    let ended = match line.trim_end().split_once(' ') {
        Some(("revoke", "--all")) => oauth.store.end_grants(None, Moment::read()),
        Some(("revoke", id)) => oauth.store.end_grants(Some(id), Moment::read()),
        _ => return stream.write_all(b"unknown command\n"),
    };
    let not_stored = "ended now, but that cannot be stored, so it would be valid again after a \
                      restart: free space on the disk";
    let words = ended.map_or_else(|_| not_stored.to_owned(), |ended| format!("ended {ended}"));
    stream.write_all(format!("{words}\n").as_bytes())
}

/// Has the running server end a grant, or all; gives how many ended.
///
/// # Errors
/// A message for the owner.
pub(super) fn revoke(folder: &Path, id: Option<&str>) -> Result<usize, String> {
    let unreachable = |error: io::Error| {
        format!("the server that uses this folder cannot be reached: {}", error.kind())
    };
    let answer = socket_path(folder).and_then(|(_open, path)| {
        let mut stream = UnixStream::connect(path)?;
        stream.set_read_timeout(Some(CONTROL_WAIT))?;
        stream.write_all(format!("revoke {}\n", id.unwrap_or("--all")).as_bytes())?;
        let mut line = String::new();
        BufReader::new(stream.take(CONTROL_BYTES)).read_line(&mut line)?;
        Ok(line)
    });
    let answer = answer.map_err(unreachable)?;
    let ended = answer.trim_end().strip_prefix("ended ").and_then(|count| count.parse().ok());
    ended.ok_or_else(|| format!("the server said: {}", answer.trim_end()))
}
