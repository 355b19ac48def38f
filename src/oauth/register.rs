//! Dynamic client registration (RFC 7591). Anyone may register, as often as they like: it grants
//! nothing and stores nothing. What was registered is in the `client_id` ([`super::client_id`]); a
//! client is stored with its first grant.

use super::redirect::RedirectTarget;
use super::store::{self, Client};
use super::{Error, Oauth, Policy, client_id};
use crate::clock::Moment;
use crate::limits;
use crate::lock::Unpoisoned;
use crate::object::without_nulls;
use crate::secret::{self, SecretHash};
use regex::Regex;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use std::net::IpAddr;
use std::sync::{LazyLock, Mutex};

/// Characters of a client's name that are kept and shown.
const CLIENT_NAME_CHARS: usize = 80;

impl Oauth {
    /// Registers a client: body in, answer out (201). Unknown members are ignored, the requested
    /// method is honoured and always returned, redirect URIs come back byte for byte, and no member
    /// is ever null: clients were seen to break without each of these.
    ///
    /// # Errors
    /// `invalid_client_metadata`, `invalid_redirect_uri`.
    pub fn register(&self, body: &[u8], from: IpAddr, now: Moment) -> Result<Value, Error> {
        let wrong = |why: &'static str| Error::of(400, "invalid_client_metadata", why);
        // serde would also take an array of the members.
        let object = Some(body).filter(|body| body.trim_ascii_start().starts_with(b"{"));
        let request: Option<RegistrationRequest> =
            object.and_then(|object| serde_json::from_slice(object).ok());
        let request = request.ok_or_else(|| wrong("the body must be a JSON object"))?;
        let redirect_uris = redirect_uris(&request, &self.policy).inspect_err(|error| {
            if self.registrations_logged.may_log(now) {
                log::warn!("registration refused from={from}: {}", error.why);
            }
        })?;
        let name = clean_name(&read::<String>(request.client_name).unwrap_or_default());
        // RFC 7591 section 2: the default is client_secret_basic.
        let auth_method =
            match request.token_endpoint_auth_method.filter(|method| method.get() != "null") {
                None => "client_secret_basic",
                Some(method) => match read::<String>(Some(method)).as_deref() {
                    Some("none") => "none",
                    Some("client_secret_post") => "client_secret_post",
                    Some("client_secret_basic") => "client_secret_basic",
                    _ => {
                        return Err(wrong(
                            "token_endpoint_auth_method must be none, client_secret_post or \
                             client_secret_basic",
                        ));
                    }
                },
            };
        let client_secret = if auth_method == "none" { None } else { Some(secret::new_token()) };
        let client = Client {
            id: String::new(),
            name,
            redirect_uris,
            auth_method: auth_method.into(),
            secret: client_secret.as_deref().map(SecretHash::of),
            created: now.0,
        };
        let id = client_id::issue(&self.store.state().key, &client);
        let id = id.ok_or_else(|| {
            Error::of(
                400,
                "invalid_redirect_uri",
                "client_name and redirect_uris are too long: about 600 bytes in all fit",
            )
        })?;
        let Client { name, redirect_uris, .. } = client;
        if self.registrations_logged.may_log(now) {
            let redirect = redirect_uris.first().map_or("", String::as_str);
            log::info!(
                "registered client={:?} name={name:?} redirect={redirect:?} from={from}",
                store::short_id(&id)
            );
        }
        Ok(Value::Object(without_nulls(json!({
            "client_id": id,
            "client_id_issued_at": now.0,
            "client_name": name,
            "redirect_uris": redirect_uris,
            "grant_types": grant_types(&request),
            "response_types": ["code"],
            "token_endpoint_auth_method": auth_method,
            "scope": read::<String>(request.scope),
            "client_secret": client_secret,
            "client_secret_expires_at": client_secret.is_some().then_some(0),
        }))))
    }
}

/// Counts the log lines of registrations: anyone may cause them, and the log is the owner's only
/// record of what clients did.
#[derive(Default)]
pub(super) struct LoggedRegistrations(Mutex<LoggedMinute>);

/// A minute since 1970, and how many registrations there were in it.
#[derive(Default)]
struct LoggedMinute {
    minute: u64,
    count: u32,
}

