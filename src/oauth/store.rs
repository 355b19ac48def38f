//! Clients, grants, codes and tokens: in memory, and with a state folder also in one file.
//!
//! A change is made on a copy, the copy is written to the disk, and only then does it take effect:
//! an answer that was sent is never forgotten, and a change that could not be stored never happened
//! (503).
//!
//! # The file
//!
//! `state.json` in the state folder, mode 0600, replaced atomically. JSON: `version` (2), `key` (64
//! hex digits), and lists of [`Client`], [`Grant`], [`Code`] and [`AccessToken`] with the members
//! named as there. Times are seconds since 1970. Codes, tokens and client secrets are kept as
//! SHA-256 in hex. With `key` the successor of a refresh token is computed from that token, a
//! `client_id` is made and a browser is marked as known, none of which lets anybody in. So the file
//! alone grants no access. A file that cannot be understood is renamed to
//! `state.json.damaged-TIME-ID`, reported in the log, and the server starts without logins.

use super::redirect::RedirectTarget;
use crate::clock::{Deadline, Moment};
use crate::disk::{self, Mode};
use crate::limits;
use crate::lock::Unpoisoned;
use crate::principal::Access;
use crate::secret::{self, SecretHash};
use crate::vault::GrantedFolders;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, RwLock};
use std::time::Duration;

/// A refresh token expires if it is unused for this long (sliding).
const REFRESH_IDLE: Duration = Duration::from_secs(180 * 24 * 3600);
/// How long a starting server waits for the lock on the state folder.
const STATE_LOCK_WAIT: Duration = Duration::from_secs(1);
/// Valid access tokens of one grant, or of one machine client (`client_credentials`); the oldest is
/// dropped.
const ACCESS_TOKENS: usize = 50;
/// Clients with a login.
const CLIENTS: usize = 1_000;
/// Authorization codes outstanding.
const CODES: usize = 1_000;
/// Bytes of the state file: twice what a thousand clients, grants and codes of the largest size
/// take.
const STATE_BYTES: u64 = 64 * 1024 * 1024;

/// Version 1 had no grants for folders: a program that knows only version 1 would give such a login
/// the whole vault.
const VERSION: u32 = 2;
const FILE: &str = "state.json";
const LOCK: &str = "state.lock";

/// A registered client (RFC 7591).
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Client {
    /// Its `client_id`, which carries the other members ([`super::client_id`]).
    pub id: String,
    /// What it calls itself; proves nothing.
    pub name: String,
    /// As registered, byte for byte.
    pub redirect_uris: Vec<String>,
    /// `token_endpoint_auth_method`.
    pub auth_method: String,
    /// Hash of its secret, unless the method is `none`.
    pub secret: Option<SecretHash>,
    /// When it registered.
    pub created: u64,
}

/// The first characters of a client's id, which are enough to tell clients apart in the log.
pub fn short_id(id: &str) -> &str {
    id.get(..12).unwrap_or(id)
}

impl Client {
    /// The first characters of its id, for the log.
    pub fn short_id(&self) -> &str {
        short_id(&self.id)
    }
}

/// What a user allowed a client.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Grant {
    /// Its id, for logs and lists.
    pub id: String,
    /// The user who logged in.
    pub user: String,
    /// Changes with the user's password ([`super::Logins::password_fingerprint`]).
    #[serde(rename = "mark")]
    pub fingerprint: String,
    /// The client.
    pub client: String,
    /// Where the browser was sent with the code.
    pub redirect_uri: String,
    /// What was allowed.
    pub access: Access,
    /// In which folders; `None` for the whole vault.
    pub folders: Option<Arc<GrantedFolders>>,
    /// When.
    pub created: u64,
    /// See [`Grant::last_use`]; shared by all copies of the state.
    pub used: Arc<AtomicU64>,
    /// Hash of the refresh token that is valid now.
    pub refresh: SecretHash,
    /// The refresh token before it, once there is one.
    pub previous: Option<Exchanged>,
}

