//! The methods by which a client subscribes to changes.

use super::Subscription;
use super::call::{Answer, Call};
use crate::rpc::Error;
use serde_json::Value;
use std::sync::Arc;

/// `subscriptions/listen` (2026-07-28).
///
/// # Errors
/// -32602 for malformed or too many subscriptions.
pub fn listen(call: &Call<'_>) -> Result<Answer, Error> {
    let requested = call.params.get("notifications").and_then(Value::as_object);
    let requested =
        requested.ok_or_else(|| Error::invalid_params("params.notifications must be an object"))?;
    // Tools and prompts do not change while the server runs, so they have no notifications, and are
    // not acknowledged; nor is what has another type.
    let list_changes = requested.get("resourcesListChanged") == Some(&Value::Bool(true));
    let uris =
        requested.get("resourceSubscriptions").and_then(Value::as_array).into_iter().flatten();
    let uris: Vec<&str> = uris.filter_map(Value::as_str).collect();
    let subscription = Subscription::of_listen(
        call.exchange.principal.clone(),
        call.id.clone(),
        list_changes,
        &uris,
    )?;
    Ok(Answer::Listen(Arc::new(subscription)))
}

/// `resources/subscribe` (legacy).
///
/// # Errors
/// -32600 outside a session, -32602 without a URI or with too many.
pub fn subscribe(call: &Call<'_>) -> Result<Answer, Error> {
    let uri = call.text("uri")?;
    session_of(call)?.add(&call.store(), uri)?;
    Ok(Answer::Result("{}".into()))
}

/// `resources/unsubscribe` (legacy).
///
/// # Errors
/// -32600 outside a session, -32602 without a URI.
pub fn unsubscribe(call: &Call<'_>) -> Result<Answer, Error> {
    let uri = call.text("uri")?;
    session_of(call)?.remove(uri);
    Ok(Answer::Result("{}".into()))
}

fn session_of<'a>(call: &Call<'a>) -> Result<&'a Subscription, Error> {
    let session = call.exchange.session.ok_or_else(|| {
        Error::invalid_request("a subscription belongs to a session; initialize first")
    })?;
    Ok(&session.subscription)
}
