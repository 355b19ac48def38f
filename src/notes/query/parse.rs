//! Parses expressions into trees. Names of functions, file properties and formulas are checked
//! here, so that an unknown one is not found only when a note is evaluated.

use super::expr::Expr;
use super::inline::key_of;
use super::signatures::{GLOBALS, METHODS, NEED_THE_APP, Names, names};
use super::value::{Pattern, Value};
use crate::calendar::DateTime;
use crate::limits;
use crate::slice::Part;
use regex::RegexBuilder;
use std::cell::Cell;
use std::fmt;
use std::rc::Rc;

/// Regular expressions in a query, and in a base; each takes up to [`limits::REGEX_BYTES`].
const PATTERNS: usize = 16;

/// Operators and their precedence; the higher binds more tightly. Longer ones come before those
/// they begin with.
const OPERATORS: [(&str, u8); 13] = [
    ("||", 1),
    ("&&", 2),
    ("==", 3),
    ("!=", 3),
    ("<=", 4),
    (">=", 4),
    ("<", 4),
    (">", 4),
    ("+", 5),
    ("-", 5),
    ("*", 6),
    ("/", 6),
    ("%", 6),
];

/// Properties of files.
const FILE_PROPERTIES: [&str; 15] = [
    "backlinks",
    "basename",
    "ctime",
    "embeds",
    "ext",
    "file",
    "folder",
    "fullname",
    "links",
    "mtime",
    "name",
    "path",
    "properties",
    "size",
    "tags",
];

/// What is wrong with an expression, and where. `Display` is one line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Wrong {
    /// Its offset in characters.
    pub(super) position: usize,
    pub(super) what: String,
}

impl fmt::Display for Wrong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "at character {}: {}", self.position + 1, self.what)
    }
}

/// What the expressions of one query or base share.
#[derive(Debug, Default)]
pub(super) struct ParseContext {
    /// The names of the formulas that they may use.
    pub(super) formulas: Vec<String>,
    /// How many regular expressions they have.
    patterns: Cell<usize>,
}

impl ParseContext {
    pub(super) fn of<T>(formulas: &[(String, T)]) -> ParseContext {
        ParseContext {
            formulas: formulas.iter().map(|(name, _)| name.clone()).collect(),
            patterns: Cell::default(),
        }
    }
}

/// Parses an expression.
///
/// # Errors
/// [`Wrong`].
pub(super) fn parse(text: &str, context: &ParseContext) -> Result<Expr, Wrong> {
    let mut parser = Parser { text, at: 0, depth: 0, context };
    if text.len() > limits::QUERY_BYTES {
        return Err(parser.wrong(0, format!("it is longer than {} bytes", limits::QUERY_BYTES)));
    }
    let expr = parser.binary(1)?;
    parser.skip_space();
    if parser.at < text.len() { Err(parser.unexpected()) } else { Ok(expr) }
}

/// The expression of a property id: `file.name`, `formula.price`, `note.status` or `status`; or a
/// computed one, with a call, `*`, `+`, `["…"]` or `.month`.
///
/// # Errors
/// [`Wrong`].
pub(super) fn property(id: &str, context: &ParseContext) -> Result<Expr, Wrong> {
    // A property may have brackets in its name, or an operator: `Sleep (h)`, `Income / Expenses`.
    let has_call = id.split_once('(').is_some_and(|(name, _)| !name.ends_with(' '));
    let has_operator = ["[\"", " * ", " + "].iter().any(|part| id.contains(part));
    let has_member = [".year", ".month", ".day", ".length"].iter().any(|part| id.ends_with(part));
    if (has_call || has_operator || has_member)
        && let Ok(expr) = parse(id, context)
    {
        return Ok(expr);
    }
    let parser = Parser { text: id, at: 0, depth: 0, context };
    match id.split_once('.') {
        Some(("file", name)) => parser.member(Expr::File, name.to_owned(), 0),
        Some(("formula", name)) => parser.formula(name.to_owned(), 0),
        Some(("note", name)) => Ok(Expr::Name(name.to_owned())),
        Some(("inline", name)) => Ok(Expr::Inline(key_of(name))),
        _ => Ok(Expr::Name(id.to_owned())),
    }
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
    depth: usize,
    context: &'a ParseContext,
}