/// A refresh token that was exchanged for its successor.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub struct Exchanged {
    pub hash: SecretHash,
    /// When.
    pub at: u64,
}

impl Grant {
    /// The last use, to the hour.
    pub fn last_use(&self) -> u64 {
        self.used.load(Ordering::Relaxed)
    }

    /// Where the browser was sent with the code, for a person.
    pub fn sent_back_to(&self) -> String {
        match RedirectTarget::of(&self.redirect_uri) {
            Some(RedirectTarget::Web(host)) => host,
            Some(RedirectTarget::Loopback(_)) => "this computer".into(),
            Some(RedirectTarget::Application(scheme)) => format!("{scheme}:"),
            None => String::new(),
        }
    }

    /// The first characters of its id, which are enough to name it.
    pub fn short_id(&self) -> String {
        self.id.chars().take(12).collect()
    }
}

/// An authorization code.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Code {
    /// Hash of the code.
    pub hash: SecretHash,
    /// For whom.
    pub client: String,
    /// Where it was sent.
    pub redirect_uri: String,
    /// PKCE challenge, S256.
    pub challenge: String,
    /// Who logged in.
    pub user: String,
    /// Changes with the user's password ([`super::Logins::password_fingerprint`]).
    #[serde(rename = "mark")]
    pub fingerprint: String,
    /// What was allowed.
    pub access: Access,
    /// In which folders; `None` for the whole vault.
    pub folders: Option<Arc<GrantedFolders>>,
    /// Valid until.
    pub expires: u64,
    /// The grant that it was exchanged for: a second use ends that grant.
    pub spent: Option<String>,
}

/// An access token.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct AccessToken {
    /// Hash of the token.
    pub hash: SecretHash,
    /// The grant it belongs to; none for a machine client.
    pub grant: Option<String>,
    /// The client's id.
    pub client: String,
    /// Of a machine client's token: changes with its secret
    /// ([`super::Logins::secret_fingerprint`]).
    #[serde(rename = "mark")]
    pub fingerprint: Option<String>,
    /// What it allows.
    pub access: Access,
    /// Valid until.
    pub expires: u64,
}

impl Serialize for SecretHash {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.to_hex())
    }
}

impl<'de> Deserialize<'de> for SecretHash {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<SecretHash, D::Error> {
        let hex = String::deserialize(deserializer)?;
        SecretHash::from_hex(&hex).ok_or_else(|| serde::de::Error::custom("not 64 hex digits"))
    }
}

/// All that is remembered.
#[derive(Debug, Clone, Default)]
pub struct State {
    /// The key of what must survive a restart: the succession of refresh tokens, client ids, marks
    /// of known browsers.
    pub key: [u8; 32],
    /// Clients that have logged in, by id.
    pub clients: BTreeMap<String, Arc<Client>>,
    /// By id.
    pub grants: BTreeMap<String, Grant>,
    /// By hash.
    pub codes: HashMap<SecretHash, Code>,
    /// By hash.
    pub access_tokens: HashMap<SecretHash, AccessToken>,
}

impl State {
    pub fn new() -> State {
        State { key: secret::random(), ..State::default() }
    }

    /// Adds a code; beyond the limit the oldest is removed.
    pub(super) fn add_code(&mut self, code: Code) {
        if self.codes.len() >= CODES {
            let oldest = self.codes.values().min_by_key(|code| code.expires).map(|code| code.hash);
            if let Some(oldest) = oldest {
                self.codes.remove(&oldest);
            }
        }
        self.codes.insert(code.hash, code);
    }

