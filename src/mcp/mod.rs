//! The Model Context Protocol: methods, eras, sessions. Transports bring a decoded message and who
//! sent it, and get a value; no socket and no status code is known here.
//!
//! | file | holds |
//! |---|---|
//! | [`era`] | which revision a message is in; decided here alone |
//! | [`modern`] | what requests of 2026-07-28 have to carry, and what their results get in addition |
//! | [`methods`] | the table of methods |
//! | [`lifecycle`], [`tools`], [`resources`], [`prompts`], [`completion`], [`logging`], [`subscribe`] | what the methods do |
//! | [`subscription`] | who is notified of what, in both eras; `watch` waits for changes |
//! | [`session`] | legacy sessions: bounded, expiring, bound to one login |
//! | [`running`], [`progress`] | requests in progress: cancelling them, and how far they are |

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
use crate::rpc::{self, Message, Request};
use crate::store::Store;
use crate::tools::{Context, Fact, Options, Resource, Systems, Tool, Toolset};
use crate::vault::VaultPath;
use progress::Progress;
use serde_json::Value;
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

/// Who sends a request, and how they are reached while it is answered.
pub struct Caller<'a> {
    pub principal: &'a Principal,
    /// The revision the request is in.
    pub revision: Revision,
    /// The legacy session, where there is one.
    pub session: Option<&'a Arc<Session>>,
    /// Sends a notification that belongs to the request, where it is answered with a stream.
    pub notify: &'a dyn Fn(&str),
    /// Whether the client no longer wants the answer.
    pub is_cancelled: &'a dyn Fn() -> bool,
}

/// The answer to a request.
pub enum Answer {
    /// A result as JSON text.
    Result(String),
    /// The result of `initialize`, and the session that it has opened.
    Session(String, Arc<Session>),
    /// It goes on until one side ends it; the transport calls [`Server::connect`].
    Listen(Arc<Subscription>),
    /// None: the client has cancelled the request.
    Cancelled,
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

    /// The whole vault, for its owner.
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// Whether the vault has a folder.
    pub fn has_folder(&self, folder: &VaultPath) -> bool {
        self.store.vault().is_folder(folder)
    }

    /// The folders of the vault on the first two levels, for a person to choose from, at most
    /// `max`, those of the first level first; and whether these are all.
    pub fn folders(&self, max: usize) -> (Vec<String>, bool) {
        let below = |folder: &VaultPath| {
            let children = self.store.vault().list(folder).unwrap_or_default().into_iter();
            let folders = children.filter(|(_, stamp)| stamp.is_none());
            folders.filter_map(|(name, _)| folder.child(&name).ok()).collect::<Vec<VaultPath>>()
        };
        let top = below(&VaultPath::root());
        let second = top.iter().flat_map(below);
        let mut names = top.iter().cloned().chain(second).map(|folder| folder.as_str().to_owned());
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
        let facts = self.tools.iter().flat_map(|tool| tool.facts);
        let ability = |fact: &Fact| match fact {
            Fact::Ability(words) => Some(*words),
            _ => None,
        };
        facts.filter_map(ability).collect()
    }

    /// Whether a request can be abandoned when its client has hung up: a call that only reads. One
    /// that writes is finished, and so is a session of Claude Code, for a client that comes back.
    pub fn may_be_abandoned(&self, request: &Request) -> bool {
        let name = request.params.get("name").and_then(Value::as_str);
        let tool = name.filter(|_| request.method == "tools/call").and_then(|name| self.tool(name));
        tool.is_some_and(|tool| {
            tool.needs() == Access::Read && !tool.facts.contains(&Fact::RunsSession)
        })
    }

    /// What a tool, prompt or resource works with: the vault as the caller may use it, and where it
    /// reports progress.
    fn context<'a>(
        &'a self,
        caller: &'a Caller<'_>,
        store: &'a Store,
        progress: &'a Progress<'_>,
    ) -> Context<'a> {
        Context {
            vault: store.vault(),
            search: store.search(),
            #[cfg(feature = "notes")]
            links: store.links(),
            changes: store.changes(),
            store,
            systems: &self.systems,
            principal: caller.principal,
            options: &self.options,
            requester: progress,
        }
    }

    /// Answers one request; a modern one has passed [`methods::check_modern`].
    ///
    /// # Errors
    /// The protocol error to answer with; a tool's own failure is a result.
    pub fn handle(&self, caller: &Caller<'_>, request: &Request) -> Result<Answer, rpc::Error> {
        let answer = self.run(caller, request);
        if (caller.is_cancelled)() {
            return Ok(Answer::Cancelled);
        }
        if log::log_enabled!(log::Level::Debug) {
            let method: String = request.method.chars().take(64).collect();
            let (principal, revision) = (caller.principal, caller.revision.name());
            let outcome =
                answer.as_ref().err().map_or("ok".to_owned(), |error| error.code().to_string());
            log::debug!("rpc={method:?} {principal} revision={revision} outcome={outcome}");
        }
        answer.map_err(|error| error.answering(Some(request.id.clone())))
    }

    fn run(&self, caller: &Caller<'_>, request: &Request) -> Result<Answer, rpc::Error> {
        let row = methods::find(&request.method, caller.revision)
            .ok_or_else(|| rpc::Error::method_not_found(&request.method))?;
        if let Some(needs) = self.missing_access(caller.principal, request) {
            self.log_refused_call(caller, request);
            let why = format!("this needs the scope {}", needs.scope());
            return Err(rpc::Error::invalid_request(&why));
        }
        Ok(match (row.run)(self, caller, request)? {
            Answer::Result(result) if caller.revision.is_modern() => {
                Answer::Result(modern::with_result_meta(&result, row.cache, serde_json::Map::new()))
            }
            answer => answer,
        })
    }

    /// 2025-03-26, "Batching": the answers in one array, or nothing when there were only
    /// notifications and responses. `answer` handles one request.
    pub fn batch(
        messages: &[Result<Message, rpc::Error>],
        answer: impl Fn(&Request) -> Result<Answer, rpc::Error>,
    ) -> Option<String> {
        let (mut answers, mut bytes) = (Vec::new(), 0);
        for message in messages {
            let answered = match message {
                Err(error) => Err(error.clone()),
                Ok(Message::Request(request)) => {
                    let refused = |error: rpc::Error| error.answering(Some(request.id.clone()));
                    let result = if request.method == "initialize" {
                        let why = "initialize must not be in a batch";
                        Err(refused(rpc::Error::invalid_request(why)))
                    } else if bytes > BATCH_ANSWER_BYTES {
                        let why = "the answers of this batch are too long; send fewer requests";
                        Err(refused(rpc::Error::busy(why)))
                    } else {
                        answer(request)
                    };
                    match result {
                        Ok(Answer::Result(result)) => Ok(rpc::encode::result(&request.id, &result)),
                        // The others are no answers of the revision that has batches.
                        Ok(_) => continue,
                        Err(error) => Err(error),
                    }
                }
                Ok(_) => continue,
            };
            let answered = answered.unwrap_or_else(|error| error.to_json());
            bytes += answered.len();
            answers.push(answered);
        }
        (!answers.is_empty()).then(|| format!("[{}]", answers.join(",")))
    }
}

/// The answer to a method that failed for a reason that only concerns the owner: it is logged.
fn internal_error(method: &str, why: impl std::fmt::Display) -> rpc::Error {
    log::warn!("{method} failed: {why}");
    rpc::Error::internal()
}
