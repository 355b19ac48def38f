//! Search: ranked words, conditions of Obsidian's search language, expressions, and the completion
//! of what a person has begun to enter.
//!
//! ```text
//! Search::run
//!   query::parse            words, a phrase, conditions
//!   ranking_inputs          each word's weight; corrections of those that no file has
//!   postings                the files that have each word, without reading their texts
//!   candidates, condition   a rough score; what meets the conditions stays
//!   page -> rank            the best, scored again from their texts, in order
//!   hit                     a snippet and passages of each result that is returned
//! ```
//!
//! | file | holds |
//! |---|---|
//! | [`run`], [`results`] | a search, and its results |
//! | [`query`], [`term`], [`expression`] | queries: words, conditions, regular expressions |
//! | `word_index` | all words, with the files that have them |
//! | `posting`, `postings` | a file that has a word, and how often; the lists of them, remembered |
//! | `query_words`, `correct` | the words of a query: weights, and replacements for those that no file has |
//! | `candidate`, `rank`, `page` | how relevant a file is, from its postings and from its text; the order |
//! | `condition` | whether a file meets a condition, and where |
//! | [`snippet`], `hit` | what is shown of a result |
//! | [`grep`] | all matches in all notes (toolset `context`) |
//! | [`complete`] | completing paths, notes and days |

mod candidate;
pub mod complete;
mod condition;
mod correct;
pub mod expression;
#[cfg(feature = "context")]
pub mod grep;
mod hit;
mod page;
mod posting;
mod postings;
pub mod query;
mod query_words;
mod rank;
pub mod results;
pub mod run;
pub mod snippet;
pub mod term;
mod word_index;

use crate::quota::Quota;
use crate::vault::{Entry, Vault};
use std::sync::{Arc, Mutex};
use word_index::WordIndex;

/// The search in a vault, or in the part of it that a grant covers.
#[derive(Debug, Clone)]
pub struct Search {
    pub(crate) vault: Vault,
    cache: Arc<Cache>,
}

/// What searches of the same files share.
#[derive(Debug)]
struct Cache {
    /// The newest word index.
    word_index: Mutex<Option<Arc<WordIndex>>>,
    /// The permit for building one.
    word_index_permit: Arc<Quota>,
    postings: postings::Cache,
}

/// One search: the files it covers, and whether to continue.
pub(crate) struct SearchRun<'a> {
    pub(crate) wanted: &'a (dyn Fn(&Entry) -> bool + Sync),
    /// Whether `wanted` may exclude files.
    pub(crate) is_narrowed: bool,
    /// See [`Search::run`].
    pub(crate) proceed: &'a dyn Fn(usize, usize) -> bool,
}

impl Search {
    /// Nothing is read yet.
    pub fn new(vault: Vault) -> Search {
        let cache = Cache {
            word_index: Mutex::default(),
            word_index_permit: Quota::one(),
            postings: postings::Cache::default(),
        };
        Search { vault, cache: Arc::new(cache) }
    }

    /// Starts building the word index, so that the first search has it.
    pub fn prepare(&self) {
        drop(self.word_index());
    }
}
