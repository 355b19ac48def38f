//! Who is asking: the result of authentication, and all that other modules learn about the caller.

use crate::vault::GrantedFolders;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::sync::Arc;

/// What a caller may do. Writing implies reading. Stored as its scopes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Access {
    #[serde(rename = "vault:read")]
    Read,
    #[serde(rename = "vault:read vault:write")]
    Write,
}

impl Access {
    /// The scope string of RFC 6749 section 3.3.
    pub fn scope(self) -> &'static str {
        match self {
            Access::Read => "vault:read",
            Access::Write => "vault:read vault:write",
        }
    }

    /// Reads a scope string. Names that are not ours (`offline_access`, `claudeai`, OpenID's) are
    /// ignored, because clients send them unasked; `None` when nothing of ours is in it.
    pub fn of_scope(scope: &str) -> Option<Access> {
        let has = |wanted: &str| scope.split_ascii_whitespace().any(|name| name == wanted);
        if has("vault:write") {
            Some(Access::Write)
        } else {
            has("vault:read").then_some(Access::Read)
        }
    }
}

/// An authenticated caller.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Principal {
    /// A user of `AUTH_USERS`, `token:NAME` of `API_TOKENS`, `client:ID` of `CLIENT_CREDENTIALS`,
    /// or `local` on stdio.
    pub subject: String,
    /// The OAuth client's id, empty where there is none.
    pub client: String,
    /// What the owner calls the login: the id of its grant as `grants` prints it, the name of the
    /// API token or machine client.
    pub login: String,
    /// What the caller may do.
    pub access: Access,
    /// In which folders; `None` for the whole vault.
    pub folders: Option<Arc<GrantedFolders>>,
}

impl Principal {
    /// The person at the keyboard of a stdio session: whoever can start the program may do
    /// everything it can.
    pub fn local() -> Principal {
        Principal {
            subject: "local".into(),
            client: String::new(),
            login: "local".into(),
            access: Access::Write,
            folders: None,
        }
    }

    /// Identifies a login, as the owner of sessions and streams. Two logins of one user and client
    /// are the same if both have the whole vault: a client that logs in again, perhaps for more,
    /// keeps its session. What a request may do is decided by its own token.
    pub fn key(&self) -> String {
        let of_folders = if self.folders.is_some() { self.login.as_str() } else { "" };
        format!("{}\n{}\n{of_folders}", self.subject, self.client)
    }
}

/// For log lines: the subject, and the login as `grants` names it; never anything secret.
impl fmt::Display for Principal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "user={:?} login={:?}", self.subject, self.login)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scopes_of_others_are_ignored_and_writing_implies_reading() {
        assert_eq!(Access::of_scope("vault:write"), Some(Access::Write));
        assert_eq!(Access::of_scope("openid vault:read offline_access"), Some(Access::Read));
        assert_eq!(Access::of_scope("claudeai"), None);
        assert_eq!(Access::of_scope(""), None);
        assert!(Access::Write > Access::Read);
    }
}
