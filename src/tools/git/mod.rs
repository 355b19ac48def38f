//! Toolset `git`: notes of a repository. Every change is a commit that is pushed before anything
//! here changes.

mod vault_delete_file;
mod vault_list_files;
mod vault_read_file;
mod vault_write_file;

use super::error::{Code, Error};
use super::result::{Inline, Nullable, result};
use super::schema::{ANY_TEXT, Field, Shape, optional};
use super::{Arguments, Context, Tool};
use crate::change::commits::Author;
use crate::git::{Done, Failure, Git, NoteChange};
use crate::markdown::frontmatter;
use crate::vault::VaultPath;
use serde_json::{Map, Value};
use std::sync::Arc;

/// Characters of a commit message.
const COMMIT_MESSAGE_CHARS: usize = 5_000;

/// The tools, in the order in which they are listed.
pub static TOOLS: [&Tool; 6] = [
    &vault_read_file::TOOL,
    &vault_list_files::TOOL,
    &vault_write_file::TOOL,
    &vault_delete_file::TOOL,
    &super::history::TOOL,
    &super::restore::TOOL,
];

const PATH: &str = "Path of the note, for example projects/idea.md";
const MESSAGE: Field = optional(
    "commit_message",
    Shape::Text { max: COMMIT_MESSAGE_CHARS },
    "What the commit says; without it the tool and the path",
);
const IF_MATCH: Field = optional(
    "if_match",
    ANY_TEXT,
    "The etag of the note as it was read; needed only where it has changes that are not committed",
);

result! {
    /// What every tool that changes something answers, in success and in failure.
    #[derive(Debug, Default)]
    struct Outcome {
        /// The commit that has the change; the remote has it too if pushed.
        commit_sha: Nullable<String>,
        /// Whether the remote has it; false where the repository has no remote.
        pushed: bool,
        /// A commit could not be published and nothing of it is left.
        rolled_back: bool,
        /// The note was like that already, and there is no commit.
        no_changes: bool,
        /// What git said when something went wrong.
        git_error: Nullable<String>,
        /// Whether an index.md above the note should get or lose a link to it.
        index_update_needed: bool,
        /// What to change in it.
        index_hint: String,
        etag: Option<String>,
    }
}

/// The path of a note by the rules of the system these tools come from: relative, no empty, `.` or
/// hidden segment, `.md`; or that of the note to which `resolve` leads.
fn note_path<'a>(
    context: &Context<'a>,
    text: &str,
    resolve: fn(&Context<'a>, &str) -> Result<VaultPath, Error>,
) -> Result<VaultPath, Error> {
    let refused = |why: &str| {
        let shown: String = text.chars().filter(|c| !c.is_control()).take(200).collect();
        Err(Error::new(Code::PathNotAllowed, format!("Path not allowed: {shown} ({why})")))
    };
    if text.starts_with('/') {
        return refused("it is absolute; paths start at the vault's root, without a slash");
    }
    if text.split('/').any(|segment| segment.is_empty() || segment == ".") {
        return refused("it has an empty segment or a .");
    }
    let path = resolve(context, text)?;
    if path.as_str().ends_with(".md") {
        Ok(path)
    } else {
        refused("only notes, files that end in .md")
    }
}

fn repository<'a>(context: &Context<'a>) -> Result<&'a Git, Error> {
    context
        .systems
        .git
        .as_deref()
        .ok_or_else(|| Error::new(Code::InternalError, "toolset git has no repository"))
}

/// Gives a note these bytes, or deletes it, and reports the outcome. `verb` is the name of the
/// result's flag: `written` or `deleted`.
fn change(
    context: &Context<'_>,
    path: &VaultPath,
    after: Option<&[u8]>,
    arguments: &Arguments,
    tool: &'static str,
    verb: &str,
) -> Result<(Inline<Outcome>, Done), Error> {
    let message = match arguments
        .maybe("commit_message")
        .map(str::trim)
        .filter(|message| !message.is_empty())
    {
        Some(message) => message.to_owned(),
        None => format!("{tool}: {} (via MCP)", path.as_str()),
    };
    if message.contains('\0') {
        return Err(Error::invalid("Argument commit_message must have no NUL."));
    }
    context.requester.progress(1, None, "committing and pushing");
    // An author of its own: what is replaced is kept for undo, but the change is committed here,
    // and not again after the call.
    let author = Arc::new(Author::new(&context.principal.login, tool));
    let changes = context.changes.on_behalf_of(&author);
    let wanted = NoteChange {
        path,
        after,
        message: &message,
        author: &author,
        if_match: arguments.maybe("if_match"),
    };
    let changed =
        repository(context)?.change(&changes, &wanted, &|| context.requester.has_cancelled());
    let done = changed.map_err(|failure| failed(failure, path, verb))?;
    let hint = (done.commit.is_some() && (done.created || after.is_none()))
        .then(|| index_hint(context, path, after.is_none()))
        .flatten();
    let outcome = Outcome {
        commit_sha: Nullable(done.commit.clone()),
        pushed: done.pushed,
        rolled_back: false,
        no_changes: done.commit.is_none(),
        git_error: Nullable(done.trouble.clone()),
        index_update_needed: hint.is_some(),
        index_hint: hint.unwrap_or_default(),
        etag: done.etag.clone(),
    };
    Ok((Inline(outcome), done))
}

