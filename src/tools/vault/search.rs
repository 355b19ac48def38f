//! `vault_search`: names, tags and text.

use crate::clock::Moment;
use crate::search::run::{Detail, Hit, MatchType, Query};
use crate::text::fitting_in;
use crate::tools::paging::{self, CURSOR, Next};
use crate::tools::reply::json_of;
use crate::tools::result::{Inline, Members, flag, result, unless_empty};
use crate::tools::schema::{ANY_TEXT, DefaultValue, Shape, defaulted, optional, required};
use crate::tools::{Arguments, Code, Context, Effect, Error, Fact, Reply, Tool};
use crate::{calendar, limits};
use serde_json::{Map, Value};

/// Results of one search.
const SEARCH_RESULTS: usize = 200;
/// Default characters of a result with passages: what a model reads at once.
const PASSAGES_CHARS: usize = 8_000;
/// The same with lines, which one wants to see all of.
const LINES_CHARS: usize = 20_000;

const RELEVANCE: &str = "relevance";
const MODIFIED: &str = "modified";
const SHORT: &str = "short";
const PASSAGES: &str = "passages";
const LINES: &str = "lines";
const NONE: &str = "none";

pub(super) static TOOL: Tool = Tool {
    name: "vault_search",
    title: "Search the vault",
    description: "Searches notes, to find those about something or where you mention a word, and \
                  answers questions about what you wrote, know, did or decided; to list tasks use \
                  vault_tasks. The most relevant first. One result per file, with a snippet and \
                  the line, for vault_read as offset.",
    effect: Effect::Reads,
    facts: &[Fact::Instruction(" Find notes with vault_search, read with vault_read.")],
    input: &[
        required(
            "query",
            Shape::Text { max: limits::QUERY_CHARS },
            "A question, words or parts of words; also Obsidian's search language: \"a phrase\", \
             -word, OR, (), /regex/, file:, path:, content:, tag:, line:(), block:(), section:(), \
             task:, task-todo:, task-done:, match-case:, ignore-case:, [property], \
             [property:value], [property:>5]",
        ),
        defaulted(
            "max_results",
            Shape::Integer { min: 1, max: SEARCH_RESULTS as i64, outside: Code::InvalidArgument },
            DefaultValue::Integer(20),
            "Results at most",
        ),
        optional("path", ANY_TEXT, "Only this folder or file").of_files(),
        optional("tag", ANY_TEXT, "Only notes with this tag or one below it"),
        defaulted(
            "sort",
            Shape::OneOf(&[RELEVANCE, MODIFIED]),
            DefaultValue::Text(RELEVANCE),
            "modified: the latest first",
        ),
        optional(
            "modified_after",
            ANY_TEXT,
            "Only files modified on this day or later: YYYY-MM-DD or RFC 3339",
        ),
        optional("modified_before", ANY_TEXT, "On this day or earlier"),
        defaulted(
            "snippets",
            Shape::OneOf(&[SHORT, PASSAGES, LINES, NONE]),
            DefaultValue::Text(SHORT),
            "passages: the parts that answer best; lines: all lines that match; none: paths only",
        ),
        optional(
            "max_chars",
            Shape::Integer {
                min: 200,
                max: limits::RESULT_CHARS as i64,
                outside: Code::InvalidArgument,
            },
            "Characters of the answer at most; with passages 8000, lines 20000",
        ),
        CURSOR,
    ],
    output: Results::FIELDS,
    run,
};

result! {
    struct Results<'a> {
        query: &'a str,
        total_matches: usize,
        /// Files that have some of the words.
        partial_matches: usize,
        /// Best matches first.
        results: Vec<Match<'a>>,
        /// Words that no file has, each with what was looked for instead.
        did_you_mean: Option<Map<String, Value>>,
        next: Inline<Next>,
        /// The vault is still being indexed: there may be more; ask again in some seconds.
        indexing: Option<bool>,
        /// More that the owner has excluded in Obsidian; path: or path shows them.
        excluded: Option<usize>,
        /// Conditions on properties that some notes could not be compared with.
        not_compared: Option<&'a [String]>,
        /// Files whose text could not be searched (too large or unreadable); their names and tags were.
        not_searched: Option<usize>,
    }
}

result! {
    struct Match<'a> {
        path: &'a str,
        /// Where it matched.
        match_type: &'static str = Shape::OneOf(&["filename", "tag", "content"]),
        /// The line of the match, cut around it, with the match in **bold**.
        snippet: Option<&'a str>,
        line: usize,
        modified: Option<String>,
        missing: Option<&'a [String]>,
        /// The best parts of the note.
        passages: Option<Vec<Part<'a>>>,
        /// The lines that match, or the first of them.
        lines: Option<Vec<Line<'a>>>,
        /// How many there are, if not all are shown.
        lines_total: Option<usize>,
        /// The time was up before all lines were looked at.
        lines_incomplete: Option<bool>,
    }
}

result! {
    struct Line<'a> {
        line: usize,
        text: &'a str,
    }
}

result! {
    struct Part<'a> {
        from_line: usize,
        to_line: usize,
        text: &'a str,
    }
}

