//! `vault_history`: the kept versions of a note.

use crate::change::log::Line;
use crate::clock::Moment;
#[cfg(feature = "git")]
use crate::git::{Git, Version};
use crate::limits;
#[cfg(feature = "git")]
use crate::tools::Code;
use crate::tools::paging::{self, CURSOR, Next};
use crate::tools::reply::fitting;
use crate::tools::result::{Inline, Members, result};
use crate::tools::schema::{ANY_TEXT, required};
use crate::tools::{Arguments, Context, Effect, Error, Reply, Tool};
use crate::vault::VaultPath;

pub(super) static TOOL: Tool = Tool {
    name: "vault_history",
    title: "History of a note",
    description: "Lists earlier versions of a note (history): texts that tools have replaced or \
                  deleted, or its commits in git; to undo use vault_restore. Also of a deleted \
                  note.",
    effect: Effect::Reads,
    facts: &[],
    input: &[required("path", ANY_TEXT, "The note, as it is or was called").of_files(), CURSOR],
    output: History::FIELDS,
    run,
};

result! {
    #[derive(Default)]
    struct Row {
        /// For `vault_restore`.
        version: String,
        at: String,
        /// The login, as the command `grants` names it, or the author of the commit.
        by: String,
        tool: Option<String>,
        bytes: Option<u64>,
        /// The first line of a commit's message.
        message: Option<String>,
        change: Option<&'static str>,
        /// The note's path in a commit, if it was another.
        path: Option<String>,
    }
}

result! {
    struct History<'a> {
        path: &'a str,
        /// The newest first: each is the text before a change, or as of a commit.
        versions: Vec<Row>,
        next: Inline<Next>,
    }
}

/// The kept versions of a note, or, with toolset git, its commits, after the one with the id
/// `after`; and whether there are older ones. Commits name other files, so a login for some folders
/// gets the kept versions.
fn rows_of(
    context: &Context<'_>,
    path: &VaultPath,
    after: Option<&str>,
) -> Result<(Vec<Row>, bool), Error> {
    #[cfg(feature = "git")]
    if let (Some(git), None) = (&context.systems.git, &context.principal.folders) {
        return commits(context, git, path, after);
    }
    let mut lines = context.changes.history(path)?;
    // A version that is gone: from the newest again.
    let first = lines
        .iter()
        .position(|line| Some(line.version.as_str()) == after)
        .map_or(0, |last| last + 1);
    lines.drain(..first);
    let row = |line: &Line| {
        let (version, at) = (line.version.clone(), Moment(line.at).rfc3339());
        Row {
            version,
            at,
            by: line.by.clone(),
            tool: Some(line.tool.clone()),
            bytes: Some(line.size()),
            ..Row::default()
        }
    };
    Ok((lines.iter().map(row).collect(), false))
}

#[cfg(feature = "git")]
fn commits(
    context: &Context<'_>,
    git: &Git,
    path: &VaultPath,
    after: Option<&str>,
) -> Result<(Vec<Row>, bool), Error> {
    let (versions, has_more) = git
        .history(path, after, limits::GIT_VERSIONS, &|| context.requester.has_cancelled())
        .map_err(|failure| Error::new(Code::GitRefused, failure.to_string()))?;
    let row = |version: Version| {
        let Version { commit, by, tool, date, message, change, path: then, bytes } = version;
        let then = then.filter(|then| then != path.as_str());
        Row {
            version: commit,
            at: date,
            by,
            tool,
            bytes,
            message: Some(message),
            change: Some(change),
            path: then,
        }
    };
    Ok((versions.into_iter().map(row).collect(), has_more))
}

fn run(context: &Context<'_>, arguments: &Arguments) -> Result<Reply, Error> {
    let mut path = context.existing_or_deleted(arguments.text("path"))?;
    let after = paging::last_shown(arguments)?;
    let (mut rows, mut has_more) = rows_of(context, &path, after.as_deref())?;
    // A name may be that of a note in another folder.
    if rows.is_empty() {
        let named = context.path(arguments.text("path"))?;
        if named != path {
            (rows, has_more) = rows_of(context, &named, after.as_deref())?;
            path = named;
        }
    }
    if rows.is_empty() && after.is_none() {
        // What never was there, or is no file, has no history.
        context.vault.entry(&path)?;
    }
    let count = rows.len();
    let versions = fitting(rows.into_iter().take(limits::LIST_PAGE_USUAL));
    let last = versions
        .last()
        .filter(|_| versions.len() < count || has_more)
        .map(|row| row.version.clone());
    let next = Next::page_after(arguments, last.as_deref());
    Reply::of(&History { path: path.as_str(), versions, next })
}
