//! MCP over stdin and stdout: one JSON message per line. For clients that start the program
//! themselves; whoever can do that may do everything, so there is no login.
//!
//! One thread reads, and hands what it reads to others, so that no call holds up another, nor a
//! cancellation.

use crate::limits;
use crate::lock::Unpoisoned;
use crate::mcp::running::{Requests, Running};
use crate::mcp::{Answer, Caller, Listener, Revision, Server, Session, Subscription, era, methods};
use crate::principal::Principal;
use crate::quota::Permit;
use crate::rpc::{self, Error, Id, Incoming, Message, Request, encode};
use std::collections::HashMap;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, OnceLock};

/// Calls that run at the same time; further ones wait for one to end. More than sessions of Claude
/// Code, which take minutes, may wait or run.
const CALLS: usize = 16;

/// The notification after which a legacy client is told of changes.
const INITIALIZED: &str = "notifications/initialized";

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
        principal: Principal::local(),
        pipe: Arc::new(Pipe { output: Mutex::new(Box::new(output)), open: AtomicBool::new(true) }),
        session: OnceLock::new(),
        requests: Requests::default(),
        is_ready: AtomicBool::new(false),
        attached: OnceLock::new(),
        subscriptions: Mutex::default(),
    };
    let (calls, waiting) = sync_channel(limits::STDIO_QUEUE);
    let waiting = Mutex::new(waiting);
    // Requests before the end of input are still answered: the scope waits for them, but sessions
    // of Claude Code are stopped.
    std::thread::scope(|scope| {
        for _ in 0..CALLS {
            let thread = std::thread::Builder::new().name("stdio call".into());
            thread.spawn_scoped(scope, || client.answer_all(&waiting))?;
        }
        let read = client.read_all(input, &calls);
        drop(calls);
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

/// A line to be answered; a request can be cancelled while it waits.
struct Line {
    incoming: Incoming,
    running: Option<Running>,
}

struct Client {
    server: Arc<Server>,
    principal: Principal,
    pipe: Arc<Pipe>,
    /// Set by the legacy handshake, which is for the whole process.
    session: OnceLock<Arc<Session>>,
    requests: Requests,
    /// Whether a legacy client has said that it is ready: from then on it is told of changes.
    is_ready: AtomicBool,
    /// Set when what it knows of the vault is recorded, which waits for the first index.
    attached: OnceLock<()>,
    /// Requests that are answered for as long as both sides want.
    subscriptions: Mutex<HashMap<Id, (Arc<Subscription>, Permit)>>,
}

impl Client {
    fn read_all(&self, input: impl Read, calls: &SyncSender<Line>) -> io::Result<()> {
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
            let incoming = match incoming {
                Ok(incoming) => incoming,
                Err(error) => {
                    self.pipe.send(&error.to_json());
                    continue;
                }
            };
            for id in incoming.messages().filter_map(Message::cancelled_id) {
                self.cancel(&id);
            }
            if incoming.one().is_some_and(|message| message.is_notification(INITIALIZED)) {
                self.is_ready.store(true, Ordering::Release);
            }
            let request = incoming.one().and_then(Message::request);
            let introduces = request.is_some_and(|request| request.method == "initialize");
            let running = request.map(|request| self.requests.begin(&request.id));
            let line = Line { incoming, running };
            // A client is introduced before all that it says next.
            if introduces {
                self.answer_line(&line);
            } else if calls.send(line).is_err() {
                return Ok(());
            }
        }
    }

    fn cancel(&self, id: &Id) {
        self.requests.cancel(id);
        let cancelled = self.subscriptions.lock().unpoisoned().remove(id);
        if let Some((subscription, _)) = cancelled {
            subscription.end();
        }
    }

    /// Answers lines until there will be no more. Runs on several threads.
    fn answer_all(&self, waiting: &Mutex<Receiver<Line>>) {
        loop {
            let next = waiting.lock().unpoisoned().recv();
            let Ok(line) = next else { return };
            if self.pipe.is_open() {
                self.answer_line(&line);
            }
        }
    }

    fn answer_line(&self, line: &Line) {
        // A panic is an error of this request and of no other; one in a batch, which has no id of
        // its own, is not answered.
        let answer = catch_unwind(AssertUnwindSafe(|| self.answer(line))).unwrap_or_else(|_| {
            let id = line.incoming.one().and_then(Message::id)?;
            Some(Error::internal().answering(Some(id.clone())).to_json())
        });
        if let Some(answer) = answer {
            self.pipe.send(&answer);
        }
    }

    fn answer(&self, line: &Line) -> Option<String> {
        let session = self.session.get().map(|session| session.revision);
        let revision = match era::classify(None, session, &line.incoming) {
            Ok(revision) => revision,
            Err(error) => {
                let id = line.incoming.one().and_then(Message::id).cloned();
                return Some(error.answering(id).to_json());
            }
        };
        match &line.incoming {
            Incoming::One(Message::Request(request)) => {
                let running = line.running.as_ref().filter(|running| !running.is_cancelled())?;
                // Otherwise what the call changes would not be told.
                if request.method == "tools/call" {
                    self.attach();
                }
                let answer = self.answer_request(request, revision, running);
                answer.unwrap_or_else(|error| {
                    Some(error.answering(Some(request.id.clone())).to_json())
                })
            }
            Incoming::One(message) => {
                if message.is_notification(INITIALIZED) {
                    self.attach();
                }
                None
            }
            Incoming::Batch(messages) => {
                Server::batch(messages, |request| self.handle(request, revision, None))
            }
        }
    }

    fn answer_request(
        &self,
        request: &Request,
        revision: Revision,
        running: &Running,
    ) -> Result<Option<String>, Error> {
        if revision.is_modern() {
            methods::check_modern(None, request)?;
        }
        if request.method == "initialize" && self.session.get().is_some() {
            let why = "this process was initialized already; start another one";
            return Err(Error::invalid_request(why));
        }
        let result = match self.handle(request, revision, Some(running))? {
            Answer::Result(result) => result,
            Answer::Session(result, session) => {
                self.session.get_or_init(|| session);
                result
            }
            Answer::Listen(subscription) => {
                self.listen(&request.id, &subscription, running)?;
                return Ok(None);
            }
            Answer::Cancelled => return Ok(None),
        };
        Ok(Some(encode::result(&request.id, &result)))
    }

    fn handle(
        &self,
        request: &Request,
        revision: Revision,
        running: Option<&Running>,
    ) -> Result<Answer, Error> {
        let notify = |message: &str| {
            self.pipe.send(message);
        };
        let is_cancelled = || running.is_some_and(Running::is_cancelled) || !self.pipe.is_open();
        let caller = Caller {
            principal: &self.principal,
            revision,
            session: self.session.get(),
            notify: &notify,
            is_cancelled: &is_cancelled,
        };
        self.server.handle(&caller, request)
    }

    fn listen(
        &self,
        id: &Id,
        subscription: &Arc<Subscription>,
        running: &Running,
    ) -> Result<(), Error> {
        let permit = self.server.stream_permit(&self.principal)?;
        // Before it is acknowledged: from then on a cancellation has to find it.
        let held = (Arc::clone(subscription), permit);
        let replaced = self.subscriptions.lock().unpoisoned().insert(id.clone(), held);
        if let Some((older, _)) = replaced {
            older.end();
        }
        self.server.connect(subscription, self.listener());
        // A cancellation that came before did not find it.
        if running.is_cancelled() {
            self.cancel(id);
        }
        Ok(())
    }

    /// Tells a legacy client that is ready of changes from now on; whoever comes first does it.
    fn attach(&self) {
        if let Some(session) = self.session.get().filter(|_| self.is_ready.load(Ordering::Acquire))
        {
            self.attached.get_or_init(|| {
                self.server.connect(&session.subscription, self.listener());
            });
        }
    }

    fn listener(&self) -> Arc<dyn Listener> {
        Arc::clone(&self.pipe) as Arc<dyn Listener>
    }
}
