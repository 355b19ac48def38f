//! Obsidian's search language: words, `"a phrase"`, `-word`, `OR`, parentheses, `/regex/`, `file:`,
//! `path:`, `content:`, `tag:`, `match-case:`, `ignore-case:`, `line:`, `block:`, `section:`,
//! `task:`, `task-todo:`, `task-done:`, `[property]` and `[property:value]`.

use crate::search::expression::Expression;
use crate::search::term::MARKS;
pub use crate::search::term::{Comparison, Condition, Field, Parsed, Scope, Term, Wanted};
use crate::text::fold::fold;
use crate::text::unescaped;
use crate::text::words::{is_stop_word, query_words};
use std::collections::HashSet;

/// Regular expressions in one query; each takes up to [`crate::limits::REGEX_BYTES`].
const QUERY_EXPRESSIONS: usize = 8;

/// Maximum nesting of parentheses, minus signs and operators.
const NESTED: usize = 16;

#[derive(Clone, Copy)]
enum Operator {
    Field(Field),
    Case(bool),
    Scope(Scope),
    Tag,
}

const OPERATORS: [(&str, Operator); 12] = [
    ("file:", Operator::Field(Field::Name)),
    ("path:", Operator::Field(Field::Path)),
    ("content:", Operator::Field(Field::Content)),
    ("match-case:", Operator::Case(true)),
    ("ignore-case:", Operator::Case(false)),
    ("line:", Operator::Scope(Scope::Line)),
    ("block:", Operator::Scope(Scope::Block)),
    ("section:", Operator::Scope(Scope::Section)),
    ("task:", Operator::Scope(Scope::Task)),
    ("task-todo:", Operator::Scope(Scope::TaskTodo)),
    ("task-done:", Operator::Scope(Scope::TaskDone)),
    ("tag:", Operator::Tag),
];

/// What the vault has, by which a query is read.
pub struct Known<'a> {
    /// Whether any note has a property of this name, folded: it decides whether the brackets in
    /// `[draft] plan` and `[plugin:x] failed` are a property or words.
    pub is_property: &'a dyn Fn(&str) -> bool,
    /// Whether any file has this folded text: it decides whether `-lf` in `ssh-keygen -lf`
    /// excludes files or is a word.
    pub is_written: &'a dyn Fn(&str) -> bool,
}

/// Parses a query; one that does not follow the syntax as a whole is plain words.
///
/// # Errors
/// What is wrong with a `/regex/`, and where.
pub fn parse(query: &str, known: &Known<'_>) -> Result<Parsed, String> {
    // Phones and word processors type these for `"`; between straight quotes they are part of a
    // phrase.
    let with_quotes = |part: &str| part.replace(['“', '”', '„', '«', '»'], "\"");
    let parts = query
        .split('"')
        .enumerate()
        .map(|(number, part)| if number % 2 == 0 { with_quotes(part) } else { part.to_owned() });
    let typed = parts.collect::<Vec<_>>().join("\"");
    let rest = typed.trim();
    let mut parser = Parser {
        whole: rest,
        rest,
        known,
        has_operator: false,
        depth: 0,
        field: Field::Any,
        match_case: false,
        in_scope: false,
        expressions: 0,
        wrong: None,
    };
    let condition = parser.any().filter(|_| parser.rest.is_empty());
    let Some(condition) = condition else { return Ok(Parsed::of_words(query)) };
    if let Some(wrong) = parser.wrong {
        return Err(wrong);
    }
    let mut parts = Vec::new();
    condition.split(&mut parts);
    let mut parsed = Parsed::default();
    let (mut plain, folded) = (String::new(), fold(&typed));
    // Quoted text is searched for literally, including stop words and punctuation.
    let is_quoted = |text: &str| text.contains(' ') || folded.contains(&format!("\"{text}\""));
    for part in parts {
        match part {
            // Alone and next to conditions it means every file.
            Condition::Has(Field::Any, Term::Folded(text)) if text == "*" && !is_quoted(&text) => {}
            Condition::Has(Field::Any, Term::Folded(text)) if is_quoted(&text) => {
                parsed.words.push(text)
            }
            Condition::Has(Field::Any, Term::Folded(text)) => plain = format!("{plain} {text}"),
            condition => parsed.conditions.push(condition),
        }
    }
    if rest == "*" {
        return Ok(parsed);
    }
    if parsed.words.is_empty()
        && parsed.conditions.is_empty()
        && !typed.contains('"')
        && !parser.has_operator
    {
        return Ok(Parsed::of_words(query));
    }
    // Stop words count only where the query has nothing else.
    let has_others = !parsed.words.is_empty() || !parsed.conditions.is_empty();
    parsed
        .words
        .extend(query_words(&plain).into_iter().filter(|word| !has_others || !is_stop_word(word)));
    // A path says where, and no more, if there are words to look for.
    let with_paths = parsed.words.is_empty();
    parsed.hints =
        parsed.conditions.iter().flat_map(|condition| condition.hints(with_paths)).collect();
    let mut seen = HashSet::new();
    parsed.hints.retain(|hint| seen.insert(hint.clone()));
    parsed.phrase = parsed.words.join(" ");
    Ok(parsed)
}

