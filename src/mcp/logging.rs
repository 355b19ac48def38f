//! Log messages to a client (legacy revisions, "Logging"): one for each tool call of its session, if it asked for them.
//! 2026-07-28 has deprecated them, and there they are not offered.

use super::Exchange;
use super::call::{Answer, Call};
use crate::rpc::{Error, encode};
use serde_json::{Map, Value};

/// How important a message is (RFC 5424), least first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// For finding mistakes.
    Debug,
    /// What happened.
    Info,
    /// What happened, and is worth a look.
    Notice,
    /// What went wrong and can be put right.
    Warning,
    /// What went wrong.
    Error,
    /// And worse.
    Critical,
    /// And worse.
    Alert,
    /// And worst.
    Emergency,
}

impl Level {
    const ALL: [(Level, &'static str); 8] = [
        (Level::Debug, "debug"),
        (Level::Info, "info"),
        (Level::Notice, "notice"),
        (Level::Warning, "warning"),
        (Level::Error, "error"),
        (Level::Critical, "critical"),
        (Level::Alert, "alert"),
        (Level::Emergency, "emergency"),
    ];

    /// A level by its name.
    pub fn named(name: &str) -> Option<Level> {
        Level::ALL.into_iter().find(|(_, known)| *known == name).map(|(level, _)| level)
    }

    /// All names, for an error.
    pub fn names() -> String {
        Level::ALL.map(|(_, name)| name).join(", ")
    }

    fn name(self) -> &'static str {
        Level::ALL.into_iter().find(|(level, _)| *level == self).map_or("info", |(_, name)| name)
    }
}

/// `logging/setLevel` (legacy): the level from which messages are sent to the session. Without a session there is no stream to send them on.
///
/// # Errors
/// -32602 for a level that does not exist.
pub fn set_level(call: &Call<'_>) -> Result<Answer, Error> {
    let level = call.text("level")?;
    let level = Level::named(level).ok_or_else(|| Error::invalid_params(format!("params.level must be one of: {}", Level::names())))?;
    if let Some(session) = call.exchange.session {
        session.set_log_level(level);
    }
    Ok(Answer::Result("{}".into()))
}

/// Sends a log message to the client of an exchange, if its session asked for messages of this level: on the stream of the
/// request where it has one, else on the session's.
pub(super) fn send_to_client(exchange: &Exchange<'_>, level: Level, logger: &str, data: impl FnOnce() -> Value) {
    let Some(session) = exchange.session.filter(|session| session.log_level().is_some_and(|wanted| level >= wanted)) else { return };
    let mut params = Map::new();
    params.insert("level".into(), level.name().into());
    params.insert("logger".into(), logger.into());
    params.insert("data".into(), data());
    let message = encode::notification("notifications/message", &params);
    if !exchange.channel.notify(&message) {
        session.send(&message);
    }
}
