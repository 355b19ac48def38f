//! Questions about properties, tags, dates and links: the expression language of Obsidian's Bases, and bases themselves.
//!
//! | file | holds |
//! |---|---|
//! | `parse` | expressions: from text to a tree, with all names checked |
//! | `value`, `duration` | what an expression can be |
//! | `eval`, `functions` | expressions evaluated for a file |
//! | `base` | `.base` files and code blocks |
//! | [`table`] | the answer: rows, groups, summaries, counts |
#![doc = include_str!("README.md")]

mod base;
mod duration;
mod eval;
mod functions;
#[cfg(fuzzing)]
pub mod fuzz;
mod parse;
pub mod table;
mod value;

use crate::vault;

/// Why a query has no answer.
#[derive(Debug)]
pub enum Failure {
    /// An expression is wrong; the words say where.
    Wrong(String),
    /// A base is malformed; the words complete "it is".
    Malformed(String),
    /// The request contradicts itself.
    Argument(String),
    Vault(vault::Error),
}

impl From<vault::Error> for Failure {
    fn from(error: vault::Error) -> Failure {
        Failure::Vault(error)
    }
}
