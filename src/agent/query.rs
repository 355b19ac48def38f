//! `query`: a question, answered from the wiki with citations. Nothing is written.

use super::ingest::{DOMAINS, Structured, cut, delimited, domain_words};
use super::session::{self, Task};
use super::{Agent, Failure, Progress, Watcher, Work};
use crate::markdown::links::split_subpath;
use crate::markdown::resolve::{Files, Resolved, resolve};
use crate::vault::VaultPath;
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
    /// The vault's files, to look up names that a session gave.
    fn files(&self) -> Files {
        let mut files = Files::default();
        for entry in self.store.vault().files_below(&VaultPath::root(), "") {
            files.insert(&entry.path);
        }
        files
    }

    /// Answers a question of a login, in one of [`DOMAINS`] if one is given.
    ///
    /// # Errors
    /// [`Failure`].
    pub fn query(
        &self,
        login: &str,
        question: &str,
        domain: Option<&str>,
        watcher: &dyn Watcher,
        progress: &mut Progress,
    ) -> Result<Answer, Failure> {
        if question.trim().is_empty() {
            return Err(Failure::Argument("Argument question is empty.".into()));
        }
        let session = self.session(Work::Query, login)?;
        session::with_session(self, session, watcher, progress, |ready, progress| {
            let task = Task {
                prompt: prompt(question, domain),
                schema: include_str!("query_schema.json"),
            };
            let end = session::run(ready, &task, watcher, progress)?;
            let output = Structured::of(&ready.dir.copy, end.structured_output);
            let answer = output.value.get("answer").and_then(Value::as_str).unwrap_or(&end.result);
            let (citations, artifacts) = (output.list("citations"), output.list("artifacts"));
            let files = self.files();
            let is_missing = |name: &&String| {
                matches!(resolve(link_target(name), "", &files), Resolved::Missing)
            };
            let not_found =
                citations.iter().chain(&artifacts).filter(is_missing).cloned().collect();
            let answer = cut(&ready.dir.copy.without_root(answer), ANSWER_CHARS);
            Ok(Answer { answer, citations, artifacts, not_found })
        })
    }
}

/// The target of a path or of a link: of `[[target#heading|shown]]`.
fn link_target(link: &str) -> &str {
    let link = link.trim().trim_start_matches('!');
    let link = link.strip_prefix("[[").and_then(|inner| inner.strip_suffix("]]")).unwrap_or(link);
    split_subpath(link.split('|').next().unwrap_or_default()).0.trim()
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