/// A method gives `None` where the query does not follow the syntax; it is then plain words as a
/// whole.
struct Parser<'a> {
    /// The whole query, without white space at its ends.
    whole: &'a str,
    rest: &'a str,
    known: &'a Known<'a>,
    has_operator: bool,
    depth: usize,
    /// The field that the enclosing operators set for the next term; likewise `match_case`.
    field: Field,
    match_case: bool,
    /// Whether the next term is inside of an operator such as `line:`.
    in_scope: bool,
    expressions: usize,
    /// The error in the first invalid regular expression.
    wrong: Option<String>,
}

impl<'a> Parser<'a> {
    /// Alternatives, with `OR` between them.
    fn any(&mut self) -> Option<Condition> {
        let mut parts = vec![self.all()?];
        while self.is_at_or() {
            self.skip("OR");
            parts.push(self.all()?);
        }
        Some(if parts.len() == 1 { parts.remove(0) } else { Condition::Any(parts) })
    }

    fn all(&mut self) -> Option<Condition> {
        let (mut parts, mut stop_words) = (Vec::new(), Vec::new());
        loop {
            let before = self.rest;
            let part = self.part()?;
            let is_quoted = before.strip_suffix(self.rest).is_some_and(|read| read.contains('"'));
            let is_left_out = matches!(&part, Condition::Has(Field::Any, Term::Folded(word)) if !is_quoted && is_stop_word(word));
            if is_left_out { &mut stop_words } else { &mut parts }.push(part);
            if self.rest.is_empty() || self.rest.starts_with(')') || self.is_at_or() {
                break;
            }
        }
        // Stop words count only where there is nothing else.
        let mut parts = if parts.is_empty() { stop_words } else { parts };
        Some(if parts.len() == 1 { parts.remove(0) } else { Condition::All(parts) })
    }

    fn part(&mut self) -> Option<Condition> {
        let first = self.rest.chars().next().filter(|_| !self.is_at_or())?;
        match first {
            '-' => {
                let before = self
                    .whole
                    .strip_suffix(self.rest)?
                    .split_whitespace()
                    .next_back()
                    .unwrap_or_default();
                self.rest = self.rest.strip_prefix('-')?;
                // A lone minus sign, or a long command-line option.
                if self.rest.is_empty()
                    || self.rest.starts_with(|c: char| c.is_whitespace() || c == '-')
                {
                    return None;
                }
                let word = self
                    .rest
                    .split(|c: char| c.is_whitespace() || c == ')')
                    .next()
                    .unwrap_or_default();
                if self.depth == 0 && self.is_option(before, word) {
                    return self.term();
                }
                self.nested(|parser| parser.part()).map(|part| Condition::Not(Box::new(part)))
            }
            '(' => {
                self.skip("(");
                let inner = self.nested(|parser| parser.any())?;
                self.rest = self.rest.strip_prefix(')')?;
                self.ends_here().map(|()| inner)
            }
            '[' => self.property(),
            // A comment or a path; an expression begins with something to repeat.
            '/' if ["/*", "/+", "/?"].iter().any(|sign| self.rest.starts_with(sign)) => self.term(),
            '/' => match self.expression() {
                Some(expression) => Some(Condition::Has(self.field, Term::Regex(expression))),
                None => self.term(),
            },
            '"' => self.term(),
            _ => {
                for (name, operator) in OPERATORS {
                    // `file:///` begins a URL.
                    if let Some(operand) =
                        self.rest.strip_prefix(name).filter(|rest| !rest.starts_with("//"))
                    {
                        (self.rest, self.has_operator) = (operand, true);
                        return self.nested(|parser| parser.operand(operator));
                    }
                }
                self.term()
            }
        }
    }

