//! What a client has subscribed to, and what was sent to it: the subscriptions of a legacy session,
//! or one `subscriptions/listen` of 2026-07-28.
//!
//! A subscription compares the vault with what its client knows. So nothing has to be queued while
//! it does not listen, and a client that comes back is notified of what changed meanwhile.

use super::Server;
use crate::lock::Unpoisoned;
use crate::principal::Principal;
use crate::rpc::{Error, Id, Params, encode};
use crate::store::Store;
use crate::vault::{GrantedFolders, IndexedState, VaultPath};
use crate::{limits, uri};
use serde_json::{Map, json};
use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex};

/// Resources that one session, or one subscription, may watch.
const SUBSCRIBED_RESOURCES: usize = 200;
/// Total bytes of their URIs, about three hundred each; 128 MB for all [`limits::SESSIONS`].
const SUBSCRIBED_BYTES: usize = 64 * 1024;

/// The member of `_meta` that ties a notification to its `subscriptions/listen`.
const SUBSCRIPTION_ID: &str = "io.modelcontextprotocol/subscriptionId";

/// The client's current connection. An event stream queues what the client does not take, within
/// bounds; stdio has one client, and a sender waits for it.
pub trait Listener: Send + Sync {
    /// Sends a message; whether the listener is still there.
    fn send(&self, message: &str) -> bool;
    fn is_open(&self) -> bool;
    /// Ends the stream, where there is one.
    fn end(&self);
}

/// A subscription.
pub struct Subscription {
    /// Whose it is.
    principal: Principal,
    listener: Mutex<Option<Arc<dyn Listener>>>,
    /// The id of the `subscriptions/listen`; each of its messages has it.
    listen_id: Option<Id>,
    list_changes: bool,
    known: Mutex<Known>,
}

/// What the client knows.
#[derive(Default)]
struct Known {
    /// The state of the list of files; `None` until a client listens for the first time.
    listing: Option<u64>,
    /// The resources asked for, by URI.
    resources: BTreeMap<String, (VaultPath, Option<IndexedState>)>,
    /// The vault as its login sees it: the numbers above are those of its index.
    store: Option<Store>,
}

/// The state of each file that was looked up in this round, by grant.
pub(super) type FileStates = HashMap<Option<Arc<GrantedFolders>>, HashMap<VaultPath, IndexedState>>;

impl Subscription {
    /// The subscription of a legacy session: list changes always, resources as they are asked for.
    pub(super) fn of_session(principal: Principal) -> Subscription {
        Subscription {
            principal,
            listener: Mutex::default(),
            listen_id: None,
            list_changes: true,
            known: Mutex::default(),
        }
    }

    /// That of a `subscriptions/listen`.
    ///
    /// # Errors
    /// -32602 for too many or too long URIs.
    pub(super) fn of_listen(
        principal: Principal,
        id: Id,
        list_changes: bool,
        uris: &[&str],
    ) -> Result<Subscription, Error> {
        check_limits(uris.iter().copied())?;
        let resources = uris
            .iter()
            .filter_map(|uri| Some(((*uri).to_owned(), (path_of(uri)?, None))))
            .collect();
        let known = Mutex::new(Known { resources, ..Known::default() });
        Ok(Subscription {
            principal,
            listener: Mutex::default(),
            listen_id: Some(id),
            list_changes,
            known,
        })
    }

    /// The last message of a `subscriptions/listen`, for a stream that the server ends.
    pub fn last_message(&self) -> Option<String> {
        let listen_id = self.listen_id.as_ref()?;
        let meta = Map::from_iter([(SUBSCRIPTION_ID.to_owned(), listen_id.to_value())]);
        Some(encode::result(listen_id, &super::modern::with_result_meta("{}", None, meta)))
    }

    /// Sends the first message of a `subscriptions/listen`: what of it this server does.
    fn acknowledge(&self) {
        if self.listen_id.is_none() {
            return;
        }
        let mut honoured = Map::new();
        honoured
            .extend(self.list_changes.then(|| ("resourcesListChanged".to_owned(), true.into())));
        let uris: Vec<String> = self.known.lock().unpoisoned().resources.keys().cloned().collect();
        honoured
            .extend((!uris.is_empty()).then(|| ("resourceSubscriptions".to_owned(), uris.into())));
        let params = Map::from_iter([("notifications".into(), honoured.into())]);
        self.send(&self.notification("notifications/subscriptions/acknowledged", params));
    }

    /// Whether a client listens.
    pub fn is_open(&self) -> bool {
        self.listener.lock().unpoisoned().as_ref().is_some_and(|listener| listener.is_open())
    }

    /// Ends the stream of the client that listens; it is sent nothing from now on.
    pub fn end(&self) {
        self.listener.lock().unpoisoned().take().iter().for_each(|listener| listener.end());
    }

    /// Connects a client to the subscription. An older connection is ended: it may have been
    /// broken, and what has arrived on it is not known, so everything subscribed to counts as
    /// changed.
    pub(super) fn attach(&self, listener: Arc<dyn Listener>) {
        let Some(before) = self.listener.lock().unpoisoned().replace(listener) else { return };
        before.end();
        let mut known = self.known.lock().unpoisoned();
        // Another number than the current one, so that the list counts as changed.
        known.listing = known.listing.map(|listing| listing.wrapping_sub(1));
        known.resources.values_mut().for_each(|(_, state)| *state = None);
    }

