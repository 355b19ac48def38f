//! What a query asks for: words and conditions.

use crate::calendar::duration::Duration;
use crate::calendar::{DateTime, Zone};
use crate::search::expression::Expression;
use crate::text::fold::fold;
use crate::text::words::query_words;
use crate::vault::properties::text_of_value;
use serde_json::Value;
use std::cmp::Ordering;
use std::sync::atomic::{AtomicUsize, Ordering as Atomic};

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
    /// A property, by its folded name, with any value or with this one.
    Property(String, Option<Wanted>),
    Within(Scope, Box<Condition>),
    Not(Box<Condition>),
    All(Vec<Condition>),
    Any(Vec<Condition>),
}

impl Condition {
    /// Whether all that meets it is at a path that it names (`path:`).
    pub(crate) fn names_a_path(&self) -> bool {
        match self {
            Condition::Has(Field::Path, _) => true,
            Condition::All(parts) => parts.iter().any(Condition::names_a_path),
            _ => false,
        }
    }

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

    /// The terms that a file that meets this may contain, for ranking; with those of its path.
    pub(crate) fn hints(&self, with_paths: bool) -> impl Iterator<Item = String> {
        let hint = move |leaf: &Condition| match leaf {
            Condition::Has(Field::Name | Field::Path, _) if !with_paths => None,
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

/// The value that a property has to have; of a list, any item.
#[derive(Debug)]
pub enum Wanted {
    /// This text, folded, or the target of a link; `null` is an empty value.
    Text(String),
    Matching(Expression),
    Compared(Comparison),
}

/// `>40`, `<=2026-02-01`, `<5 min`.
#[derive(Debug)]
pub struct Comparison {
    sign: Sign,
    amount: Amount,
    /// Notes whose value cannot be compared.
    pub(super) incomparable: AtomicUsize,
}

#[derive(Debug, Clone, Copy)]
enum Sign {
    Greater,
    GreaterOrEqual,
    Less,
    LessOrEqual,
}

#[derive(Debug, Clone, Copy)]
enum Amount {
    Number(f64),
    /// Without a time a whole day.
    Date(DateTime, bool),
    /// Seconds.
    Duration(f64),
}

impl Amount {
    fn parse(text: &str) -> Option<Amount> {
        let text = text.trim();
        if let Some(number) = text.parse().ok().filter(|number: &f64| number.is_finite()) {
            return Some(Amount::Number(number));
        }
        // A date may be a link to its daily note.
        let date = text.trim_start_matches('[').trim_end_matches(']');
        if let Some((at, has_time)) = Zone::default().parse(date) {
            return Some(Amount::Date(at, has_time));
        }
        Duration::parse(text).map(|duration| Amount::Duration(duration.seconds()))
    }

    fn compare(self, other: Amount) -> Option<Ordering> {
        match (self, other) {
            (Amount::Number(one), Amount::Number(other))
            | (Amount::Duration(one), Amount::Duration(other)) => one.partial_cmp(&other),
            (Amount::Date(one, _), Amount::Date(other, false)) => Some(one.midnight().cmp(&other)),
            (Amount::Date(one, _), Amount::Date(other, true)) => Some(one.cmp(&other)),
            _ => None,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Amount::Number(_) => "number",
            Amount::Date(..) => "date",
            Amount::Duration(_) => "duration",
        }
    }
}

impl Comparison {
    /// Parses a comparison; `None` for any other text.
    pub(crate) fn parse(text: &str) -> Option<Comparison> {
        let signs = [
            (">=", Sign::GreaterOrEqual),
            ("<=", Sign::LessOrEqual),
            (">", Sign::Greater),
            ("<", Sign::Less),
        ];
        let (sign, amount) =
            signs.iter().find_map(|(text_of, sign)| Some((*sign, text.strip_prefix(text_of)?)))?;
        let amount = Amount::parse(amount.trim().trim_matches('"'))?;
        Some(Comparison { sign, amount, incomparable: AtomicUsize::new(0) })
    }

    /// Whether the comparison holds; `None` for a value of another kind.
    pub(super) fn holds(&self, value: &Value) -> Option<bool> {
        let order = Amount::parse(&text_of_value(value))?.compare(self.amount)?;
        Some(match self.sign {
            Sign::Greater => order.is_gt(),
            Sign::GreaterOrEqual => order.is_ge(),
            Sign::Less => order.is_lt(),
            Sign::LessOrEqual => order.is_le(),
        })
    }
}

impl Wanted {
    /// What could not be compared, in words; `None` if all was.
    pub(crate) fn not_compared(&self, name: &str) -> Option<String> {
        match self {
            Wanted::Compared(comparison) => {
                let kind = comparison.amount.name();
                match comparison.incomparable.load(Atomic::Relaxed) {
                    0 => None,
                    1 => Some(format!("1 note has a {name} that is no {kind}")),
                    count => Some(format!("{count} notes have a {name} that is no {kind}")),
                }
            }
            Wanted::Text(text) if text.starts_with(['<', '>']) => Some(format!(
                "{text:?} was looked for as it is: only a number, a date such as 2026-02-01 and a \
                 duration such as 5 min are compared"
            )),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn numbers_dates_and_durations_are_compared() {
        for (comparison, value, holds) in [
            (">40", json!(41), Some(true)),
            (">40", json!(40), Some(false)),
            (">=40", json!("40.0"), Some(true)),
            ("<5", json!("few"), None),
            (">2026-02-01", json!("2026-02-01T10:00"), Some(false)),
            ("<=2026-02-01", json!("2026-02-01 10:00"), Some(true)),
            ("> 2026-02-01t09:00", json!("2026-02-01T10:00"), Some(true)),
            ("<2026-02-01", json!("[[2026-01-31]]"), Some(true)),
            ("<5 min", json!("90s"), Some(true)),
            ("<1h", json!("90 minutes"), Some(false)),
            (">1h", json!(2), None),
        ] {
            let parsed = Comparison::parse(comparison).unwrap();
            assert_eq!(parsed.holds(&value), holds, "{value} {comparison}");
        }
        assert!(Comparison::parse(">abc").is_none() && Comparison::parse("40").is_none());
    }
}
