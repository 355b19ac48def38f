//! MCP over stdin and stdout: one JSON message a line. For clients that start the program themselves; whoever can do
//! that may do everything, so there is no login.
//!
//! One thread reads, one works: requests are answered in the order they came, and a cancellation overtakes them.

use crate::clock::Now;
use crate::limits;
use crate::mcp::{Exchange, Listener, Outcome, Server, Session};
use crate::principal::Principal;
use crate::rpc::{self, Id, Incoming, Message};
use std::collections::HashMap;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

/// Serves one client until its end of the pipe closes.
///
/// # Errors
/// When reading fails or no thread can be started.
pub fn serve(server: &Arc<Server>, input: impl Read, output: impl Write + Send + 'static) -> io::Result<()> {
    let client = Arc::new(Client {
        output: Mutex::new(Box::new(output)),
        open: AtomicBool::new(true),
        session: OnceLock::new(),
        waiting: Mutex::default(),
    });
    let (queue, work) = sync_channel(limits::STDIO_QUEUE);
    let (engine, answering) = (Arc::clone(server), Arc::clone(&client));
    let worker = std::thread::Builder::new().name("stdio".into()).spawn(move || answer_all(&engine, &answering, &work))?;
    let outcome = read_all(input, &client, &queue);
    drop(queue);
    // What was asked before the end is still answered.
    let _ = worker.join();
    outcome
}

struct Client {
    output: Mutex<Box<dyn Write + Send>>,
    open: AtomicBool,
    session: OnceLock<Arc<Session>>,
    /// Requests that wait for their turn, and whether they were cancelled meanwhile.
    waiting: Mutex<HashMap<Id, bool>>,
}

impl Client {
    fn waiting(&self) -> MutexGuard<'_, HashMap<Id, bool>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn cancel(&self, id: &Id) {
        if let Some(cancelled) = self.waiting().get_mut(id) {
            *cancelled = true;
        } else if let Some(session) = self.session.get() {
            session.cancel(id);
        }
    }
}

impl Listener for Client {
    fn send(&self, message: &str) -> bool {
        let mut output = self.output.lock().unwrap_or_else(PoisonError::into_inner);
        // serde_json writes no raw line breaks, so a message is always one line.
        let sent = output.write_all(format!("{message}\n").as_bytes()).and_then(|()| output.flush());
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

fn read_all(input: impl Read, client: &Client, queue: &SyncSender<Result<Incoming, rpc::Error>>) -> io::Result<()> {
    let mut lines = BufReader::new(input);
    let mut line = Vec::new();
    loop {
        line.clear();
        let count = (&mut lines).take(limits::MCP_BYTES as u64).read_until(b'\n', &mut line)?;
        if count == 0 || !client.is_open() {
            return Ok(());
        }
        let incoming = if line.ends_with(b"\n") || count < limits::MCP_BYTES {
            if line.trim_ascii().is_empty() {
                continue;
            }
            rpc::decode::decode(&line)
        } else {
            skip_line(&mut lines)?;
            Err(rpc::Error::invalid_request("the message is too long"))
        };
        if let Ok(Incoming::One(Message::Notification { method, params })) = &incoming
            && method == "notifications/cancelled"
        {
            params.get("requestId").and_then(Id::of).iter().for_each(|id| client.cancel(id));
            continue;
        }
        if let Ok(Incoming::One(Message::Request { id, .. })) = &incoming {
            client.waiting().insert(id.clone(), false);
        }
        if queue.send(incoming).is_err() {
            return Ok(());
        }
    }
}

fn skip_line(lines: &mut impl BufRead) -> io::Result<()> {
    loop {
        let mut part = Vec::new();
        let count = lines.take(64 * 1024).read_until(b'\n', &mut part)?;
        if count == 0 || part.ends_with(b"\n") {
            return Ok(());
        }
    }
}

fn answer_all(server: &Server, client: &Arc<Client>, work: &Receiver<Result<Incoming, rpc::Error>>) {
    let principal = Principal::local();
    for incoming in work {
        let answers = match incoming {
            Err(error) => vec![error.to_json()],
            Ok(Incoming::One(message)) => answer(server, client, &principal, message).into_iter().collect(),
            // 2025-03-26 has batches; here they are taken from everybody who sends them.
            Ok(Incoming::Batch(messages)) => {
                let each = messages.into_iter().filter_map(|message| match message {
                    Ok(message) => answer(server, client, &principal, message),
                    Err(error) => Some(error.to_json()),
                });
                let answers: Vec<String> = each.collect();
                if answers.is_empty() { Vec::new() } else { vec![format!("[{}]", answers.join(","))] }
            }
        };
        for answer in answers {
            if !client.send(&answer) {
                return;
            }
        }
    }
}

fn answer(server: &Server, client: &Arc<Client>, principal: &Principal, message: Message) -> Option<String> {
    if let Message::Request { id, .. } = &message
        && client.waiting().remove(id) == Some(true)
    {
        return None;
    }
    let initialized = matches!(&message, Message::Notification { method, .. } if method == "notifications/initialized");
    let exchange = Exchange { principal, session: client.session.get() };
    match server.handle(&exchange, message) {
        Outcome::Nothing => {
            if let (true, Some(session)) = (initialized, client.session.get()) {
                session.listen(Arc::clone(client) as Arc<dyn Listener>);
                server.listening();
            }
            None
        }
        Outcome::Answer(answer) | Outcome::Forbidden { answer, .. } => Some(answer),
        Outcome::Initialized(answer, revision) => {
            if let Ok(session) = server.sessions.open(principal, revision, Now::read()) {
                // A second handshake in one process changes nothing.
                let _ = client.session.set(session);
            }
            Some(answer)
        }
    }
}