    /// Whether a word behind a minus sign is a command-line option or another sign, and not
    /// excluded: a single letter or stop word, which would exclude everything, what has no letter
    /// or digit, and what some file has behind the same word.
    fn is_option(&self, before: &str, word: &str) -> bool {
        let is_letter = matches!(word.as_bytes(), [letter] if letter.is_ascii_alphabetic());
        if word.starts_with(['"', '(', '[', '/'])
            || OPERATORS.iter().any(|(name, _)| word.starts_with(name))
        {
            return false;
        }
        is_letter
            || is_stop_word(&fold(word))
            // A command of LaTeX, in a formula.
            || word.starts_with('\\')
            || !word.contains(char::is_alphanumeric)
            || (self.known.is_written)(&fold(&format!("{before} -{word}")))
    }

    fn operand(&mut self, operator: Operator) -> Option<Condition> {
        if self.rest.is_empty() || self.rest.starts_with(char::is_whitespace) {
            return None;
        }
        let (field, match_case, in_scope) = (self.field, self.match_case, self.in_scope);
        let condition = match operator {
            Operator::Tag => {
                if self.rest.starts_with('(') {
                    return self.part().map(Condition::into_tags);
                }
                self.rest = self.rest.strip_prefix('#').unwrap_or(self.rest);
                let name = fold(&self.text()?);
                Some(Condition::Tag(name.trim_end_matches('.').trim_matches('/').to_owned()))
                    .filter(|_| !name.is_empty())
            }
            Operator::Field(field) => {
                self.field = field;
                self.part()
            }
            Operator::Case(match_case) => {
                self.match_case = match_case;
                self.part()
            }
            Operator::Scope(scope) => {
                (self.in_scope, self.field) = (true, Field::Content);
                self.part().map(|part| Condition::Within(scope, Box::new(part)))
            }
        };
        (self.field, self.match_case, self.in_scope) = (field, match_case, in_scope);
        condition
    }

