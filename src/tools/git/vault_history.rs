//! `vault_history`: who changed a note, when, and why.

use super::{PATH, failed, note_path, repository};
use crate::git::Version;
use crate::limits;
use crate::tools::reply::fitting;
use crate::tools::schema::{ANY_TEXT, Default, Shape, defaulted, optional, required};
use crate::tools::{Arguments, Code, Context, Effect, Error, Reply, Tool};
use serde::Serialize;

pub(super) static TOOL: Tool = Tool {
    name: "vault_history",
    title: "History of a note",
    description: "Lists the versions of a note (commits: who, when, message), the newest first; to bring one back use vault_restore. A \
        note that was renamed is followed to its earlier names; one that was deleted has its history too. vault_restore \
        brings a version back.",
    effect: Effect::Reads,
    reaches_out: false,
    input: &[
        required("path", ANY_TEXT, PATH),
        defaulted(
            "limit",
            Shape::Integer { min: 1, max: limits::GIT_VERSIONS as i64, outside: Code::InvalidArgument },
            Default::Integer(20),
            "Commits at most",
        ),
    ],
    output: &[
        required("path", ANY_TEXT, "The note"),
        required(
            "commits",
            Shape::List(&Shape::Object(&[
                required("commit_sha", ANY_TEXT, "Pass to vault_restore"),
                required("author", ANY_TEXT, "Who"),
                required("date", ANY_TEXT, "When, RFC 3339"),
                required("message", ANY_TEXT, "First line of the message"),
                required("change", Shape::OneOf(&["added", "modified", "renamed", "deleted"]), "What it did to the note"),
                optional("path", ANY_TEXT, "The note's path then; only present when it was another"),
            ])),
            "Newest first",
        ),
        optional("truncated", Shape::Flag, "There are older ones; ask with a larger limit. Only present when true"),
    ],
    run,
};

#[derive(Serialize)]
struct History<'a> {
    path: &'a str,
    commits: Vec<Commit<'a>>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    truncated: bool,
}

#[derive(Serialize)]
struct Commit<'a> {
    commit_sha: &'a str,
    author: &'a str,
    date: &'a str,
    message: &'a str,
    change: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    path: Option<&'a str>,
}

impl<'a> Commit<'a> {
    fn of(version: &'a Version, now: &str) -> Commit<'a> {
        let Version { commit, author, date, message, change, path } = version;
        Commit { commit_sha: commit, author, date, message, change, path: path.as_deref().filter(|path| *path != now) }
    }
}

fn run(context: &Context<'_>, arguments: &Arguments) -> Result<Reply, Error> {
    let path = note_path(context, arguments.text("path"), false)?;
    let (versions, more) = repository(context)?
        .history(&path, arguments.number("limit"), &|| context.caller.has_cancelled())
        .map_err(|failure| failed(failure, &path, "found"))?;
    let commits = fitting(versions.iter().map(|version| Commit::of(version, path.as_str())));
    let truncated = more || commits.len() < versions.len();
    Reply::of(&History { path: path.as_str(), commits, truncated })
}