impl LoggedRegistrations {
    /// Counts one more; whether it may be logged: [`limits::REGISTRATIONS_LOGGED`] within a minute
    /// are.
    fn may_log(&self, now: Moment) -> bool {
        let mut logged = self.0.lock().unpoisoned();
        if logged.minute != now.0 / 60 {
            *logged = LoggedMinute { minute: now.0 / 60, count: 0 };
        }
        logged.count = logged.count.saturating_add(1);
        if logged.count == limits::REGISTRATIONS_LOGGED + 1 {
            log::warn!("many registrations: no more of this minute are logged");
        }
        logged.count <= limits::REGISTRATIONS_LOGGED
    }
}

/// The members of a registration that are read; the others are skipped without being built. Anyone
/// may send one, and a tree of small values would take forty times the memory of its text.
#[derive(Deserialize)]
struct RegistrationRequest<'a> {
    #[serde(borrow)]
    client_name: Option<&'a RawValue>,
    token_endpoint_auth_method: Option<&'a RawValue>,
    redirect_uris: Option<&'a RawValue>,
    grant_types: Option<&'a RawValue>,
    scope: Option<&'a RawValue>,
}

/// A member as a value of this type; `None` if it is missing or of another type.
fn read<T: DeserializeOwned>(value: Option<&RawValue>) -> Option<T> {
    serde_json::from_str(value?.get()).ok()
}

/// One acceptable URI is enough for a registration; a bad one among them is refused when it is
/// used. (Cursor sends three at once.)
fn redirect_uris(request: &RegistrationRequest<'_>, policy: &Policy) -> Result<Vec<String>, Error> {
    let wrong = |why: &'static str| Error::of(400, "invalid_redirect_uri", why);
    let uris: Vec<String> = read(request.redirect_uris)
        .ok_or_else(|| wrong("redirect_uris must be an array of strings"))?;
    let targets: Vec<RedirectTarget> =
        uris.iter().filter_map(|uri| RedirectTarget::of(uri)).collect();
    if targets.is_empty() {
        return Err(wrong(
            "no acceptable redirect URI: use https, or http on 127.0.0.1, localhost or [::1]",
        ));
    }
    if !targets.iter().any(|target| policy.allows(target)) {
        return Err(wrong(
            "no redirect URI leads to a host or application that this server knows; its owner can \
             add one to REDIRECT_HOSTS",
        ));
    }
    Ok(uris)
}

fn grant_types(request: &RegistrationRequest<'_>) -> Vec<&'static str> {
    let listed: Vec<String> = read(request.grant_types).unwrap_or_default();
    let offered = ["authorization_code", "refresh_token"];
    let wanted: Vec<&str> = offered
        .into_iter()
        .filter(|offered| listed.iter().any(|request| request == offered))
        .collect();
    if wanted.is_empty() { offered.into() } else { wanted }
}

/// A name as it is shown on the login page and in the log: no control, format or filler characters
/// (those that are invisible, or change how others look), not too long.
fn clean_name(name: &str) -> String {
    static INVISIBLE: LazyLock<Option<Regex>> = LazyLock::new(|| {
        let fillers = r"\u{34f}\u{115f}\u{1160}\u{17b4}\u{17b5}\u{180b}-\u{180f}\u{2800}\u{3164}\u{fe00}-\u{fe0f}\u{ffa0}\u{e0100}-\u{e01ef}";
        Regex::new(&format!(r"[\p{{C}}\p{{Zl}}\p{{Zp}}{fillers}]")).ok()
    });
    let cut: String = name.chars().take(CLIENT_NAME_CHARS).collect();
    // Without the expression no name is known to be harmless.
    let seen = INVISIBLE
        .as_ref()
        .map(|invisible| invisible.replace_all(&cut, "").trim().to_owned())
        .unwrap_or_default();
    if seen.is_empty() { "An application without a name".into() } else { seen }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_have_no_invisible_characters() {
        for (name, shown) in [
            ("Claude", "Claude"),
            ("Café 日本 🎻", "Café 日本 🎻"),
            ("Cl\u{200b}au\u{202e}de\u{2066}", "Claude"),
            ("\u{3164}\u{115f}\u{ffa0}\u{2800}", "An application without a name"),
            ("a\u{ad}b\u{e0041}c\u{fe0f}d\u{180e}", "abcd"),
            (" \n\t ", "An application without a name"),
        ] {
            assert_eq!(clean_name(name), shown, "{name:?}");
        }
    }
}