    fn property(&mut self) -> Option<Condition> {
        let body = self.rest.strip_prefix('[')?;
        // The value may be a quoted link, `[author:"[[Jane Doe]]"]`, and is its target then.
        let value = body.split(']').next()?.split_once(':').map_or("", |(_, value)| value);
        let is_link = value.contains("\"[[");
        let is_expression = value.trim_start().starts_with('/');
        let mut in_quotes = false;
        let end = if is_expression {
            // Which may have brackets of its own.
            body.match_indices('/').find_map(|(at, _)| {
                let rest = body.get(at + 1..)?;
                let flag = usize::from(rest.starts_with('i'));
                rest.get(flag..)?.starts_with(']').then_some(at + 1 + flag)
            })?
        } else {
            body.find(|c| {
                in_quotes ^= c == '"';
                c == ']' && !(is_link && in_quotes)
            })?
        };
        let (inside, rest) = (body.get(..end)?, body.get(end + 1..)?);
        let is_whole = rest.is_empty() && self.rest.len() == self.whole.len();
        let (name, values) = inside.split_once(':').unwrap_or((inside, ""));
        let unquoted = |text: &str| fold(text.trim().trim_matches(['"', '[', ']']));
        let name = unquoted(name);
        // Links and checkboxes.
        if name.is_empty()
            || name.len() < 2 && values.is_empty()
            || inside.contains('[') && !is_link && !is_expression
        {
            return None;
        }
        self.rest = rest;
        self.ends_here()?;
        // A pasted line of a log has times and names in brackets.
        let is_log = values.is_empty() || !is_whole || values.contains([':', ',']);
        if self.depth == 0 && is_log && !(self.known.is_property)(&name) {
            let inside = fold(inside);
            let words = inside
                .split_whitespace()
                .map(|word| Condition::Has(self.field, Term::Folded(word.to_owned())));
            return Some(Condition::All(words.collect()));
        }
        if is_expression {
            let wanted = self.expression_of(values.trim())?;
            return Some(Condition::Property(name, Some(Wanted::Matching(wanted))));
        }
        let inner = values
            .trim()
            .strip_prefix('(')
            .and_then(|rest| rest.strip_suffix(')'))
            .filter(|inner| !inner.contains(['(', ')']));
        let alternatives = inner.filter(|inner| inner.contains(" OR ")).unwrap_or(values);
        let is_quoted = values
            .trim()
            .strip_prefix('"')
            .and_then(|rest| rest.strip_suffix('"'))
            .is_some_and(|inner| !inner.contains('"'));
        let of_value = |value: &str| {
            let target = value.split('|').next().filter(|_| is_link).unwrap_or(value);
            let text = unquoted(target);
            let wanted = match Comparison::parse(target.trim().trim_matches('"')) {
                Some(comparison) if !is_quoted => Some(Wanted::Compared(comparison)),
                _ => Some(text).filter(|text| !text.is_empty()).map(Wanted::Text),
            };
            Condition::Property(name.clone(), wanted)
        };
        let mut any: Vec<Condition> =
            alternatives.split(if is_quoted { "\n" } else { " OR " }).map(of_value).collect();
        Some(if any.len() == 1 { any.remove(0) } else { Condition::Any(any) })
    }

    /// A regular expression between slashes, the second of which ends a word. The first error is
    /// recorded.
    fn expression(&mut self) -> Option<Expression> {
        let (pattern, rest) =
            unescaped(self.rest, '/').filter(|(pattern, _)| !pattern.is_empty())?;
        let (flag, rest) = rest.strip_prefix('i').map_or(("", rest), |rest| ("i", rest));
        let rest = Some(rest).filter(|rest| {
            rest.is_empty() || rest.starts_with(|c: char| c.is_whitespace() || c == ')')
        })?;
        let expression = self.compiled(pattern, flag)?;
        self.rest = rest.trim_start();
        Some(expression)
    }

    /// A regular expression between slashes that is a whole text.
    fn expression_of(&mut self, text: &str) -> Option<Expression> {
        let (pattern, flag) = text.strip_prefix('/')?.rsplit_once('/')?;
        self.compiled(pattern, flag)
    }

    fn compiled(&mut self, pattern: &str, flag: &str) -> Option<Expression> {
        self.expressions += 1;
        if self.expressions > QUERY_EXPRESSIONS {
            self.wrong.get_or_insert(format!(
                "it has more than {} regular expressions",
                QUERY_EXPRESSIONS
            ));
            return None;
        }
        match Expression::new(&pattern.replace("\\/", "/"), flag.is_empty()) {
            Ok(expression) => Some(expression),
            Err(wrong) => {
                self.wrong.get_or_insert(format!(
                    "/{pattern}/{flag} is not a regular expression: {wrong}"
                ));
                // Any expression will do: `wrong` is returned in the end.
                Expression::new("", true).ok()
            }
        }
    }

    /// A word or quoted phrase as a condition, in the field and with the case that the enclosing
    /// operators set.
    fn term(&mut self) -> Option<Condition> {
        let mut text = self.text()?;
        // A path begins without a slash.
        if matches!(self.field, Field::Name | Field::Path) && text.len() > 1 {
            text = text.trim_start_matches('/').to_owned();
        }
        let term = if self.match_case { Term::Exact(text) } else { Term::Folded(fold(&text)) };
        Some(Condition::Has(self.field, term))
    }

