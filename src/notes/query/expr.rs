//! The tree of an expression.

use super::value::Value;

/// An expression tree, or a part of one.
#[derive(Debug)]
pub(super) enum Expr {
    Value(Value),
    List(Vec<Expr>),
    /// A property of the note; inside of `filter`, `map` and `reduce` also `value`, `index` and
    /// `acc`, in a summary `values`.
    Name(String),
    /// All properties of the note.
    Note,
    /// An inline field of the note's text; its key.
    Inline(String),
    File,
    /// The base or the note in which it stands.
    This,
    Formula(String),
    /// `a.b` and `a["b"]`.
    Member(Box<Expr>, String),
    Index(Box<Expr>, Box<Expr>),
    Call(&'static str, Vec<Expr>),
    Method(Box<Expr>, &'static str, Vec<Expr>),
    Not(Box<Expr>),
    Negative(Box<Expr>),
    Binary(&'static str, Box<Expr>, Box<Expr>),
    /// Filters of a base; `Evaluator::decide` says what a part that cannot be computed counts as.
    All(Vec<Expr>),
    Any(Vec<Expr>),
}

impl Expr {
    /// This expression and all its parts.
    pub(super) fn parts(&self) -> Vec<&Expr> {
        let below: Vec<&Expr> = match self {
            Expr::List(parts) | Expr::Call(_, parts) | Expr::All(parts) | Expr::Any(parts) => {
                parts.iter().collect()
            }
            Expr::Method(of, _, parts) => std::iter::once(&**of).chain(parts).collect(),
            Expr::Member(of, _) | Expr::Not(of) | Expr::Negative(of) => vec![&**of],
            Expr::Index(one, another) | Expr::Binary(_, one, another) => vec![&**one, &**another],
            Expr::Value(_)
            | Expr::Name(_)
            | Expr::Note
            | Expr::Inline(_)
            | Expr::File
            | Expr::This
            | Expr::Formula(_) => Vec::new(),
        };
        std::iter::once(self).chain(below.into_iter().flat_map(Expr::parts)).collect()
    }

    /// The property and the text that must be equal, if that is all. A date or a link, which may be
    /// written in several forms, is no text.
    pub(super) fn equality(&self) -> Option<(&str, &str)> {
        let Expr::Binary("==", one, another) = self else { return None };
        let (name, text) = match (&**one, &**another) {
            (Expr::Name(name), Expr::Value(Value::Text(text)))
            | (Expr::Value(Value::Text(text)), Expr::Name(name)) => (name, text),
            _ => return None,
        };
        let is_date = text.starts_with(|c: char| c.is_ascii_digit() || c == '-');
        (!is_date && !text.contains("[[")).then_some((name, text))
    }

    /// Strings, escaped as in JSON, that the frontmatter of every matching note contains: those of
    /// equalities that have to hold.
    pub(super) fn required(&self) -> Vec<String> {
        if let Expr::Binary("&&", one, another) = self {
            return [one.required(), another.required()].concat();
        }
        let json = self.equality().and_then(|(_, text)| serde_json::to_string(text).ok());
        // Without its quotes: a link is equal to its target.
        json.and_then(|json| Some(json.strip_prefix('"')?.strip_suffix('"')?.to_owned()))
            .into_iter()
            .collect()
    }
}