    /// Adds a client that logs in. Beyond the limit the oldest without a grant is removed.
    pub(super) fn add_client(&mut self, client: &Client) {
        if self.clients.len() >= CLIENTS && !self.clients.contains_key(&client.id) {
            let in_use: BTreeSet<&str> =
                self.grants.values().map(|grant| grant.client.as_str()).collect();
            let unused =
                self.clients.values().filter(|client| !in_use.contains(client.id.as_str()));
            let oldest = unused.min_by_key(|client| client.created).map(|client| client.id.clone());
            oldest.and_then(|oldest| self.clients.remove(&oldest));
        }
        self.clients.insert(client.id.clone(), Arc::new(client.clone()));
    }

    /// The grant that a refresh token belongs to, whether it is the valid one or was exchanged
    /// before, however long ago.
    pub fn grant_of_refresh(&self, token: &str) -> Option<&Grant> {
        secret::family_of(&self.key, token).and_then(|grant| self.grants.get(grant))
    }

    /// Removes the grants, codes and tokens that `other` does not have: a change that ends logins
    /// holds in memory even if it cannot be stored.
    fn remove_ended(&mut self, other: &State) {
        self.grants.retain(|id, _| other.grants.contains_key(id));
        self.codes.retain(|hash, _| other.codes.contains_key(hash));
        self.access_tokens.retain(|hash, _| other.access_tokens.contains_key(hash));
    }

    /// Ends a grant: its refresh and access tokens are refused from now on.
    pub fn end_grant(&mut self, id: &str) {
        self.grants.remove(id);
        self.access_tokens.retain(|_, token| token.grant.as_deref() != Some(id));
    }

    /// Adds an access token; beyond the limit, the oldest one of the same grant (or machine client)
    /// is removed.
    pub fn add_access_token(&mut self, token: AccessToken) {
        let same: Vec<(u64, SecretHash)> = self
            .access_tokens
            .values()
            .filter(|known| known.grant == token.grant && known.client == token.client)
            .map(|known| (known.expires, known.hash))
            .collect();
        if same.len() >= ACCESS_TOKENS
            && let Some((_, oldest)) = same.iter().min()
        {
            self.access_tokens.remove(oldest);
        }
        self.access_tokens.insert(token.hash, token);
    }

    /// Forgets what has expired.
    fn remove_expired(&mut self, now: Moment) {
        self.codes.retain(|_, code| code.expires > now.0);
        self.access_tokens.retain(|_, token| token.expires > now.0);
        let idle = REFRESH_IDLE.as_secs();
        let expired: Vec<String> = self
            .grants
            .values()
            .filter(|grant| grant.last_use().saturating_add(idle) < now.0)
            .map(|grant| grant.id.clone())
            .collect();
        expired.iter().for_each(|id| self.end_grant(id));
    }
}

/// The change could not be stored; it has not happened.
#[derive(Debug, Clone, Copy)]
pub struct NotStored;

/// What is remembered, and where.
#[derive(Debug)]
pub struct Store {
    /// The state in effect: it is on the disk.
    state: RwLock<Arc<State>>,
    /// Held while a change is made and written.
    writing: Mutex<()>,
    file: Option<PathBuf>,
    /// Held for as long as the store is.
    #[expect(dead_code, reason = "holds the lock until it is dropped")]
    lock: Option<File>,
}

impl Store {
    /// A store in memory only: everything is forgotten at exit.
    pub fn in_memory() -> Store {
        Store::with(State::new(), None)
    }

