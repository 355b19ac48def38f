//! `search`: the notes that answer a question.

use super::url;
use crate::limits;
use crate::search::run::{Detail, Query};
use crate::tools::reply::fitting;
use crate::tools::schema::{Shape, required};
use crate::tools::{Arguments, Context, Effect, Error, Reply, Tool};
use serde_json::json;

/// Notes returned by `search` in the toolset `research`.
const RESEARCH_RESULTS: usize = 10;

pub(super) static TOOL: Tool = Tool {
    name: "search",
    title: "Search notes for research",
    description: "Searches the notes of the vault for words or a question and gives the id, title \
                  and url of each, the most relevant first; read one with fetch, and search with \
                  filters with vault_search where that is listed.",
    effect: Effect::Reads,
    facts: &[],
    input: &[required("query", Shape::Text { max: limits::QUERY_CHARS }, "A question or words")],
    output: &[required("results", Shape::List(&Shape::AnyObject), "")],
    run,
};

fn run(context: &Context<'_>, arguments: &Arguments) -> Result<Reply, Error> {
    let text = arguments.text("query");
    if text.trim().is_empty() {
        return Err(Error::invalid("Argument query is empty; give a question or words."));
    }
    // A link or a citation, `[[@key]]`, `[@key, p. 3]` or `@key`, asks for the note of that key;
    // only notes that cite it have these marks.
    let is_cited = text.contains("[[")
        || text.split_whitespace().any(|word| word.trim_start_matches(['[', '(']).starts_with('@'));
    let plain = text.replace(['[', ']', '@'], " ");
    let text = if is_cited && !plain.trim().is_empty() { &plain } else { text };
    // Pictures cannot be fetched.
    let query = Query {
        text,
        max_results: 2 * RESEARCH_RESULTS,
        detail: Detail::Passages,
        ..Query::default()
    };
    let found = context.search.run(&query, &|_, _| !context.requester.has_cancelled())?;
    let readable =
        found.hits.iter().filter(|hit| hit.entry.has_searched_text()).take(RESEARCH_RESULTS);
    let results = readable.map(|hit| {
        let passage = hit.passages.first().map_or(&*hit.snippet, |passage| &*passage.text);
        json!({ "id": &*hit.entry.path, "title": hit.entry.title(), "url": url(context, &hit.entry.path), "text": passage })
    });
    Reply::of(&json!({ "results": fitting(results) }))
}
