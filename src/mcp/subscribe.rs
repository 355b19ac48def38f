//! The methods by which a client subscribes to changes.

use super::{Answer, Caller, Server, Subscription};
use crate::rpc::{Error, Request};
use serde_json::Value;
use std::sync::Arc;

/// `subscriptions/listen` (2026-07-28).
///
/// # Errors
/// -32602 for malformed or too many subscriptions.
pub fn listen(_: &Server, caller: &Caller<'_>, request: &Request) -> Result<Answer, Error> {
    let requested = request.params.get("notifications").and_then(Value::as_object);
    let requested =
        requested.ok_or_else(|| Error::invalid_params("params.notifications must be an object"))?;
    // Tools and prompts do not change while the server runs, so they have no notifications, and are
    // not acknowledged; nor is what has another type.
    let list_changes = requested.get("resourcesListChanged") == Some(&Value::Bool(true));
    let uris =
        requested.get("resourceSubscriptions").and_then(Value::as_array).into_iter().flatten();
    let uris: Vec<&str> = uris.filter_map(Value::as_str).collect();
    let subscription =
        Subscription::of_listen(caller.principal.clone(), request.id.clone(), list_changes, &uris)?;
    Ok(Answer::Listen(Arc::new(subscription)))
}

/// `resources/subscribe` (legacy).
///
/// # Errors
/// -32600 outside a session, -32602 without a URI or with too many.
pub fn subscribe(server: &Server, caller: &Caller<'_>, request: &Request) -> Result<Answer, Error> {
    let uri = request.text("uri")?;
    session_of(caller)?.add(&server.store_of(caller.principal), uri)?;
    Ok(Answer::Result("{}".into()))
}

/// `resources/unsubscribe` (legacy).
///
/// # Errors
/// -32600 outside a session, -32602 without a URI.
pub fn unsubscribe(_: &Server, caller: &Caller<'_>, request: &Request) -> Result<Answer, Error> {
    let uri = request.text("uri")?;
    session_of(caller)?.remove(uri);
    Ok(Answer::Result("{}".into()))
}

fn session_of<'a>(caller: &Caller<'a>) -> Result<&'a Subscription, Error> {
    let session = caller.session.ok_or_else(|| {
        Error::invalid_request("a subscription belongs to a session; initialize first")
    })?;
    Ok(&session.subscription)
}
