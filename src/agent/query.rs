//! `query`: a question, answered from the wiki with citations. Nothing is written.

use super::ingest::{DOMAINS, Structured, cut, delimited, domain_words, vault_files};
use super::session::{self, SessionRequest, Task};
use super::{Agent, Failure, Overrides, Progress, Watcher, Work};
use serde_json::Value;

/// Characters of an answer; a longer one is truncated. With the lists it stays below
/// [`crate::limits::RESULT_CHARS`].
const ANSWER_CHARS: usize = 40_000;

/// An answer.
#[derive(Debug)]
pub struct Answer {
    /// Its text.
    pub answer: String,
    /// The pages it is from.
    pub citations: Vec<String>,
    /// The original files that those pages link to.
    pub artifacts: Vec<String>,
    /// Those of them that the vault does not have.
    pub not_found: Vec<String>,
}

impl Agent {
    /// Answers a question of a login, in one of [`DOMAINS`] if one is given.
    ///
    /// # Errors
    /// [`Failure`].
    pub fn query(
        &self,
        login: &str,
        question: &str,
        domain: Option<&str>,
        overrides: &Overrides,
        watcher: &dyn Watcher,
        progress: &mut Progress,
    ) -> Result<Answer, Failure> {
        if question.trim().is_empty() {
            return Err(Failure::Argument("Argument question is empty.".into()));
        }
        let asked = SessionRequest {
            work: Work::Query,
            login,
            text: question,
            route: self.options.route(Work::Query, overrides)?,
        };
        let ticket = self.ticket(Work::Query)?;
        session::with_session(self, ticket, &asked, watcher, progress, |ready, progress| {
            let task = Task {
                prompt: prompt(question, domain),
                schema: include_str!("query_schema.json"),
            };
            let end = session::run(ready, &task, watcher, progress)?;
            let given = Structured::of(&ready.dir.copy, end.structured_output);
            let answer = given.value.get("answer").and_then(Value::as_str).unwrap_or(&end.result);
            let (citations, artifacts) = (given.list("citations"), given.list("artifacts"));
            let files = vault_files(self);
            let not_found = citations
                .iter()
                .chain(&artifacts)
                .filter(|name| files.named(name).is_none())
                .cloned()
                .collect();
            let answer = cut(&ready.dir.copy.without_root(answer), ANSWER_CHARS);
            Ok(Answer { answer, citations, artifacts, not_found })
        })
    }
}

fn prompt(question: &str, domain: Option<&str>) -> String {
    let domain = match domain {
        Some(domain) => {
            format!("Answer from {}, and from shared/ where it is needed.\n", domain_words(domain))
        }
        None => format!(
            "The wiki has these domains: {}. Look where the answer is likely to be.\n",
            DOMAINS.join(", ")
        ),
    };
    format!(
        "Use the skill {} to answer the question below from this vault.\n{domain}Change nothing. \
         Say so plainly where the vault does not know. In citations, give the path of every page \
         that the answer rests on; in artifacts, the paths of the original files below raw/assets \
         that those pages link to.\n\n{}",
        Work::Query.skill(),
        delimited("question", question)
    )
}
