//! `grants` and `revoke`, for the owner: list who is logged in, and end logins.

use super::{FAILED, WRONG, columns, control, environment, fail, print};
use crate::cli::Raw;
use crate::clock::Moment;
use crate::config;
use crate::oauth::store::{State, Store};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// The fewest characters of an id that name a grant: an empty shell variable must not end a login.
const ID_CHARS_MIN: usize = 4;

pub(super) fn list(raw: &Raw) -> Result<u8, u8> {
    let state = read(&folder(raw)?)?;
    Ok(print(&table(&state)))
}

fn read(folder: &Path) -> Result<State, u8> {
    Store::peek(folder).map_err(|why| fail(format!("{}: {why}", folder.display()), FAILED))
}

pub(super) fn revoke(raw: &Raw, id: Option<&str>) -> Result<u8, u8> {
    let folder = folder(raw)?;
    let state = read(&folder)?;
    let id = id
        .map(|id| whole_id(state.grants.keys(), id))
        .transpose()
        .map_err(|why| fail(format!("{why}; see grants"), WRONG))?;
    refuse_other_user(&folder, "revoke")?;
    let ended = if Store::is_in_use(&folder) {
        control::revoke(&folder, id.as_deref())
    } else {
        Store::open(&folder, Moment::read()).and_then(|store| {
            store
                .end_grants(id.as_deref(), Moment::read())
                .map_err(|_| "the change cannot be stored".to_owned())
        })
    };
    let count = ended.map_err(|why| fail(why, FAILED))?;
    Ok(print(&format!("{count} grant{} ended.\n", if count == 1 { "" } else { "s" })))
}

/// What another user, even root, writes in the state folder would be inaccessible to the server.
pub(super) fn refuse_other_user(folder: &Path, command: &str) -> Result<(), u8> {
    let own = std::fs::metadata(folder)
        .is_ok_and(|found| found.uid() == rustix::process::geteuid().as_raw());
    let why =
        || format!("{command} has to run as the user who owns the state folder (sudo -u USER ...)");
    if own { Ok(()) } else { Err(fail(why(), FAILED)) }
}

/// The state folder, as for the server. Without one, prints why and gives the exit code.
pub(super) fn folder(raw: &Raw) -> Result<PathBuf, u8> {
    let why = "STATE_DIR (--state-dir), or the vault's path (--vault-path), is required, as for the \
               server";
    let folder = config::state_folder(raw, &environment()).ok_or_else(|| fail(why, WRONG))?;
    if folder.is_absolute() && folder.is_dir() {
        return Ok(folder);
    }
    let why = "is no folder that can be opened: give its absolute path, as the server's user \
               (sudo -u USER ...)";
    Err(fail(format!("STATE_DIR (--state-dir): {} {why}", folder.display()), FAILED))
}

/// An id that was given whole, or shortened if no other begins the same.
pub(super) fn whole_id<'a>(
    known: impl Iterator<Item = &'a String>,
    id: &str,
) -> Result<String, String> {
    let found: Vec<&String> = known.filter(|known| known.starts_with(id)).collect();
    match found[..] {
        _ if found.iter().any(|known| *known == id) => Ok(id.to_owned()),
        _ if id.len() < ID_CHARS_MIN => {
            Err(format!("give at least {ID_CHARS_MIN} characters of the id"))
        }
        [only] => Ok(only.clone()),
        [] => Err(format!("there is no id {id:?}")),
        _ => Err(format!("several ids begin with {id:?}")),
    }
}

fn table(state: &State) -> String {
    let mut rows = vec![
        ["ID", "USER", "CLIENT", "SENT BACK TO", "SCOPE", "CREATED", "LAST USED"]
            .map(str::to_owned),
    ];
    let mut grants: Vec<_> = state.grants.values().collect();
    grants.sort_unstable_by_key(|grant| (std::cmp::Reverse(grant.last_use()), &grant.id));
    for grant in grants {
        let client = state.clients.get(&grant.client);
        rows.push([
            grant.short_id(),
            grant.user.clone(),
            client.map_or_else(|| "(no longer registered)".into(), |client| client.name.clone()),
            grant.sent_back_to(),
            grant.folders.as_ref().map_or_else(
                || grant.access.scope().replace("vault:", "").replace(' ', "+"),
                ToString::to_string,
            ),
            Moment(grant.created).rfc3339(),
            Moment(grant.last_use()).rfc3339(),
        ]);
    }
    if rows.len() == 1 {
        return "No one is logged in.\n".into();
    }
    columns(&rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_whole_id_counts_also_where_another_begins_with_it() {
        let known = ["laptop", "laptop2", "abcdef", "abcxyz"].map(str::to_owned);
        let found = |id: &str| whole_id(known.iter(), id);
        assert_eq!(found("laptop").unwrap(), "laptop");
        assert_eq!(found("abcd").unwrap(), "abcdef");
        for (id, why) in
            [("lapt", "several"), ("abc", "at least"), ("abcq", "no id"), ("", "at least")]
        {
            assert!(found(id).unwrap_err().contains(why), "{id}");
        }
    }
}