    /// A word, or a quoted phrase with single spaces; it may be empty only within a scope, where it
    /// matches any task.
    fn text(&mut self) -> Option<String> {
        if self.rest.starts_with('"') {
            let (inside, rest) = unescaped(self.rest, '"')?;
            self.rest = rest;
            self.ends_here()?;
            let phrase =
                inside.replace("\\\"", "\"").split_whitespace().collect::<Vec<_>>().join(" ");
            return Some(phrase).filter(|phrase| self.in_scope || !phrase.is_empty());
        }
        let end = self
            .rest
            .find(|c: char| c.is_whitespace() || c == '"' || self.depth > 0 && c == ')')
            .unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at_checked(end)?;
        self.rest = rest;
        self.ends_here()?;
        // The end of a question is no part of an operand.
        let word = if self.depth > 0 { word.trim_end_matches(MARKS) } else { word };
        Some(word.to_owned()).filter(|word| !word.is_empty())
    }

    fn nested<T>(&mut self, read: impl FnOnce(&mut Self) -> Option<T>) -> Option<T> {
        self.depth += 1;
        let inner = if self.depth > NESTED { None } else { read(self) };
        self.depth -= 1;
        inner
    }

    /// Checks that a part may end here, and skips white space.
    fn ends_here(&mut self) -> Option<()> {
        // Punctuation may follow a quote or bracket.
        self.rest = self.rest.trim_start_matches(MARKS).trim_start_matches(':');
        let ends =
            self.rest.is_empty() || self.rest.starts_with(|c: char| c.is_whitespace() || c == ')');
        self.rest = self.rest.trim_start();
        ends.then_some(())
    }

    fn is_at_or(&self) -> bool {
        self.rest
            .strip_prefix("OR")
            .is_some_and(|rest| rest.is_empty() || rest.starts_with(char::is_whitespace))
    }

