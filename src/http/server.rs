//! The listener, the bounded threads behind it, and the shutdown of both.

use super::error::Refusal;
use super::peer::{Activity, CLOSABLE, Peer};
use super::response::{self, Response};
use super::shared::Shared;
use super::{Service, conn};
use crate::clock::{self, Deadline};
use crate::limits;
use crate::lock::Unpoisoned;
use crate::quota::{Bounds, Quota};
use socket2::{Domain, Protocol, SockRef, Socket, TcpKeepalive, Type};
use std::cmp::Reverse;
use std::collections::HashMap;
use std::io::{self, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Connections above the cap that may exist briefly while evicted ones end. Beyond that: 503.
const CONNECTIONS_OVERSHOOT: usize = 32;
/// Open connections of one address that have not yet sent a complete request head; clients and
/// proxies send it at once. Above it the oldest is closed.
const HEADLESS_PER_ADDRESS: usize = 64;
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

/// A running server.
pub struct Running<S> {
    shared: Arc<Shared<S>>,
    address: SocketAddr,
    thread: std::thread::JoinHandle<()>,
}

impl<S: Service> Running<S> {
    /// Serves on threads of its own: at most `connections_max` connections, and `workers` requests
    /// of logins at a time, half of them of one login, so that no login keeps the others out.
    ///
    /// # Errors
    /// When the accept thread cannot be started.
    pub fn start(
        listener: TcpListener,
        service: S,
        connections_max: usize,
        workers: usize,
    ) -> io::Result<Running<S>> {
        let address = listener.local_addr()?;
        let shared = Arc::new(Shared {
            service,
            workers: Quota::new(Bounds {
                total: workers,
                per_owner: workers.div_ceil(2),
                waiting: usize::MAX,
            }),
            body_bytes: AtomicUsize::new(0),
            answer_bytes: AtomicUsize::new(0),
            connections_max,
            peers: Mutex::new(Vec::new()),
            stopping: AtomicBool::new(false),
        });
        let accepting = Arc::clone(&shared);
        let thread = std::thread::Builder::new()
            .name("accept".into())
            .spawn(move || accept(&listener, &accepting))?;
        Ok(Running { shared, address, thread })
    }

    /// The address that was bound, with the port the system chose for port 0.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Stops: no new connections, idle ones closed, event streams ended cleanly, and running
    /// requests are waited for, [`limits::SHUTDOWN_GRACE`] at most. Gives the number of connections
    /// that were still busy then.
    pub fn stop(self) -> usize {
        self.shared.stopping.store(true, Ordering::Release);
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
            let peers = self.shared.peers.lock().unpoisoned().clone();
            for peer in &peers {
                for at in CLOSABLE.into_iter().filter(|&at| peer.is_closable(at)) {
                    peer.close(at);
                }
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
fn accept<S: Service>(listener: &TcpListener, shared: &Arc<Shared<S>>) {
    loop {
        let accepted = listener.accept();
        if shared.is_stopping() {
            return;
        }
        match accepted {
            Ok((socket, address)) => admit(socket, address, shared),
            Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => {}
            Err(error) => {
                log::warn!("accept failed: {error}; going on");
                // Out of file descriptors: only closing one helps.
                close_one(shared);
                std::thread::sleep(limits::ACCEPT_PAUSE);
            }
        }
    }
}

fn admit<S: Service>(socket: TcpStream, address: SocketAddr, shared: &Arc<Shared<S>>) {
    if configure(&socket).is_err() {
        return;
    }
    let peer = Arc::new(Peer::new(socket, address.ip()));
    if !make_free_slot(shared, peer.address) {
        refuse_with_503(&peer);
        return;
    }
    shared.peers.lock().unpoisoned().push(Arc::clone(&peer));
    let (mine, my_peer) = (Arc::clone(shared), Arc::clone(&peer));
    let work = move || {
        // Its entry goes however it ends.
        let _ = catch_unwind(AssertUnwindSafe(|| conn::run(&mine, &my_peer)));
        mine.remove(&my_peer);
    };
    let started = std::thread::Builder::new()
        .name("connection".into())
        .stack_size(CONNECTION_STACK_BYTES)
        .spawn(work);
    if let Err(error) = started {
        log::warn!("no thread for a connection: {error}");
        shared.remove(&peer);
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

/// Whether one more connection can be accepted, after closing another if needed. If this address
/// has [`HEADLESS_PER_ADDRESS`] connections without a whole request head, the oldest of
/// those is closed, too.
fn make_free_slot<S>(shared: &Shared<S>, address: IpAddr) -> bool {
    let (all, open, headless) = {
        let peers = shared.peers.lock().unpoisoned();
        let is_headless =
            |peer: &&Arc<Peer>| !peer.has_head.load(Ordering::Relaxed) && peer.address == address;
        // Closed ones count until their threads have ended, but only against the overshoot.
        let open = peers.iter().filter(|peer| !peer.is(Activity::Closed)).count();
        (peers.len(), open, peers.iter().filter(is_headless).count())
    };
    if headless >= HEADLESS_PER_ADDRESS {
        close_headless(shared, address);
    }
    all < shared.connections_max + CONNECTIONS_OVERSHOOT
        && (open < shared.connections_max || close_one(shared))
}

/// Closes the oldest connection of an address that has not sent a whole request head.
fn close_headless<S>(shared: &Shared<S>, address: IpAddr) {
    let peers = shared.peers.lock().unpoisoned();
    // The table is in order of arrival.
    let mut headless = peers.iter().filter(|peer| {
        peer.address == address && !peer.has_head.load(Ordering::Relaxed) && peer.is_old_enough()
    });
    let _ = headless.any(|peer| peer.close(Activity::Reading) || peer.close(Activity::Idle));
}

/// Closes a connection; returns whether it found one. Of those without a login first the one idle
/// for longest, then the one longest at its request, then the one longest at its answer; else the
/// oldest of the address with most unfinished requests. Those of a login come last, in
/// the same order of activities.
fn close_one<S>(shared: &Shared<S>) -> bool {
    let peers = shared.peers.lock().unpoisoned();
    let of = |authenticated: bool| {
        peers
            .iter()
            .filter(move |peer| peer.is_authenticated.load(Ordering::Relaxed) == authenticated)
    };
    let close_longest = |authenticated: bool| {
        CLOSABLE.into_iter().any(|activity| {
            let mut candidates: Vec<_> = of(authenticated)
                .filter(|peer| peer.is_closable(activity))
                .map(|peer| (peer.time_in_activity(), peer))
                .collect();
            candidates.sort_unstable_by_key(|(time, _)| Reverse(*time));
            // Its activity may have changed since.
            candidates.iter().any(|(_, peer)| peer.close(activity))
        })
    };
    let close_of_busiest_address = || {
        let reading =
            || of(false).filter(|peer| peer.is(Activity::Reading) && peer.is_old_enough());
        let mut counts: HashMap<IpAddr, usize> = HashMap::new();
        reading().for_each(|peer| *counts.entry(peer.address).or_default() += 1);
        let most = counts.into_iter().max_by_key(|(_, count)| *count).map(|(address, _)| address);
        reading()
            .filter(|peer| Some(peer.address) == most)
            .any(|peer| peer.close(Activity::Reading))
    };
    close_longest(false) || close_of_busiest_address() || close_longest(true)
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
