//! Which revision of the protocol a message is in. The spec calls the 2025 revisions *legacy* and 2026-07-28 *modern*;
//! this file is the boundary, and no other file compares versions.

use crate::rpc;

/// A legacy revision.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Revision {
    /// Batches, no version header.
    V2025_03_26,
    /// Structured results, the version header.
    V2025_06_18,
    /// The last revision with a handshake.
    V2025_11_25,
}

impl Revision {
    /// What is spoken, newest first.
    pub const ALL: [Revision; 3] = [Revision::V2025_11_25, Revision::V2025_06_18, Revision::V2025_03_26];

    /// The revision's name on the wire.
    pub fn name(self) -> &'static str {
        match self {
            Revision::V2025_03_26 => "2025-03-26",
            Revision::V2025_06_18 => "2025-06-18",
            Revision::V2025_11_25 => "2025-11-25",
        }
    }

    /// A revision by its name.
    pub fn named(name: &str) -> Option<Revision> {
        Revision::ALL.into_iter().find(|revision| revision.name() == name)
    }

    /// What `initialize` answers to a wish: the same revision if it is spoken, else the newest legacy one.
    pub fn negotiate(requested: Option<&str>) -> Revision {
        requested.and_then(Revision::named).unwrap_or(Revision::V2025_11_25)
    }

    /// Whether several messages may come in one body.
    pub fn has_batches(self) -> bool {
        self == Revision::V2025_03_26
    }
}

/// The modern revision's name; a client that was negotiated down may go on naming it.
const MODERN: &str = "2026-07-28";

/// The revision of a message over HTTP. `header` is `MCP-Protocol-Version`, `session` the revision of the session that
/// the request names, if any.
///
/// # Errors
/// For a version that is not spoken; answered with status 400.
pub fn classify(header: Option<&str>, session: Option<Revision>, is_initialize: bool) -> Result<Revision, rpc::Error> {
    match (header.map(str::trim), session) {
        // The version is in the parameters; some clients send a header as well.
        _ if is_initialize => Ok(Revision::V2025_11_25),
        // 2025-06-18, "Protocol Version Header": without one, what was negotiated, else 2025-03-26.
        (None, session) => Ok(session.unwrap_or(Revision::V2025_03_26)),
        // Claude's hosted client asks in the modern era first, and keeps that header after falling back.
        (Some(MODERN), Some(session)) => Ok(session),
        (Some(name), session) => match Revision::named(name) {
            Some(revision) => Ok(session.unwrap_or(revision)),
            None => Err(rpc::Error::unsupported_version(name, &Revision::ALL.map(Revision::name))),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_of_the_classification() {
        use Revision::{V2025_03_26 as Oldest, V2025_06_18 as Middle, V2025_11_25 as Newest};
        for (header, session, initialize, expected) in [
            (Some("2026-07-28"), None, true, Some(Newest)),
            (Some("nonsense"), None, true, Some(Newest)),
            (None, None, false, Some(Oldest)),
            (None, Some(Middle), false, Some(Middle)),
            (Some("2025-06-18"), None, false, Some(Middle)),
            (Some(" 2025-06-18 "), None, false, Some(Middle)),
            (Some("2025-03-26"), Some(Newest), false, Some(Newest)),
            (Some("2026-07-28"), Some(Newest), false, Some(Newest)),
            (Some("2026-07-28"), None, false, None),
            (Some("2099-01-01"), Some(Newest), false, None),
            (Some("2000-01-01"), None, false, None),
            (Some("invalid-protocol-version"), None, false, None),
            (Some(""), None, false, None),
        ] {
            let found = classify(header, session, initialize);
            assert_eq!(found.ok(), expected, "{header:?} {session:?} {initialize}");
        }
    }
}
