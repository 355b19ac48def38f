//! MCP over stdin and stdout: one JSON message per line. For clients that start the program
//! themselves; whoever can do that may do everything, so there is no login.
//!
//! One thread reads, and hands what it reads to others, so that no call holds up another, nor a
//! cancellation.

use crate::clock::Moment;
use crate::limits;
use crate::lock::Unpoisoned;
use crate::mcp::running::{Requests, Running};
use crate::mcp::{
    Exchange, Listener, Outcome, Revision, Server, Session, Subscription, era, methods,
};
use crate::principal::Principal;
use crate::quota::Permit;
use crate::rpc::{self, Error, Id, Incoming, Message};
use std::collections::{HashMap, VecDeque};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, OnceLock};
use std::thread::Scope;

/// Calls of a client on stdio that run at the same time; further ones wait for one to end. Sessions
/// of Claude Code, which take minutes, have bounds of their own.
const CALLS: usize = 16;

/// Serves one client until its end of the pipe closes.
///
/// # Errors
/// When reading fails or no thread can be started.
pub fn serve(
    server: &Arc<Server>,
    input: impl Read,
    output: impl Write + Send + 'static,
) -> io::Result<()> {
    let client = Client {
        server: Arc::clone(server),
        calls: Calls::default(),
        principal: Principal::local(),
        pipe: Arc::new(Pipe { output: Mutex::new(Box::new(output)), open: AtomicBool::new(true) }),
        session: OnceLock::new(),
        is_ready: AtomicBool::new(false),
        attached: OnceLock::new(),
        requests: Requests::default(),
        subscriptions: Mutex::default(),
    };
    let client = &client;
    std::thread::scope(|scope| {
        // Requests before the end of input are still answered: the scope waits for them, but
        // sessions of Claude Code are stopped.
        let read = {
            let _closes = Closing(&client.calls);
            client.read_all(input, scope)
        };
        server.systems.stop();
        server.systems.wait_for_writing_sessions();
        read
    })
}

/// Our end of the pipe to the client.
struct Pipe {
    output: Mutex<Box<dyn Write + Send>>,
    open: AtomicBool,
}

impl Listener for Pipe {
    fn send(&self, message: &str) -> bool {
        let mut output = self.output.lock().unpoisoned();
        // serde_json writes no raw line breaks, so a message is always one line.
        let sent =
            output.write_all(format!("{message}\n").as_bytes()).and_then(|()| output.flush());
        if sent.is_err() {
            self.open.store(false, Ordering::Release);
        }
        sent.is_ok()
    }

    fn is_open(&self) -> bool {
        self.open.load(Ordering::Acquire)
    }

    fn end(&self) {}
}

/// A line that is being answered; a request can be cancelled while it waits.
struct Line {
    incoming: Result<Incoming, Error>,
    running: Option<Running>,
}

/// The calls that wait, and the threads that answer them: one for each call that runs, which then
/// waits for another.
#[derive(Default)]
struct Calls {
    state: Mutex<State>,
    /// A call has come, or no more will.
    came: Condvar,
    /// A call has been taken.
    taken: Condvar,
}

#[derive(Default)]
struct State {
    waiting: VecDeque<Line>,
    threads: usize,
    idle: usize,
    is_closed: bool,
}

/// Closes the calls when reading ends, however it does: their threads wait for it.
struct Closing<'a>(&'a Calls);

impl Drop for Closing<'_> {
    fn drop(&mut self) {
        self.0.close();
    }
}

impl Calls {
    /// Adds a call, once there is room; gives whether it needs another thread.
    fn add(&self, call: Line) -> bool {
        let state = self.state.lock().unpoisoned();
        let is_full = |state: &mut State| state.waiting.len() >= limits::STDIO_QUEUE;
        let mut state = self.taken.wait_while(state, is_full).unpoisoned();
        state.waiting.push_back(call);
        let needs_thread = state.waiting.len() > state.idle && state.threads < CALLS;
        state.threads += usize::from(needs_thread);
        self.came.notify_one();
        needs_thread
    }

    /// The next call; `None` when there will be no more.
    fn next(&self) -> Option<Line> {
        let mut state = self.state.lock().unpoisoned();
        state.idle += 1;
        let must_wait = |state: &mut State| state.waiting.is_empty() && !state.is_closed;
        let mut state = self.came.wait_while(state, must_wait).unpoisoned();
        state.idle -= 1;
        self.taken.notify_one();
        state.waiting.pop_front()
    }

