//! Where messages to a client go: an event stream, or the client at the other end of stdio.
//!
//! A stream of a legacy session gives its events ids and remembers them for a while, so that a client whose connection
//! broke can come back with `Last-Event-ID` and misses nothing (2025-11-25, "Resumability and Redelivery"). The
//! connection may change under a stream; the stream stays.

use crate::clock;
use crate::limits;
use crate::lock::Unpoisoned;
use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Instant;

/// The other end, at the moment: a connection. Nothing here waits for the client: what it does not take is queued, within
/// bounds. (On stdio there is one client, and senders wait for it.)
pub trait Listener: Send + Sync {
    /// Sends a message, as an event with this id where events have ids; whether the listener is still there.
    fn send(&self, id: Option<&str>, message: &str) -> bool;
    /// Opens a numbered event stream: an event with an id and no data, and how long to wait before coming back.
    fn prime(&self, id: &str);
    /// Whether the listener is still there.
    fn is_open(&self) -> bool;
    /// Ends the stream, where there is one.
    fn end(&self);
}

/// The messages of numbered streams that were sent a short while ago, of all sessions: bounded in number and bytes. Beyond
/// that the oldest of the login that has most of them go.
#[derive(Default)]
pub struct Replay {
    sent: Mutex<Sent>,
}

#[derive(Default)]
struct Sent {
    messages: VecDeque<KeptEvent>,
    bytes: usize,
}

struct KeptEvent {
    owner: Arc<str>,
    session: u64,
    stream: u64,
    event: u64,
    message: Box<str>,
    at: Instant,
}

impl Sent {
    /// The oldest message of the login whose messages have most bytes, each counted as at least a few.
    fn oldest_of_most(&self) -> Option<usize> {
        let mut bytes: HashMap<&str, usize> = HashMap::new();
        self.messages.iter().for_each(|kept| *bytes.entry(&*kept.owner).or_default() += kept.message.len() + 1_000);
        let most = bytes.into_iter().max_by_key(|(_, bytes)| *bytes).map(|(owner, _)| owner)?;
        self.messages.iter().position(|kept| &*kept.owner == most)
    }
}

impl Replay {
    fn keep(&self, numbers: &Numbers, event: u64, message: &str) {
        let now = clock::instant();
        let mut sent = self.sent.lock().unpoisoned();
        sent.bytes += message.len();
        let (session, stream) = (numbers.session, numbers.stream);
        sent.messages.push_back(KeptEvent { owner: Arc::clone(&numbers.owner), session, stream, event, message: message.into(), at: now });
        let too_old = |kept: &KeptEvent| now.saturating_duration_since(kept.at) > limits::REPLAY_LIFE;
        loop {
            let is_full = sent.messages.len() > limits::REPLAY_MESSAGES || sent.bytes > limits::REPLAY_BYTES;
            let going = if sent.messages.front().is_some_and(too_old) {
                Some(0)
            } else if is_full {
                sent.oldest_of_most()
            } else {
                None
            };
            let Some(gone) = going.and_then(|going| sent.messages.remove(going)) else { break };
            sent.bytes -= gone.message.len();
        }
    }

    /// What was sent on a stream after an event, as far as it is kept.
    fn after(&self, numbers: &Numbers, event: u64) -> Vec<(u64, Box<str>)> {
        let sent = self.sent.lock().unpoisoned();
        let mine = sent.messages.iter().filter(|kept| kept.session == numbers.session && kept.stream == numbers.stream);
        mine.filter(|kept| kept.event > event).map(|kept| (kept.event, kept.message.clone())).collect()
    }
}

/// The numbers of a stream whose events have ids: unique among the streams of its session, as the spec wants.
#[derive(Clone)]
pub(super) struct Numbers {
    /// Whose session it is.
    pub(super) owner: Arc<str>,
    pub(super) session: u64,
    pub(super) stream: u64,
    pub(super) primes: bool,
    pub(super) replay: Arc<Replay>,
}

impl Numbers {
    fn id(&self, event: u64) -> String {
        format!("{}-{event}", self.stream)
    }
}

/// An event id as it comes back in `Last-Event-ID`: the stream, and the event on it.
pub fn parse_event_id(id: &str) -> Option<(u64, u64)> {
    let (stream, event) = id.split_once('-')?;
    Some((stream.parse().ok()?, event.parse().ok()?))
}

/// A stream of messages to one client.
pub struct Stream {
    numbers: Option<Numbers>,
    state: Mutex<State>,
}

struct State {
    listener: Option<Arc<dyn Listener>>,
    /// The number of the last event.
    event: u64,
    /// The number of the last event before the listener came.
    before: u64,
    done: bool,
}

impl Stream {
    /// A stream whose events have no ids; it ends with its listener.
    pub fn plain(listener: Arc<dyn Listener>) -> Stream {
        Stream { numbers: None, state: Mutex::new(State { listener: Some(listener), event: 0, before: 0, done: false }) }
    }

    /// A stream whose events have ids; it has no listener yet.
    pub(super) fn numbered(numbers: Numbers) -> Stream {
        Stream { numbers: Some(numbers), state: Mutex::new(State { listener: None, event: 0, before: 0, done: false }) }
    }

    /// Sends a message; whether a client was listening. On a numbered stream it is kept in any case.
    pub fn send(&self, message: &str) -> bool {
        let mut state = self.state();
        let id = self.numbers.as_ref().map(|numbers| {
            state.event += 1;
            numbers.replay.keep(numbers, state.event, message);
            numbers.id(state.event)
        });
        state.listener.as_ref().is_some_and(|listener| listener.send(id.as_deref(), message))
    }