    /// A store that survives restarts, in `folder`.
    ///
    /// # Errors
    /// A message for the person who starts the server: the folder or the file cannot be used. A
    /// file that is damaged, or written by a later version, is no error: it is set aside.
    pub fn open(folder: &Path, now: Moment) -> Result<Store, String> {
        let file = folder.join(FILE);
        // Two servers would overwrite each other's logins.
        // One of the owner's commands may hold the lock for a moment.
        let lock = Deadline::after(STATE_LOCK_WAIT)
            .poll(limits::LOCK_POLL, || disk::take_lock(&folder.join(LOCK)));
        let lock =
            lock.map_err(|error| format!("the folder cannot be written: {}", error.kind()))?;
        let lock = lock.ok_or("another server is using this folder; give each its own")?;
        let state = match read(&file) {
            Ok(state) => state,
            Err(ReadError::Damaged(why)) => {
                set_aside(&file, now, &why)?;
                State::new()
            }
            Err(error @ ReadError::Disk(_)) => return Err(error.to_string()),
        };
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            if entry.file_name().to_str().is_some_and(disk::is_temporary) {
                disk::remove_leftover(&entry.path());
            }
        }
        let store = Store { lock: Some(lock), ..Store::with(state, Some(file)) };
        // Written at once: a folder that cannot be written is reported now, not at the first login.
        store
            .change(now, |_| Ok::<(), NotStored>(()))
            .map_err(|_| "the folder cannot be written".to_owned())?;
        Ok(store)
    }

    /// What is stored in a folder, for the owner to look at, also while a server uses it.
    ///
    /// # Errors
    /// A message for the owner.
    pub fn peek(folder: &Path) -> Result<State, String> {
        let file = folder.join(FILE);
        if matches!(file.try_exists(), Ok(false)) {
            return Err(format!(
                "it has no {FILE}: it is another folder than the server's, or no one has logged \
                 in yet"
            ));
        }
        read(&file).map_err(|error| error.to_string())
    }

    /// Whether a server is using a folder at the moment.
    pub fn is_in_use(folder: &Path) -> bool {
        matches!(disk::take_lock(&folder.join(LOCK)), Ok(None))
    }

    fn with(state: State, file: Option<PathBuf>) -> Store {
        Store { state: RwLock::new(Arc::new(state)), writing: Mutex::new(()), file, lock: None }
    }

    /// The state folder, if there is one.
    pub fn folder(&self) -> Option<&Path> {
        self.file.as_deref().and_then(Path::parent)
    }

    /// What is remembered at this moment.
    pub fn state(&self) -> Arc<State> {
        Arc::clone(&self.state.read().unpoisoned())
    }

    /// Changes what is remembered. When this returns, the change is on the disk. A change that
    /// refuses changes nothing and writes nothing.
    ///
    /// # Errors
    /// The refusal, or [`NotStored`]: it could not be stored, and nothing has changed, except that
    /// what was to be removed is gone until the next start.
    pub fn change<T, E: From<NotStored>>(
        &self,
        now: Moment,
        change: impl FnOnce(&mut State) -> Result<T, E>,
    ) -> Result<T, E> {
        let _one_at_a_time = self.writing.lock().unpoisoned();
        let known = self.state();
        let mut next = State::clone(&known);
        next.remove_expired(now);
        let outcome = change(&mut next)?;
        let written = self.put(&next);
        if written.is_err() {
            // What was ended is ended, at least until the next start: a full disk must not keep a
            // stolen token alive.
            let mut remembered = State::clone(&known);
            remembered.remove_ended(&next);
            next = remembered;
        }
        *self.state.write().unpoisoned() = Arc::new(next);
        written.map(|()| outcome).map_err(E::from)
    }

    /// Ends a grant, or all of them, for the owner. Gives how many ended.
    ///
    /// # Errors
    /// [`NotStored`].
    pub fn end_grants(&self, id: Option<&str>, now: Moment) -> Result<usize, NotStored> {
        let ended = self.change(now, |state| {
            let ids: Vec<String> = state
                .grants
                .keys()
                .filter(|known| id.is_none_or(|id| id == known.as_str()))
                .cloned()
                .collect();
            ids.iter().for_each(|id| state.end_grant(id));
            if id.is_none() {
                // Machine clients have tokens without a grant, and a login may have a code that is
                // not exchanged yet.
                state.access_tokens.clear();
                state.codes.clear();
            }
            Ok::<usize, NotStored>(ids.len())
        })?;
        log::warn!("{ended} grants ended by the owner");
        Ok(ended)
    }

    fn put(&self, state: &State) -> Result<(), NotStored> {
        let Some(file) = &self.file else { return Ok(()) };
        let encoded = encode(state).map_err(std::io::Error::other);
        let written =
            encoded.and_then(|bytes| disk::replace(file, &bytes, Mode::Private, |_| Ok(())));
        written.map_err(|error| {
            log::error!("the state cannot be stored: {error}");
            NotStored
        })
    }
}

