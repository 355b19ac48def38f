//! `vault_search`: names, tags and text.

use crate::limits;
use crate::tools::reply::fitting;
use crate::tools::schema::{ANY_TEXT, COUNT, Default, Shape, defaulted, optional, required};
use crate::tools::{Arguments, Code, Context, Effect, Error, Reply, Tool};
use crate::vault::VaultPath;
use crate::vault::search::{Hit, MatchType, Query};
use serde::Serialize;
use serde_json::{Map, Value};

pub(super) static TOOL: Tool = Tool {
    name: "vault_search",
    title: "Search the vault",
    description: "Finds notes by words or by a question: names, aliases, tags, headings and text, without regard to case, the most relevant \
        first. Files that have all words are counted apart from those that have some, which say what is missing. One result per \
        file: path, match_type, a snippet with the match in **bold**, and the line, which can be passed to vault_read as offset.",
    effect: Effect::Reads,
    reaches_out: false,
    input: &[
        required(
            "query",
            Shape::Text { max: limits::QUERY_CHARS },
            "A question, words or parts of words; also \"a phrase\", -word, OR, (), file:, path:, content:, tag:, [property], [property:value]",
        ),
        defaulted(
            "max_results",
            Shape::Integer { min: 1, max: limits::SEARCH_RESULTS as i64, outside: Code::InvalidArgument },
            Default::Integer(20),
            "Results at most",
        ),
        optional("path", ANY_TEXT, "Only files below this folder"),
        optional("tag", ANY_TEXT, "Only notes with this tag or one nested below it"),
    ],
    output: &[
        required("query", ANY_TEXT, "The query"),
        required("total_matches", COUNT, "Files that have all words, also those not returned"),
        required("partial_matches", COUNT, "Files that have some of the words"),
        required(
            "results",
            Shape::List(&Shape::Object(&[
                required("path", ANY_TEXT, "Path relative to the vault root"),
                required("match_type", Shape::OneOf(&["filename", "tag", "content"]), "Where it matched"),
                required("snippet", ANY_TEXT, "The match in **bold** with what stands around it"),
                required("line", COUNT, "Line of the match, counted from 1"),
                optional("missing", Shape::List(&ANY_TEXT), "Words that the file does not have"),
            ])),
            "Best matches first",
        ),
        optional("did_you_mean", Shape::Anything, "Words that no file has, each with what was looked for instead"),
        optional("truncated", Shape::Flag, "There are more than those returned: raise max_results, or narrow with path, tag or more words"),
        optional("indexing", Shape::Flag, "The vault is still being indexed: there may be more; ask again in some seconds"),
        optional("indexed_files", COUNT, "While it is: files that are indexed, and could be found"),
        optional("all_files", COUNT, "While it is: files that there are"),
        optional("not_searched", COUNT, "Files whose text could not be searched (too large or unreadable); their names and tags were"),
    ],
    run,
};

#[derive(Serialize)]
struct Results<'a> {
    query: &'a str,
    total_matches: usize,
    partial_matches: usize,
    results: Vec<Match<'a>>,
    #[serde(skip_serializing_if = "Map::is_empty")]
    did_you_mean: Map<String, Value>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    truncated: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    indexing: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    indexed_files: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    all_files: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    not_searched: Option<usize>,
}

#[derive(Serialize)]
struct Match<'a> {
    path: &'a str,
    match_type: &'static str,
    snippet: &'a str,
    line: usize,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    missing: &'a [String],
}

impl<'a> Match<'a> {
    fn of(hit: &'a Hit) -> Match<'a> {
        let match_type = match hit.match_type {
            MatchType::Filename => "filename",
            MatchType::Tag => "tag",
            MatchType::Content => "content",
        };
        Match { path: &hit.entry.path, match_type, snippet: &hit.snippet, line: hit.line, missing: &hit.missing }
    }
}

fn run(context: &Context<'_>, arguments: &Arguments) -> Result<Reply, Error> {
    let query = arguments.text("query");
    if query.trim().is_empty() {
        return Err(Error::new(Code::InvalidArgument, "Argument query is empty; use vault_list_all to see all files."));
    }
    let found = context.vault.search(
        &Query {
            text: query,
            max_results: arguments.number("max_results"),
            below: arguments.maybe("path").map(VaultPath::folder).transpose()?,
            tag: arguments.maybe("tag"),
        },
        &|done, total| {
            context.caller.progress(done as u64, Some(total as u64), "files searched");
            !context.caller.has_cancelled()
        },
    )?;
    let results = fitting(found.hits.iter().map(Match::of));
    Reply::of(&Results {
        query,
        total_matches: found.total,
        partial_matches: found.partial,
        did_you_mean: found.did_you_mean.into_iter().map(|(word, used)| (word, used.into())).collect(),
        truncated: results.len() < found.total + found.partial,
        results,
        indexing: found.filling.map(|_| true),
        indexed_files: found.filling.map(|filling| filling.indexed),
        all_files: found.filling.map(|filling| filling.files),
        not_searched: Some(found.not_searched).filter(|&count| count > 0),
    })
}
