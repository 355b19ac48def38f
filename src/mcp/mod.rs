//! The Model Context Protocol: methods, eras, sessions. Transports bring a decoded message and who
//! sent it, and get an [`Outcome`]; no socket and no status code is known here.
//!
//! | file | holds |
//! |---|---|
//! | [`era`] | which revision a message is in; decided here alone |
//! | [`modern`] | what requests of 2026-07-28 have to carry, and what their results get in addition |
//! | [`methods`], [`call`] | the table of methods; a request as a method handles it |
//! | [`lifecycle`], [`tools`], [`resources`], [`prompts`], [`completion`], [`logging`], [`subscribe`] | what the methods do |
//! | [`subscription`] | who is notified of what, in both eras; `watch` waits for changes |
//! | [`session`] | legacy sessions: bounded, expiring, bound to one login |
//! | [`running`], [`progress`] | requests in progress: cancelling them, and how far they are |

pub mod call;
pub mod completion;
pub mod era;
pub mod lifecycle;
pub mod logging;
pub mod methods;
pub mod modern;
pub mod progress;
pub mod prompts;
pub mod resources;
pub mod running;
pub mod session;
pub mod subscribe;
pub mod subscription;
pub mod tools;
mod watch;

pub use era::Revision;
pub use session::{Session, Sessions};
pub use subscription::{Listener, Subscription};

use crate::principal::{Access, Principal};
use crate::prompts::Prompt;
use crate::quota::{Bounds, Permit, Quota};
use crate::rpc::{self, Id, Message, Params};
use crate::store::Store;
use crate::tools::{Options, Resource, Systems, Tool, Toolset};
use crate::vault::VaultPath;
use call::{Answer, Call};
use std::sync::{Arc, Condvar, Mutex, Weak};
use std::time::Duration;

/// Event streams open at once; each costs a connection and its thread.
const STREAMS: usize = 128;
/// Event streams of one login.
const STREAMS_PER_PRINCIPAL: usize = 16;
/// Bytes of all responses to one batch; a request whose response does not fit gets an error.
const BATCH_ANSWER_BYTES: usize = 2 * 1024 * 1024;

/// The MCP server, shared by all threads and transports.
pub struct Server {
    store: Store,
    /// What toolsets need besides the vault.
    pub systems: Systems,
    tools: Vec<&'static Tool>,
    /// Those for a login that is limited to folders.
    tools_of_folders: Vec<&'static Tool>,
    prompts: Vec<&'static Prompt>,
    resources: Vec<&'static Resource>,
    options: Options,
    /// The legacy sessions.
    pub sessions: Sessions,
    streams: Arc<Quota>,
    /// Subscriptions with a listening client; one that is dropped has ended.
    subscriptions: Mutex<Vec<Weak<Subscription>>>,
    has_subscriptions: Condvar,
}

/// Who sent a message, how, and in which session.
pub struct Exchange<'a> {
    /// The caller.
    pub principal: &'a Principal,
    /// The revision the message is in.
    pub revision: Revision,
    /// The legacy session, where there is one.
    pub session: Option<&'a Arc<Session>>,
    /// Sends a notification that belongs to the message, where it is answered with a stream.
    pub notify: &'a dyn Fn(&str),
    /// Whether the client no longer wants the answer.
    pub is_cancelled: &'a dyn Fn() -> bool,
}

/// What becomes of a message.
pub enum Outcome {
    /// An answer, result or error, as JSON text.
    Answer(String),
    /// The answer to `initialize`; the transport opens a session of this revision.
    Initialized(String, Revision),
    /// The request of this id is answered for as long as both sides want; the transport calls
    /// [`Server::connect`].
    Listen(Id, Arc<Subscription>),
    /// No answer: a notification, or a request that was cancelled.
    Nothing,
    /// The caller's login does not allow this; over HTTP a 403, so that the client can ask for
    /// more.
    Forbidden {
        /// What would be needed.
        needs: Access,
        /// The error as JSON text, for transports without status codes.
        answer: String,
    },
}