    /// Puts a connection under the stream; `after` is the event the client saw last, where it comes back. What was sent
    /// since is sent again. An older connection is ended: it may be long dead.
    pub fn attach(&self, listener: Arc<dyn Listener>, after: Option<u64>) {
        let mut state = self.state();
        if let Some(numbers) = &self.numbers {
            let seen = after.unwrap_or(state.event);
            state.before = state.event;
            if numbers.primes {
                listener.prime(&numbers.id(seen));
            }
            if after.is_some() {
                for (event, message) in numbers.replay.after(numbers, seen) {
                    listener.send(Some(&numbers.id(event)), &message);
                }
            }
        }
        if state.done {
            listener.end();
            return;
        }
        if let Some(before) = state.listener.replace(listener) {
            before.end();
        }
    }

    /// Whether all that was sent after an event can be sent again, and is not more than a connection takes at once.
    pub fn can_replay_since(&self, event: u64) -> bool {
        let state = self.state();
        let kept = self.numbers.as_ref().map(|numbers| numbers.replay.after(numbers, event)).unwrap_or_default();
        let bytes: usize = kept.iter().map(|(_, message)| message.len()).sum();
        event <= state.event && kept.len() as u64 == state.event - event && bytes < limits::EVENT_QUEUE_BYTES / 2
    }

    /// Whether anything was sent to the last listener; a client that comes back and does not say what it has seen may have
    /// missed it.
    pub fn has_sent(&self) -> bool {
        let state = self.state();
        state.event > state.before
    }

    /// Nothing more will be sent.
    pub fn finish(&self) {
        let mut state = self.state();
        state.done = true;
        if let Some(listener) = state.listener.take() {
            listener.end();
        }
    }

    /// Whether a client listens at the moment.
    pub fn is_open(&self) -> bool {
        self.state().listener.as_ref().is_some_and(|listener| listener.is_open())
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unpoisoned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicBool, Ordering};

    #[derive(Default)]
    struct Memory {
        lines: Mutex<Vec<String>>,
        ended: AtomicBool,
    }

    impl Listener for Memory {
        fn send(&self, id: Option<&str>, message: &str) -> bool {
            self.lines.lock().unwrap().push(format!("{} {message}", id.unwrap_or("-")));
            self.is_open()
        }
        fn prime(&self, id: &str) {
            self.send(Some(id), "(prime)");
        }
        fn is_open(&self) -> bool {
            !self.ended.load(Ordering::Relaxed)
        }
        fn end(&self) {
            self.ended.store(true, Ordering::Relaxed);
        }
    }

    impl Memory {
        fn take(&self) -> Vec<String> {
            std::mem::take(&mut self.lines.lock().unwrap())
        }
    }

    fn numbered(replay: &Arc<Replay>, session: u64) -> Stream {
        Stream::numbered(Numbers { owner: format!("login {session}").into(), session, stream: 3, primes: true, replay: Arc::clone(replay) })
    }

    #[test]
    fn a_client_that_comes_back_misses_nothing_and_gets_nothing_twice() {
        let replay = Arc::default();
        let stream = numbered(&replay, 1);
        numbered(&replay, 2).send("another session's");
        let (first, second, third) = (Arc::new(Memory::default()), Arc::new(Memory::default()), Arc::new(Memory::default()));
        stream.attach(Arc::clone(&first) as Arc<dyn Listener>, None);
        assert!(stream.send("a"));
        assert_eq!(first.take(), ["3-0 (prime)", "3-1 a"]);
        first.end();
        assert!(!stream.send("b"), "no client was listening");
        stream.attach(Arc::clone(&second) as Arc<dyn Listener>, Some(1));
        stream.send("c");
        assert_eq!(second.take(), ["3-1 (prime)", "3-2 b", "3-3 c"]);
        stream.finish();
        assert!(!second.is_open() && !stream.is_open());
        stream.attach(Arc::clone(&third) as Arc<dyn Listener>, Some(2));
        assert_eq!(third.take(), ["3-2 (prime)", "3-3 c"], "the end of a stream that is over");
        assert!(!third.is_open());
    }

    #[test]
    fn what_is_kept_is_bounded_in_number_and_bytes() {
        let replay = Arc::default();
        let stream = numbered(&replay, 1);
        for _ in 0..limits::REPLAY_MESSAGES + 10 {
            stream.send("x");
        }
        assert_eq!(replay.sent.lock().unwrap().messages.len(), limits::REPLAY_MESSAGES);
        let large = "y".repeat(limits::REPLAY_BYTES / 4 + 1);
        for _ in 0..5 {
            stream.send(&large);
        }
        let sent = replay.sent.lock().unwrap();
        assert_eq!((sent.messages.len(), sent.bytes), (3, 3 * large.len()));
    }

    #[test]
    fn one_login_does_not_displace_what_another_may_come_back_for() {
        let replay = Arc::default();
        let (mine, theirs) = (numbered(&replay, 1), numbered(&replay, 2));
        mine.send("mine");
        for _ in 0..limits::REPLAY_MESSAGES * 2 {
            theirs.send("theirs");
        }
        let large = "y".repeat(limits::REPLAY_BYTES / 4 + 1);
        for _ in 0..9 {
            theirs.send(&large);
        }
        assert!(mine.can_replay_since(0));
    }

    #[test]
    fn event_ids_are_read_back_as_they_were_given() {
        assert_eq!(parse_event_id("3-17"), Some((3, 17)));
        for wrong in ["", "3", "3-", "-3", "a-b", "3-17-1", "99999999999999999999-1"] {
            assert_eq!(parse_event_id(wrong), None, "{wrong}");
        }
    }
}