    /// Takes back the last call, whose thread could not be started; false if another has it.
    fn take_back(&self) -> bool {
        let mut state = self.state.lock().unpoisoned();
        state.threads -= 1;
        state.waiting.pop_back().is_some()
    }

    fn close(&self) {
        self.state.lock().unpoisoned().is_closed = true;
        self.came.notify_all();
    }
}

struct Client {
    server: Arc<Server>,
    calls: Calls,
    principal: Principal,
    pipe: Arc<Pipe>,
    /// Set by the legacy handshake, which is for the whole process.
    session: OnceLock<Arc<Session>>,
    requests: Requests,
    /// Whether a legacy client has said that it is ready: from then on it is told of changes.
    is_ready: AtomicBool,
    /// Set when what it knows of the vault is recorded, which has to wait for the first index.
    attached: OnceLock<()>,
    /// Requests that are answered for as long as both sides want.
    subscriptions: Mutex<HashMap<Id, (Arc<Subscription>, Permit)>>,
}

impl Client {
    fn read_all<'scope>(
        &'scope self,
        input: impl Read,
        scope: &'scope Scope<'scope, '_>,
    ) -> io::Result<()> {
        let mut lines = BufReader::new(input);
        let mut line = Vec::new();
        loop {
            line.clear();
            let count = (&mut lines).take(limits::MCP_BYTES as u64).read_until(b'\n', &mut line)?;
            if count == 0 || !self.pipe.is_open() {
                return Ok(());
            }
            let incoming = if line.ends_with(b"\n") || count < limits::MCP_BYTES {
                if line.trim_ascii().is_empty() {
                    continue;
                }
                rpc::decode::decode(&line)
            } else {
                lines.skip_until(b'\n')?;
                Err(Error::invalid_request("the message is too long"))
            };
            let cancelled =
                incoming.iter().flat_map(Incoming::messages).filter_map(Message::cancelled_id);
            cancelled.for_each(|id| self.cancel(&id));
            if incoming.as_ref().ok().and_then(Incoming::one).is_some_and(Message::is_cancellation)
            {
                continue;
            }
            let running = match &incoming {
                Ok(Incoming::One(Message::Request { id, .. })) => Some(self.requests.begin(id)),
                _ => None,
            };
            self.dispatch(Line { incoming, running }, scope);
        }
    }

    fn cancel(&self, id: &Id) {
        self.requests.cancel(id);
        let cancelled = self.subscriptions.lock().unpoisoned().remove(id);
        if let Some((subscription, _)) = cancelled {
            subscription.end();
        }
    }

    /// Hands a line to another thread; but a client is introduced before all that it says next.
    fn dispatch<'scope>(&'scope self, line: Line, scope: &'scope Scope<'scope, '_>) {
        let messages = line.incoming.iter().flat_map(Incoming::messages);
        let (mut id, mut takes_long, mut introduces) = (None, false, line.incoming.is_err());
        for message in messages {
            id = message.id().cloned();
            takes_long |= self.server.takes_long(message);
            introduces |= message.method() == Some(INITIALIZE);
            if message.method() == Some(INITIALIZED) && self.session.get().is_some() {
                self.is_ready.store(true, Ordering::Release);
            }
        }
        if introduces {
            self.answer_line(line);
            return;
        }
        let thread = std::thread::Builder::new().name("stdio call".into());
        let not_started = if takes_long {
            thread.spawn_scoped(scope, move || self.answer_call(line)).is_err()
        } else {
            let work = || {
                while let Some(call) = self.calls.next() {
                    self.answer_call(call);
                }
            };
            self.calls.add(line)
                && thread.spawn_scoped(scope, work).is_err()
                && self.calls.take_back()
        };
        if not_started {
            self.pipe.send(&Error::internal().answering(id).to_json());
        }
    }

    fn answer_call(&self, line: Line) {
        if !self.pipe.is_open() {
            return;
        }
        // Before any call, whose changes would be missed otherwise; whoever comes first does it.
        let message = line.incoming.as_ref().ok().and_then(Incoming::one);
        let may_wait = message.is_none_or(may_wait_for_vault);
        if may_wait && self.is_ready.load(Ordering::Acquire) {
            let attach = || self.attached.get_or_init(|| self.attach_stream());
            drop(catch_unwind(AssertUnwindSafe(attach)));
        }
        self.answer_line(line);
    }

    fn answer_line(&self, line: Line) {
        let id = line.incoming.as_ref().ok().and_then(Incoming::one).and_then(Message::id).cloned();
        // A panic is an error of this request and of no other; one in a batch, which has no id of
        // its own, is not answered.
        let answer = match catch_unwind(AssertUnwindSafe(|| {
            self.answer(line.incoming, line.running.as_ref())
        })) {
            Ok(answer) => answer,
            Err(_) if id.is_some() => Err(Error::internal().answering(id)),
            Err(_) => Ok(None),
        };
        if let Some(answer) = answer.unwrap_or_else(|error| Some(error.to_json())) {
            self.pipe.send(&answer);
        }
    }

    fn answer(
        &self,
        incoming: Result<Incoming, Error>,
        running: Option<&Running>,
    ) -> Result<Option<String>, Error> {
        let incoming = incoming?;
        if running.is_some_and(Running::is_cancelled) {
            return Ok(None);
        }
        let revision =
            era::classify(None, self.session.get().map(|session| session.revision), &incoming)?;
        match incoming {
            Incoming::One(message) => self.answer_one(&message, revision, running),
            Incoming::Batch(messages) => {
                Ok(Server::batch(messages, |message| self.handle(message, revision, None)))
            }
        }
    }

    fn handle(&self, message: &Message, revision: Revision, running: Option<&Running>) -> Outcome {
        let notify = |message: &str| {
            self.pipe.send(message);
        };
        let is_cancelled = || running.is_some_and(Running::is_cancelled) || !self.pipe.is_open();
        let (principal, session) = (&self.principal, self.session.get());
        self.server.handle(
            &Exchange {
                principal,
                revision,
                session,
                notify: &notify,
                is_cancelled: &is_cancelled,
            },
            message,
        )
    }

    fn answer_one(
        &self,
        message: &Message,
        revision: Revision,
        running: Option<&Running>,
    ) -> Result<Option<String>, Error> {
        if let (true, Message::Request { id, method, params }) = (revision.is_modern(), message) {
            methods::check_modern(None, method, params)
                .map_err(|error| error.answering(Some(id.clone())))?;
        }
        match self.handle(message, revision, running) {
            Outcome::Nothing => Ok(None),
            Outcome::Answer(answer) | Outcome::Forbidden { answer, .. } => Ok(Some(answer)),
            Outcome::Initialized(answer, revision) => self.initialized(message, answer, revision),
            Outcome::Listen(id, subscription) => self.listen(id, subscription, running),
        }
    }

    /// Sends notifications of changes to the client of a legacy session from now on.
    fn attach_stream(&self) {
        if let Some(session) = self.session.get() {
            self.server.connect(&session.subscription, self.listener());
        }
    }

    fn initialized(
        &self,
        message: &Message,
        answer: String,
        revision: Revision,
    ) -> Result<Option<String>, Error> {
        let session = self.server.sessions.open(&self.principal, revision, Moment::read());
        if self.session.set(session).is_err() {
            let again =
                Error::invalid_request("this process was initialized already; start another one");
            return Err(again.answering(message.id().cloned()));
        }
        Ok(Some(answer))
    }

    fn listen(
        &self,
        id: Id,
        subscription: Arc<Subscription>,
        running: Option<&Running>,
    ) -> Result<Option<String>, Error> {
        let permit = self
            .server
            .stream_permit(&self.principal)
            .map_err(|busy| busy.answering(Some(id.clone())))?;
        // Before it is acknowledged: from then on a cancellation has to find it.
        let held = (Arc::clone(&subscription), permit);
        let replaced = self.subscriptions.lock().unpoisoned().insert(id.clone(), held);
        if let Some((older, _)) = replaced {
            older.end();
        }
        self.server.connect(&subscription, self.listener());
        // A cancellation that came before did not find it.
        if running.is_some_and(Running::is_cancelled) {
            self.cancel(&id);
        }
        Ok(None)
    }

    fn listener(&self) -> Arc<dyn Listener> {
        Arc::clone(&self.pipe) as Arc<dyn Listener>
    }
}

const INITIALIZE: &str = "initialize";

/// The notification after which a legacy client is told of changes, for which the state of the
/// vault is recorded.
const INITIALIZED: &str = "notifications/initialized";

fn may_wait_for_vault(message: &Message) -> bool {
    message.method().is_some_and(|method| method == INITIALIZED || methods::reads_vault(method))
}
