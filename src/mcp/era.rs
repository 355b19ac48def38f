//! Which revision of the protocol a message is in. The spec calls the 2025 revisions *legacy* and
//! 2026-07-28 *modern*; this file is the boundary, and no other file compares versions.

use crate::rpc::{Error, Incoming, Message, Params};
use serde_json::Value;

/// A revision.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Revision {
    /// Batches, no version header.
    V2025_03_26,
    /// Structured results, the version header.
    V2025_06_18,
    /// The last revision with a handshake.
    V2025_11_25,
    /// Modern: every request says for itself what it is; no handshake, no sessions.
    V2026_07_28,
}

/// The member of a request's `_meta` that makes it modern.
pub const PROTOCOL_VERSION: &str = "io.modelcontextprotocol/protocolVersion";

impl Revision {
    /// The supported revisions, newest first.
    pub const ALL: [Revision; 4] = [
        Revision::V2026_07_28,
        Revision::V2025_11_25,
        Revision::V2025_06_18,
        Revision::V2025_03_26,
    ];

    /// The revision's name on the wire.
    pub fn name(self) -> &'static str {
        match self {
            Revision::V2025_03_26 => "2025-03-26",
            Revision::V2025_06_18 => "2025-06-18",
            Revision::V2025_11_25 => "2025-11-25",
            Revision::V2026_07_28 => "2026-07-28",
        }
    }

    /// A revision by its name.
    pub fn named(name: &str) -> Option<Revision> {
        Revision::ALL.into_iter().find(|revision| revision.name() == name)
    }

    /// The revision that `initialize` answers with: the requested one if it has a handshake, else
    /// the newest that has one.
    pub fn negotiate(requested: Option<&str>) -> Revision {
        requested
            .and_then(Revision::named)
            .filter(|revision| !revision.is_modern())
            .unwrap_or(Revision::V2025_11_25)
    }

    /// Whether requests carry their own envelope instead of belonging to a session.
    pub fn is_modern(self) -> bool {
        self == Revision::V2026_07_28
    }
}

/// The names of all revisions, newest first.
pub fn names() -> [&'static str; 4] {
    Revision::ALL.map(Revision::name)
}

/// Whether this is the name of a modern revision.
pub fn is_modern(name: &str) -> bool {
    Revision::named(name).is_some_and(Revision::is_modern)
}

/// The revision that parameters claim in their `_meta`. Whether there is a `_meta` says nothing:
/// every revision has one.
pub fn claim(params: &Params) -> Option<&str> {
    params.get("_meta").and_then(|meta| meta.get(PROTOCOL_VERSION)).and_then(Value::as_str)
}

/// The revision of what came in one POST, or in one line on stdio. `header` is
/// `MCP-Protocol-Version`, which stdio does not have; `session` the revision of the live session
/// that the request names (`None` for one that is unknown or has expired), or of the handshake that
/// the stdio process has seen.
///
/// Modern is what names a version in its `_meta`, or 2026-07-28 in the header; within a session
/// only what does both. A session wins over what a client adds out of habit: hosted Claude goes on
/// naming 2026-07-28 in the header after it was negotiated down (typo3#110, SparkyFitness#2155),
/// ChatGPT puts keys of the modern envelope into legacy requests (csharp-sdk#1783). Anything else
/// is legacy. `fixtures/wire/classification` has conversations for it.
///
/// # Errors
/// What no revision allows; over HTTP with status 400.
pub fn classify(
    header: Option<&str>,
    session: Option<Revision>,
    incoming: &Incoming,
) -> Result<Revision, Error> {
    let claims =
        incoming.messages().filter_map(Message::params).any(|params| claim(params).is_some());
    let request = incoming.one().and_then(Message::request);
    if request.is_some_and(|request| request.method == "initialize" && !claims) {
        // What the header says does not count. Some clients send `_meta` too, but no version.
        return Ok(Revision::V2025_11_25);
    }
    let spoken = header.and_then(Revision::named);
    let names_modern = spoken.is_some_and(Revision::is_modern);
    let is_modern = if session.is_some() { claims && names_modern } else { claims || names_modern };
    let revision = match (header, spoken) {
        _ if is_modern => Revision::V2026_07_28,
        // Not an error of the modern era: that would tell a legacy client's probe that it has found
        // a modern server.
        (Some(name), None) => {
            let shown: String = name.chars().take(64).collect();
            return Err(Error::invalid_params(format!(
                "MCP-Protocol-Version {shown} is not supported; supported: {}",
                names().join(", ")
            )));
        }
        // 2025-06-18, "Protocol Version Header": without anything else, 2025-03-26 is assumed.
        _ => session.or(spoken).unwrap_or(Revision::V2025_03_26),
    };
    if matches!(incoming, Incoming::Batch(_)) && revision != Revision::V2025_03_26 {
        return Err(Error::invalid_request(
            "batches ended with revision 2025-03-26; send one message",
        ));
    }
    Ok(revision)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rpc::decode::decode;

    #[test]
    fn negotiation_never_leads_to_a_revision_without_a_handshake() {
        for (asked, given) in [
            (Some("2025-03-26"), Revision::V2025_03_26),
            (Some("2025-06-18"), Revision::V2025_06_18),
            (Some("2026-07-28"), Revision::V2025_11_25),
            (Some("2024-11-05"), Revision::V2025_11_25),
            (None, Revision::V2025_11_25),
        ] {
            assert_eq!(Revision::negotiate(asked), given, "{asked:?}");
        }
    }

    /// What clients were reported to send (see the rows). The rows themselves are conversations in
    /// `fixtures/wire/classification`.
    #[test]
    fn a_live_session_wins_over_habits() {
        let ping =
            decode(br#"{"jsonrpc":"2.0","id":1,"method":"ping","params":{"_meta":{"io.modelcontextprotocol/clientCapabilities":{}}}}"#);
        let ping = ping.unwrap();
        let session = Some(Revision::V2025_11_25);
        for header in [None, Some("2025-11-25"), Some("2025-03-26"), Some("2026-07-28")] {
            assert_eq!(
                classify(header, session, &ping).unwrap(),
                Revision::V2025_11_25,
                "{header:?}"
            );
        }
        assert!(classify(Some("2099-01-01"), session, &ping).is_err());
    }
}