impl Server {
    /// A server over a vault, with the tools and prompts of some toolsets; without those that write
    /// if `read_only`.
    pub fn new(
        store: Store,
        toolsets: &[Toolset],
        read_only: bool,
        options: Options,
        systems: Systems,
    ) -> Server {
        let offered = |needs: Access| !read_only || needs == Access::Read;
        Server {
            store,
            systems,
            tools: Toolset::offered(toolsets, |tool| offered(tool.needs())),
            tools_of_folders: Toolset::offered(toolsets, |tool| {
                offered(tool.needs()) && !Server::needs_whole_vault(*tool, Toolset::tools)
            }),
            prompts: toolsets
                .iter()
                .flat_map(|&set| crate::prompts::of(set))
                .copied()
                .filter(|prompt| offered(prompt.needs))
                .collect(),
            resources: toolsets.iter().flat_map(|set| set.resources()).copied().collect(),
            options,
            sessions: Sessions::default(),
            streams: Quota::new(Bounds {
                total: STREAMS,
                per_owner: STREAMS_PER_PRINCIPAL,
                waiting: 0,
            }),
            subscriptions: Mutex::default(),
            has_subscriptions: Condvar::new(),
        }
    }

    /// The vault as a caller sees it.
    pub fn store_of(&self, principal: &Principal) -> Store {
        self.store.within(principal.folders.as_ref())
    }

    /// The folders of the vault on the first two levels, for a person to choose from, at most
    /// `max`; and whether these are all.
    pub fn folders(&self, max: usize) -> (Vec<String>, bool) {
        let below = |folder: &VaultPath| {
            let children = self.store.vault().list(folder).unwrap_or_default().into_iter();
            let folders = children.filter(|(_, stamp)| stamp.is_none());
            folders.filter_map(|(name, _)| folder.child(&name).ok()).collect::<Vec<VaultPath>>()
        };
        let all = below(&VaultPath::root()).into_iter();
        let mut names = all
            .flat_map(|folder| std::iter::once(folder.clone()).chain(below(&folder)))
            .map(|folder| folder.as_str().to_owned());
        let shown = names.by_ref().take(max).collect();
        (shown, names.next().is_none())
    }