/// A failure with the fields of a result, which say that nothing was done.
fn failed(failure: Failure, path: &VaultPath, verb: &str) -> Error {
    let (failure, rolled_back) = match failure {
        Failure::RolledBack(failure) => (*failure, true),
        other => (other, false),
    };
    let error = match failure {
        Failure::Vault(error) => Error::from(error),
        Failure::Conflict(words, etag) => etag
            .into_iter()
            .fold(Error::new(Code::Conflict, words), |error, etag| error.with("etag", etag)),
        Failure::Git(words) => {
            Error::new(Code::WriteError, format!("Nothing was changed; git: {words}"))
        }
        Failure::Cancelled => {
            Error::new(Code::Cancelled, "Cancelled before anything was pushed; nothing was changed")
        }
        Failure::Refused(words) => {
            Error::new(Code::GitRefused, format!("Nothing was done: {words}"))
        }
        other => Error::new(Code::WriteError, other.to_string()),
    };
    let outcome = Outcome {
        rolled_back,
        git_error: Nullable(Some(error.message.clone())),
        ..Outcome::default()
    };
    let mut members = Map::from_iter([
        ("path".to_owned(), path.as_str().into()),
        (verb.to_owned(), false.into()),
    ]);
    if let Ok(Value::Object(outcome)) = serde_json::to_value(outcome) {
        members.extend(outcome);
    }
    Error { members, ..error }
}

/// What to change in the nearest index.md, in the folder of a created or deleted note or above it,
/// if there is one.
fn index_hint(context: &Context<'_>, path: &VaultPath, gone: bool) -> Option<String> {
    let name = path.name().strip_suffix(".md").unwrap_or(path.name());
    let folders = std::iter::successors(Some(path.parent()), |folder| {
        (!folder.is_root()).then(|| folder.parent())
    });
    let mut indexes = folders.filter_map(|folder| folder.child("index.md").ok());
    let index = indexes.find(|index| index != path && context.vault.entry(index).is_ok())?;
    let hint = if gone { "Remove the link to [[NAME]] from" } else { "Add a link to [[NAME]] to" };
    Some(format!("{} {}", hint.replace("NAME", name), index.as_str()))
}

/// Checks the frontmatter that every note here has to have: a mapping with `date`, `tags` and
/// `type`, none of them null.
fn check_frontmatter(content: &str) -> Result<(), Error> {
    let wrong = |why: String| Err(Error::invalid(format!("Argument content {why}")));
    let shape =
        "must begin with frontmatter: a line ---, YAML with date, tags and type, and a line ---";
    if !content.starts_with("---\n") && !content.starts_with("---\r\n") {
        return wrong(shape.into());
    }
    let Some(yaml) = frontmatter::block(content) else { return wrong(shape.into()) };
    let parsed = match frontmatter::values(yaml) {
        Ok(parsed) => parsed,
        Err(why) => return wrong(format!("has frontmatter that is {why}")),
    };
    let serde_yaml::Value::Mapping(mapping) = parsed else {
        return wrong("has frontmatter that is not a mapping of names and values".into());
    };
    let missing: Vec<&str> = ["date", "tags", "type"]
        .into_iter()
        .filter(|name| mapping.get(*name).is_none_or(serde_yaml::Value::is_null))
        .collect();
    if missing.is_empty() {
        Ok(())
    } else {
        wrong(format!(
            "lacks in its frontmatter: {} (empty values are fine, missing ones are not)",
            missing.join(", ")
        ))
    }
}