    /// Subscribes to a resource. A URI that can never be one of the vault's is accepted and never
    /// notified.
    ///
    /// # Errors
    /// -32602 when there are too many.
    pub(super) fn add(&self, store: &Store, uri: &str) -> Result<(), Error> {
        let Some(path) = path_of(uri) else { return Ok(()) };
        let vault = store.vault();
        // Later states are compared with the one now; with the last index, if the vault is
        // unavailable.
        let _ = vault.refresh_with_timeout();
        let mut known = self.known.lock().unpoisoned();
        known.resources.remove(uri);
        check_limits(known.resources.keys().map(String::as_str).chain([uri]))?;
        let state = Some(vault.indexed_state(&path));
        known.resources.insert(uri.to_owned(), (path, state));
        Ok(())
    }

    pub(super) fn remove(&self, uri: &str) {
        self.known.lock().unpoisoned().resources.remove(uri);
    }

    /// Records the current state of the vault as what the client knows, unless a state was recorded
    /// before.
    pub fn record_current_state(&self, server: &Server) {
        let store = server.store_of(&self.principal);
        let vault = store.vault();
        // If the vault is unavailable, the first refresh that succeeds finds the difference.
        let _ = vault.refresh_with_timeout();
        let mut known = self.known.lock().unpoisoned();
        if self.listen_id.is_some() && known.store.is_none() {
            known
                .resources
                .values_mut()
                .for_each(|(path, state)| *state = Some(vault.indexed_state(path)));
        }
        known.listing.get_or_insert(vault.listing_generation());
        known.store.get_or_insert(store);
    }

    /// Notifies the client of what has changed since the last notification. `states` has those that
    /// others have looked up already.
    pub(super) fn notify(&self, states: &mut FileStates) {
        // Without a listener the state is kept for the next one.
        if !self.is_open() {
            return;
        }
        let Some(store) = self.known.lock().unpoisoned().store.clone() else { return };
        let vault = store.vault();
        // If the vault is unavailable, the last index is compared.
        let _ = vault.refresh_with_timeout();
        let states = states.entry(self.principal.folders.clone()).or_default();
        let mut messages = Vec::new();
        let mut known = self.known.lock().unpoisoned();
        let listing = vault.listing_generation();
        if known.listing.replace(listing).is_some_and(|before| before != listing)
            && self.list_changes
        {
            messages.push(self.notification("notifications/resources/list_changed", Map::new()));
        }
        for (uri, (path, before)) in &mut known.resources {
            let now = *states.entry(path.clone()).or_insert_with(|| vault.indexed_state(path));
            if before.replace(now) != Some(now) {
                messages.push(self.notification(
                    "notifications/resources/updated",
                    Map::from_iter([("uri".into(), uri.as_str().into())]),
                ));
            }
        }
        drop(known);
        messages.iter().for_each(|message| self.send(message));
    }

    fn send(&self, message: &str) {
        let listener = self.listener.lock().unpoisoned().clone();
        // One that has gone is noticed by `is_open`.
        let _ = listener.is_some_and(|listener| listener.send(message));
    }

    fn notification(&self, method: &str, mut params: Params) -> String {
        if let Some(listen_id) = &self.listen_id {
            params.insert("_meta".into(), json!({ SUBSCRIPTION_ID: listen_id.to_value() }));
        }
        encode::notification(method, &params)
    }
}

fn path_of(uri: &str) -> Option<VaultPath> {
    if uri.len() > limits::RESOURCE_URI_BYTES {
        return None;
    }
    uri::to_part(uri).and_then(|(path, ..)| VaultPath::folder(&path).ok())
}

/// Refuses more or longer URIs of resources than one subscription may have.
fn check_limits<'a>(uris: impl Iterator<Item = &'a str>) -> Result<(), Error> {
    let (count, bytes) = uris.fold((0, 0), |(count, bytes), uri| (count + 1, bytes + uri.len()));
    if count > SUBSCRIBED_RESOURCES || bytes > SUBSCRIBED_BYTES {
        let (most, bytes) = (SUBSCRIBED_RESOURCES, SUBSCRIBED_BYTES);
        return Err(Error::invalid_params(format!(
            "too many resources: at most {most}, with URIs of {bytes} bytes in all"
        )));
    }
    Ok(())
}

impl Server {
    /// Connects a listener to a subscription; a client that comes back is notified of what has
    /// changed meanwhile.
    pub fn connect(&self, subscription: &Arc<Subscription>, listener: Arc<dyn Listener>) {
        subscription.attach(listener);
        subscription.record_current_state(self);
        subscription.acknowledge();
        let mut watched = self.subscriptions.lock().unpoisoned();
        watched.retain(|known| {
            known.strong_count() > 0 && known.as_ptr() != Arc::as_ptr(subscription)
        });
        watched.push(Arc::downgrade(subscription));
        drop(watched);
        self.has_subscriptions.notify_all();
        subscription.notify(&mut FileStates::new());
    }
}
