//! What a query asks for: words and conditions.

use crate::search::expression::Expression;
use crate::text::fold::fold;
use crate::text::words::query_words;

/// Punctuation that ends a sentence or clause; a colon may be part of what is looked for.
pub(crate) const MARKS: [char; 5] = ['?', '!', '.', ',', ';'];

/// A query.
#[derive(Debug, Default)]
pub struct Parsed {
    /// Words and phrases to rank by, folded; a file that contains only some of them is a result,
    /// too.
    pub words: Vec<String>,
    /// The words as one phrase, which ranks files higher; empty if there are none.
    pub phrase: String,
    /// Further terms to rank by: those in conditions.
    pub hints: Vec<String>,
    /// Conditions that every result meets.
    pub conditions: Vec<Condition>,
}

impl Parsed {
    /// Plain words.
    pub(crate) fn of_words(query: &str) -> Parsed {
        let whole = fold(query).split_whitespace().collect::<Vec<_>>().join(" ");
        // A note has the words without the end of the question, and without parentheses around all
        // of it.
        let inside = whole
            .strip_prefix('(')
            .and_then(|rest| rest.strip_suffix(')'))
            .filter(|inside| !inside.contains(['(', ')']));
        // One word in the brackets of a link is the name of a note, which has it without them.
        let link = whole
            .strip_prefix("[[")
            .and_then(|rest| rest.strip_suffix("]]"))
            .and_then(|rest| rest.split(['|', '#']).next());
        let link = link.filter(|name| !name.is_empty() && !name.contains([' ', '[', ']']));
        let bare = inside.or(link).unwrap_or(&whole).trim_end_matches(MARKS).trim_end();
        let phrase = if bare.is_empty() { whole } else { bare.to_owned() };
        let words = if phrase.contains(' ') { query_words(query) } else { vec![phrase.clone()] };
        Parsed { words, phrase, ..Parsed::default() }
    }

    /// Folded strings that every result contains.
    pub fn required(&self) -> Vec<&str> {
        self.conditions.iter().flat_map(Condition::required).collect()
    }
}

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
    /// Whether it is about words anywhere in a file, not about where they are or how they are
    /// written.
    pub fn is_of_words(&self) -> bool {
        match self {
            Condition::Has(_, Term::Folded(_))
            | Condition::Tag(_)
            | Condition::Property(..)
            | Condition::Not(_) => true,
            Condition::All(parts) | Condition::Any(parts) => {
                parts.iter().all(Condition::is_of_words)
            }
            Condition::Has(..) | Condition::Within(..) => false,
        }
    }

    /// The same condition on tags instead of terms: `tag:(a OR b)`.
    pub(crate) fn into_tags(self) -> Condition {
        let each = |parts: Vec<Condition>| parts.into_iter().map(Condition::into_tags).collect();
        match self {
            Condition::Has(_, Term::Folded(text)) => {
                Condition::Tag(text.trim_start_matches('#').trim_end_matches('/').to_owned())
            }
            Condition::Has(_, Term::Exact(text)) => {
                Condition::Tag(fold(text.trim_start_matches('#').trim_end_matches('/')))
            }
            Condition::Not(part) => Condition::Not(Box::new(part.into_tags())),
            Condition::All(parts) => Condition::All(each(parts)),
            Condition::Any(parts) => Condition::Any(each(parts)),
            other => other,
        }
    }

    /// Adds the parts that all have to hold, flattening nested conjunctions.
    pub(crate) fn split(self, parts: &mut Vec<Condition>) {
        match self {
            Condition::All(inner) => inner.into_iter().for_each(|part| part.split(parts)),
            part => parts.push(part),
        }
    }

    /// The terms, tags and properties in this condition, without those in parts that `skips` is
    /// true for.
    pub fn leaves(&self, skips: &dyn Fn(&Condition) -> bool) -> Vec<&Condition> {
        match self {
            part if skips(part) => Vec::new(),
            Condition::Within(_, part) | Condition::Not(part) => part.leaves(skips),
            Condition::All(parts) | Condition::Any(parts) => {
                parts.iter().flat_map(|part| part.leaves(skips)).collect()
            }
            leaf => vec![leaf],
        }
    }

    /// The terms that a file that meets this may contain, for ranking.
    pub(crate) fn hints(&self) -> impl Iterator<Item = String> {
        let hint = |leaf: &Condition| match leaf {
            Condition::Has(_, Term::Folded(text) | Term::Exact(text)) => {
                Some(fold(text)).filter(|hint| !hint.is_empty())
            }
            _ => None,
        };
        self.leaves(&|part| matches!(part, Condition::Not(_))).into_iter().filter_map(hint)
    }

    /// Folded strings that every file that meets this has in its text, path or tags.
    pub(crate) fn required<'a>(&'a self) -> impl Iterator<Item = &'a str> {
        let required = |leaf: &'a Condition| match leaf {
            Condition::Has(_, Term::Folded(text)) | Condition::Tag(text) => Some(text.as_str()),
            // In quotes other characters are written otherwise.
            Condition::Property(name, _)
                if name.chars().all(|c| c.is_alphanumeric() || "_- ".contains(c)) =>
            {
                Some(name.as_str())
            }
            Condition::Has(_, Term::Regex(expression)) => expression.required(),
            _ => None,
        };
        self.leaves(&|part| matches!(part, Condition::Not(_) | Condition::Any(_)))
            .into_iter()
            .filter_map(required)
    }

    /// The tags that a file may have to meet this.
    pub fn tags(&self) -> impl Iterator<Item = &str> {
        let leaves = self.leaves(&|part| matches!(part, Condition::Not(_) | Condition::Within(..)));
        leaves.into_iter().filter_map(|leaf| {
            if let Condition::Tag(tag) = leaf { Some(tag.as_str()) } else { None }
        })
    }

    /// The regular expressions that a path may match to meet this.
    pub fn expressions(&self) -> impl Iterator<Item = &Expression> {
        self.leaves(&|part| matches!(part, Condition::Not(_) | Condition::Within(..)))
            .into_iter()
            .filter_map(|leaf| match leaf {
                Condition::Has(Field::Any | Field::Name | Field::Path, Term::Regex(expression)) => {
                    Some(expression)
                }
                _ => None,
            })
    }
}
