//! The conditions of a query.

use super::fold::fold;
use super::pattern::Expression;

/// Where a term has to occur.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Field {
    /// In path, tags or text.
    Any,
    /// In the file's name.
    Name,
    Path,
    /// In the text.
    Content,
}

/// A part of a note within which a whole condition has to hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    Line,
    Block,
    Section,
    /// A list item with a checkbox, whatever its status.
    Task,
    TaskTodo,
    TaskDone,
}

/// A string or pattern to be found.
#[derive(Debug)]
pub enum Term {
    /// Ignoring case; folded.
    Folded(String),
    /// Case-sensitive.
    Exact(String),
    Regex(Expression),
}

/// A condition on a file.
#[derive(Debug)]
pub enum Condition {
    Has(Field, Term),
    /// A tag, or one nested below it; without `#`, folded.
    Tag(String),
    /// A property, with any value or with this one; folded.
    Property(String, Option<String>),
    Within(Scope, Box<Condition>),
    Not(Box<Condition>),
    All(Vec<Condition>),
    Any(Vec<Condition>),
}

impl Condition {
    /// The same condition on tags instead of terms: `tag:(a OR b)`.
    pub(super) fn into_tags(self) -> Condition {
        let each = |parts: Vec<Condition>| parts.into_iter().map(Condition::into_tags).collect();
        match self {
            Condition::Has(_, Term::Folded(text)) => Condition::Tag(text.trim_start_matches('#').trim_end_matches('/').to_owned()),
            Condition::Has(_, Term::Exact(text)) => Condition::Tag(fold(text.trim_start_matches('#').trim_end_matches('/'))),
            Condition::Not(part) => Condition::Not(Box::new(part.into_tags())),
            Condition::All(parts) => Condition::All(each(parts)),
            Condition::Any(parts) => Condition::Any(each(parts)),
            other => other,
        }
    }

    /// Adds the parts that all have to hold, flattening nested conjunctions.
    pub(super) fn split(self, parts: &mut Vec<Condition>) {
        match self {
            Condition::All(inner) => inner.into_iter().for_each(|part| part.split(parts)),
            part => parts.push(part),
        }
    }

    /// The terms, tags and properties in this condition, without those in parts that `skips` is true for.
    pub fn leaves(&self, skips: &dyn Fn(&Condition) -> bool) -> Vec<&Condition> {
        match self {
            part if skips(part) => Vec::new(),
            Condition::Within(_, part) | Condition::Not(part) => part.leaves(skips),
            Condition::All(parts) | Condition::Any(parts) => parts.iter().flat_map(|part| part.leaves(skips)).collect(),
            leaf => vec![leaf],
        }
    }

    /// The terms that a file that meets this may contain, for ranking.
    pub(super) fn hints(&self) -> impl Iterator<Item = String> {
        let hint = |leaf: &Condition| match leaf {
            Condition::Has(_, Term::Folded(text) | Term::Exact(text)) => Some(fold(text)).filter(|hint| !hint.is_empty()),
            _ => None,
        };
        self.leaves(&|part| matches!(part, Condition::Not(_))).into_iter().filter_map(hint)
    }

    /// Folded strings that every file that meets this has in its text, path or tags.
    pub(super) fn required<'a>(&'a self) -> impl Iterator<Item = &'a str> {
        let required = |leaf: &'a Condition| match leaf {
            Condition::Has(_, Term::Folded(text)) | Condition::Tag(text) => Some(text.as_str()),
            Condition::Has(_, Term::Regex(expression)) => expression.required(),
            _ => None,
        };
        self.leaves(&|part| matches!(part, Condition::Not(_) | Condition::Any(_))).into_iter().filter_map(required)
    }

    /// The tags that a file may have to meet this.
    pub fn tags(&self) -> impl Iterator<Item = &str> {
        let leaves = self.leaves(&|part| matches!(part, Condition::Not(_) | Condition::Within(..)));
        leaves.into_iter().filter_map(|leaf| if let Condition::Tag(tag) = leaf { Some(tag.as_str()) } else { None })
    }

    /// The regular expressions that a path may match to meet this.
    pub fn expressions(&self) -> impl Iterator<Item = &Expression> {
        self.leaves(&|part| matches!(part, Condition::Not(_) | Condition::Within(..))).into_iter().filter_map(|leaf| match leaf {
            Condition::Has(Field::Any | Field::Name | Field::Path, Term::Regex(expression)) => Some(expression),
            _ => None,
        })
    }
}