    fn skip(&mut self, text: &str) {
        self.rest = self.rest.strip_prefix(text).unwrap_or(self.rest).trim_start();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse_any(query: &str) -> Result<Parsed, String> {
        parse(
            query,
            &Known {
                is_property: &|name| name != "wip",
                is_written: &|text| text == "ssh-keygen -lf",
            },
        )
    }

    #[test]
    fn what_is_of_the_language_is_read() {
        let parsed = parse_any(
            r#"how to Brew "Black Tea" -milk tag:#drinks/ path:"My Notes" [status:Done] [due]"#,
        )
        .unwrap();
        assert_eq!(parsed.words, ["black tea", "brew"]);
        // Stop words count only where nothing else is asked for; punctuation ends a question and is
        // in no operand.
        for (query, words, conditions) in [
            ("what is the \"MQTT controller\"?", &["mqtt controller"][..], "[]"),
            ("What are the “callout types”", &["callout types"], "[]"),
            ("what [status:active]?", &[], "[Property(\"status\", Some(Text(\"active\")))]"),
            ("what is the tag:home?", &[], "[Tag(\"home\")]"),
            ("kettle path:Notes,", &["kettle"], "[Has(Path, Folded(\"notes\"))]"),
        ] {
            let parsed = parse_any(query).unwrap();
            assert_eq!(parsed.words, words, "{query}");
            assert_eq!(format!("{:?}", parsed.conditions), conditions, "{query}");
        }
        for (query, phrase) in [
            ("mqtt controller?", "mqtt controller"),
            ("(mqtt controller).", "(mqtt controller)"),
            ("(mqtt controller)", "mqtt controller"),
        ] {
            assert_eq!(parse_any(query).unwrap().phrase, phrase);
        }
        assert_eq!(
            format!("{:?}", parse_any("[wip:x]").unwrap().conditions),
            "[Property(\"wip\", Some(Text(\"x\")))]"
        );
        assert_eq!(
            parse_any(r#""they said \"hello\" twice" -x"#).unwrap().words,
            ["they said \"hello\" twice", "x"]
        );
        let expected = "[Not(Has(Any, Folded(\"milk\"))), Tag(\"drinks\"), Has(Path, Folded(\"my \
                        notes\")), Property(\"status\", Some(Text(\"done\"))), Property(\"due\", None)]";
        assert_eq!(format!("{:?}", parsed.conditions), expected);
        let parsed = parse_any("tea (black OR green leaf) -(milk OR sugar)").unwrap();
        assert_eq!(
            (parsed.words, parsed.hints),
            (vec!["tea".into()], vec!["black".into(), "green".into(), "leaf".into()])
        );
        let has = |text: &str| format!("Has(Any, Folded({text:?}))");
        let expected = format!(
            "[Any([{}, All([{}, {}])]), Not(Any([{}, {}]))]",
            has("black"),
            has("green"),
            has("leaf"),
            has("milk"),
            has("sugar")
        );
        assert_eq!(format!("{:?}", parsed.conditions), expected);
        for (query, expected) in [
            ("match-case:Tea", "Has(Any, Exact(\"Tea\"))"),
            (
                "line:(a match-case:(B ignore-case:C))",
                "Within(Line, All([Has(Content, Folded(\"a\")), All([Has(Content, Exact(\"B\")), \
                 Has(Content, Folded(\"c\"))])]))",
            ),
            ("task-todo:\"\"", "Within(TaskTodo, Has(Content, Folded(\"\")))"),
            ("file:(a OR b)", "Any([Has(Name, Folded(\"a\")), Has(Name, Folded(\"b\"))])"),
            ("tag:(a OR #b/)", "Any([Tag(\"a\"), Tag(\"b\")])"),
            ("path:-All", "Not(Has(Path, Folded(\"all\")))"),
            (
                "line:(a -x)",
                "Within(Line, All([Has(Content, Folded(\"a\")), Not(Has(Content, \
                 Folded(\"x\")))]))",
            ),
        ] {
            assert_eq!(
                format!("{:?}", parse_any(query).unwrap().conditions),
                format!("[{expected}]"),
                "{query}"
            );
        }
    }

    #[test]
    fn expressions_stand_between_slashes() {
        for query in
            ["/a.c/", "tea /\\d+ (x|y)/", "(/a/ OR b)", "path:/^a\\/b/", "line:(/x/ y)", "-/a/"]
        {
            let parsed = parse_any(query).unwrap();
            let has_regex = |one: &Condition| {
                one.leaves(&|_| false)
                    .iter()
                    .any(|leaf| matches!(leaf, Condition::Has(_, Term::Regex(_))))
            };
            assert!(
                parsed.conditions.iter().all(has_regex) && !parsed.conditions.is_empty(),
                "{query}"
            );
        }
        for query in ["a/b", "/usr/local/bin", "/", "//", "and/or /x"] {
            assert!(parse_any(query).unwrap().conditions.is_empty(), "{query}");
        }
        let wrong = parse_any("tea /a(b/").unwrap_err();
        assert!(
            wrong.starts_with("/a(b/ is not a regular expression")
                && wrong.contains("at character 2"),
            "{wrong}"
        );
    }

    #[test]
    fn what_only_looks_like_it_is_literal() {
        let literal = [
            "C++",
            "a/b",
            "-",
            "- [ ] task",
            "[ ]",
            "[[Some Note]]",
            "![[a.png]]",
            "[text](url)",
            "a \"b",
            "5\" screen",
            "(a",
            "a)",
            "OR",
            "a OR",
            "OR b",
            "a -",
            "--flag",
            "file:///etc",
            "f(x)",
            "separation (of a child) from its mother",
            "tag:",
            "line:",
            "task: x",
            "[x] done",
            "plain words",
            "[a: [b]]",
            "[wip:x] failed",
            "at [wip:30:11] it stopped",
            "()",
        ];
        for query in literal {
            let parsed = parse_any(query).unwrap();
            assert!(parsed.conditions.is_empty(), "{query}");
            assert_eq!(parsed.phrase, fold(query), "{query}");
        }
        for query in ["(".repeat(500), format!("a {}b", "-(".repeat(300)), "line:".repeat(100)] {
            assert!(parse_any(&query).unwrap().conditions.is_empty());
        }
    }
}