/// Renames a file that cannot be understood.
fn set_aside(file: &Path, now: Moment, why: &str) -> Result<(), String> {
    disk::set_aside(
        file,
        &file.with_file_name(format!("{FILE}.damaged-{}-{}", now.0, secret::new_id())),
    )
    .map_err(|error| format!("{FILE} is damaged and cannot be set aside: {}", error.kind()))?;
    log::error!("{FILE} is damaged ({why}); it was set aside, and all users have to log in again");
    Ok(())
}

#[derive(Serialize, Deserialize)]
struct Stored {
    version: u32,
    key: String,
    clients: Vec<Client>,
    grants: Vec<Grant>,
    codes: Vec<Code>,
    access_tokens: Vec<AccessToken>,
}

enum ReadError {
    /// Why the content is not a state.
    Damaged(String),
    Disk(std::io::Error),
}

impl fmt::Display for ReadError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ReadError::Damaged(why) => write!(out, "{FILE} is damaged: {why}"),
            ReadError::Disk(error) => write!(out, "{FILE} cannot be read: {}", error.kind()),
        }
    }
}

/// The state in a file, a new one if there is none.
fn read(file: &Path) -> Result<State, ReadError> {
    match disk::read_at_most(file, STATE_BYTES) {
        Ok(bytes) => decode(&bytes).map_err(ReadError::Damaged),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(State::new()),
        Err(error) if error.kind() == std::io::ErrorKind::FileTooLarge => {
            Err(ReadError::Damaged("larger than any that is written".into()))
        }
        Err(error) => Err(ReadError::Disk(error)),
    }
}

fn encode(state: &State) -> serde_json::Result<Vec<u8>> {
    let stored = Stored {
        version: VERSION,
        key: secret::hex(&state.key),
        clients: state.clients.values().map(|client| Client::clone(client)).collect(),
        grants: state.grants.values().cloned().collect(),
        codes: state.codes.values().cloned().collect(),
        access_tokens: state.access_tokens.values().cloned().collect(),
    };
    serde_json::to_vec(&stored)
}

fn decode(bytes: &[u8]) -> Result<State, String> {
    let stored: Stored = serde_json::from_slice(bytes).map_err(|error| error.to_string())?;
    if stored.version > VERSION {
        return Err(format!("a later program wrote it, as version {}", stored.version));
    }
    let key = SecretHash::from_hex(&stored.key).ok_or("key")?;
    Ok(State {
        key: key.bytes(),
        clients: stored
            .clients
            .into_iter()
            .map(|client| (client.id.clone(), Arc::new(client)))
            .collect(),
        grants: stored.grants.into_iter().map(|grant| (grant.id.clone(), grant)).collect(),
        codes: stored.codes.into_iter().map(|code| (code.hash, code)).collect(),
        access_tokens: stored.access_tokens.into_iter().map(|token| (token.hash, token)).collect(),
    })
}

/// What the fuzz target `state` checks: a file that can be read is written, and read again, as the
/// same.
#[cfg(fuzzing)]
pub fn fuzz(bytes: &[u8]) {
    let Ok(state) = decode(bytes) else { return };
    let written = encode(&state).ok();
    let again = written.as_deref().and_then(|written| decode(written).ok());
    // Their order in the file means nothing.
    let sizes = |state: &State| {
        (
            state.clients.len(),
            state.grants.len(),
            state.codes.len(),
            state.access_tokens.len(),
            state.key,
        )
    };
    assert_eq!(again.as_ref().map(sizes), Some(sizes(&state)));
}