impl<'a> Match<'a> {
    fn of(hit: &'a Hit, snippets: &str, shows_time: bool) -> Match<'a> {
        let match_type = match hit.match_type {
            MatchType::Filename => "filename",
            MatchType::Tag => "tag",
            MatchType::Content => "content",
        };
        let parts = hit.passages.iter().map(|part| Part {
            from_line: part.from_line,
            to_line: part.to_line,
            text: &part.text,
        });
        let lines = hit.lines.shown.iter().map(|(line, text)| Line { line: *line, text });
        Match {
            path: &hit.entry.path,
            match_type,
            // The lines are those of the text: a name that matches is shown all the same.
            snippet: (snippets != NONE && hit.lines.shown.is_empty()).then_some(&*hit.snippet),
            line: hit.line,
            modified: shows_time.then(|| hit.entry.stamp.modified().rfc3339()),
            missing: unless_empty(&hit.missing),
            passages: (parts.len() > 0).then(|| parts.collect()),
            lines: (lines.len() > 0).then(|| lines.collect()),
            lines_total: (hit.lines.total > hit.lines.shown.len()).then_some(hit.lines.total),
            lines_incomplete: flag(hit.lines.is_cut_off),
        }
    }

    /// Without the last passages or lines, as long as this result alone is longer than an answer
    /// may be.
    fn shortened(mut self, max_chars: usize) -> Self {
        while (self.passages.is_some() || self.lines.is_some())
            && serde_json::to_string(&self).is_ok_and(|json| json.chars().count() > max_chars)
        {
            if let Some(lines) = &mut self.lines {
                self.lines_total.get_or_insert(lines.len());
                lines.pop();
            }
            self.passages.as_mut().and_then(Vec::pop);
            self.lines.take_if(|lines| lines.is_empty());
            self.passages.take_if(|passages| passages.is_empty());
        }
        self
    }
}

/// The day or moment that an argument names, as its first and last moment.
fn moment(arguments: &Arguments, name: &str) -> Result<Option<(Moment, Moment)>, Error> {
    let wrong = || {
        Error::invalid(format!(
            "Argument {name} is no date: give YYYY-MM-DD or RFC 3339, such as \
             2026-02-08T14:30:00Z."
        ))
    };
    arguments.maybe(name).map(|text| calendar::span(text.trim()).ok_or_else(wrong)).transpose()
}

fn run(context: &Context<'_>, arguments: &Arguments) -> Result<Reply, Error> {
    let query = arguments.text("query");
    if query.trim().is_empty() {
        return Err(Error::invalid(
            "Argument query is empty; use vault_list_all to see all files.",
        ));
    }
    let (since, until) =
        (moment(arguments, "modified_after")?, moment(arguments, "modified_before")?);
    let newest_first = arguments.text("sort") == MODIFIED;
    let snippets = arguments.text("snippets");
    let (detail, usual_chars) = match snippets {
        PASSAGES => (Detail::Passages, PASSAGES_CHARS),
        LINES => (Detail::Lines, LINES_CHARS),
        _ => (Detail::Nothing, limits::RESULT_CHARS),
    };
    let offset = paging::offset(arguments)?;
    let found = context.search.run(
        &Query {
            text: query,
            max_results: arguments.number("max_results"),
            below: arguments.maybe("path").map(|path| context.path_or_folder(path)).transpose()?,
            tag: arguments.maybe("tag"),
            since: since.map(|(first, _)| first),
            until: until.map(|(_, last)| last),
            newest_first,
            detail,
            offset,
        },
        &context.proceed("files searched"),
    )?;
    let shows_time = newest_first || since.is_some() || until.is_some();
    let did_you_mean: Map<String, Value> = found
        .did_you_mean
        .iter()
        .map(|(word, used)| (word.clone(), used.as_str().into()))
        .collect();
    let answer = |results: Vec<Match<'_>>, next: Inline<Next>| {
        json_of(&Results {
            query,
            total_matches: found.total,
            partial_matches: found.partial,
            did_you_mean: Some(did_you_mean.clone()).filter(|words| !words.is_empty()),
            results,
            next,
            indexing: found.indexing.then_some(true),
            excluded: Some(found.excluded).filter(|&count| count > 0),
            not_compared: unless_empty(&found.not_compared),
            not_searched: Some(found.not_searched).filter(|&count| count > 0),
        })
    };
    let max_chars =
        if arguments.has("max_chars") { arguments.number("max_chars") } else { usual_chars };
    let page_at = |offset: usize| Next::page_after(arguments, Some(&offset.to_string()));
    let length = |answer: &str| answer.chars().count();
    let fitting_matches = |next: Inline<Next>| -> Result<Vec<Match<'_>>, Error> {
        let budget = max_chars.saturating_sub(length(&answer(Vec::new(), next)?));
        Ok(fitting_in(
            budget,
            found.hits.iter().map(|hit| Match::of(hit, snippets, shows_time).shortened(budget)),
        ))
    };
    // The longest cursor that this page can have is reserved.
    let results = fitting_matches(page_at(offset + found.hits.len()))?;
    if !found.more && results.len() == found.hits.len() {
        return answer(results, Inline::default()).map(Reply::Structured);
    }
    let next = offset + results.len();
    let whole = answer(results, page_at(next))?;
    // One result and the cursor may be too long together.
    if length(&whole) > max_chars {
        let cut = answer(fitting_matches(Inline(Next::cut(true)))?, Inline(Next::cut(true)))?;
        Ok(Reply::Structured(cut))
    } else {
        Ok(Reply::Structured(whole))
    }
}