    /// Whether a tool, prompt or resource is only for logins for the whole vault; `of` gives those
    /// of a toolset. An item of several toolsets belongs to the first.
    fn needs_whole_vault<T>(item: &T, of: fn(Toolset) -> &'static [&'static T]) -> bool {
        let first = Toolset::ALL
            .into_iter()
            .find(|set| of(*set).iter().any(|known| std::ptr::eq(*known, item)));
        first.is_some_and(|set| Toolset::NEED_WHOLE_VAULT.contains(&set))
    }

    /// Whether a prompt or resource is for this caller.
    fn is_for<T>(
        principal: &Principal,
        item: &T,
        of: fn(Toolset) -> &'static [&'static T],
    ) -> bool {
        principal.folders.is_none() || !Server::needs_whole_vault(item, of)
    }

    /// A permit for one more event stream; each costs a connection and its thread.
    ///
    /// # Errors
    /// [`rpc::Error::busy`] when all are in use, or all that this caller may have.
    pub fn stream_permit(&self, principal: &Principal) -> Result<Permit, rpc::Error> {
        self.streams.take(&principal.key(), Duration::ZERO).ok_or_else(|| {
            rpc::Error::busy("Too many event streams are open; close one, or try again later")
        })
    }

    /// What a login can do at most with the tools in use.
    pub fn access(&self) -> Access {
        self.tools.iter().map(|tool| tool.needs()).max().unwrap_or(Access::Read)
    }

    /// What the tools in use can do besides reading and changing notes, in words for the person who
    /// allows it.
    pub fn abilities(&self) -> Vec<&'static str> {
        let has = |name: &str| self.tools.iter().any(|tool| tool.name == name);
        let all = [
            ("vault_delete", "delete files, to the vault's trash"),
            ("vault_delete_file", "delete files"),
            ("vault_write_file", "commit and push to the git remote"),
            ("manage_accomplishment", "plan projects on canvases and move notes to the trash"),
            ("ingest", "run Claude Code sessions, which cost money"),
        ];
        all.iter().filter(|(tool, _)| has(tool)).map(|(_, ability)| *ability).collect()
    }

    /// Whether a message calls a tool of toolset `agent`, which may take minutes: a transport with
    /// a bound on its calls must not count it.
    pub fn takes_long(&self, message: &Message) -> bool {
        let of_agent = |name: &str| Toolset::Agent.tools().iter().find(|known| known.name == name);
        called(message).and_then(of_agent).is_some_and(|tool| self.tool(tool.name).is_some())
    }

    /// Whether a message can be abandoned when its client has hung up: a call that only reads. One
    /// that writes is finished, and so is a session of Claude Code, for a client that comes back.
    pub fn may_be_abandoned(&self, message: &Message) -> bool {
        let reads = |name| self.tool(name).is_some_and(|tool| tool.needs() == Access::Read);
        called(message).is_some_and(reads) && !self.takes_long(message)
    }

    /// Handles one message; a modern request has passed [`modern::check`].
    pub fn handle(&self, exchange: &Exchange<'_>, message: &Message) -> Outcome {
        match message {
            Message::Request { id, method, params } => self.request(exchange, id, method, params),
            Message::Notification { .. } => {
                // Over HTTP a modern client cancels by hanging up, and this notification means
                // nothing.
                if let (Some(session), Some(id)) = (exchange.session, message.cancelled_id()) {
                    session.requests.cancel(&id);
                }
                Outcome::Nothing
            }
            Message::Response => Outcome::Nothing,
        }
    }

    /// 2025-03-26, "Batching": the answers in one array, or nothing when there were only
    /// notifications and responses. `answer` handles one message.
    pub fn batch(
        messages: Vec<Result<Message, rpc::Error>>,
        answer: impl Fn(&Message) -> Outcome,
    ) -> Option<String> {
        let (mut answers, mut bytes) = (Vec::new(), 0);
        for message in messages {
            let answered = match message {
                Err(error) => Some(error.to_json()),
                Ok(message) if bytes > BATCH_ANSWER_BYTES => {
                    let error = rpc::Error::busy(
                        "the answers of this batch are too long; send fewer requests at once",
                    );
                    message.id().map(|id| error.answering(Some(id.clone())).to_json())
                }
                Ok(Message::Request { id, method, .. }) if method == "initialize" => Some(
                    rpc::Error::invalid_request("initialize must not be in a batch")
                        .answering(Some(id))
                        .to_json(),
                ),
                Ok(message) => match answer(&message) {
                    Outcome::Nothing | Outcome::Listen(..) => None,
                    // A forbidden request gets an error of its own: a 403 would hide the answers to
                    // those already done.
                    Outcome::Answer(answer)
                    | Outcome::Initialized(answer, _)
                    | Outcome::Forbidden { answer, .. } => Some(answer),
                },
            };
            bytes += answered.as_ref().map_or(0, String::len);
            answers.extend(answered);
        }
        (!answers.is_empty()).then(|| format!("[{}]", answers.join(",")))
    }

    fn request(&self, exchange: &Exchange<'_>, id: &Id, method: &str, params: &Params) -> Outcome {
        let (principal, revision) = (exchange.principal, exchange.revision.name());
        let failed = |error: rpc::Error| {
            let shown: String = method.chars().take(64).collect();
            log::debug!("rpc={shown:?} {principal} revision={revision} outcome={}", error.code());
            Outcome::Answer(error.answering(Some(id.clone())).to_json())
        };
        let Some(row) = methods::find(method, exchange.revision) else {
            return failed(rpc::Error::method_not_found(method));
        };
        if let Some(needs) = self.missing_access(exchange.principal, method, params) {
            let tool = params.get("name").and_then(serde_json::Value::as_str).unwrap_or_default();
            let arguments = params.get("arguments").and_then(serde_json::Value::as_object);
            let known = self.tools_for(exchange.principal).find(|known| known.name == tool);
            let paths = known
                .zip(arguments)
                .map_or(String::new(), |(known, arguments)| tools::logged_paths(known, arguments));
            log::warn!("tool={tool} {}{paths} outcome=insufficient_scope", exchange.principal);
            let answer =
                rpc::Error::invalid_request(&format!("this needs the scope {}", needs.scope()));
            return Outcome::Forbidden {
                needs,
                answer: answer.answering(Some(id.clone())).to_json(),
            };
        }
        let answer = (row.run)(&Call { server: self, exchange, id, params });
        if (exchange.is_cancelled)() {
            return Outcome::Nothing;
        }
        if answer.is_ok() {
            log::debug!("rpc={method:?} {principal} revision={revision} outcome=ok");
        }
        match answer {
            Ok(Answer::Result(mut result)) => {
                if exchange.revision.is_modern() {
                    result = modern::with_result_meta(&result, row.cache, serde_json::Map::new());
                }
                Outcome::Answer(rpc::encode::result(id, &result))
            }
            Ok(Answer::Initialize(result, revision)) => {
                Outcome::Initialized(rpc::encode::result(id, &result), revision)
            }
            Ok(Answer::Listen(subscription)) => Outcome::Listen(id.clone(), subscription),
            Err(error) => failed(error),
        }
    }
}

/// The name of the tool that a message calls.
fn called(message: &Message) -> Option<&str> {
    let Message::Request { method, params, .. } = message else { return None };
    params.get("name").and_then(serde_json::Value::as_str).filter(|_| method == "tools/call")
}
