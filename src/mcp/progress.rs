//! The progress of a call, for a client that asked for it with a `progressToken` (MCP, "Progress").

use super::Caller;
use crate::clock;
use crate::object::without_nulls;
use crate::rpc::{Request, encode};
use crate::tools::Requester;
use serde_json::{Value, json};
use std::cell::Cell;
use std::time::Duration;
use std::time::Instant;

/// The minimum interval between progress notifications of a call, and before its first one; earlier
/// ones are dropped.
const PROGRESS_EVERY: Duration = Duration::from_millis(250);

/// The token of a request that asks for its progress.
pub fn token(request: &Request) -> Option<&Value> {
    let token = request.params.get("_meta")?.get("progressToken")?;
    (token.is_string() || token.is_i64() || token.is_u64()).then_some(token)
}

/// One call's progress. Quick calls report nothing, long ones now and then, and the numbers only
/// grow.
pub(super) struct Progress<'a> {
    caller: &'a Caller<'a>,
    token: Option<&'a Value>,
    sent: Cell<(Instant, u64)>,
}

impl<'a> Progress<'a> {
    pub(super) fn of(caller: &'a Caller<'a>, request: &'a Request) -> Progress<'a> {
        Progress { caller, token: token(request), sent: Cell::new((clock::instant(), 0)) }
    }
}

impl Requester for Progress<'_> {
    fn has_cancelled(&self) -> bool {
        (self.caller.is_cancelled)()
    }

    fn progress(&self, done: u64, total: Option<u64>, doing: &str) {
        let (at, before) = self.sent.get();
        let Some(token) = self.token.filter(|_| done > before && at.elapsed() >= PROGRESS_EVERY)
        else {
            return;
        };
        let params = without_nulls(
            json!({ "progressToken": token, "progress": done, "total": total, "message": doing }),
        );
        (self.caller.notify)(&encode::notification("notifications/progress", &params));
        self.sent.set((clock::instant(), done));
    }
}
