//! Questions about properties, tags, dates and links: the expression language of Obsidian's Bases,
//! and bases themselves.
//!
//! | file | holds |
//! |---|---|
//! | `expr`, `parse` | expressions: the tree, and from text to it, with all names checked |
//! | `value` | the values of expressions |
//! | `eval`, `files`, `inline`, `functions`, `signatures` | expressions evaluated for a file |
//! | `base` | `.base` files and code blocks |
//! | [`request`] | a query, and its expressions |
//! | [`source`] | what a query reads |
//! | [`table`] | the answer: rows, groups, summaries, counts |
#![doc = include_str!("README.md")]

mod base;
mod eval;
mod expr;
mod files;
mod functions;
#[cfg(fuzzing)]
pub mod fuzz;
mod inline;
mod parse;
pub mod request;
mod signatures;
pub mod source;
pub mod table;
mod value;

use crate::vault;

/// Why a query has no answer.
#[derive(Debug)]
pub enum Failure {
    /// An expression is wrong; the message says where.
    Wrong(String),
    /// A base is malformed; the message completes "it is". The first line that has the text `near`
    /// is the wrong one.
    Malformed {
        what: String,
        near: Option<String>,
    },
    /// The request contradicts itself.
    Argument(String),
    Vault(vault::Error),
}

impl Failure {
    /// The same with the line of a base's text. `first_line` is the line of its file on which it
    /// begins, counted from 0.
    fn with_line(self, text: &str, first_line: usize) -> Failure {
        match self {
            Failure::Malformed { what, near: Some(near) } => {
                let line = text.lines().position(|line| line.contains(&near));
                let at = line
                    .map_or(String::new(), |line| format!(", at line {}", first_line + line + 1));
                Failure::Malformed { what: what + &at, near: None }
            }
            other => other,
        }
    }
}

impl From<vault::Error> for Failure {
    fn from(error: vault::Error) -> Failure {
        Failure::Vault(error)
    }
}
