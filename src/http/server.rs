//! The listener, the bounded threads behind it, and the shutdown of both.

use super::connection::Connection;
use super::error::Refusal;
use super::peer::{Activity, Peer};
use super::response::{self, Response};
use super::socket::Buffer;
use super::{Handler, conn};
use crate::clock::{self, Deadline};
use crate::limits;
use crate::lock::Unpoisoned;
use crate::quota::{Bounds, Quota};
use socket2::{Domain, Protocol, SockRef, Socket, TcpKeepalive, Type};
use std::io::{self, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Connections above the cap that may exist while the threads of evicted ones end, which on a busy
/// machine takes a while. Beyond that: 503.
const CONNECTIONS_OVERSHOOT: usize = 256;
/// Stack of a connection's thread, bytes; only address space until it is used. Only the parsers
/// recurse: JSON and YAML stop at 128 levels by themselves, which a test reaches in a debug build,
/// whose frames are the largest.
const CONNECTION_STACK_BYTES: usize = 1024 * 1024;
/// Connections waiting in the kernel to be accepted: enough for a burst from a proxy, not from an
/// attacker.
const LISTEN_BACKLOG: i32 = 1024;

/// Binds `address`. The unspecified IPv6 address also takes IPv4; where IPv6 is off, IPv4 alone is
/// bound.
///
/// # Errors
/// What the operating system says: the port is in use, or not allowed.
pub fn bind(address: SocketAddr) -> io::Result<TcpListener> {
    match listen(address) {
        Err(_) if address.ip() == IpAddr::V6(Ipv6Addr::UNSPECIFIED) => {
            listen(SocketAddr::new(Ipv4Addr::UNSPECIFIED.into(), address.port()))
        }
        other => other,
    }
}

/// What all connections of a server share.
struct Server {
    handler: Arc<dyn Handler>,
    workers: Arc<Quota>,
    connections_max: usize,
    peers: Mutex<Vec<Arc<Peer>>>,
    stopping: Arc<AtomicBool>,
}

impl Server {
    fn remove(&self, peer: &Arc<Peer>) {
        self.peers.lock().unpoisoned().retain(|known| !Arc::ptr_eq(known, peer));
    }
}

/// A running server.
pub struct Running {
    server: Arc<Server>,
    address: SocketAddr,
    thread: std::thread::JoinHandle<()>,
}

impl Running {
    /// Serves on threads of its own: at most `connections_max` connections, and `workers` requests
    /// of logins at a time, half of them of one login, so that no login keeps the others out.
    ///
    /// # Errors
    /// When the accept thread cannot be started.
    pub fn start(
        listener: TcpListener,
        handler: impl Handler,
        connections_max: usize,
        workers: usize,
    ) -> io::Result<Running> {
        let address = listener.local_addr()?;
        let server = Arc::new(Server {
            handler: Arc::new(handler),
            workers: Quota::new(Bounds {
                total: workers,
                per_owner: workers.div_ceil(2),
                waiting: usize::MAX,
            }),
            connections_max,
            peers: Mutex::new(Vec::new()),
            stopping: Arc::default(),
        });
        let accepting = Arc::clone(&server);
        let thread = std::thread::Builder::new()
            .name("accept".into())
            .spawn(move || accept(&listener, &accepting))?;
        Ok(Running { server, address, thread })
    }

    /// The address that was bound, with the port the system chose for port 0.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Stops: no new connections, idle ones closed, event streams ended cleanly, and running
    /// requests are waited for, [`limits::SHUTDOWN_GRACE`] at most. Gives the number of connections
    /// that were still busy then.
    pub fn stop(self) -> usize {
        self.server.stopping.store(true, Ordering::Release);
        // The accept thread waits in the kernel; a connection of our own wakes it.
        let ip = if self.address.ip().is_unspecified() {
            Ipv4Addr::LOCALHOST.into()
        } else {
            self.address.ip()
        };
        let wake = SocketAddr::new(ip, self.address.port());
        if TcpStream::connect_timeout(&wake, Duration::from_secs(1)).is_ok() {
            let _ = self.thread.join();
        }
        let deadline = Deadline::after(limits::SHUTDOWN_GRACE);
        loop {
            let peers = self.server.peers.lock().unpoisoned().clone();
            for peer in &peers {
                // Their requests have not begun.
                let _ = peer.close(Activity::Idle) || peer.close(Activity::Reading);
                // Its thread waits for the peer to hang up.
                if peer.is(Activity::Streaming) {
                    let _ = peer.socket.shutdown(Shutdown::Read);
                }
            }
            if peers.is_empty() || deadline.left().is_none() {
                return peers.len();
            }
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

fn listen(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, Some(Protocol::TCP))?;
    if address.is_ipv6() {
        socket.set_only_v6(false)?;
    }
    socket.set_reuse_address(true)?;
    socket.bind(&address.into())?;
    socket.listen(LISTEN_BACKLOG)?;
    Ok(socket.into())
}

/// Accepts until the server stops; no error ends it.
fn accept(listener: &TcpListener, server: &Arc<Server>) {
    loop {
        let accepted = listener.accept();
        if server.stopping.load(Ordering::Acquire) {
            return;
        }
        match accepted {
            Ok((socket, address)) => admit(socket, address, server),
            Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => {}
            Err(error) => {
                log::warn!("accept failed: {error}; going on");
                // Out of file descriptors: only closing one helps.
                close_one(server);
                std::thread::sleep(limits::ACCEPT_PAUSE);
            }
        }
    }
}

fn admit(socket: TcpStream, address: SocketAddr, server: &Arc<Server>) {
    if configure(&socket).is_err() {
        return;
    }
    let peer = Arc::new(Peer::new(socket, address.ip()));
    if !make_free_slot(server) {
        refuse_with_503(&peer);
        return;
    }
    server.peers.lock().unpoisoned().push(Arc::clone(&peer));
    let (mine, my_peer) = (Arc::clone(server), Arc::clone(&peer));
    let work = move || {
        let connection = Connection {
            peer: Arc::clone(&my_peer),
            buffer: Buffer::default(),
            workers: Arc::clone(&mine.workers),
            stopping: Arc::clone(&mine.stopping),
        };
        // Its entry goes however it ends.
        let _ = catch_unwind(AssertUnwindSafe(|| conn::run(&*mine.handler, connection)));
        mine.remove(&my_peer);
    };
    let started = std::thread::Builder::new()
        .name("connection".into())
        .stack_size(CONNECTION_STACK_BYTES)
        .spawn(work);
    if let Err(error) = started {
        log::warn!("no thread for a connection: {error}");
        server.remove(&peer);
        refuse_with_503(&peer);
    }
}

fn configure(socket: &TcpStream) -> io::Result<()> {
    // Without it an answer in two segments waits 40 ms for the peer's delayed acknowledgement.
    socket.set_nodelay(true)?;
    socket.set_write_timeout(Some(limits::WRITE_STALL))?;
    let options = SockRef::from(socket);
    let keepalive = TcpKeepalive::new()
        .with_time(Duration::from_secs(60))
        .with_interval(Duration::from_secs(15))
        .with_retries(4);
    options.set_tcp_keepalive(&keepalive)?;
    #[cfg(target_os = "linux")]
    options.set_tcp_user_timeout(Some(limits::WRITE_STALL))?;
    Ok(())
}

/// Whether one more connection can be accepted, after closing another if needed.
fn make_free_slot(server: &Server) -> bool {
    // Closed ones count until their threads have ended, but only against the overshoot.
    let (all, open) = {
        let peers = server.peers.lock().unpoisoned();
        (peers.len(), peers.iter().filter(|peer| !peer.is(Activity::Closed)).count())
    };
    all < server.connections_max + CONNECTIONS_OVERSHOOT
        && (open < server.connections_max || close_one(server))
}

/// Closes the connection whose peer loses least; returns whether it found one.
fn close_one(server: &Server) -> bool {
    let peers = server.peers.lock().unpoisoned();
    let mut ranked: Vec<_> =
        peers.iter().filter_map(|peer| Some((peer.eviction_rank()?, peer))).collect();
    ranked.sort_unstable_by_key(|(rank, _)| *rank);
    // Its activity may have changed since.
    ranked.iter().any(|((_, activity, _), peer)| peer.close(*activity))
}

/// 503 from the accept thread, which must not wait: a fresh connection's send buffer is empty and
/// takes it at once.
fn refuse_with_503(peer: &Peer) {
    let answer = Response::refusal(Refusal::BUSY);
    let mut bytes = response::head_bytes(&answer, false, true, clock::system());
    bytes.extend_from_slice(&answer.body);
    let _ = (&peer.socket).write(&bytes);
    let _ = peer.socket.shutdown(Shutdown::Write);
}
