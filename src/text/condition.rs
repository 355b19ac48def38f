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

    /// Adds the terms that a file that meets this may contain, for ranking.
    pub(super) fn hints(&self, found: &mut Vec<String>) {
        match self {
            Condition::Has(_, Term::Folded(text)) => found.push(text.clone()),
            Condition::Has(_, Term::Exact(text)) => found.push(fold(text)),
            Condition::Within(_, part) => part.hints(found),
            Condition::All(parts) | Condition::Any(parts) => parts.iter().for_each(|part| part.hints(found)),
            Condition::Has(_, Term::Regex(_)) | Condition::Tag(_) | Condition::Property(..) | Condition::Not(_) => {}
        }
        found.retain(|hint| !hint.is_empty());
    }

    /// Adds folded strings that every file that meets this has in its text, path or tags.
    pub(super) fn required<'a>(&'a self, found: &mut Vec<&'a str>) {
        match self {
            Condition::Has(_, Term::Folded(text)) | Condition::Tag(text) => found.push(text),
            Condition::Has(_, Term::Regex(expression)) => found.extend(expression.required()),
            Condition::Within(_, part) => part.required(found),
            Condition::All(parts) => parts.iter().for_each(|part| part.required(found)),
            Condition::Has(_, Term::Exact(_)) | Condition::Property(..) | Condition::Not(_) | Condition::Any(_) => {}
        }
    }

    /// The tags that a file may have to meet this.
    pub fn tags(&self) -> Vec<&str> {
        match self {
            Condition::Tag(tag) => vec![tag],
            Condition::All(parts) | Condition::Any(parts) => parts.iter().flat_map(Condition::tags).collect(),
            Condition::Has(..) | Condition::Property(..) | Condition::Not(_) | Condition::Within(..) => Vec::new(),
        }
    }

    /// The regular expressions that a path may match to meet this.
    pub fn expressions(&self) -> Vec<&Expression> {
        match self {
            Condition::Has(Field::Any | Field::Name | Field::Path, Term::Regex(expression)) => vec![expression],
            Condition::All(parts) | Condition::Any(parts) => parts.iter().flat_map(Condition::expressions).collect(),
            Condition::Has(..) | Condition::Property(..) | Condition::Tag(_) | Condition::Not(_) | Condition::Within(..) => Vec::new(),
        }
    }

    /// Whether any of its terms is of the given kind.
    pub fn any_term(&self, is_of_kind: &dyn Fn(&Term) -> bool) -> bool {
        match self {
            Condition::Has(_, term) => is_of_kind(term),
            Condition::Within(_, part) | Condition::Not(part) => part.any_term(is_of_kind),
            Condition::All(parts) | Condition::Any(parts) => parts.iter().any(|part| part.any_term(is_of_kind)),
            Condition::Tag(_) | Condition::Property(..) => false,
        }
    }
}