impl<'a> Parser<'a> {
    fn rest(&self) -> &'a str {
        self.text.part(self.at..)
    }

    fn wrong(&self, at: usize, what: impl Into<String>) -> Wrong {
        Wrong { position: self.text.part(..at).chars().count(), what: what.into() }
    }

    fn unexpected(&self) -> Wrong {
        let what = match self.rest().chars().next() {
            Some('=') => "unexpected =; equality is ==".to_owned(),
            Some(c) if c.is_alphabetic() => {
                format!(
                    "unexpected {c}; write &&, || and !, list.contains(value), and durations in \
                     quotes: now() - \"7d\""
                )
            }
            Some(c) => format!("unexpected {c}"),
            None => "it ends too early".to_owned(),
        };
        self.wrong(self.at, what)
    }

    fn skip_space(&mut self) {
        self.at = self.text.len() - self.rest().trim_start().len();
    }

    fn take(&mut self, token: &str) -> bool {
        self.skip_space();
        let found = self.rest().starts_with(token);
        self.at += if found { token.len() } else { 0 };
        found
    }

    fn expect(&mut self, token: &str) -> Result<(), Wrong> {
        if self.take(token) {
            return Ok(());
        }
        Err(self.wrong(self.at, format!("{token} is missing here")))
    }

    /// Operands joined by operators of at least this precedence.
    fn binary(&mut self, precedence: u8) -> Result<Expr, Wrong> {
        let outer = self.depth;
        self.enter_nested()?;
        let mut left = self.unary()?;
        loop {
            self.skip_space();
            let rest = self.rest();
            let found = OPERATORS
                .iter()
                .find(|(operator, own)| *own >= precedence && rest.starts_with(operator));
            let Some((operator, own)) = found else { break };
            // A chain is a tree as deep as it is long.
            self.enter_nested()?;
            self.at += operator.len();
            let right = self.binary(own + 1)?;
            left = Expr::Binary(operator, Box::new(left), Box::new(right));
        }
        self.depth = outer;
        Ok(left)
    }

    fn enter_nested(&mut self) -> Result<(), Wrong> {
        self.depth += 1;
        if self.depth > limits::QUERY_DEPTH {
            Err(self.wrong(self.at, format!("it is nested deeper than {}", limits::QUERY_DEPTH)))
        } else {
            Ok(())
        }
    }

    fn unary(&mut self) -> Result<Expr, Wrong> {
        self.skip_space();
        let rest = self.rest();
        let is_not = rest.starts_with('!') && !rest.starts_with("!=");
        if !is_not && !rest.starts_with('-') {
            return self.postfix();
        }
        self.at += 1;
        self.enter_nested()?;
        let operand = Box::new(self.unary()?);
        self.depth -= 1;
        Ok(if is_not { Expr::Not(operand) } else { Expr::Negative(operand) })
    }

    fn postfix(&mut self) -> Result<Expr, Wrong> {
        let mut expr = self.primary()?;
        let outer = self.depth;
        loop {
            self.enter_nested()?;
            if self.take(".") {
                let at = self.at;
                let name = self.name()?;
                expr = if self.take("(") {
                    let (known, arguments) = self.function(&METHODS, name, at)?;
                    Expr::Method(Box::new(expr), known, arguments)
                } else {
                    self.member(expr, name.to_owned(), at)?
                };
            } else if self.take("[") {
                let at = self.at;
                let index = self.binary(1)?;
                self.expect("]")?;
                expr = match index {
                    Expr::Value(Value::Text(name)) => self.member(expr, name.to_string(), at)?,
                    index => Expr::Index(Box::new(expr), Box::new(index)),
                };
            } else {
                self.depth = outer;
                return Ok(expr);
            }
        }
    }

    fn member(&self, of: Expr, name: String, at: usize) -> Result<Expr, Wrong> {
        let is_file = matches!(&of, Expr::File)
            || matches!(&of, Expr::Member(of, file) if matches!(**of, Expr::This) && file == "file");
        match of {
            Expr::Note => Ok(Expr::Name(name)),
            Expr::Name(scope) if scope == "formula" => self.formula(name, at),
            Expr::Name(scope) if scope == "inline" => Ok(Expr::Inline(key_of(&name))),
            _ if is_file && !FILE_PROPERTIES.contains(&name.as_str()) => {
                Err(self.unknown(at, "file property", &name, &FILE_PROPERTIES))
            }
            Expr::This if name == "note" => Ok(Expr::This),
            of => Ok(Expr::Member(Box::new(of), name)),
        }
    }

    fn formula(&self, name: String, at: usize) -> Result<Expr, Wrong> {
        if self.context.formulas.contains(&name) {
            return Ok(Expr::Formula(name));
        }
        let known: Vec<&str> = self.context.formulas.iter().map(String::as_str).collect();
        Err(self.unknown(at, "formula", &name, &known))
    }

    fn unknown(&self, at: usize, what: &str, name: &str, known: &[&str]) -> Wrong {
        let nearest = known
            .iter()
            .min_by_key(|known| strsim::levenshtein(known, name))
            .filter(|known| strsim::levenshtein(known, name) <= name.len() / 3);
        let meant = nearest.map(|known| format!(" (did you mean {known}?)")).unwrap_or_default();
        self.wrong(at, format!("there is no {what} {name}{meant}"))
    }

    /// Expressions separated by commas, up to `end`, which is consumed.
    fn list(&mut self, end: &str) -> Result<Vec<Expr>, Wrong> {
        let mut list = Vec::new();
        while !self.take(end) {
            if !list.is_empty() {
                self.expect(",")?;
            }
            list.push(self.binary(1)?);
        }
        Ok(list)
    }

    /// A function of a table, with its arguments.
    fn function(
        &mut self,
        table: &'static [Names],
        name: &str,
        at: usize,
    ) -> Result<(&'static str, Vec<Expr>), Wrong> {
        let Some((known, least, most)) = names(table).find(|(known, ..)| *known == name) else {
            return Err(self.unknown(
                at,
                "function",
                name,
                &names(table).map(|(known, ..)| known).collect::<Vec<_>>(),
            ));
        };
        let list = self.list(")")?;
        if (least..=most).contains(&list.len()) {
            return Ok((known, list));
        }
        let takes = match (least, most) {
            (0, 0) => "none".to_owned(),
            (least, usize::MAX) => format!("{least} or more"),
            (least, most) if least == most => least.to_string(),
            (least, most) => format!("{least} to {most}"),
        };
        Err(self.wrong(at, format!("{name}() takes {takes} arguments, not {}", list.len())))
    }

    fn name(&mut self) -> Result<&'a str, Wrong> {
        let rest = self.rest();
        let end =
            rest.find(|c: char| !c.is_alphanumeric() && c != '_' && c != '$').unwrap_or(rest.len());
        let name = rest.part(..end);
        if name.is_empty() || name.starts_with(|c: char| c.is_ascii_digit()) {
            return Err(self.unexpected());
        }
        self.at += end;
        Ok(name)
    }

    fn primary(&mut self) -> Result<Expr, Wrong> {
        self.skip_space();
        let at = self.at;
        match self.rest().chars().next() {
            Some('(') => {
                self.at += 1;
                let inner = self.binary(1)?;
                self.expect(")")?;
                Ok(inner)
            }
            Some('[') => {
                self.at += 1;
                Ok(Expr::List(self.list("]")?))
            }
            Some(quote @ ('"' | '\'')) => self.string(quote),
            Some('/') => self.pattern(),
            Some(c) if c.is_ascii_digit() => self.number(),
            Some('{') => Err(self.wrong(at, "objects cannot be written in an expression")),
            _ => {
                let name = self.name()?;
                if self.take("(") {
                    if NEED_THE_APP.contains(&name) {
                        return Err(self.wrong(
                            at,
                            format!(
                                "{name}() shows something in Obsidian's window and is not \
                                 supported here"
                            ),
                        ));
                    }
                    let (known, arguments) = self.function(&GLOBALS, name, at)?;
                    return Ok(Expr::Call(known, arguments));
                }
                Ok(match name {
                    "null" => Expr::Value(Value::Null),
                    "true" => Expr::Value(Value::Bool(true)),
                    "false" => Expr::Value(Value::Bool(false)),
                    "note" => Expr::Note,
                    "file" => Expr::File,
                    "this" => Expr::This,
                    name => Expr::Name(name.to_owned()),
                })
            }
        }
    }

    fn number(&mut self) -> Result<Expr, Wrong> {
        let rest = self.rest();
        if rest.get(..10).is_some_and(|text| DateTime::of_date(text).is_some()) {
            return Err(self.wrong(self.at, "a date needs quotes: \"2026-12-01\""));
        }
        let digits = |text: &str| text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
        let mut end = digits(rest);
        let behind = rest.part(end..);
        if let Some(fraction) = behind.strip_prefix('.') {
            if digits(fraction) == 0 {
                return Err(self.wrong(
                    self.at + end,
                    "digits are missing after the decimal point; a function of a number needs it \
                     in parentheses: (1).round()",
                ));
            }
            end += 1 + digits(fraction);
        }
        let number =
            rest.get(..end).and_then(|text| text.parse().ok()).ok_or_else(|| self.unexpected())?;
        self.at += end;
        Ok(Expr::Value(Value::Number(number)))
    }

    fn string(&mut self, quote: char) -> Result<Expr, Wrong> {
        let start = self.at;
        let mut text = String::new();
        let mut chars = self.rest().char_indices().skip(1);
        while let Some((offset, c)) = chars.next() {
            match c {
                '\\' => match chars.next() {
                    Some((_, 'n')) => text.push('\n'),
                    Some((_, 't')) => text.push('\t'),
                    Some((_, 'r')) => text.push('\r'),
                    Some((_, other)) => text.push(other),
                    None => break,
                },
                c if c == quote => {
                    self.at += offset + c.len_utf8();
                    return Ok(Expr::Value(Value::text_of(&text)));
                }
                c => text.push(c),
            }
        }
        Err(self.wrong(start, "the quote that ends the text is missing"))
    }

    fn pattern(&mut self) -> Result<Expr, Wrong> {
        let start = self.at;
        let (mut in_class, mut is_escaped) = (false, false);
        let end = self.rest().char_indices().skip(1).find_map(|(offset, c)| {
            let ends = c == '/' && !in_class && !is_escaped;
            in_class = (in_class || c == '[' && !is_escaped) && (c != ']' || is_escaped);
            is_escaped = c == '\\' && !is_escaped;
            ends.then_some(offset)
        });
        let Some(end) = end else {
            return Err(self.wrong(start, "the slash that ends the regular expression is missing"));
        };
        let source = self.rest().part(1..end);
        self.at += end + 1;
        let number = self.context.patterns.replace(self.context.patterns.get() + 1);
        if number >= PATTERNS {
            return Err(
                self.wrong(start, format!("there are more than {} regular expressions", PATTERNS))
            );
        }
        let rest = self.rest();
        let flags =
            rest.part(..rest.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(rest.len()));
        if let Some(flag) = flags.chars().find(|flag| !"gimsu".contains(*flag)) {
            return Err(self.wrong(
                self.at,
                format!("{flag} is not a flag of regular expressions; there are g, i, m, s and u"),
            ));
        }
        self.at += flags.len();
        let mut builder = RegexBuilder::new(source);
        builder
            .case_insensitive(flags.contains('i'))
            .multi_line(flags.contains('m'))
            .dot_matches_new_line(flags.contains('s'));
        let regex =
            builder.size_limit(limits::REGEX_BYTES).dfa_size_limit(limits::REGEX_BYTES).build();
        let regex = regex.map_err(|error| {
            let words = error.to_string();
            let last = words
                .lines()
                .last()
                .unwrap_or_default()
                .trim()
                .trim_start_matches("error: ")
                .to_owned();
            self.wrong(start, format!("the regular expression cannot be used: {last}"))
        })?;
        Ok(Expr::Value(Value::Pattern(Rc::new(Pattern { regex, is_global: flags.contains('g') }))))
    }
}
